"""Log-probabilities of given responses, and scores by mutual information."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor
from torch.nn import functional as F
from transformers import PreTrainedModel

from dialeval.dialogues import BadInput
from dialeval.models.batching import pad, token_batches
from dialeval.models.heads import logits_at

Rows = Sequence[Sequence[int]]


def response_log_probs(
    model: PreTrainedModel,
    tokenizer_pad_id: int | None,
    contexts: Rows,
    responses: Rows,
    batch_tokens: int = 2048,
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of log p(token | context, tokens before) over each response, and their lengths.

    Args:
        model (`PreTrainedModel`):
            A causal language model, with context and response in one row, or an encoder-decoder.
        tokenizer_pad_id (`int`, *optional*):
            Padding token; it is masked, so any id will do, and `None` means 0.
        contexts (`Sequence[Sequence[int]]`):
            Token ids. An empty context gives the unconditional p(response): the model reads its
            `bos` token, or its `eos` token if it has no other.
        responses (`Sequence[Sequence[int]]`):
            Token ids. If the end token is the last one, it counts in both the sum and the length.
        batch_tokens (`int`, *optional*, defaults to 2048):
            Tokens of a batch, including padding.

    Returns:
        `tuple[np.ndarray, np.ndarray]`: Sums of log-probabilities, and numbers of tokens.
    """
    _check(model, contexts, responses)
    sums, training = np.zeros(len(responses)), model.training
    lengths = np.array([len(response) for response in responses], dtype=np.int64)
    totals = [len(c) + len(r) for c, r in zip(contexts, responses, strict=True)]
    model.eval()  # no dropout
    try:
        for batch in token_batches(totals, batch_tokens):
            rows = [contexts[row] for row in batch], [responses[row] for row in batch]
            with torch.no_grad():
                log_probs = summed_log_probs(model, tokenizer_pad_id or 0, *rows)
            sums[batch] = log_probs.cpu().numpy()
    finally:
        model.train(training)
    return sums, lengths


def summed_log_probs(
    model: PreTrainedModel,
    pad_id: int,
    contexts: Rows,
    responses: Rows,
    temperatures: Sequence[float] | None = None,
) -> Tensor:
    """log p(response | context) of one batch, differentiable.

    Args:
        model (`PreTrainedModel`):
            A causal language model or an encoder-decoder.
        pad_id (`int`):
            Padding token.
        contexts, responses (`Sequence[Sequence[int]]`):
            Token ids.
        temperatures (`Sequence[float]`, *optional*):
            What each row's logits are divided by, 1 by default.

    Returns:
        `Tensor`: float64, shape `(rows,)`.
    """
    values, row = token_log_probs(model, pad_id, contexts, responses, temperatures)
    return values.new_zeros(len(responses)).index_add(0, row, values)


def token_log_probs(
    model: PreTrainedModel,
    pad_id: int,
    contexts: Rows,
    responses: Rows,
    temperatures: Sequence[float] | None = None,
) -> tuple[Tensor, Tensor]:
    """log p(token | context, tokens before) of one batch, differentiable.

    Args:
        model (`PreTrainedModel`):
            A causal language model or an encoder-decoder.
        pad_id (`int`):
            Padding token.
        contexts, responses (`Sequence[Sequence[int]]`):
            Token ids.
        temperatures (`Sequence[float]`, *optional*):
            What each row's logits are divided by, 1 by default.

    Returns:
        `tuple[Tensor, Tensor]`: Values in float64, one response after the other, and the row of
        each, both of shape `(tokens,)`.
    """
    read = _two_rows if model.config.is_encoder_decoder else _one_row
    inputs, row, column, targets = read(model, pad_id, contexts, responses)
    logits = logits_at(model, inputs, row, column).float()  # (tokens, vocabulary)
    if temperatures is not None:
        logits = logits / torch.tensor(temperatures, device=logits.device)[row, None].to(logits)
    return -F.cross_entropy(logits, targets, reduction="none").double(), row


def mmi_scores(
    forward: ArrayLike,
    backward: ArrayLike,
    forward_lengths: ArrayLike,
    backward_lengths: ArrayLike,
    weight: float = 0.5,
) -> np.ndarray:
    """(1 - weight) log p(t|s) / |t| + weight log p(s|t) / |s| (Li et al., 2016a, MMI-bidi).

    Both sides are means over tokens with equal weight by default, as in the released code of Li et
    al. (2017). That code divides by the number of words plus one; here a length includes the end
    token, which is the same.

    Args:
        forward (`ArrayLike`):
            log p(t|s) of each response.
        backward (`ArrayLike`):
            log p(s|t), from a model trained on reversed pairs.
        forward_lengths, backward_lengths (`ArrayLike`):
            Numbers of tokens, including the end token.
        weight (`float`, *optional*, defaults to 0.5):
            Weight of the backward side.

    Returns:
        `np.ndarray`: One score per response.

    Examples:
        >>> mmi_scores([-6.0, -2.0], [-4.0, -9.0], [3, 2], [4, 3]).tolist()
        [-1.5, -2.0]
    """
    if not 0 <= weight <= 1:
        raise BadInput(f"expected a weight from 0 to 1, but got {weight}.", hint="0.5 is usual.")
    sides = [np.asarray(values, float) for values in (forward, backward)]
    sizes = [np.asarray(values, float) for values in (forward_lengths, backward_lengths)]
    shapes = {values.shape for values in (*sides, *sizes)}
    if len(shapes) > 1:
        raise BadInput(f"expected one number per response, but got shapes {sorted(shapes)}.")
    if any((size <= 0).any() for size in sizes):
        raise BadInput("expected lengths of 1 or more.", hint="Count the end token.")
    return (1 - weight) * sides[0] / sizes[0] + weight * sides[1] / sizes[1]


