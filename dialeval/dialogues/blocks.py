"""Records read a block at a time: as columns where all of them are plain, else one by one."""

import json
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol

import pyarrow as pa

from dialeval.dialogues.sources import SCHEMA_COLUMNS, Source
from dialeval.dialogues.storage import BATCH
from dialeval.dialogues.types import Dialogue
from dialeval.errors import BadInput

NAMES = frozenset(SCHEMA_COLUMNS) - {"context", "response", "following"}
"""Columns whose values may be written as whole numbers."""
_scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # not in the stubs


class NotPlain(Exception):
    """Records that have to be read one by one."""


@dataclass(frozen=True)
class Columns:
    """The records of a block by column.

    Args:
        known (`dict[str, pa.Array]`):
            By our name, the columns that the records have.
        extra (`Sequence[Mapping]`, *optional*):
            For each record its further columns; `None` if no record has any.
        lines (`Sequence[int]`):
            The line of each record, or its number in a table.
    """

    known: dict[str, pa.Array]
    extra: Sequence[Mapping[str, Any]] | None
    lines: Sequence[int]


@dataclass(frozen=True)
class Block:
    """Consecutive records of a source.

    Args:
        columns (`Callable[[], Columns]`):
            Gives the records as columns, or raises `NotPlain`.
        dialogues (`Callable[[], Iterator[Dialogue]]`):
            Gives them one by one, with an error that names the line of a bad one.
    """

    columns: Callable[[], Columns]
    dialogues: Callable[[], Iterator[Dialogue]]


class BlockFormat(Protocol):
    """What of a format is needed here."""

    @property
    def read(self) -> Callable[[Source], Iterator[Dialogue]]: ...

    @property
    def blocks(self) -> Callable[[Source], Iterator[Block]] | None: ...


def blocks_of(format: BlockFormat, source: Source) -> Iterator[Block]:
    """The records a block at a time; one block has all, if the format gives no columns."""
    if format.blocks:
        return format.blocks(source)
    return iter([one_by_one(lambda: format.read(source))])


def one_by_one(dialogues: Callable[[], Iterator[Dialogue]]) -> Block:
    """A block of records that have no common columns."""
    return Block(_no_columns, dialogues)


def _no_columns() -> Columns:
    raise NotPlain


def json_blocks(
    source: Source, read: Callable[[Iterator[tuple[int, Any]], Source], Iterator[Dialogue]]
) -> Iterator[Block]:
    """Blocks of JSON records.

    Args:
        source (`Source`):
            JSON lines, or a JSON document.
        read (`Callable`):
            Gives the dialogues of numbered records.

    Returns:
        `Iterator[Block]`: `BATCH` lines each; a document is one block.
    """
    if source.first_line == 1 and source.is_json_document():
        yield one_by_one(lambda: read(source.json_records(), source))
        return
    for first_line, raw in source.line_blocks(BATCH):

        def columns(first_line: int = first_line, raw: list[bytes] = raw) -> Columns:
            return json_columns(raw, first_line, source.columns)

        def dialogues(first_line: int = first_line, raw: list[bytes] = raw) -> Iterator[Dialogue]:
            return read(source.parsed(source.decoded(raw, first_line)), source)

        yield Block(columns, dialogues)


def json_columns(raw: list[bytes], first_line: int, names: Mapping[str, str]) -> Columns:
    """The columns of lines with a JSON object each.

    Args:
        raw (`list[bytes]`):
            The lines, with their ends.
        first_line (`int`):
            Number of the first.
        names (`Mapping[str, str]`):
            Our column names to those of the records, where they differ.

    Returns:
        `Columns`: One row for each line that is not blank.

    Raises:
        NotPlain: A line is no JSON object, or has a text that cannot be written.
    """
    whole = b"".join(raw)
    try:
        text = (whole.removeprefix(BOM_UTF8) if first_line == 1 else whole).decode("utf-8")
    except UnicodeDecodeError:
        raise NotPlain from None
    if "\\ud" in text or "\\uD" in text:  # maybe half a character
        raise NotPlain
    lines, records = [], []
    for number, line in enumerate(text.split("\n"), first_line):
        if line := line.strip(" \t\r"):
            lines.append(number)
            records.append(_json_object(line))
    return record_columns(records, lines, names)


def _json_object(line: str) -> dict[str, Any]:
    try:
        value, end = _scan(line, 0)
    except (ValueError, StopIteration, RecursionError):
        raise NotPlain from None
    if end != len(line) or type(value) is not dict:
        raise NotPlain
    return value


def record_columns(
    records: Sequence[Mapping[str, Any]], lines: Sequence[int], names: Mapping[str, str]
) -> Columns:
    """The columns of records.

    Args:
        records (`Sequence[Mapping]`):
            The records.
        lines (`Sequence[int]`):
            The line of each.
        names (`Mapping[str, str]`):
            Our column names to those of the records, where they differ.

    Returns:
        `Columns`: The same values.

    Raises:
        NotPlain: Values of one column differ in type, or the turns of a context do.
    """
    present = set().union(*records)
    renamed = {column: names.get(column, column) for column in SCHEMA_COLUMNS}
    known = {
        column: _array(column, [record.get(name) for record in records])
        for column, name in renamed.items()
        if name in present
    }
    extra = None
    if present - set(renamed.values()):
        extra = [further_columns(record, set(renamed.values())) for record in records]
    return Columns(known, extra, lines)


def further_columns(record: Mapping[str, Any], read: set[str]) -> dict[str, Any]:
    """The columns of a record that are not read into ours."""
    return {key: value for key, value in record.items() if key not in read and value is not None}


def inner_columns(value: Any) -> Mapping[str, Any]:
    """The further columns of a record, as an object or as its JSON text."""
    if isinstance(value, str) and value:
        with suppress(ValueError):
            value = json.loads(value)
    if value and not isinstance(value, Mapping):
        raise BadInput(f"expected an object as extra, found {value!r:.60}.")
    return value or {}


def _array(name: str, values: list[Any]) -> pa.Array:
    try:
        if name in NAMES and int in set(map(type, values)):
            values = [str(value) if type(value) is int else value for value in values]
        if name != "context" or set(map(type, values)) != {list}:
            return pa.array(values, type=pa.string())  # raises for anything but texts
        flat = list(chain.from_iterable(values))
        offsets = [0]
        for turns in values:
            offsets.append(offsets[-1] + len(turns))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat))
    except (pa.ArrowException, UnicodeError, OverflowError):
        raise NotPlain from None


def table_columns(batch: pa.RecordBatch, first: int, names: Mapping[str, str]) -> Columns:
    """The columns of rows of a Parquet file.

    Args:
        batch (`pa.RecordBatch`):
            The rows.
        first (`int`):
            Number of the first.
        names (`Mapping[str, str]`):
            Our column names to those of the table, where they differ.

    Returns:
        `Columns`: The same values.

    Raises:
        NotPlain: Two columns have one name, or a text is no UTF-8.
    """
    if len(set(batch.schema.names)) < len(batch.schema.names):
        raise NotPlain
    renamed = {column: names.get(column, column) for column in SCHEMA_COLUMNS}
    present = set(batch.schema.names)
    known = {column: batch[name] for column, name in renamed.items() if name in present}
    others = [name for name in batch.schema.names if name not in renamed.values()]
    others = [name for name in others if batch[name].null_count < batch.num_rows]
    extra = None
    if others:
        try:
            rows = batch.select(others).to_pylist()
        except Exception:  # text that is no UTF-8, a date out of range
            raise NotPlain from None
        extra = [further_columns(row, set()) for row in rows]
    return Columns(known, extra, range(first, first + batch.num_rows))
