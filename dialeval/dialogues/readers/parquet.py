"""Parquet files, read a batch at a time."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from dialeval.dialogues.blocks import Block, Columns, NotPlain, one_by_one, table_columns
from dialeval.dialogues.formats import reader
from dialeval.dialogues.readers.logs import PREFERENCE, prompt_columns
from dialeval.dialogues.readers.messages import MESSAGE_LISTS
from dialeval.dialogues.readers.tables import table_record
from dialeval.dialogues.readers.turns import has_turns, read_turn_rows
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.storage import BATCH
from dialeval.dialogues.types import Dialogue

_READ = 1_000  # rows; a corrupt page loses so many


@reader(
    "parquet",
    example="(binary, with the columns of `passages` or a column `messages`)",
    recognise=lambda head: head.suffix == ".parquet",
    whole=False,
    blocks=lambda source: _blocks(source),
)
def read_parquet(source: Source) -> Iterator[Dialogue]:
    """Parquet with our columns or chat messages, read a batch at a time."""
    for block in _blocks(source):
        yield from block.dialogues()


def _blocks(source: Source) -> Iterator[Block]:
    file = _opened(source)
    if has_turns(set(file.schema_arrow.names), source.columns):
        yield one_by_one(lambda: read_turn_rows(lambda _: _records(file, source), source))
        return
    for first, batch in _batches(file, source):
        yield _block(first, batch, source)


def _opened(source: Source) -> Any:
    import pyarrow.parquet as parquet

    try:
        return parquet.ParquetFile(source.path)
    except Exception as error:
        message = f"expected Parquet, but {error}."
        raise BadInput(message, source.path, hint="Write the file again.") from None


def _block(first: int, batch: pa.RecordBatch, source: Source) -> Block:
    def columns() -> Columns:
        read = table_columns(batch, first, source.columns)
        names = {name for name in batch.schema.names if batch[name].null_count < batch.num_rows}
        is_other = set(MESSAGE_LISTS) & names or names >= PREFERENCE or prompt_columns(names)
        if is_other and "response" not in source.columns:
            raise NotPlain  # `table_record` decides row by row
        return read

    def dialogues() -> Iterator[Dialogue]:
        for number, record in _batch_records(first, batch, source):
            with source.record(number):
                yield table_record(record, source)

    return Block(columns, dialogues)


def _batches(file: Any, source: Source) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Batches with the number of their first row; a corrupt page ends the file, and is reported."""
    batches, first, waiting = file.iter_batches(batch_size=_READ, use_threads=False), 1, []
    problem, is_end = None, False
    while not is_end:
        try:
            batch = next(batches, None)
        except Exception as error:
            batch, problem = None, " ".join(str(error).split()).rstrip(".")
        is_end = batch is None
        waiting += [] if is_end else [batch]
        if waiting and (is_end or len(waiting) * _READ >= BATCH):
            joined = _concatenated(waiting)
            yield first, joined
            first, waiting = first + joined.num_rows, []
    if problem:
        message = f"the rest of the file cannot be read: {problem}."
        source.report(BadInput(message, source.path, hint="Copy or write the file again."))


def _concatenated(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def _records(file: Any, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """Numbered rows; one that cannot be read is reported."""
    for first, batch in _batches(file, source):
        yield from _batch_records(first, batch, source)


def _batch_records(
    first: int, batch: pa.RecordBatch, source: Source
) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        records: list[Any] = batch.to_pylist()
    except Exception:  # text that is no UTF-8, a date out of range
        records = [_record(batch.slice(row, 1)) for row in range(batch.num_rows)]
    for row, record in enumerate(records, first):
        if isinstance(record, BadInput):
            source.report(BadInput(record.message, source.path, row))
        else:
            yield row, record


def _record(rows: pa.RecordBatch) -> dict[str, Any] | BadInput:
    """The one row of a table, or why it cannot be read."""
    try:
        return rows.to_pylist()[0]
    except Exception as error:
        return BadInput(f"this row cannot be read: {error}.")