def rerank(scores: ArrayLike, group_of: ArrayLike) -> np.ndarray:
    """The index of the best score of each group, groups ascending; the first of equal scores.

    Examples:
        >>> rerank([0.1, 0.7, 0.3, 0.2], [0, 0, 1, 1]).tolist()
        [1, 2]
    """
    scores, group_of = np.asarray(scores, float), np.asarray(group_of)
    if scores.shape != group_of.shape:
        raise BadInput(
            f"expected one group per score, but got {group_of.shape} and {scores.shape}."
        )
    if np.isnan(scores).any():
        raise BadInput(f"{np.isnan(scores).sum()} of {scores.size} scores are not numbers.")
    order = np.lexsort((-scores, group_of))  # stable: by group, then best first
    return order[np.unique(group_of[order], return_index=True)[1]]


def opening_token(model: PreTrainedModel) -> int:
    """The first token of a text without context: the model's `bos` token, or its `eos`."""
    for name in ("bos_token_id", "eos_token_id"):
        token = getattr(model.config, name, None)
        token = token[0] if isinstance(token, list) else token
        if token is not None:
            return int(token)
    hint = "Set `bos_token_id` or `eos_token_id` in its configuration."
    raise BadInput("the model has no token to start a text with.", hint=hint)


def _check(model: PreTrainedModel, contexts: Rows, responses: Rows) -> None:
    if len(contexts) != len(responses):
        raise BadInput(
            f"expected one context per response, but got {len(contexts)} and {len(responses)}."
        )
    for row, response in enumerate(responses):
        if not len(response):
            raise BadInput(f"response {row} has no tokens.", hint="Put the end token last.")
    join = max if model.config.is_encoder_decoder else sum
    sizes = (map(len, pair) for pair in zip(contexts, responses, strict=True))
    longest = max(map(join, sizes), default=0)
    limit = getattr(model.config, "max_position_embeddings", None) or longest
    if longest > limit:
        hint = "Shorten the contexts from the left, or the responses."
        raise BadInput(f"the model reads {limit} tokens, but got a row of {longest}.", hint=hint)


def _one_row(
    model: PreTrainedModel, pad_id: int, contexts: Rows, responses: Rows
) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
    """Inputs of a causal model, padded on the right; row, column and target of each prediction."""
    contexts = [context if len(context) else [opening_token(model)] for context in contexts]
    ids, mask = _padded(
        [[*c, *r] for c, r in zip(contexts, responses, strict=True)], pad_id, model.device
    )
    before = torch.tensor([len(context) for context in contexts], device=ids.device)
    after = mask.cumsum(1) > before[:, None]
    row, column = (after & mask.bool()).nonzero(as_tuple=True)
    inputs = {"input_ids": ids, "attention_mask": mask}
    return inputs, row, column - 1, ids[row, column]  # a token is predicted one column earlier


def _two_rows(
    model: PreTrainedModel, pad_id: int, contexts: Rows, responses: Rows
) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
    """Inputs of an encoder-decoder; row, column and target of each prediction."""
    contexts = [context if len(context) else [opening_token(model)] for context in contexts]
    ids, mask = _padded(contexts, pad_id, model.device)
    labels, inside = _padded(responses, pad_id, model.device)
    row, column = inside.nonzero(as_tuple=True)
    decoder = F.pad(labels[:, :-1], (1, 0), value=_decoder_start(model))
    inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": decoder}
    return inputs, row, column, labels[row, column]


def _decoder_start(model: PreTrainedModel) -> int:
    token = getattr(model.config, "decoder_start_token_id", None)
    if token is None:
        hint = "Set `decoder_start_token_id` in its configuration."
        raise BadInput("the decoder has no start token.", hint=hint)
    return int(token)


def _padded(rows: Rows, pad_id: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows padded on the right, and the mask of their tokens, both `(batch, time)`."""
    batch = pad(rows, pad_id)
    return batch["input_ids"].to(device), batch["attention_mask"].to(device)
