"""Numbers of rows on disk, read back in chunks, or by key in buckets that fit into memory."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from dialeval.dialogues.scratch import scratch

CHUNK = 1 << 16
"""Rows that are read at once."""
BUCKET, MOST_BUCKETS = 1 << 17, 256
"""Rows of a bucket, about, and how many files are open at the same time."""
_numbers = count()


class RowFile:
    """Rows of numbers, of which memory holds a chunk.

    What has to be compared over a whole corpus is kept here: a few numbers a row would need more
    memory than anything else as soon as there are millions of rows.

    Args:
        fields (`Sequence[tuple[str, str]]`):
            Names of the numbers, with their types in NumPy's notation.
        folder (`Path`, *optional*):
            Where the file is; by default in the folder of this process.
    """

    def __init__(self, fields: Sequence[tuple[str, str]], folder: Path | None = None):
        self.dtype = np.dtype(list(fields))
        self.path = (folder or scratch()) / f"{os.getpid()}-{next(_numbers)}.rows"
        self.rows = 0
        self._waiting: list[np.ndarray] = []
        self._on_disk = 0

    def __len__(self) -> int:
        return self.rows

    def __enter__(self) -> "RowFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.delete()

    def delete(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)

    def write(self, **columns: Any) -> None:
        """Append rows: numbers for every field."""
        records = np.empty(len(next(iter(columns.values()))), dtype=self.dtype)
        for name, values in columns.items():
            records[name] = values
        self._waiting.append(records)
        self.rows += len(records)
        if self.rows - self._on_disk >= CHUNK:
            self._flush()

    def extend(self, other: "RowFile") -> None:
        """Move the rows of another file to the end of this one."""
        if other._on_disk:
            self._flush()
            with self.path.open("ab") as target, other.path.open("rb") as source:
                shutil.copyfileobj(source, target)
            self._on_disk += other._on_disk
            self.rows += other._on_disk
        for records in other._waiting:
            self.write(**{name: records[name] for name in self.dtype.fields or ()})
        other.delete()

    def chunks(self) -> Iterator[np.ndarray]:
        """All rows in order, as structured arrays."""
        for start in range(0, self._on_disk, CHUNK):
            rows, offset = min(CHUNK, self._on_disk - start), start * self.dtype.itemsize
            yield np.fromfile(self.path, self.dtype, rows, offset=offset)
        yield from self._waiting

    @property
    def bucket_count(self) -> int:
        """In how many buckets the rows are divided."""
        return min(MOST_BUCKETS, max(1, -(-self.rows // BUCKET)))

    def buckets(
        self, key: str, number: int | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """The rows by a key: those with equal values are in one bucket, smaller values come first.

        A key of 0 stands for none: such rows are in no bucket.

        Args:
            key (`str`):
                Name of a field with 64-bit hashes.
            number (`int`, *optional*):
                How many buckets; as many as memory asks for by default.

        Returns:
            `Iterator[tuple[np.ndarray, np.ndarray]]`: Indices of rows, ascending, and the rows.
        """
        dtype = np.dtype([("index", np.int64), ("row", self.dtype)])
        with TemporaryDirectory(dir=self.path.parent) as folder:
            paths = [Path(folder, str(bucket)) for bucket in range(number or self.bucket_count)]
            self._divide(key, paths, dtype)
            for path in paths:
                records = np.fromfile(path, dtype)
                path.unlink()
                yield records["index"], records["row"]

    def _divide(self, key: str, paths: Sequence[Path], dtype: np.dtype) -> None:
        """Write the rows of each bucket, with their indices, to its file."""
        start = 0
        with ExitStack() as stack:
            files = [stack.enter_context(path.open("wb")) for path in paths]
            for chunk in self.chunks():
                bucket = _bucket_of(chunk[key], len(files))
                records = np.empty(len(chunk), dtype=dtype)
                records["index"], records["row"] = np.arange(start, start + len(chunk)), chunk
                for number, file in enumerate(files):
                    records[(bucket == number) & (chunk[key] != 0)].tofile(file)
                start += len(chunk)

    def _flush(self) -> None:
        if self._waiting:
            with self.path.open("ab") as file:
                for records in self._waiting:
                    records.tofile(file)
        self._waiting.clear()
        self._on_disk = self.rows


def _bucket_of(hashes: np.ndarray, number: int) -> np.ndarray:
    return ((hashes >> np.uint64(32)) * np.uint64(number)) >> np.uint64(32)
