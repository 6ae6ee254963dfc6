"""How probable given responses are, and choosing among them by mutual information."""

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
            A causal language model, which reads context and response in one row, or an
            encoder-decoder, which reads the context and is asked for the response.
        tokenizer_pad_id (`int`, *optional*):
            What fills rows up; it is masked, so any id will do, and 0 stands in for none.
        contexts (`Sequence[Sequence[int]]`):
            Token ids, as the model is to read them. An empty context gives the unconditional
            p(response): the model reads its `bos` token, or its `eos` token if it has no other.
        responses (`Sequence[Sequence[int]]`):
            Token ids. The end token is a token like any other: put it last, and it is part of both
            the sum and the length.
        batch_tokens (`int`, *optional*, defaults to 2048):
            Tokens of a batch, padding included.
    """
    _check(model, contexts, responses)
    sums, training = np.zeros(len(responses)), model.training
    lengths = np.array([len(response) for response in responses], dtype=np.int64)
    totals = lengths + [len(context) for context in contexts]
    model.eval()  # dropout would make it another model
    try:
        for batch in token_batches(totals, batch_tokens):
            some = [contexts[row] for row in batch], [responses[row] for row in batch]
            with torch.no_grad():
                found = summed_log_probs(model, tokenizer_pad_id or 0, *some)
            sums[batch] = found.cpu().numpy()
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
    """log p(response | context) of one batch, float64, shape `(rows,)`; gradients pass through.

    Args:
        temperatures (`Sequence[float]`, *optional*):
            What each row's logits are divided by, 1 by default.
    """
    read = _two_rows if model.config.is_encoder_decoder else _one_row
    inputs, row, place, targets = read(model, pad_id, contexts, responses)
    logits = logits_at(model, inputs, row, place).float()  # (places, vocabulary)
    if temperatures is not None:
        logits = logits / torch.tensor(temperatures, device=logits.device)[row, None].to(logits)
    values = -F.cross_entropy(logits, targets, reduction="none").double()
    return values.new_zeros(len(responses)).index_add(0, row, values)


def mmi_scores(
    forward: ArrayLike,
    backward: ArrayLike,
    forward_lengths: ArrayLike,
    backward_lengths: ArrayLike,
    weight: float = 0.5,
) -> np.ndarray:
    """(1 - weight) log p(t|s) / |t| + weight log p(s|t) / |s| (Li et al., 2016a, MMI-bidi).

    `backward` comes from a model trained on turned pairs, whose contexts are the responses and the
    other way round. Both sides are means over tokens, and half and half, as in the released code of
    Li et al. (2017). That code divides by one more than the number of words; here a length counts
    the end token, which is that one more.

    Example:
        >>> mmi_scores([-6.0, -2.0], [-4.0, -9.0], [3, 2], [4, 3]).tolist()
        [-1.5, -2.0]
    """
    if not 0 <= weight <= 1:
        raise BadInput(f"expected a weight from 0 to 1, found {weight}.", hint="0.5 is usual.")
    sides = [np.asarray(each, float) for each in (forward, backward)]
    sizes = [np.asarray(each, float) for each in (forward_lengths, backward_lengths)]
    shapes = {each.shape for each in (*sides, *sizes)}
    if len(shapes) > 1:
        raise BadInput(f"expected one number a response, found shapes {sorted(shapes)}.")
    if any((each <= 0).any() for each in sizes):
        raise BadInput("expected lengths of 1 or more.", hint="Count the end token.")
    return (1 - weight) * sides[0] / sizes[0] + weight * sides[1] / sizes[1]


def rerank(scores: ArrayLike, group_of: ArrayLike) -> np.ndarray:
    """The index of the best score of each group, groups ascending; the first of equal scores.

    Example:
        >>> rerank([0.1, 0.7, 0.3, 0.2], [0, 0, 1, 1]).tolist()
        [1, 2]
    """
    scores, group_of = np.asarray(scores, float), np.asarray(group_of)
    if scores.shape != group_of.shape:
        raise BadInput(f"expected a group a score, found {group_of.shape} for {scores.shape}.")
    if np.isnan(scores).any():
        raise BadInput(f"{np.isnan(scores).sum()} of {scores.size} scores are not numbers.")
    order = np.lexsort((-scores, group_of))  # stable: by group, then best first
    return order[np.unique(group_of[order], return_index=True)[1]]


def opening_token(model: PreTrainedModel) -> int:
    """What a model reads before a text that nothing precedes: its `bos` token, or its `eos`."""
    for name in ("bos_token_id", "eos_token_id"):
        found = getattr(model.config, name, None)
        found = found[0] if isinstance(found, list) else found
        if found is not None:
            return int(found)
    hint = "Set `bos_token_id` or `eos_token_id` in its configuration."
    raise BadInput("the model has no token to begin an unconditional text with.", hint=hint)


def _check(model: PreTrainedModel, contexts: Rows, responses: Rows) -> None:
    if len(contexts) != len(responses):
        raise BadInput(
            f"expected a context a response, found {len(contexts)} for {len(responses)}."
        )
    for row, response in enumerate(responses):
        if not len(response):
            raise BadInput(f"response {row} has no tokens.", hint="Put the end token last.")
    join = max if model.config.is_encoder_decoder else sum
    sizes = (map(len, pair) for pair in zip(contexts, responses, strict=True))
    longest = max(map(join, sizes), default=0)
    room = getattr(model.config, "max_position_embeddings", None) or longest
    if longest > room:
        hint = "Shorten the contexts from the left, or the responses."
        raise BadInput(f"the model reads {room} tokens, found a row of {longest}.", hint=hint)


def _one_row(
    model: PreTrainedModel, pad_id: int, contexts: Rows, responses: Rows
) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
    """What a causal model reads, and where it says which token; padding stands behind."""
    contexts = [context if len(context) else [opening_token(model)] for context in contexts]
    ids, mask = _padded(
        [[*c, *r] for c, r in zip(contexts, responses, strict=True)], pad_id, model.device
    )
    before = torch.tensor([len(context) for context in contexts], device=ids.device)
    after = mask.cumsum(1) > before[:, None]
    row, place = (after & mask.bool()).nonzero(as_tuple=True)
    inputs = {"input_ids": ids, "attention_mask": mask}
    return inputs, row, place - 1, ids[row, place]  # a token is predicted at the one before it


def _two_rows(
    model: PreTrainedModel, pad_id: int, contexts: Rows, responses: Rows
) -> tuple[dict[str, Tensor], Tensor, Tensor, Tensor]:
    """What an encoder-decoder reads, and where it says which token."""
    contexts = [context if len(context) else [opening_token(model)] for context in contexts]
    ids, mask = _padded(contexts, pad_id, model.device)
    labels, inside = _padded(responses, pad_id, model.device)
    row, place = inside.nonzero(as_tuple=True)
    decoder = F.pad(labels[:, :-1], (1, 0), value=_decoder_start(model))
    inputs = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": decoder}
    return inputs, row, place, labels[row, place]


def _decoder_start(model: PreTrainedModel) -> int:
    found = getattr(model.config, "decoder_start_token_id", None)
    if found is None:
        hint = "Set `decoder_start_token_id` in its configuration."
        raise BadInput("the decoder has no token to start with.", hint=hint)
    return found


def _padded(rows: Rows, pad_id: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Rows filled up on the right, and the mask of their tokens, both `(batch, time)`."""
    batch = pad(rows, pad_id)
    return batch["input_ids"].to(device), batch["attention_mask"].to(device)
