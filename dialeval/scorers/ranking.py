"""Many answers from one pass of a causal discriminator: responses to a context, prefixes of one.

A causal model's state at a token does not depend on what follows. So a context is read once for
all responses to it, and each token of a response tells the score of the response up to there.
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
from dialeval.models.batching import pad, token_batches
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

    Models that cannot share a context (encoders, recurrent ones) read each passage by itself.
    """
    return scorer.probabilities(response_margins(scorer, passages))


def response_margins(scorer: NeuralScorer, passages: Passages | Sequence[Passage]) -> np.ndarray:
    """How far the human logit is above the machine's, read as in [`score_responses`]."""
    if not _can_pack(scorer):
        return scorer.margins(passages)
    windows = chunks(iterate_passages(passages), _WINDOW)
    found = [_packed_margins(scorer, window) for window in windows]  # (window,) each
    return np.concatenate(found) if found else np.zeros(0)


def score_prefixes(
    scorer: NeuralScorer, passages: Passages | Sequence[Passage]
) -> list[np.ndarray]:
    """P(human) of every prefix of each response, a number for each of its tokens.

    A causal discriminator gives them in one pass. A prefix that a longer one would rob of some of
    its context, where the row is too long for the model, is read by itself, and so is every prefix
    by models that are not causal, as a complete response.
    """
    return [scores[1:] for scores in _prefix_scores(scorer, list(iterate_passages(passages)))]


def prefix_scores_at(
    scorer: NeuralScorer,
    passages: Passages | Sequence[Passage],
    offsets: Sequence[Sequence[int]],
) -> list[np.ndarray]:
    """P(human) of the prefixes that another tokenizer makes.

    Args:
        offsets (`Sequence[Sequence[int]]`):
            For each passage the places in its response, in characters, where prefixes end. Each
            gets the score of the longest prefix in the discriminator's own tokens that ends there
            or before; a place before its first token that of an empty response.
    """
    passages = list(iterate_passages(passages))
    if len(offsets) != len(passages):
        message = f"expected offsets for {len(passages)} passages, but got {len(offsets)}."
        raise BadInput(message, hint="Give a list of places for each passage.")
    ends = _token_ends(scorer.tokenizer, [passage.response for passage in passages])
    scores = _prefix_scores(scorer, passages)
    return [
        own[np.searchsorted(end, np.asarray(places, int), "right").clip(max=len(own) - 1)]
        for own, end, places in zip(scores, ends, offsets, strict=True)
    ]


def pack(encoded: Sequence[Encoded], most: int) -> Iterator[Pack]:
    """Rows that begin with the same context, in packs of about so many tokens at most."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, each in enumerate(encoded):
        groups.setdefault(tuple(each.ids[: each.response_at]), []).append(row)
    for context, rows in groups.items():
        room = max(most, 2 * len(context)) - len(context)
        sizes = [len(encoded[row].ids) - len(context) for row in rows]
        for first, last in _runs(sizes, room):
            chosen = rows[first:last]
            responses = [encoded[row].ids[len(context) :] for row in chosen]
            yield Pack(list(context), responses, chosen)


def packed_batch(packs: Sequence[Pack], pad_id: int) -> dict[str, Tensor]:
    """A row a context, `[context r1 .. rn]`, in which no response sees another.

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
    """How far the human logit is above the machine's, shape `(n,)`."""
    encoded = _readable(scorer, _encoded(scorer, scorer.input_format, window))
    packs = list(pack(encoded, min(_ROW, scorer.max_tokens)))
    alone = [p.rows[0] for p in packs if len(p.rows) == 1]
    scores = np.full(len(encoded), np.nan)
    scores[alone] = _margins(scorer, [encoded[row] for row in alone])
    packs = _without_cached(scorer, [p for p in packs if len(p.rows) > 1], encoded, scores)
    todo = np.array([row for p in packs for row in p.rows], dtype=int)
    batches = list(token_batches([len(p) for p in packs], scorer.max_tokens))
    for batch in scorer._mine(batches):
        chosen = [packs[number] for number in batch]
        rows = [row for p in chosen for row in p.rows]
        scores[rows] = _forward_packed(scorer, chosen)
        if scorer.cache is not None:
            scorer.cache.put(_keys(scorer, encoded, rows), scores[rows])
    return scorer._gathered(scores, todo)


def _without_cached(
    scorer: NeuralScorer, packs: list[Pack], encoded: list[Encoded], scores: np.ndarray
) -> list[Pack]:
    """What is left to do when known scores are filled in."""
    if scorer.cache is None:
        return packs
    for p in packs:
        scores[p.rows] = [scorer.cache.get(key) for key in _keys(scorer, encoded, p.rows)]
    return [p for p in packs if np.isnan(scores[p.rows]).any()]


@torch.inference_mode()
def _forward_packed(scorer: NeuralScorer, packs: Sequence[Pack]) -> np.ndarray:
    model = _discriminator(scorer)
    batch = {k: each.to(scorer.device) for k, each in packed_batch(packs, scorer.pad_id).items()}
    row, column, allowed = (batch.pop(name) for name in ("row", "column", "allowed"))
    mask = additive_mask(allowed, next(model.backbone.parameters()).dtype)
    states = model.backbone(**batch, attention_mask=mask, use_cache=False).last_hidden_state
    return _numbers(scorer, model.score(states[row, column]).squeeze(-1))


@dataclass(frozen=True)
class _Reading:
    """A row of tokens, and the prefixes of which passage that end at which of its columns."""

    ids: list[int]
    columns: range
    passage: int
    prefixes: range


