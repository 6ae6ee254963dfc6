"""Reinforcement learning's ingredients: responses drawn from a generator, and their loss."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from dialeval.dialogues import Passage
from dialeval.dialogues.encoding import Encoded
from dialeval.models.batching import token_batches
from dialeval.models.heads import logits_at
from dialeval.responders.decoding import Task, TemperatureMixture, truncate_at_end
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import summed_log_probs
from dialeval.scorers.ranking import Pack, additive_mask, pack, packable, packed_batch

PACKED_ROW = 512  # tokens of a context with its responses, beyond which attention costs more
_Batch = tuple[np.ndarray, Callable[[Sequence[float] | None], Tensor]]


@dataclass(eq=False)
class Drawn:
    """Responses to contexts, `n` of each in a row.

    Args:
        passages (`list[Passage]`):
            The contexts with what was said to them, `contexts * n` of them.
        prompts, responses (`list[list[int]]`):
            Token ids, those of a response with its end where it has one.
        finished (`np.ndarray`):
            Which responses ended by themselves.
        temperatures (`np.ndarray`):
            At which each was drawn.
    """

    passages: list[Passage]
    prompts: list[list[int]]
    responses: list[list[int]]
    finished: np.ndarray
    temperatures: np.ndarray
    n: int

    def __len__(self) -> int:
        return len(self.passages)


def draw_responses(
    generator: Generator,
    passages: Sequence[Passage],
    seeds: Sequence[int],
    decoding: TemperatureMixture,
    n: int = 1,
    max_new_tokens: int = 30,
    turn: int = 0,
    author: str = "",
) -> Drawn:
    """Responses of a generator, dropout off; each context is read once for its `n` responses.

    Args:
        seeds (`Sequence[int]`):
            One a context: the same seed gives the same responses in any batch and process.
        turn (`int`, *optional*, defaults to 0):
            Seed of a temperature that all contexts share.
    """
    room = generator.prompts.limited(generator.max_prompt_length(max_new_tokens))
    prompts = [prompt.ids for prompt in room(generator.tokenizer, passages)]
    task = Task(generator, prompts, passages, seeds, n, max_new_tokens, turn)
    training = generator.model.training
    generator.model.eval()
    try:
        rows = truncate_at_end(decoding(task), generator)
    finally:
        generator.model.train(training)
    texts = generator.tokenizer.batch_decode([ids for ids, _ in rows], skip_special_tokens=True)
    asked = [passage for passage in passages for _ in range(n)]
    name = author or generator.name
    return Drawn(
        [p.with_response(text.strip(), name) for p, text in zip(asked, texts, strict=True)],
        [prompt for prompt in prompts for _ in range(n)],
        [ids for ids, _ in rows],
        np.array([done for _, done in rows]),
        np.repeat(decoding.temperatures_of(task), n),
        n,
    )


def group_advantages(rewards: np.ndarray, n: int) -> np.ndarray:
    """Rewards minus the mean over the `n` responses to a context (Gao et al., 2021, eqs. 3-4).

    Example:
        >>> group_advantages(np.array([1.0, 0.0, 0.5, 0.5]), 2).tolist()
        [0.5, -0.5, 0.0, 0.0]
    """
    groups = np.asarray(rewards, dtype=float).reshape(-1, n)  # (contexts, n)
    return (groups - groups.mean(1, keepdims=True)).reshape(-1)


def policy_backward(
    generator: Generator,
    drawn: Drawn,
    advantages: np.ndarray,
    divisor: float,
    *,
    average_over: str = "responses",
    at_temperature: bool = False,
    batch_tokens: int = 1_024,
) -> float:
    """Add the gradient of the policy loss to the generator; gives the loss.

    The loss is -sum log P(y|x) R(y) (Gao et al., 2021, eq. 5), dropout off, divided by `divisor`.
    Responses whose advantage is 0 have no gradient and are left out.

    Args:
        average_over (`str`, *optional*, defaults to `"responses"`):
            `"tokens"` divides a response's log-probability by its length, as the released code of
            Gao et al. does.
        at_temperature (`bool`, *optional*, defaults to `False`):
            Take P at the temperature the response was drawn at, in place of 1.
    """
    generator.model.eval()  # the network that drew is the one whose probabilities count
    chosen = np.flatnonzero((advantages != 0) & [bool(ids) for ids in drawn.responses])
    read = _packed_batches if packable(generator.model) else _padded_batches
    total = 0.0
    for rows, ask in read(generator, drawn, chosen, batch_tokens):
        log_probs = ask(drawn.temperatures[rows].tolist() if at_temperature else None)
        weights = torch.from_numpy(advantages[rows]).to(log_probs)
        if average_over == "tokens":
            weights = weights / weights.new_tensor([len(drawn.responses[row]) for row in rows])
        loss = -(log_probs * weights).sum() / divisor
        loss.backward()
        total += loss.item()
    return total


def _padded_batches(
    generator: Generator, drawn: Drawn, chosen: np.ndarray, batch_tokens: int
) -> Iterator[_Batch]:
    """Rows of like length, and how to ask for their log-probabilities, given temperatures."""
    sizes = [len(drawn.prompts[row]) + len(drawn.responses[row]) for row in chosen]
    for batch in token_batches(sizes, batch_tokens):
        rows = chosen[batch]
        both = [drawn.prompts[row] for row in rows], [drawn.responses[row] for row in rows]
        yield rows, partial(summed_log_probs, generator.model, generator.pad_id, *both)


def _packed_batches(
    generator: Generator, drawn: Drawn, chosen: np.ndarray, batch_tokens: int
) -> Iterator[_Batch]:
    """The same with all responses to a context in one row, so that it is read once for them."""
    # Nothing is predicted after a response's last token, so nobody reads it.
    encoded = [
        Encoded([*drawn.prompts[row], *drawn.responses[row][:-1]], len(drawn.prompts[row]))
        for row in chosen
    ]
    packs = list(pack(encoded, PACKED_ROW))
    for batch in token_batches([len(each) for each in packs], batch_tokens):
        some = [packs[number] for number in batch]
        rows = chosen[[row for each in some for row in each.rows]]
        responses = [drawn.responses[row] for row in rows]
        yield rows, partial(packed_log_probs, generator.model, generator.pad_id, some, responses)


def packed_log_probs(
    model: PreTrainedModel,
    pad_id: int,
    packs: Sequence[Pack],
    responses: Sequence[Sequence[int]],
    temperatures: Sequence[float] | None = None,
) -> Tensor:
    """log p(response | context) as [`summed_log_probs`] gives it, contexts read once.

    Args:
        packs (`Sequence[Pack]`):
            Contexts with their responses but for the last token of each.
        responses (`Sequence[Sequence[int]]`):
            The whole responses, in the order of the packs.
    """
    batch = {name: each.to(model.device) for name, each in packed_batch(packs, pad_id).items()}
    allowed = batch.pop("allowed")
    number, row, place = _places(packs, batch.pop("row"), batch.pop("column"))
    targets = torch.tensor([token for each in responses for token in each], device=row.device)
    mask = additive_mask(allowed, next(model.parameters()).dtype)
    logits = logits_at(model, {**batch, "attention_mask": mask}, row, place).float()
    if temperatures is not None:
        logits = logits / torch.tensor(temperatures).to(logits)[number, None]
    values = -F.cross_entropy(logits, targets, reduction="none").double()  # (tokens,)
    return values.new_zeros(len(responses)).index_add(0, number, values)


def _places(packs: Sequence[Pack], row: Tensor, last: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """For each token of each response: which response, and the row and column that predict it."""
    kept = torch.tensor([len(each) for p in packs for each in p.responses], device=row.device)
    context_ends = torch.tensor([len(p.context) - 1 for p in packs], device=row.device)[row]
    sizes = kept + 1  # the token that is not read is predicted all the same
    number = torch.arange(len(kept), device=row.device).repeat_interleave(sizes)
    at = torch.arange(len(number), device=row.device) - (sizes.cumsum(0) - sizes)[number]
    inside = (last - kept)[number] + at  # a token is predicted at the one before it
    return number, row[number], torch.where(at == 0, context_ends[number], inside)
