"""Passages of plain records, made a column at a time: the same rows as one by one, much faster.

A record is plain if its context and its response need nothing but to be checked. Whatever could be
an error, or needs a closer look, is `NotPlain`: its block is read again one by one, which knows
what to say about a line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues.blocks import NAMES, Columns, NotPlain, inner_columns
from dialeval.dialogues.contexts import (
    Contexts,
    as_strings,
    has_unspoken,
    is_text,
    read_contexts,
)
from dialeval.dialogues.cutting import Filters
from dialeval.dialogues.deduplication import hashes_of
from dialeval.dialogues.read_options import ReadOptions, ReadReport
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.storage import SCHEMA, as_json
from dialeval.dialogues.token_counts import token_counts
from dialeval.dialogues.types import SEPARATOR, key_of

Extra = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class PlainRows:
    """Passages of a block, and what is counted of them.

    Args:
        batch (`pa.RecordBatch`):
            The passages.
        hashes (`dict[str, np.ndarray]`):
            The columns of `RowHashes`.
        turns (`np.ndarray`):
            How many turns each record has.
        tokens (`np.ndarray`):
            How many tokens each turn has.
        speakers (`pa.Array`):
            Who responds; empty where the record does not say so.
    """

    batch: pa.RecordBatch
    hashes: dict[str, np.ndarray]
    turns: np.ndarray
    tokens: np.ndarray
    speakers: pa.Array

    def count_in(self, report: ReadReport) -> None:
        """Add to a report what `ReadReport.observe` adds for each record."""
        report.dialogues += self.batch.num_rows
        for counter, lengths in ((report.turns, self.turns), (report.tokens, self.tokens)):
            values, counts = np.unique(lengths, return_counts=True)
            counter.update(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        speakers = self.speakers.filter(pc.not_equal(self.speakers, ""))
        report.add_speakers(
            {row["values"]: row["counts"] for row in speakers.value_counts().to_pylist()}
        )


class _Records:
    """The parts of plain records as columns, checked."""

    def __init__(self, columns: Columns, source: Source, options: ReadOptions):
        if options.role or source.answers or not len(columns.lines):
            raise NotPlain
        self.columns, self.count = columns, len(columns.lines)
        self.contexts = read_contexts(columns.known.get("context"), source.turn_separator)
        self.responses = self._texts("response")
        self.tokens = token_counts(self.contexts.texts)
        self.response_tokens = token_counts(self.responses)
        if not self.tokens.all() or not (options.allow_empty or self.response_tokens.all()):
            raise NotPlain  # a text is empty
        following = columns.known.get("following")
        has_following = following is not None and not pa.types.is_null(following.type)
        self.following = as_strings(following) if has_following else self._repeated("")
        self.names = {name: self._names(name) for name in NAMES}
        if _has_empty(self.names["speaker"]) and has_unspoken(self.contexts.speakers):
            raise NotPlain
        self.extra = None if columns.extra is None else _with_inner(columns.extra)

    def _texts(self, name: str) -> pa.Array:
        """A column of texts without null."""
        column = self.columns.known.get(name)
        if column is None or column.null_count:
            raise NotPlain
        return as_strings(column)

    def _names(self, name: str) -> pa.Array:
        """A column of names, which may be numbers; empty where there is none."""
        column = self.columns.known.get(name)
        if column is None or pa.types.is_null(column.type):
            return self._repeated("")
        if pa.types.is_integer(column.type):
            column = column.cast(pa.string())
        return as_strings(column)

    def _repeated(self, value: str) -> pa.Array:
        return pa.repeat(pa.scalar(value, pa.string()), self.count)


def plain_rows(
    columns: Columns, source: Source, options: ReadOptions, records: Sequence[str]
) -> PlainRows:
    """The passages of a block.

    Args:
        columns (`Columns`):
            Its records.
        source (`Source`):
            Where they come from; counts columns that are left out.
        options (`ReadOptions`):
            How they are read.
        records (`Sequence[str]`):
            A name for each record that no other one has.

    Returns:
        `PlainRows`: What reading the records one by one gives.

    Raises:
        NotPlain: They have to be read one by one.
    """
    rows = _Records(columns, source, options)
    if source.turn_separator and is_text(columns.known["context"].type):
        source.separated[source.turn_separator] += int((rows.contexts.lengths > 1).sum())
    names, contexts = _with_ids(rows), rows.contexts.last(options.cut.context_turns)
    if options.author:
        names["author"] = pa.repeat(pa.scalar(options.author, pa.string()), rows.count)
    extra = None if rows.extra is None else [source.further(columns) for columns in rows.extra]
    values = names | {
        "context": contexts.encoded(),
        "response": rows.responses,
        "speaker": _filled(names["speaker"], rows.contexts.next_speakers),
        "following": _or_null(rows.following),
        "language": _or_null(names["language"]),
        "source_dialogue_id": _or_null(names["source_dialogue_id"]),
        "extra": pa.nulls(rows.count, pa.string()) if extra is None else _dumped(extra),
    }
    hashes = _hashes(rows, names, contexts, extra, records)
    hashes["line"] = np.asarray(columns.lines, dtype=np.uint32)
    hashes["kept"] = _kept(rows, contexts, options.filters)
    batch = pa.RecordBatch.from_arrays([values[name] for name in SCHEMA.names], schema=SCHEMA)
    return PlainRows(batch, hashes, rows.contexts.lengths, rows.tokens, rows.names["speaker"])


def _with_inner(extra: Extra) -> Extra:
    """Further columns with those that are JSON in a column `extra`."""
    try:
        return [{**columns, "extra": inner_columns(columns.get("extra"))} for columns in extra]
    except BadInput:
        raise NotPlain from None


def _with_ids(rows: _Records) -> dict[str, pa.Array]:
    """The names of the records; where an id is missing, it follows from the words."""
    names = dict(rows.names)
    names["author"] = _filled(names["author"], lambda: "human")
    names["dialogue_id"] = _filled(names["dialogue_id"], lambda: names["id"])
    if _has_empty(names["id"]):
        joined = rows.contexts.joined(SEPARATOR).cast(pa.binary())
        keys = pa.array([key_of(text) for text in joined.to_pylist()], pa.string())
        prefix = pc.binary_join_element_wise(names["corpus"], "-", "")
        prefix = pc.if_else(pc.equal(names["corpus"], ""), "", prefix)
        with_prefix = pc.binary_join_element_wise(prefix, keys, "")
        names["dialogue_id"] = _filled(names["dialogue_id"], lambda: with_prefix)
        names["id"] = _filled(names["id"], lambda: keys)
    return names


def _hashes(
    rows: _Records,
    names: Mapping[str, pa.Array],
    contexts: Contexts,
    extra: Extra | None,
    records: Sequence[str],
) -> dict[str, np.ndarray]:
    """What `RowHashes.append` adds for records with a reply.

    Args:
        rows (`_Records`):
            The records.
        names (`Mapping[str, pa.Array]`):
            Their names.
        contexts (`Contexts`):
            As they were cut.
        extra (`Sequence[Mapping]`, *optional*):
            Further columns of each record.
        records (`Sequence[str]`):
            A name for each record that no other one has.

    Returns:
        `dict[str, np.ndarray]`: Hashes by the name of their column.
    """
    content = [names["author"], rows.responses, rows.contexts.joined(SEPARATOR)]
    numbers: pa.Array | str = ""
    if extra is not None:
        facts = [SEPARATOR.join(map(str, columns.items())) or None for columns in extra]
        content.append(pa.array(facts, pa.string()))
        numbers = pa.array([str(columns.get("hypothesis", "")) for columns in extra], pa.string())
    groups = names["dialogue_id"]
    keys = hashes_of(_joined(names["id"], names["author"], numbers))
    if _has_empty(rows.names["id"]):
        is_given = pc.not_equal(rows.names["id"], "")
        alone = pc.binary_join_element_wise(groups, pa.array(records, pa.string()), "-")
        groups = pc.if_else(is_given, groups, alone)
        keys[~is_given.to_numpy(False)] = 0
    return {
        "dialogue": hashes_of(groups),
        "content": hashes_of(_joined(*content)),
        "pair": hashes_of(_joined(names["dialogue_id"], contexts.joined(SEPARATOR))),
        "key": keys,
    }


def _kept(rows: _Records, contexts: Contexts, filters: Filters) -> np.ndarray:
    """What `Filters` decides about each record."""
    kept = np.ones(rows.count, dtype=bool)
    limits = (
        (rows.response_tokens, filters.min_response, filters.max_response),
        (None, filters.min_context, filters.max_context),
    )
    for lengths, low, high in limits:
        if low is None and high is None:
            continue
        if lengths is None:
            tokens = rows.tokens if contexts is rows.contexts else token_counts(contexts.texts)
            lengths = np.add.reduceat(tokens, contexts.bounds[:-1])
        kept &= lengths >= (0 if low is None else low)
        kept &= lengths <= (lengths.max() if high is None else high)
    words = contexts.joined(" ") if filters.forbidden else None
    for token in filters.forbidden:
        for texts in (rows.responses, words):
            kept &= ~pc.match_substring(texts, token).to_numpy(False)
    return kept


def _dumped(extra: Extra) -> pa.Array:
    """Further columns as JSON; null where there are none."""
    texts = [as_json(dict(columns)) if columns else None for columns in extra]
    return pa.array(texts, pa.string())


def _joined(*columns: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*columns, SEPARATOR, null_handling="skip")


def _filled(column: pa.Array, others: Callable[[], pa.Array | str]) -> pa.Array:
    """The column with other values where it is empty."""
    is_empty = pc.equal(column, "")
    return pc.if_else(is_empty, others(), column) if pc.any(is_empty).as_py() else column


def _has_empty(column: pa.Array) -> bool:
    return bool(pc.any(pc.equal(column, "")).as_py())


def _or_null(column: pa.Array) -> pa.Array:
    """The column with null in place of the empty text."""
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
