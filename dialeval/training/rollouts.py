"""Monte-Carlo search: roll-outs from every prefix of sampled responses (Li et al., 2017, sec. 3.2).

The responses are read once. Every roll-out starts from the state after its prefix (keys and values,
or the states of an LSTM), and roll-outs of all prefixes are decoded together; those that ended
leave the batch.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from dialeval.dialogues import Passage
from dialeval.models.activations import fused_activations
from dialeval.responders.generators import Generator
from dialeval.responders.processors import draw, uniform_noise
from dialeval.responders.task import mixed_seed
from dialeval.training.policy import Drawn
from dialeval.training.prefix_states import PrefixStates, read_prefixes

MAX_ROWS = 640
"""Roll-outs that are decoded together."""
MAX_LOGITS = 2**26
"""Logits after prefixes that are kept at once: 256 MiB."""


@dataclass(eq=False)
class Rollouts:
    """Complete responses that share prefixes with sampled ones.

    Args:
        response (`np.ndarray`):
            Index of the sampled response of each roll-out.
        prefix (`np.ndarray`):
            Number of its tokens that the roll-out begins with.
        ids (`list[list[int]]`):
            Token ids, those of the prefix included.
    """

    response: np.ndarray
    prefix: np.ndarray
    ids: list[list[int]]

    def __len__(self) -> int:
        return len(self.ids)


@torch.no_grad()
def roll_out(
    generator: Generator,
    drawn: Drawn,
    seeds: Sequence[int],
    n: int = 5,
    max_new_tokens: int = 30,
    max_rows: int = MAX_ROWS,
) -> Rollouts:
    """`n` roll-outs from every proper prefix of every response, at the responses' temperatures.

    Args:
        generator (`Generator`):
            A causal language model, or dialeval's LSTM encoder-decoder.
        drawn (`Drawn`):
            Sampled responses.
        seeds (`Sequence[int]`):
            One per response: the same seed gives the same roll-outs in any batch and process.
        n (`int`, *optional*, defaults to 5):
            Roll-outs per prefix; N of the paper.
        max_new_tokens (`int`, *optional*, defaults to 30):
            Tokens of a complete response at most.
        max_rows (`int`, *optional*):
            Roll-outs that are decoded together.

    Returns:
        `Rollouts`: By response, prefix and number.
    """
    lengths = np.array([len(ids) for ids in drawn.responses])
    response = np.repeat(np.arange(len(drawn)), np.maximum(lengths - 1, 0) * n)
    sizes = [np.repeat(np.arange(1, length), n) for length in lengths]
    prefix = np.concatenate([np.zeros(0, dtype=int), *sizes])
    copies = np.tile(np.arange(n), len(prefix) // n)
    noise = [
        mixed_seed(mixed_seed(seeds[int(row)], int(size)), int(copy))
        for row, size, copy in zip(response, prefix, copies, strict=True)
    ]
    rollouts = Rollouts(response, prefix, [[] for _ in noise])
    if not noise:
        return rollouts
    generator.model.eval()
    with fused_activations(generator.model):
        for group in _groups(generator, lengths):
            chosen = np.flatnonzero(np.isin(response, group))
            states = read_prefixes(generator, drawn, group.tolist())
            order = chosen[np.argsort(-prefix[chosen], kind="stable")]  # similar numbers of steps
            for rows in np.split(order, range(max_rows, len(order), max_rows)):
                first = int(group[0])
                batch = _Batch(generator, states, drawn, rollouts, rows, first, max_new_tokens)
                new = batch.decode([noise[row] for row in rows])
                for row, ids in zip(rows, new, strict=True):
                    rollouts.ids[row] = [*drawn.responses[response[row]][: prefix[row]], *ids]
    return rollouts


def _groups(generator: Generator, lengths: np.ndarray) -> list[np.ndarray]:
    """Neighbouring responses whose logits after all prefixes fit into memory."""
    width = int(lengths.max()) * int(generator.model.config.vocab_size)
    size = max(1, MAX_LOGITS // max(1, width))
    return [np.arange(at, min(at + size, len(lengths))) for at in range(0, len(lengths), size)]


def prefix_rewards(
    score: Callable[[list[Passage]], np.ndarray],
    generator: Generator,
    drawn: Drawn,
    rollouts: Rollouts,
) -> list[np.ndarray]:
    """The reward of every prefix of every response, one array per response (Li et al., sec. 3.2).

    The reward of a prefix is the mean score of its roll-outs, that of the complete response its own
    score. Roll-outs with the same text are scored once.

    Args:
        score (`Callable`):
            From passages to scores.
        generator (`Generator`):
            Whose tokens these are.
        drawn (`Drawn`):
            Sampled responses.
        rollouts (`Rollouts`):
            Their roll-outs.

    Returns:
        `list[np.ndarray]`: One number per token.
    """
    decode = generator.tokenizer.batch_decode
    texts = decode(rollouts.ids, skip_special_tokens=True) if len(rollouts) else []
    sources = [drawn.passages[row] for row in rollouts.response]
    passages = list(drawn.passages)
    number: dict[tuple[int, str], int] = {}
    for row, passage in enumerate(drawn.passages):
        number.setdefault((row // drawn.n, passage.response), row)
    index = np.empty(len(rollouts), dtype=int)
    for at, (row, text) in enumerate(zip(rollouts.response, texts, strict=True)):
        key = (int(row) // drawn.n, text.strip())
        if key not in number:
            number[key] = len(passages)
            passages.append(sources[at].with_response(text.strip(), sources[at].author))
        index[at] = number[key]
    scores = np.asarray(score(passages), dtype=float)
    complete, partial = scores[: len(drawn)], scores[index]
    rewards = []
    for row, ids in enumerate(drawn.responses):
        values = partial[rollouts.response == row]
        means = values.reshape(len(ids) - 1, -1).mean(1) if len(values) else values
        rewards.append(np.append(means, complete[row]) if ids else np.zeros(0))
    return rewards


class _Batch:
    """Roll-outs that are decoded together."""

    def __init__(
        self,
        generator: Generator,
        states: PrefixStates,
        drawn: Drawn,
        rollouts: Rollouts,
        rows: np.ndarray,
        first: int,
        max_new_tokens: int,
    ):
        device = generator.model.device
        self.states, self.rows, self.drawn = states, rows, drawn
        response, prefix = rollouts.response[rows], rollouts.prefix[rows]
        self.response = torch.from_numpy(response - first).to(device)  # in the states' group
        self.prefix = torch.from_numpy(prefix).to(device)
        self.left = max_new_tokens - self.prefix  # tokens that may follow
        self.temperatures = torch.from_numpy(drawn.temperatures[response]).to(device)
        self.end_ids = torch.tensor(generator.end_ids or [-1], device=device)

    def decode(self, seeds: Sequence[int]) -> list[list[int]]:
        """Sample until every roll-out has ended or has all its tokens; its new tokens."""
        noise = torch.tensor(seeds, device=self.left.device)
        steps = int(self.left.max())
        tokens_of = torch.full((len(noise), steps), -1, device=noise.device)
        logits = self.states.logits(self.response, self.prefix)
        self.states.start(self.response, self.prefix, self.left)
        index = torch.arange(len(noise), device=noise.device)  # the roll-out of each row
        is_warm = bool((self.temperatures != 1).any())
        alive = torch.ones_like(index, dtype=torch.bool)
        for step in range(steps):
            if is_warm:
                logits = logits / self.temperatures[index, None].to(logits)
            tokens = draw(logits, uniform_noise(noise[index], step, 1))[:, 0]
            tokens_of[index[alive], step] = tokens[alive]
            alive &= ~torch.isin(tokens, self.end_ids) & (self.left[index] > step + 1)
            if not alive.any():
                break
            if alive.float().mean() <= self.states.shrink_at:
                kept = alive.nonzero()[:, 0]
                self.states.keep(kept)
                index, tokens, alive = index[kept], tokens[kept], alive[kept]
            logits = self.states.step(tokens)
        sizes = (tokens_of >= 0).sum(1).tolist()
        return [row[:size] for row, size in zip(tokens_of.tolist(), sizes, strict=True)]
