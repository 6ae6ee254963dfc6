"""Stored passages: an Arrow table of fixed columns, memory-mapped, written a batch at a time."""

import csv
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from itertools import count, islice, pairwise
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import Dataset, DatasetInfo, Features, List, Value
from datasets.fingerprint import generate_random_fingerprint
from datasets.formatting import query_table
from datasets.table import InMemoryTable, MemoryMappedTable

from dialeval.dialogues.scratch import scratch
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.types import Passage, Turn
from dialeval.files import atomic_write

Passages: TypeAlias = Dataset
"""Passages are a `datasets.Dataset` with the columns of [`FEATURES`]."""

FEATURES = Features(
    {
        "id": Value("string"),
        "dialogue_id": Value("string"),
        "corpus": Value("string"),
        "language": Value("string"),
        "context": List({"speaker": Value("string"), "text": Value("string")}),
        "response": Value("string"),
        "speaker": Value("string"),
        "author": Value("string"),
        "source_dialogue_id": Value("string"),
        "following": Value("string"),
        "extra": Value("string"),  # unknown columns as a JSON object: the schema stays fixed
    }
)
SCHEMA = FEATURES.arrow_schema
"""Of [`FEATURES`]; it takes time to make."""

BATCH = 5_000
FORMULAS = "=+-@\t\r"
"""Characters with which a formula starts in spreadsheets."""
_SPREAD = 16  # times as many rows are copied as needed, at most
_numbers = count()


def to_passages(passages: Iterable[Passage]) -> Passages:
    """Store passages on disk and map them into memory."""
    with PassageFile() as file:
        for batch in chunks(passages, BATCH):
            file.write(encode(batch))
    return file.dataset()


def iterate(passages: Passages) -> Iterator[Passage]:
    """The passages one by one, decoded a batch at a time."""
    for batch in batches(passages):
        yield from decode(batch)


def batches(passages: Passages, size: int = BATCH) -> Iterator[pa.RecordBatch]:
    """The table in record batches of `size` rows; the last one may be smaller."""
    if _is_file(passages) and len(passages) > BATCH:  # mapped pages would stay resident
        yield from _rebatch(_read_stream(passages.cache_files[0]["filename"]), size)
        return
    for start in range(0, len(passages), size):
        stop = min(start + size, len(passages))
        if passages._indices is not None:
            indices = passages._indices.fast_slice(start, stop - start).column(0).to_numpy()
            yield _rows(passages.data, indices)
            continue
        # What `with_format("arrow")` does, without a deep copy of the data set.
        yield query_table(passages.data, slice(start, stop)).combine_chunks().to_batches()[0]


def windows(passages: Passages, size: int) -> Iterator[Passages]:
    """Tables of `size` passages each, in memory; the last one may be smaller."""
    for batch in batches(passages, size):
        table = InMemoryTable(pa.Table.from_batches([batch]))
        info = DatasetInfo(features=passages.features)
        yield Dataset(table, info, fingerprint=generate_random_fingerprint())


def gather(
    passages: Passages, rows: np.ndarray, columns: list[str] | None = None
) -> Iterator[pa.RecordBatch]:
    """Some rows in record batches as those of `batches`, without making a data set of them.

    Args:
        passages (`Passages`):
            The table.
        rows (`np.ndarray`):
            Numbers of the rows, in any order.
        columns (`list[str]`, *optional*):
            Columns to read; random access to few of them keeps less of the file in memory.

    Returns:
        `Iterator[pa.RecordBatch]`: Batches of `BATCH` rows; the last one may be smaller.
    """
    if passages._indices is not None:
        rows = passages._indices.column(0).to_numpy()[rows]
    table = passages.data.select(columns) if columns else passages.data
    for start in range(0, len(rows), BATCH):
        yield _rows(table, rows[start : start + BATCH])


def _rows(table: Any, rows: np.ndarray) -> pa.RecordBatch:
    """Some rows of a table: at once where they are close to one another, else one by one."""
    low, high = int(rows.min()), int(rows.max()) + 1
    if high - low > _SPREAD * len(rows):
        part = query_table(table, rows)
    else:
        part = table.fast_slice(low, high - low).combine_chunks().take(pa.array(rows - low))
    return part.combine_chunks().to_batches()[0]


