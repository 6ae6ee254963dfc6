"""Many scores from one pass of a causal discriminator: several responses, or all prefixes.

A causal model's state at a token does not depend on what follows. So a context is read once for
all responses to it, and every token of a response gives the score of the response up to there.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from accelerate.utils import gather_object
from torch import Tensor
from tqdm.auto import tqdm
from transformers import PreTrainedModel

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.encoding import Encoded, InputFormat
from dialeval.dialogues.storage import chunks, iterate_passages
from dialeval.models import TransformerDiscriminator
from dialeval.models.activations import fused_activations
from dialeval.models.batching import pad, token_batches
from dialeval.scorers.cache import ScoreCache
from dialeval.scorers.neural import NeuralScorer

logger = logging.getLogger(__name__)

_PACKABLE = ("gpt2", "gpt_neox", "llama", "qwen2")  # read the mask and the positions they are given
_WINDOW = 16_384  # passages that are grouped together
_ROW = 512  # tokens of a packed row, beyond which attention costs more than the context


@dataclass(frozen=True)
class Pack:
    """Responses to one context, and the rows of the input that they came from."""

    context: list[int]
    responses: list[list[int]]
    rows: list[int]

    def __len__(self) -> int:
        return len(self.context) + sum(map(len, self.responses))


def score_responses(scorer: NeuralScorer, passages: Passages | Sequence[Passage]) -> np.ndarray:
    """P(human) of each passage, in their order; contexts that several share are read once.

    Models that cannot share a context (encoders, recurrent ones) read every passage separately.
    """
    return scorer.probabilities(response_margins(scorer, passages))


def response_margins(scorer: NeuralScorer, passages: Passages | Sequence[Passage]) -> np.ndarray:
    """Human logit minus machine logit, computed as in [`score_responses`]."""
    if not _can_pack(scorer):
        return scorer.margins(passages)
    windows = chunks(iterate_passages(passages), _WINDOW)
    margins = [_packed_margins(scorer, window) for window in windows]  # (window,) per item
    return np.concatenate(margins) if margins else np.zeros(0)


def score_prefixes(
    scorer: NeuralScorer, passages: Passages | Sequence[Passage]
) -> list[np.ndarray]:
    """P(human) of every prefix of each response, one score per token.

    A causal discriminator computes them in one pass. Where a row is too long for the model, a
    prefix that would keep more of its context than longer ones is read separately; models that are
    not causal read every prefix separately, as a complete response.
    """
    return [scores[1:] for scores in _prefix_scores(scorer, list(iterate_passages(passages)))]


def prefix_scores_at(
    scorer: NeuralScorer,
    passages: Passages | Sequence[Passage],
    offsets: Sequence[Sequence[int]],
) -> list[np.ndarray]:
    """P(human) of prefixes in the tokens of another tokenizer.

    Args:
        scorer (`NeuralScorer`):
            The discriminator.
        passages (`Passages` or `Sequence[Passage]`):
            Contexts with responses.
        offsets (`Sequence[Sequence[int]]`):
            For each passage the character offsets in its response at which prefixes end. The score
            is that of the longest prefix in the discriminator's tokens that ends there or before;
            before its first token, that of an empty response.

    Returns:
        `list[np.ndarray]`: One score per offset, for each passage.
    """
    passages = list(iterate_passages(passages))
    if len(offsets) != len(passages):
        message = f"expected offsets for {len(passages)} passages, but got {len(offsets)}."
        raise BadInput(message, hint="Give a list of character offsets for each passage.")
    token_ends = _token_ends(scorer.tokenizer, [passage.response for passage in passages])
    scores = _prefix_scores(scorer, passages)
    return [
        prefixes[np.searchsorted(end, np.asarray(at, int), "right").clip(max=len(prefixes) - 1)]
        for prefixes, end, at in zip(scores, token_ends, offsets, strict=True)
    ]


def pack(encoded: Sequence[Encoded], most: int) -> Iterator[Pack]:
    """Rows that begin with the same context, in packs of about `most` tokens."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, passage in enumerate(encoded):
        groups.setdefault(tuple(passage.ids[: passage.response_at]), []).append(row)
    for context, rows in groups.items():
        limit = max(most, 2 * len(context)) - len(context)
        sizes = [len(encoded[row].ids) - len(context) for row in rows]
        for first, last in _runs(sizes, limit):
            chosen = rows[first:last]
            responses = [encoded[row].ids[len(context) :] for row in chosen]
            yield Pack(list(context), responses, chosen)


