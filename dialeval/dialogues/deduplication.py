"""What must be compared over the whole corpus: duplicates, ids, and pairs that a filter breaks."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from dialeval.dialogues.read_options import ReadOptions, ReadReport
from dialeval.dialogues.row_file import RowFile
from dialeval.dialogues.storage import BATCH
from dialeval.dialogues.types import SEPARATOR, Dialogue, Passage, text_hash
from dialeval.errors import BadInput

FIELDS = (
    ("dialogue", "u8"),  # which record or dialogue id
    ("content", "u8"),  # the words of that dialogue
    ("pair", "u8"),  # dialogue id and context
    ("key", "u8"),  # id and author; 0 where not given
    ("line", "u4"),
    ("kept", "u1"),  # passed the filters
)
CONTENT_FIELDS = (("row", "u8"), ("dialogue", "u8"), ("content", "u8"))


class RowHashes(RowFile):
    """Hashes of the rows, kept on disk until the whole corpus has been read."""

    def __init__(self, folder: Path | None = None):
        super().__init__(FIELDS, folder)
        self._columns: list[array] = [array(kind) for kind in "QQQQIB"]

    def append(
        self, passage: Passage, dialogue: Dialogue, record: str, options: ReadOptions, line: int
    ) -> None:
        """Add the hashes of one passage.

        Args:
            passage (`Passage`):
                The row.
            dialogue (`Dialogue`):
                What it was cut from.
            record (`str`):
                Which record of which file that is.
            options (`ReadOptions`):
                Whose filters are applied.
            line (`int`):
                Line of the record; 0 where there is none.

        Returns:
            `None`: There is one more row, as soon as `finish` was called.
        """
        words = [turn.text for turn in dialogue.turns]
        if dialogue.replies:
            given = any(reply.id == passage.id for reply in dialogue.replies)
            facts = map(str, passage.extra.items())  # two ratings of one pair are two records
            content = row_hash([passage.author, passage.response, *words, *facts])
            group = dialogue.id if given else f"{dialogue.id}-{record}"
        else:
            content = text_hash(words)
            given = not dialogue.id.endswith(f"{content:016x}")
            group = record
        pair = row_hash([passage.dialogue_id, *(turn.text for turn in passage.context)])
        number = str(passage.extra.get("hypothesis", ""))  # several answers of one author
        key = row_hash([passage.id, passage.author, number]) if given else 0
        values = row_hash([group]), content, pair, key, line, options.filters(passage)
        for column, value in zip(self._columns, values, strict=True):
            column.append(value)
        if len(self._columns[0]) >= BATCH:
            self.finish()

    def extend_columns(self, columns: Mapping[str, np.ndarray]) -> None:
        """Add the hashes of many passages."""
        self.finish()
        self.write(**columns)

    def finish(self) -> None:
        """Write what was appended."""
        if self._columns[0]:
            self.write(**dict(zip(self.dtype.names or (), self._columns, strict=True)))
        for column in self._columns:
            del column[:]


def row_hash(texts: Iterable[str]) -> int:
    """A number for a sequence of texts, which stands for it within one run."""
    return xxh3_64_intdigest(SEPARATOR.join(texts).encode("utf-8", "surrogatepass"))


def hashes_of(texts: pa.Array) -> np.ndarray:
    """[`row_hash`] of texts that are joined already."""
    values = texts.cast(pa.binary()).to_numpy(zero_copy_only=False)
    return np.fromiter(map(xxh3_64_intdigest, values), dtype=np.uint64, count=len(values))


def dialogue_contents(columns: RowHashes) -> RowFile:
    """For each row its dialogue, and one hash over all passages of that dialogue."""
    contents = RowFile(CONTENT_FIELDS)
    for index, rows in columns.buckets("dialogue"):
        names, inverse = np.unique(rows["dialogue"], return_inverse=True)
        hashes = np.zeros(len(names), dtype=np.uint64)
        np.add.at(hashes, inverse, rows["content"])  # wraps around: a hash of the set
        contents.write(row=index, dialogue=rows["dialogue"], content=hashes[inverse])
    return contents


def select_rows(
    columns: RowHashes,
    report: ReadReport,
    options: ReadOptions,
    elsewhere: RowFile,
    row_paths: "RowPaths",
) -> np.ndarray:
    """A mask of the rows to keep.

    Args:
        columns (`RowHashes`):
            Hashes of all rows.
        report (`ReadReport`):
            Gets the counts of what is left out.
        options (`ReadOptions`):
            Whether duplicates are kept, and bad records skipped.
        elsewhere (`RowFile`):
            What [`dialogue_contents`] gives for files of other splits.
        row_paths (`RowPaths`):
            For error messages.

    Returns:
        `np.ndarray`: One boolean for each row.
    """
    keep = np.ones(len(columns), dtype=bool)
    with dialogue_contents(columns) as contents:
        _drop_dialogues(keep, contents, elsewhere, report, options.keep_duplicates)
    _drop_repeated_keys(keep, columns, report, options, row_paths)
    if any((chunk["kept"] == 0).any() for chunk in columns.chunks()):
        _drop_broken_pairs(keep, columns, report)
    return keep


def _drop_dialogues(
    keep: np.ndarray,
    contents: RowFile,
    elsewhere: RowFile,
    report: ReadReport,
    keep_duplicates: bool,
) -> None:
    """Drop dialogues with the same words as an earlier one, or as one of other files."""
    number = max(contents.bucket_count, elsewhere.bucket_count)
    sides = zip(
        contents.buckets("content", number), elsewhere.buckets("content", number), strict=True
    )
    for (_, rows), (_, others) in sides:
        rows = rows[np.argsort(rows["row"])]
        dialogue, content = rows["dialogue"], rows["content"]
        seen = np.isin(content, others["content"])
        _, first, inverse = np.unique(content, return_index=True, return_inverse=True)
        repeated = (dialogue != dialogue[first][inverse]) & (not keep_duplicates)
        report.seen_elsewhere += len(np.unique(dialogue[seen]))
        report.duplicate_dialogues += len(np.unique(dialogue[repeated & ~seen]))
        keep[rows["row"][seen | repeated]] = False


def _drop_repeated_keys(
    keep: np.ndarray,
    columns: RowHashes,
    report: ReadReport,
    options: ReadOptions,
    row_paths: "RowPaths",
) -> None:
    repeats = [np.zeros((0, 3), dtype=np.int64)]  # row, its line, the line of the earlier one
    for index, rows in columns.buckets("key"):
        usable = np.flatnonzero(keep[index])
        usable = usable[np.argsort(rows["key"][usable], kind="stable")]
        keys, lines = rows["key"][usable], rows["line"][usable]
        again = np.flatnonzero(keys[1:] == keys[:-1]) + 1
        repeats.append(np.column_stack([index[usable[again]], lines[again], lines[again - 1]]))
    repeated = np.concatenate(repeats)
    for row, line, first in repeated[np.argsort(repeated[:, 0])]:
        error = BadInput(
            f"this id and author occurred already in line {first}.",
            row_paths.path(row),
            int(line) or None,
            "Give each response of an author its own id, or skip repeats with --skip-bad.",
        )
        if not options.skip_bad:
            raise error
        report.problems.append(error)
    keep[repeated[:, 0]] = False


def _drop_broken_pairs(keep: np.ndarray, columns: RowHashes, report: ReadReport) -> None:
    """Drop the responses to a context of which a filter left out one."""
    for index, rows in columns.buckets("pair"):
        kept = keep[index]
        broken = np.unique(rows["pair"][kept & (rows["kept"] == 0)])
        filtered = kept & np.isin(rows["pair"], broken)
        report.filtered += int(filtered.sum())
        keep[index[filtered]] = False


class RowPaths:
    """Paths of the files that the rows came from."""

    def __init__(self, paths: Sequence[str], rows: Sequence[int]):
        self.paths = paths
        self.bounds = np.cumsum(rows)

    def path(self, row: int) -> str:
        return self.paths[int(np.searchsorted(self.bounds, row, side="right"))]