def _is_file(passages: Passages) -> bool:
    """Whether a table equals its file: nothing selected, sliced or renamed."""
    edits = getattr(passages.data, "replays", None)
    unedited = edits is not None and all(name == "replace_schema_metadata" for name, *_ in edits)
    return unedited and passages._indices is None


def _read_stream(path: Path | str) -> Iterator[pa.RecordBatch]:
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as stream:
        yield from stream


def _rebatch(stream: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of one size."""
    waiting: list[pa.RecordBatch] = []
    for batch in stream:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= size:
            joined = pa.Table.from_batches(waiting).combine_chunks()
            full = joined.num_rows // size * size
            yield from joined.slice(0, full).to_batches(max_chunksize=size)
            waiting = joined.slice(full).to_batches() if full < joined.num_rows else []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks().to_batches()[0]


def iterate_passages(passages: Passages | Iterable[Passage]) -> Iterator[Passage]:
    """The passages one by one, from a table or a list."""
    return iterate(passages) if isinstance(passages, Dataset) else iter(passages)


def as_table(passages: Passages | Iterable[Passage]) -> Passages:
    """The passages as a table, where they are not one yet."""
    return passages if isinstance(passages, Dataset) else to_passages(passages)


def texts_of(passages: Passages) -> Iterator[str]:
    """Every turn of every context, and every response."""
    for batch in batches(passages):
        contexts, responses = (batch[name].to_pylist() for name in ("context", "response"))
        for context, response in zip(contexts, responses, strict=True):
            yield from (turn["text"] for turn in context)
            yield response


def chunks(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of at most `size` items."""
    items = iter(items)
    while chunk := list(islice(items, size)):
        yield chunk


def encode(passages: Iterable[Passage]) -> pa.RecordBatch:
    """A record batch with one row for each passage."""
    passages = list(passages)
    turns = [turn for passage in passages for turn in passage.context]
    columns: dict[str, list[Any]] = {
        "speaker": [turn.speaker for turn in turns],
        "text": [turn.text for turn in turns],
    }
    context = SCHEMA.field("context").type
    lengths = [len(passage.context) for passage in passages]
    extra = [as_json(dict(passage.extra)) if passage.extra else None for passage in passages]
    arrays = {
        "context": pa.ListArray.from_arrays(
            pa.array(np.cumsum([0, *lengths]), pa.int32()),
            pa.StructArray.from_arrays(
                [pa.array(columns[field.name], field.type) for field in context.value_type],
                fields=list(context.value_type),
            ),
            type=context,
        ),
        "extra": pa.array(extra, pa.string()),
    }
    for name in FEATURES:
        if name not in arrays:
            values = [getattr(passage, name) for passage in passages]
            arrays[name] = pa.array(values, pa.string())
    return pa.RecordBatch.from_arrays([arrays[name] for name in SCHEMA.names], schema=SCHEMA)


def decode(batch: pa.RecordBatch) -> Iterator[Passage]:
    """The passages of a record batch, one for each row."""
    columns = {name: _values(batch[name]) for name in FEATURES if name != "context"}
    contexts = batch["context"]
    flat = contexts.flatten()
    turns = list(map(Turn, _values(flat.field("speaker")), _values(flat.field("text"))))
    bounds = (contexts.offsets.to_numpy() - contexts.offsets[0].as_py()).tolist()
    columns["context"] = [tuple(turns[low:high]) for low, high in pairwise(bounds)]
    columns["extra"] = [json.loads(text) if text else {} for text in columns["extra"]]
    yield from map(Passage, *(columns[field.name] for field in fields(Passage)))


def _values(column: pa.Array) -> list[Any]:
    """Texts of a column."""
    return column.to_numpy(zero_copy_only=False).tolist()


class PassageFile:
    """An Arrow file that is written in batches and read back as a memory-mapped dataset."""

    def __init__(self, features: Features = FEATURES, folder: Path | None = None):
        self.features = features
        self._schema = SCHEMA if features is FEATURES else features.arrow_schema
        self.path = (folder or scratch()) / f"{os.getpid()}-{next(_numbers)}.arrow"
        self.rows = 0

    def __enter__(self) -> "PassageFile":
        self._writer = pa.ipc.new_stream(str(self.path), self._schema)
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()
        self._writer = None  # so that another process can hand the file over

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        fits = batch.schema.equals(self._schema, check_metadata=True)
        self._writer.write_batch(batch if fits else batch.cast(self._schema))
        self.rows += batch.num_rows

    def batches(self) -> Iterator[pa.RecordBatch]:
        """What was written, read back a batch at a time."""
        return _read_stream(self.path)

    def dataset(self) -> Dataset:
        """What was written, mapped into memory; the file is deleted when the process ends."""
        if not self.rows:
            return Dataset.from_dict({name: [] for name in self.features}, features=self.features)
        # With a fingerprint given, none is computed from a pickle of the table's whole state.
        table = MemoryMappedTable.from_file(str(self.path))
        return Dataset(table, fingerprint=generate_random_fingerprint())


def write_passages(passages: Passages, path: Path | str) -> Path:
    """Write passages as JSON lines, CSV, TSV or Parquet, by the name's ending."""
    path = Path(path)
    check_output(path)
    write, mode = _writer(path)
    with atomic_write(path, mode) as file:
        write(passages, file)
    return path


def check_output(path: Path) -> None:
    """Refuse a name to which passages cannot be written, before work is done for it."""
    if path.is_dir():
        hint = f"Name a file in it, for example {path / 'passages.jsonl'}"
        raise BadInput("expected a file name, found a directory.", path, hint=hint)
    _writer(path)


def flat_record(passage: Passage) -> dict[str, Any]:
    """A passage in the JSON-lines schema: our columns and the extra ones, without empty ones."""
    columns = {
        "id": passage.id,
        "dialogue_id": passage.dialogue_id,
        "corpus": passage.corpus,
        "language": passage.language,
        "context": [{"role": turn.speaker, "content": turn.text} for turn in passage.context],
        "response": passage.response,
        "speaker": passage.speaker,
        "author": passage.author,
        "source_dialogue_id": passage.source_dialogue_id,
        "following": passage.following,
    }
    filled = {name: value for name, value in columns.items() if value not in (None, "")}
    extra = {key: value for key, value in passage.extra.items() if key not in columns}
    return {**filled, "response": passage.response, **extra}


def _write_jsonl(passages: Passages, file: IO) -> None:
    for record in _records(passages):
        file.write(as_json(record) + "\n")


def _write_parquet(passages: Passages, file: IO) -> None:
    with parquet.ParquetWriter(file, passages.features.arrow_schema) as writer:
        for batch in batches(passages):
            writer.write_batch(batch.cast(passages.features.arrow_schema))


def _delimited(delimiter: str) -> Callable[[Passages, IO], None]:
    def write(passages: Passages, file: IO) -> None:
        names = dict.fromkeys(name for record in _records(passages) for name in record)
        table = csv.DictWriter(file, list(names), delimiter=delimiter, lineterminator="\n")
        table.writeheader()
        for record in _records(passages):
            table.writerow(
                {key: _cell(v) if isinstance(v, str) else as_json(v) for key, v in record.items()}
            )

    return write


def _cell(text: str) -> str:
    """A text that no spreadsheet computes: what looks like a formula gets an apostrophe."""
    return f"'{text}" if text[:1] and text[0] in FORMULAS else text


def _records(passages: Passages) -> Iterator[dict[str, Any]]:
    """Rows in the JSON-lines schema, with the columns that pairing or scoring added."""
    added = [name for name in passages.column_names if name not in FEATURES]
    for batch in batches(passages):
        extra = batch.select(added).to_pylist() if added else [{}] * batch.num_rows
        for passage, more in zip(decode(batch), extra, strict=True):
            yield {**flat_record(passage), **more}


def _writer(path: Path) -> tuple[Callable[[Passages, IO], None], str]:
    writers = {
        ".jsonl": (_write_jsonl, "w"),
        ".csv": (_delimited(","), "w"),
        ".tsv": (_delimited("\t"), "w"),
        ".parquet": (_write_parquet, "wb"),
    }
    if path.suffix.lower() not in writers:
        raise BadInput(
            f"no format is known for the ending {path.suffix!r}.",
            path,
            hint=f"End the name with one of {', '.join(writers)}.",
        )
    return writers[path.suffix.lower()]


def as_json(value: Any) -> str:
    """The value as JSON, in which numbers that are not finite are null."""
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_text, allow_nan=False)
    except ValueError:  # JSON has no NaN and no infinity, and few readers take them
        return json.dumps(_finite(value), ensure_ascii=False, default=_as_text)


def _finite(value: Any) -> Any:
    """The value with `None` for numbers that are not finite."""
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _as_text(value: Any) -> str:
    """A value of a table that JSON does not have, such as a date, a decimal or bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
