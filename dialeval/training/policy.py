"""Policy gradients: responses drawn from a generator, and their loss."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from dialeval.dialogues import Passage
from dialeval.dialogues.encoding import Encoded
from dialeval.models.activations import fused_activations
from dialeval.models.batching import token_batches
from dialeval.models.heads import logits_at
from dialeval.responders.decoding import Task, TemperatureMixture, truncate_at_end
from dialeval.responders.generators import Generator
from dialeval.responders.likelihood import token_log_probs
from dialeval.scorers.ranking import Pack, additive_mask, pack, packable, packed_batch

BATCH_TOKENS = 1_024
PACKED_ROW = 512  # tokens of a context with its responses, beyond which attention costs more
_Batch = tuple[np.ndarray, Callable[[Sequence[float] | None], Tensor]]


@dataclass(eq=False)
class Drawn:
    """Responses to contexts, `n` of each in a row.

    Args:
        passages (`list[Passage]`):
            The contexts with the responses, `contexts * n` of them.
        prompts, responses (`list[list[int]]`):
            Token ids, those of a response with its end where it has one.
        finished (`np.ndarray`):
            Which responses ended with the end token.
        temperatures (`np.ndarray`):
            Temperature of each response.
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
    """Responses of a generator without dropout; each context is read once for its `n` responses.

    Args:
        generator (`Generator`):
            The generator.
        passages (`Sequence[Passage]`):
            The contexts.
        seeds (`Sequence[int]`):
            One per context: the same seed gives the same responses in any batch and process.
        decoding (`TemperatureMixture`):
            How responses are drawn.
        n (`int`, *optional*, defaults to 1):
            Responses per context.
        max_new_tokens (`int`, *optional*, defaults to 30):
            Tokens of a response at most.
        turn (`int`, *optional*, defaults to 0):
            Seed of a temperature that all contexts share.
        author (`str`, *optional*):
            Author of the responses; the generator's name by default.

    Returns:
        `Drawn`: Responses with their token ids and temperatures.
    """
    room = generator.prompts.limited(generator.max_prompt_length(max_new_tokens))
    prompts = [prompt.ids for prompt in room(generator.tokenizer, passages)]
    task = Task(generator, prompts, passages, seeds, n, max_new_tokens, turn)
    training = generator.model.training
    generator.model.eval()
    try:
        with fused_activations(generator.model):
            rows = truncate_at_end(decoding(task), generator)
    finally:
        generator.model.train(training)
    texts = generator.tokenizer.batch_decode([ids for ids, _ in rows], skip_special_tokens=True)
    repeated = [passage for passage in passages for _ in range(n)]
    name = author or generator.name
    return Drawn(
        [p.with_response(text.strip(), name) for p, text in zip(repeated, texts, strict=True)],
        [prompt for prompt in prompts for _ in range(n)],
        [ids for ids, _ in rows],
        np.array([done for _, done in rows]),
        np.repeat(decoding.temperatures_of(task), n),
        n,
    )


def group_advantages(rewards: np.ndarray, n: int) -> np.ndarray:
    """Rewards minus the mean over the `n` responses to a context (Gao et al., 2021, eqs. 3-4).

    Examples:
        >>> group_advantages(np.array([1.0, 0.0, 0.5, 0.5]), 2).tolist()
        [0.5, -0.5, 0.0, 0.0]
    """
    groups = np.asarray(rewards, dtype=float).reshape(-1, n)  # (contexts, n)
    return (groups - groups.mean(1, keepdims=True)).reshape(-1)


def leave_one_out(rewards: np.ndarray, n: int) -> np.ndarray:
    """For each reward the mean over the other responses to its context; works along axis 0.

    Examples:
        >>> leave_one_out(np.array([1.0, 0.0, 0.5]), 3).tolist()
        [0.25, 0.75, 0.5]
    """
    groups = np.asarray(rewards, dtype=float).reshape(-1, n, *np.shape(rewards)[1:])
    others = (groups.sum(1, keepdims=True) - groups) / (n - 1)
    return others.reshape(np.shape(rewards))