def packed_batch(packs: Sequence[Pack], pad_id: int) -> dict[str, Tensor]:
    """One row per context, `[context r1 .. rn]`, in which no response attends to another.

    Returns:
        `dict[str, Tensor]`: `input_ids` and `position_ids`, shape `(packs, time)`; `allowed`, which
        token sees which, shape `(packs, 1, time, time)`; `row` and `column` of the last token of
        each response, shape `(responses,)`.
    """
    sizes = [np.array([len(p.context), *map(len, p.responses)]) for p in packs]
    starts = [size.cumsum() - size for size in sizes]
    width = max(int(size.sum()) for size in sizes)
    segments = np.full((len(packs), width), -1)
    positions = np.zeros((len(packs), width), dtype=np.int64)
    columns = []
    for row, (size, start) in enumerate(zip(sizes, starts, strict=True)):
        total = size.sum()
        segments[row, :total] = np.repeat(np.arange(len(size)), size)
        shift = np.where(np.arange(len(size)) > 0, size[0] - start, 0)  # all follow the context
        positions[row, :total] = np.arange(total) + np.repeat(shift, size)
        # An empty response is read at the end of its context.
        columns.append(np.where(size > 0, start + size, size[0])[1:] - 1)
    segment = torch.from_numpy(segments)
    same = segment[:, :, None] == segment[:, None, :]
    earlier = torch.ones(width, width, dtype=torch.bool).tril()
    ids = [[*p.context, *(token for r in p.responses for token in r)] for p in packs]
    return {
        "input_ids": pad(ids, pad_id)["input_ids"],
        "position_ids": torch.from_numpy(positions),
        "allowed": (earlier & (same | (segment[:, None, :] == 0)))[:, None],
        "row": torch.arange(len(packs)).repeat_interleave(
            torch.tensor([len(p.responses) for p in packs])
        ),
        "column": torch.from_numpy(np.concatenate(columns)),
    }


def _packed_margins(scorer: NeuralScorer, window: list[Passage]) -> np.ndarray:
    """Human logit minus machine logit, shape `(n,)`."""
    encoded = _readable(scorer, _encoded(scorer, scorer.input_format, window))
    packs = list(pack(encoded, min(_ROW, scorer.max_tokens)))
    alone = [p.rows[0] for p in packs if len(p.rows) == 1]
    scores = np.full(len(encoded), np.nan)
    scores[alone] = _margins(scorer, [encoded[row] for row in alone])
    packs = _without_cached(scorer, [p for p in packs if len(p.rows) > 1], encoded, scores)
    todo = np.array([row for p in packs for row in p.rows], dtype=int)
    batches = list(token_batches([len(p) for p in packs], scorer.max_tokens))
    for batch in scorer._local_batches(batches):
        chosen = [packs[number] for number in batch]
        rows = [row for p in chosen for row in p.rows]
        scores[rows] = _forward_packed(scorer, chosen)
        if scorer.cache is not None:
            scorer.cache.put(_keys(scorer, encoded, rows), scores[rows])
    return scorer._gather(scores, todo)


def _without_cached(
    scorer: NeuralScorer, packs: list[Pack], encoded: list[Encoded], scores: np.ndarray
) -> list[Pack]:
    """Packs with scores that are not in the cache; cached ones are filled in."""
    if scorer.cache is None:
        return packs
    rows = [row for p in packs for row in p.rows]
    scores[rows] = scorer._cached(scorer.cache, _keys(scorer, encoded, rows))
    return [p for p in packs if np.isnan(scores[p.rows]).any()]


@torch.inference_mode()
def _forward_packed(scorer: NeuralScorer, packs: Sequence[Pack]) -> np.ndarray:
    model = _discriminator(scorer)
    tensors = packed_batch(packs, scorer.pad_id)
    batch = {name: tensor.to(scorer.device) for name, tensor in tensors.items()}
    row, column, allowed = (batch.pop(name) for name in ("row", "column", "allowed"))
    mask = additive_mask(allowed, next(model.backbone.parameters()).dtype)
    with fused_activations(model):
        states = model.backbone(**batch, attention_mask=mask, use_cache=False).last_hidden_state
    return _numbers(scorer, model.score(states[row, column]).squeeze(-1))


