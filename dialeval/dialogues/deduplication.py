"""What must be compared over the whole corpus: duplicates, ids, and pairs that a filter breaks."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dialeval.dialogues.read_options import ReadOptions, ReadReport
from dialeval.dialogues.types import Dialogue, Passage, text_hash
from dialeval.errors import BadInput


@dataclass
class RowHashes:
    """Hashes of the rows, kept until the whole corpus has been read."""

    dialogue: array = field(default_factory=lambda: array("Q"))  # which record or dialogue id
    content: array = field(default_factory=lambda: array("Q"))  # the words of that dialogue
    pair: array = field(default_factory=lambda: array("Q"))  # dialogue id and context
    key: array = field(default_factory=lambda: array("Q"))  # id and author; 0 where not given
    line: array = field(default_factory=lambda: array("I"))
    kept: array = field(default_factory=lambda: array("B"))  # passed the filters

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
            `None`: The arrays have one more row.
        """
        words = [turn.text for turn in dialogue.turns]
        if dialogue.replies:
            given = any(reply.id == passage.id for reply in dialogue.replies)
            facts = map(str, passage.extra.items())  # two ratings of one pair are two records
            content = text_hash([passage.author, passage.response, *words, *facts])
            group = dialogue.id if given else f"{dialogue.id}-{record}"
        else:
            content = text_hash(words)
            given = not dialogue.id.endswith(f"{content:016x}")
            group = record
        self.dialogue.append(text_hash([group]))
        self.content.append(content)
        self.pair.append(text_hash([passage.dialogue_id, *(t.text for t in passage.context)]))
        number = str(passage.extra.get("hypothesis", ""))  # several answers of one author
        self.key.append(text_hash([passage.id, passage.author, number]) if given else 0)
        self.line.append(line)
        self.kept.append(options.filters(passage))

    def extend(self, other: "RowHashes") -> None:
        for name in self.__dataclass_fields__:
            getattr(self, name).extend(getattr(other, name))
            delattr(other, name)  # so that memory never holds both

    def __getitem__(self, name: str) -> np.ndarray:
        return np.asarray(getattr(self, name))


def dialogue_contents(columns: RowHashes) -> tuple[np.ndarray, np.ndarray]:
    """One hash per dialogue over all its passages, and each passage's dialogue."""
    dialogues, inverse = np.unique(columns["dialogue"], return_inverse=True)
    contents = np.zeros(len(dialogues), dtype=np.uint64)
    np.add.at(contents, inverse, columns["content"])  # wraps around: a hash of the set
    return contents, inverse


def select_rows(
    columns: RowHashes,
    report: ReadReport,
    options: ReadOptions,
    elsewhere: np.ndarray,
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
        elsewhere (`np.ndarray`):
            Hashes of dialogues in files of other splits.
        row_paths (`RowPaths`):
            For error messages.

    Returns:
        `np.ndarray`: One boolean for each row.
    """
    contents, inverse = dialogue_contents(columns)
    seen = np.isin(contents, elsewhere)
    repeated = np.zeros_like(seen) if options.keep_duplicates else _repeated(contents, inverse)
    report.seen_elsewhere = int(seen.sum())
    report.duplicate_dialogues = int((repeated & ~seen).sum())
    keep = ~(seen | repeated)[inverse]
    _drop_repeated_keys(keep, columns["key"], columns["line"], report, options, row_paths)
    broken = np.unique(columns["pair"][keep & (columns["kept"] == 0)])
    filtered = keep & np.isin(columns["pair"], broken)
    report.filtered = int(filtered.sum())
    return keep & ~filtered


def _repeated(contents: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """A mask of the dialogues that have the same words as an earlier one."""
    first_row = np.full(len(contents), len(inverse))
    np.minimum.at(first_row, inverse, np.arange(len(inverse)))
    order = np.argsort(first_row, kind="stable")
    repeated = np.ones(len(contents), dtype=bool)
    repeated[order[np.unique(contents[order], return_index=True)[1]]] = False
    return repeated


def _drop_repeated_keys(
    keep: np.ndarray,
    keys: np.ndarray,
    lines: np.ndarray,
    report: ReadReport,
    options: ReadOptions,
    row_paths: "RowPaths",
) -> None:
    rows = np.flatnonzero(keep & (keys != 0))
    rows = rows[np.argsort(keys[rows], kind="stable")]
    again = np.flatnonzero(keys[rows][1:] == keys[rows][:-1]) + 1
    for at in sorted(again, key=lambda at: rows[at]):
        row, first = rows[at], rows[at - 1]
        error = BadInput(
            f"this id and author occurred already in line {lines[first]}.",
            row_paths.path(row),
            int(lines[row]) or None,
            "Give each response of an author its own id, or skip repeats with --skip-bad.",
        )
        if not options.skip_bad:
            raise error
        report.problems.append(error)
    keep[rows[again]] = False


class RowPaths:
    """Paths of the files that the rows came from."""

    def __init__(self, paths: Sequence[str], rows: Sequence[int]):
        self.paths = paths
        self.bounds = np.cumsum(rows)

    def path(self, row: int) -> str:
        return self.paths[int(np.searchsorted(self.bounds, row, side="right"))]