def _prefix_scores(scorer: NeuralScorer, passages: list[Passage]) -> list[np.ndarray]:
    """P(human) of the prefixes of 0, 1, 2, ... tokens of each response."""
    _warn_about_prefixes(scorer)
    # Cut by what holds for every prefix alike; `max_length` is applied to each.
    parts = _encoded(scorer, replace(scorer.input_format, max_length=None), passages)
    read = _shared_readings if _is_causal(scorer) else _lone_readings
    readings = [each for row, part in enumerate(parts) for each in read(scorer, part, row)]
    found = [np.full(_prefix_count(scorer.input_format, part) + 1, np.nan) for part in parts]
    batches = list(token_batches([len(each.ids) for each in readings], scorer.max_tokens))
    own: list[tuple[int, np.ndarray]] = []  # this process's readings, by number
    for batch in scorer._mine(batches):
        chosen = [readings[number] for number in batch]
        values = scorer.probabilities(_forward_columns(scorer, chosen))
        ends = np.cumsum([len(each.columns) for each in chosen])[:-1]
        own += zip(batch.tolist(), np.split(values, ends), strict=True)
    several = scorer.accelerator is not None and scorer.accelerator.num_processes > 1
    for number, scores in gather_object(own) if several else own:
        found[readings[number].passage][readings[number].prefixes] = scores
    return found


def _shared_readings(scorer: NeuralScorer, part: Encoded, passage: int) -> Iterator[_Reading]:
    """One row for all prefixes that fit into the model with their whole context, others alone."""
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
    """One prefix in a row of its own, fitted as a passage is; with an end token if complete."""
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
        return scorer._forward([each.ids for each in readings])
    model = _discriminator(scorer)
    batch = pad([each.ids for each in readings], scorer.pad_id)
    batch = {name: each.to(scorer.device) for name, each in batch.items()}
    states = model.backbone(**batch, use_cache=False).last_hidden_state  # (rows, time, hidden)
    row = np.repeat(np.arange(len(readings)), [len(each.columns) for each in readings])
    column = np.concatenate([np.asarray(each.columns) for each in readings])
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
            "%s was not trained on prefixes of responses, so its scores of them mean little "
            "(Li et al., 2017, sec. 3.2). Train it with prefixes.", scorer.name,
        )  # fmt: skip


def _token_ends(tokenizer: Any, responses: list[str]) -> list[np.ndarray]:
    """Where each token of each response ends, in characters of the response as it was given."""
    if not getattr(tokenizer, "is_fast", False):
        hint = "Load it with AutoTokenizer, use_fast=True."
        raise BadInput("this tokenizer does not tell where its tokens stand.", hint=hint)
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
    scorer._say_cut(encoded, passages)
    return encoded


def _readable(scorer: NeuralScorer, encoded: list[Encoded]) -> list[Encoded]:
    """The same, with a token of padding to read where there is nothing at all."""
    return [each if each.ids else Encoded([scorer.pad_id], 0) for each in encoded]


def _prefix_count(form: InputFormat, part: Encoded) -> int:
    """Tokens of the response that were kept, without the marks around it."""
    has_end = bool(form.response_end) and not part.response_cut
    return max(0, len(part.ids) - part.response_at - _marks(form) - has_end)


def _marks(form: InputFormat) -> int:
    """Tokens before the response that belong to it."""
    return 1 if form.response_start and not form.chat else 0


def _runs(sizes: list[int], room: int) -> Iterator[tuple[int, int]]:
    """Neighbours that fit together, as first and one past the last; at least one in each."""
    first = total = 0
    for at, size in enumerate(sizes):
        if at > first and total + size > room:
            yield first, at
            first, total = at, 0
        total += size
    yield first, len(sizes)


def _margins(scorer: NeuralScorer, encoded: list[Encoded]) -> np.ndarray:
    return scorer._score(encoded, tqdm(disable=True))


def _keys(scorer: NeuralScorer, encoded: list[Encoded], rows: list[int]) -> list[Any]:
    return [scorer.cache.key(scorer.fingerprint, encoded[row].ids) for row in rows]


def _numbers(scorer: NeuralScorer, margins: Tensor) -> np.ndarray:
    found = margins.double().cpu().numpy()
    if not np.isfinite(found).all():
        wrong = int((~np.isfinite(found)).sum())
        raise BadInput(
            f"the discriminator {scorer.name!r} gave {wrong} scores that are not numbers.",
            hint="Train it with a smaller learning rate, or run it in float32.",
        )
    return found


def _discriminator(scorer: NeuralScorer) -> TransformerDiscriminator:
    """The model without a wrapper of peft around it; its adapters stay."""
    model = scorer.model
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _is_causal(scorer: NeuralScorer) -> bool:
    model = _discriminator(scorer)
    is_ours = isinstance(model, TransformerDiscriminator)
    return is_ours and model.config.causal and model.config.pooling == "last"


def _can_pack(scorer: NeuralScorer) -> bool:
    if not _is_causal(scorer):
        return False
    return packable(_discriminator(scorer).backbone)


def packable(model: PreTrainedModel) -> bool:
    """Whether a causal model can read several responses to a context in one row."""
    attends = model.config._attn_implementation in ("sdpa", "eager")
    return attends and model.config.model_type in _PACKABLE


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """Which token sees which, as what attention adds to its scores: eager knows no other mask."""
    mask = torch.zeros(allowed.shape, dtype=dtype, device=allowed.device)
    return mask.masked_fill_(~allowed, torch.finfo(dtype).min)