@dataclass(frozen=True)
class _Reading:
    """A row of tokens, and which prefixes of which passage end at which of its columns."""

    ids: list[int]
    columns: range
    passage: int
    prefixes: range


def _prefix_scores(scorer: NeuralScorer, passages: list[Passage]) -> list[np.ndarray]:
    """P(human) of the prefixes of 0, 1, 2, ... tokens of each response."""
    _warn_about_prefixes(scorer)
    # Cut by the limits that are the same for every prefix; `max_length` is applied to each.
    parts = _encoded(scorer, replace(scorer.input_format, max_length=None), passages)
    read = _shared_readings if _is_causal(scorer) else _lone_readings
    readings = [reading for row, part in enumerate(parts) for reading in read(scorer, part, row)]
    scores = [np.full(_prefix_count(scorer.input_format, part) + 1, np.nan) for part in parts]
    batches = list(token_batches([len(reading.ids) for reading in readings], scorer.max_tokens))
    local: list[tuple[int, np.ndarray]] = []  # this process's readings, by number
    for batch in scorer._local_batches(batches):
        chosen = [readings[number] for number in batch]
        values = scorer.probabilities(_forward_columns(scorer, chosen))
        bounds = np.cumsum([len(reading.columns) for reading in chosen])[:-1]
        local += zip(batch.tolist(), np.split(values, bounds), strict=True)
    is_shared = scorer.accelerator is not None and scorer.accelerator.num_processes > 1
    for number, prefixes in gather_object(local) if is_shared else local:
        scores[readings[number].passage][readings[number].prefixes] = prefixes
    return scores


def _shared_readings(scorer: NeuralScorer, part: Encoded, passage: int) -> Iterator[_Reading]:
    """One row for all prefixes that fit into the model with their whole context, one per other."""
    count = _prefix_count(scorer.input_format, part)
    first = part.response_at + _marks(scorer.input_format)  # tokens before the response proper
    limit = scorer.input_format.max_length
    fit = count if limit is None else min(count, limit - first)  # the longest prefix that fits
    shortest = 0 if first else 1  # nothing can be read of an empty row
    if fit >= shortest:
        columns = range(first + shortest - 1, first + fit)
        yield _Reading(part.ids[: first + fit], columns, passage, range(shortest, fit + 1))
    for size in range(max(fit + 1, shortest), count + 1):
        yield _lone_reading(scorer, part, passage, size)


def _lone_readings(scorer: NeuralScorer, part: Encoded, passage: int) -> Iterator[_Reading]:
    for size in range(_prefix_count(scorer.input_format, part) + 1):
        yield _lone_reading(scorer, part, passage, size, complete=True)


def _lone_reading(
    scorer: NeuralScorer, part: Encoded, passage: int, size: int, complete: bool = False
) -> _Reading:
    """One prefix in a separate row, truncated like a passage; with an end token if complete."""
    form = replace(scorer.input_format, max_context=None)  # it was cut before
    begin = 1 if form.start and not form.chat else 0
    response = part.ids[part.response_at :][: _marks(form) + size]
    response += form._token(scorer.tokenizer, form.response_end) if complete else []
    context = part.ids[begin : part.response_at]
    ids = form._truncate(part.ids[:begin], context, response, []).ids or [scorer.pad_id]
    return _Reading(ids, range(len(ids) - 1, len(ids)), passage, range(size, size + 1))


@torch.inference_mode()
def _forward_columns(scorer: NeuralScorer, readings: Sequence[_Reading]) -> np.ndarray:
    """Margins at the columns of each reading, one reading after the other."""
    if not _is_causal(scorer):
        return scorer._forward([reading.ids for reading in readings])
    model = _discriminator(scorer)
    tensors = pad([reading.ids for reading in readings], scorer.pad_id)
    batch = {name: tensor.to(scorer.device) for name, tensor in tensors.items()}
    with fused_activations(model):
        states = model.backbone(**batch, use_cache=False).last_hidden_state  # (rows, time, hidden)
    row = np.repeat(np.arange(len(readings)), [len(reading.columns) for reading in readings])
    column = np.concatenate([np.asarray(reading.columns) for reading in readings])
    chosen = states[torch.from_numpy(row), torch.from_numpy(column)]  # (prefixes, hidden)
    return _numbers(scorer, model.score(chosen).squeeze(-1))


