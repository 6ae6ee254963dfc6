"""Contexts of many passages as columns: the turns of all of them, one after another."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues.blocks import NotPlain
from dialeval.dialogues.cutting import NOT_SPOKEN
from dialeval.dialogues.storage import SCHEMA

_TYPE = SCHEMA.field("context").type


@dataclass(frozen=True)
class Contexts:
    """Contexts of several turns, as columns of all turns.

    Args:
        bounds (`np.ndarray`):
            Where the turns of each context begin, and where those of the last end.
        speakers (`pa.Array`):
            The speaker of each turn.
        texts (`pa.Array`):
            Its text.
    """

    bounds: np.ndarray
    speakers: pa.Array
    texts: pa.Array

    @cached_property
    def lengths(self) -> np.ndarray:
        """How many turns each context has."""
        return np.diff(self.bounds)

    @cached_property
    def rows(self) -> np.ndarray:
        """For each turn the number of its context."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def last(self, turns: int | None) -> "Contexts":
        """The contexts with at most so many turns, the last ones."""
        if not turns or self.lengths.max(initial=0) <= turns:
            return self
        is_kept = self.bounds[1:][self.rows] - np.arange(len(self.rows)) <= turns
        bounds = np.concatenate([[0], np.cumsum(np.minimum(self.lengths, turns))])
        mask = pa.array(is_kept)
        return Contexts(bounds, self.speakers.filter(mask), self.texts.filter(mask))

    def as_list(self, values: pa.Array) -> pa.Array:
        """Values of all turns as a list for each context."""
        return pa.ListArray.from_arrays(pa.array(self.bounds, pa.int32()), values)

    def encoded(self) -> pa.Array:
        """The column of a table."""
        turns = pa.StructArray.from_arrays(
            [self.speakers, self.texts], fields=list(_TYPE.value_type)
        )
        return pa.ListArray.from_arrays(pa.array(self.bounds, pa.int32()), turns, type=_TYPE)

    def joined(self, separator: str) -> pa.Array:
        """The texts of each context as one."""
        return pc.binary_join(self.as_list(self.texts), separator)

    def next_speakers(self) -> pa.Array:
        """Who speaks after each context: see `next_speaker`."""
        codes = self.speakers.dictionary_encode().indices.to_numpy()
        differs = codes != codes[self.bounds[1:] - 1][self.rows]
        turn = np.where(differs, np.arange(len(codes)), -1)
        latest = np.maximum.reduceat(turn, self.bounds[:-1])
        others = self.speakers.take(pa.array(latest, mask=latest < 0))
        last = self.speakers.take(pa.array(self.bounds[1:] - 1))
        return pc.coalesce(others, pc.if_else(pc.equal(last, "A"), "B", "A"))


def read_contexts(column: pa.Array | None, separator: str | None) -> Contexts:
    """The contexts of a column of lists of texts or of messages, or of texts.

    Args:
        column (`pa.Array`, *optional*):
            The column as its source has it.
        separator (`str`, *optional*):
            What separates the turns, where the column has texts.

    Returns:
        `Contexts`: With the speakers `"A"` and `"B"` where the source names none.

    Raises:
        NotPlain: A context is empty, or a turn has no text.
    """
    if column is None or column.null_count:
        raise NotPlain
    if is_text(column.type):
        column = _split(column.to_pylist(), separator)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise NotPlain
    bounds = column.offsets.to_numpy().astype(np.int64)
    bounds, turns = bounds - bounds[0], column.flatten()
    if not len(turns) or turns.null_count or (np.diff(bounds) == 0).any():
        raise NotPlain
    position = np.arange(len(turns)) - np.repeat(bounds[:-1], np.diff(bounds))
    speakers = pa.array(["A", "B"]).take(pa.array(position % 2))
    if pa.types.is_struct(turns.type):
        names = {turns.type.field(index).name for index in range(turns.type.num_fields)}
        if {"role", "speaker"} <= names or {"content", "text"} <= names:
            raise NotPlain  # which one counts depends on the turn
        given = next((turns.field(name) for name in ("role", "speaker") if name in names), None)
        turns = next((turns.field(name) for name in ("content", "text") if name in names), None)
        if given is not None and not pa.types.is_null(given.type):
            given = as_strings(given)
            speakers = pc.if_else(pc.equal(given, ""), speakers, given)
    if turns is None or turns.null_count:
        raise NotPlain
    return Contexts(bounds, speakers, as_strings(turns))


def joined_contexts(contexts: pa.Array, separator: str) -> pa.Array:
    """The texts of each context as one, from a column of a table."""
    bounds = contexts.offsets.to_numpy() - contexts.offsets[0].as_py()
    turns = pa.ListArray.from_arrays(pa.array(bounds), contexts.flatten().field("text"))
    return pc.binary_join(turns, separator)


def _split(cells: list[str], separator: str | None) -> pa.Array:
    """Cells of a table as lists of turns."""
    turns = [cell.split(separator) if separator else parsed_list(cell) for cell in cells]
    try:
        return pa.array(turns, type=pa.list_(pa.string()))
    except (pa.ArrowException, UnicodeError):
        raise NotPlain from None


def parsed_list(cell: str) -> list[Any]:
    """The turns in a cell that holds a JSON list; a list of the cell itself if it does not."""
    if cell.startswith("["):
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return [cell]  # a turn that happens to start with a bracket
    return [cell]


def is_text(type: pa.DataType) -> bool:
    """Whether a column has texts."""
    return pa.types.is_string(type) or pa.types.is_large_string(type)


def as_strings(column: pa.Array) -> pa.Array:
    """A column of texts as valid UTF-8 without null, which becomes the empty text.

    Raises:
        NotPlain: It has no texts.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not is_text(column.type):
        raise NotPlain
    try:
        column.validate(full=True)
        column = column.cast(pa.string())
    except pa.ArrowException:
        raise NotPlain from None
    return column.fill_null("") if column.null_count else column


def has_unspoken(speakers: pa.Array) -> bool:
    """Whether a turn is a prompt of the system or a message of a tool."""
    return bool(set(speakers.unique().to_pylist()) & NOT_SPOKEN)