def policy_backward(
    generator: Generator,
    drawn: Drawn,
    advantages: np.ndarray | Sequence[np.ndarray],
    divisor: float,
    *,
    average_over: str = "responses",
    at_temperature: bool = False,
    batch_tokens: int = BATCH_TOKENS,
    dropout: bool = False,
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> float:
    """Add the gradient of the policy loss to the generator; returns the loss.

    With one advantage per response the loss is -sum log P(y|x) R(y) (Li et al., 2017, eq. 2; Gao et
    al., 2021, eq. 5), with one per token -sum_t log p(y_t|x, y_1:t-1) R_t (Li et al., eq. 3), both
    divided by `divisor`. Responses whose advantages are 0 have no gradient and are left out.

    Args:
        generator (`Generator`):
            The generator.
        drawn (`Drawn`):
            Responses.
        advantages (`np.ndarray` or `Sequence[np.ndarray]`):
            One number per response, or one array per response with a number for each token.
        divisor (`float`):
            What the summed loss is divided by.
        average_over (`str`, *optional*, defaults to `"responses"`):
            `"tokens"` divides a response's log-probability by its length, as the released code of
            Gao et al. does.
        at_temperature (`bool`, *optional*, defaults to `False`):
            Take P at the temperature the response was drawn at, instead of 1.
        batch_tokens (`int`, *optional*, defaults to 1024):
            Tokens of a batch.
        dropout (`bool`, *optional*, defaults to `False`):
            Whether dropout is on, as in training on human responses. It is off for samples, whose
            probabilities are those that they were drawn from.
        autocast (`Callable`, *optional*):
            Returns the context of the forward passes, for mixed precision.

    Returns:
        `float`: The loss.
    """
    _prepare(generator.model, dropout)
    weights = _token_weights(drawn.responses, advantages)
    chosen = np.array([row for row, weight in enumerate(weights) if weight.any()], dtype=int)
    read = _packed_batches if packable(generator.model) else _padded_batches
    total = 0.0
    for rows, log_prob in read(generator, drawn, chosen, batch_tokens):
        values = [weights[row] for row in rows]
        if average_over == "tokens":
            values = [weight / len(weight) for weight in values]
        weight_of = torch.from_numpy(np.concatenate(values))
        with fused_activations(generator.model):  # also when a backward pass computes them again
            with autocast():
                log_probs = log_prob(drawn.temperatures[rows].tolist() if at_temperature else None)
            loss = -(log_probs * weight_of.to(log_probs)).sum() / divisor
            loss.backward()
        total += loss.item()
    generator.model.eval()
    return total


@torch.no_grad()
def drawn_log_probs(
    generator: Generator, drawn: Drawn, batch_tokens: int = 2_048
) -> list[np.ndarray]:
    """log p of each token of each response, without dropout, at temperature 1.

    Args:
        generator (`Generator`):
            The generator.
        drawn (`Drawn`):
            Responses.
        batch_tokens (`int`, *optional*, defaults to 2048):
            Tokens of a batch.

    Returns:
        `list[np.ndarray]`: One array per response.
    """
    generator.model.eval()
    chosen = np.array([row for row, ids in enumerate(drawn.responses) if ids], dtype=int)
    read = _packed_batches if packable(generator.model) else _padded_batches
    values = [np.zeros(0)] * len(drawn)
    for rows, log_prob in read(generator, drawn, chosen, batch_tokens):
        bounds = np.cumsum([len(drawn.responses[row]) for row in rows])[:-1]
        with fused_activations(generator.model):
            parts = np.split(log_prob(None).cpu().numpy(), bounds)
        for row, part in zip(rows, parts, strict=True):
            values[row] = part
    return values


def _token_weights(
    responses: Sequence[Sequence[int]], advantages: np.ndarray | Sequence[np.ndarray]
) -> list[np.ndarray]:
    """The weight of each token of each response."""
    pairs = zip(responses, advantages, strict=True)
    return [np.broadcast_to(np.asarray(value, dtype=float), len(ids)) for ids, value in pairs]


def _prepare(model: PreTrainedModel, dropout: bool) -> None:
    """Dropout on or off; layers whose activations are recomputed need to be in training mode."""
    model.train(dropout)
    for module in model.modules():
        if getattr(module, "gradient_checkpointing", False):
            module.training = True  # of this module alone: its dropout is a module inside it


def _padded_batches(
    generator: Generator, drawn: Drawn, chosen: np.ndarray, batch_tokens: int
) -> Iterator[_Batch]:
    """Rows of similar length, and a function from temperatures to the log-probs of their tokens."""
    sizes = [len(drawn.prompts[row]) + len(drawn.responses[row]) for row in chosen]
    for batch in token_batches(sizes, batch_tokens):
        rows = chosen[batch]
        both = [drawn.prompts[row] for row in rows], [drawn.responses[row] for row in rows]
        yield rows, partial(_padded_log_probs, generator.model, generator.pad_id, *both)


def _padded_log_probs(*inputs: Any) -> Tensor:
    return token_log_probs(*inputs)[0]


def _packed_batches(
    generator: Generator, drawn: Drawn, chosen: np.ndarray, batch_tokens: int
) -> Iterator[_Batch]:
    """The same with all responses to a context in one row, so that it is read once for them."""
    # Nothing is predicted after a response's last token, so it is not an input.
    encoded = [
        Encoded([*drawn.prompts[row], *drawn.responses[row][:-1]], len(drawn.prompts[row]))
        for row in chosen
    ]
    packs = list(pack(encoded, PACKED_ROW))
    for batch in token_batches([len(p) for p in packs], batch_tokens):
        batch_packs = [packs[number] for number in batch]
        rows = chosen[[row for p in batch_packs for row in p.rows]]
        responses = [drawn.responses[row] for row in rows]
        inputs = generator.pad_id, batch_packs, responses
        yield rows, partial(packed_log_probs, generator.model, *inputs)


def packed_log_probs(
    model: PreTrainedModel,
    pad_id: int,
    packs: Sequence[Pack],
    responses: Sequence[Sequence[int]],
    temperatures: Sequence[float] | None = None,
) -> Tensor:
    """log p of each token as in [`token_log_probs`], with each context read once.

    Args:
        model (`PreTrainedModel`):
            A causal model.
        pad_id (`int`):
            Padding token.
        packs (`Sequence[Pack]`):
            Contexts with their responses, without the last token of each.
        responses (`Sequence[Sequence[int]]`):
            The complete responses, in the order of the packs.
        temperatures (`Sequence[float]`, *optional*):
            One per response; 1 by default.

    Returns:
        `Tensor`: Log-probabilities, one response after the other, shape `(tokens,)`.
    """
    tensors = packed_batch(packs, pad_id)
    batch = {name: tensor.to(model.device) for name, tensor in tensors.items()}
    allowed = batch.pop("allowed")
    number, row, column = _predicting_positions(packs, batch.pop("row"), batch.pop("column"))
    targets = torch.tensor([token for ids in responses for token in ids], device=row.device)
    mask = additive_mask(allowed, next(model.parameters()).dtype)
    logits = logits_at(model, {**batch, "attention_mask": mask}, row, column).float()
    if temperatures is not None:
        logits = logits / torch.tensor(temperatures).to(logits)[number, None]
    return -F.cross_entropy(logits, targets, reduction="none").double()  # (tokens,)


def _predicting_positions(
    packs: Sequence[Pack], row: Tensor, last: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """For each token of each response: which response, and the row and column that predict it."""
    lengths = [len(response) for p in packs for response in p.responses]
    kept = torch.tensor(lengths, device=row.device)
    context_ends = torch.tensor([len(p.context) - 1 for p in packs], device=row.device)[row]
    sizes = kept + 1  # the last token is no input, but is predicted
    number = torch.arange(len(kept), device=row.device).repeat_interleave(sizes)
    at = torch.arange(len(number), device=row.device) - (sizes.cumsum(0) - sizes)[number]
    inside = (last - kept)[number] + at  # a token is predicted at the one before it
    return number, row[number], torch.where(at == 0, context_ends[number], inside)