def _warn_about_prefixes(scorer: NeuralScorer) -> None:
    if "prefixes" in scorer._warned:
        return
    scorer._warned.add("prefixes")
    if scorer.input_format.response_end and _is_causal(scorer):
        logger.warning(
            "%s reads a token after each response, which a prefix does not have yet: scores of "
            "prefixes are not those of complete responses with the same words.", scorer.name,
        )  # fmt: skip
    if not scorer.training.get("prefixes"):
        logger.warning(
            "%s was not trained on prefixes of responses, so its scores of prefixes are unreliable "
            "(Li et al., 2017, sec. 3.2). Train it with prefixes.", scorer.name,
        )  # fmt: skip


def _token_ends(tokenizer: Any, responses: list[str]) -> list[np.ndarray]:
    """Character offset at which each token of each response ends."""
    if not getattr(tokenizer, "is_fast", False):
        hint = "Load it with AutoTokenizer, use_fast=True."
        raise BadInput(
            "this tokenizer does not return the character offsets of its tokens.", hint=hint
        )
    if not responses:
        return []
    texts = [text.strip() for text in responses]
    rows = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True)
    lead = [len(text) - len(text.lstrip()) for text in responses]
    return [
        np.maximum.accumulate(np.array([end for _, end in pairs], dtype=int)) + before
        for pairs, before in zip(rows["offset_mapping"], lead, strict=True)
    ]


def _encoded(scorer: NeuralScorer, form: InputFormat, passages: list[Passage]) -> list[Encoded]:
    encoded = form(scorer.tokenizer, passages)
    scorer._warn_about_cuts(encoded, passages)
    return encoded


def _readable(scorer: NeuralScorer, encoded: list[Encoded]) -> list[Encoded]:
    """The same, with one padding token in place of empty rows."""
    return [row if row.ids else Encoded([scorer.pad_id], 0) for row in encoded]


def _prefix_count(form: InputFormat, part: Encoded) -> int:
    """Tokens of the response that were kept, without the marks around it."""
    has_end = bool(form.response_end) and not part.response_cut
    return max(0, len(part.ids) - part.response_at - _marks(form) - has_end)


def _marks(form: InputFormat) -> int:
    """Tokens before the response that belong to it."""
    return 1 if form.response_start and not form.chat else 0


def _runs(sizes: list[int], limit: int) -> Iterator[tuple[int, int]]:
    """Neighbours that fit together, as first and one past the last; at least one in each."""
    first = total = 0
    for at, size in enumerate(sizes):
        if at > first and total + size > limit:
            yield first, at
            first, total = at, 0
        total += size
    yield first, len(sizes)


def _margins(scorer: NeuralScorer, encoded: list[Encoded]) -> np.ndarray:
    return scorer._score(encoded, tqdm(disable=True))


def _keys(scorer: NeuralScorer, encoded: list[Encoded], rows: list[int]) -> list[str]:
    return [ScoreCache.key(scorer.fingerprint, encoded[row].ids) for row in rows]


def _numbers(scorer: NeuralScorer, margins: Tensor) -> np.ndarray:
    values = margins.double().cpu().numpy()
    if not np.isfinite(values).all():
        wrong = int((~np.isfinite(values)).sum())
        raise BadInput(
            f"the discriminator {scorer.name!r} gave {wrong} scores that are not numbers.",
            hint="Train it with a smaller learning rate, or run it in float32.",
        )
    return values


def _discriminator(scorer: NeuralScorer) -> TransformerDiscriminator:
    """The model without a wrapper of peft around it; its adapters stay."""
    model = scorer.model
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _is_causal(scorer: NeuralScorer) -> bool:
    model = _discriminator(scorer)
    is_transformer = isinstance(model, TransformerDiscriminator)
    return is_transformer and model.config.causal and model.config.pooling == "last"


def _can_pack(scorer: NeuralScorer) -> bool:
    if not _is_causal(scorer):
        return False
    return packable(_discriminator(scorer).backbone)


def packable(model: PreTrainedModel) -> bool:
    """Whether a causal model can read several responses to a context in one row."""
    attends = model.config._attn_implementation in ("sdpa", "eager")
    return attends and model.config.model_type in _PACKABLE


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as the values that attention adds to its scores, which eager attention requires."""
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min)
