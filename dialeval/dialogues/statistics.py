"""What a corpus looks like: counts, lengths, repetition."""

from collections import Counter
from dataclasses import asdict, dataclass, field

import numpy as np

from dialeval.dialogues.reading import ReadReport
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import Passages, batches
from dialeval.dialogues.tokens import count_tokens


@dataclass(frozen=True)
class Summary:
    """A distribution in eight numbers."""

    n: int
    mean: float
    sd: float
    min: int
    q1: int
    median: int
    q3: int
    max: int


@dataclass(frozen=True)
class Author:
    """The responses of one author."""

    name: str
    responses: int
    distinct: int
    empty: int
    tokens: Summary
    frequent: list[tuple[str, int]]
    lengths: dict[int, int] = field(repr=False, default_factory=dict)


@dataclass(frozen=True)
class Description:
    """What [`describe`] returns."""

    formats: dict[str, str]
    dialogues: int
    units: int
    duplicate_dialogues: int
    seen_elsewhere: int
    too_short: int
    filtered: int
    skipped: int
    whole: bool
    turns: Summary
    turn_tokens: Summary
    passages: int
    corpora: dict[str, int]
    languages: dict[str, int]
    authors: list[Author]
    turn_histogram: dict[int, int] = field(repr=False, default_factory=dict)

    def to_dict(self) -> dict:
        """The same as plain JSON values."""
        return asdict(self)


def describe(passages: Passages, report: ReadReport, frequent: int = 10) -> Description:
    """Describe passages and the dialogues they were cut from.

    Args:
        passages (`Passages`):
            What was read.
        report (`ReadReport`):
            Counts from reading it.
        frequent (`int`, *optional*, defaults to 10):
            How many of each author's most frequent responses are listed.

    Returns:
        `Description`: Counts, length distributions and repetition.
    """
    return Description(
        formats=dict(report.formats),
        dialogues=report.dialogues,
        units=report.units,
        duplicate_dialogues=report.duplicate_dialogues,
        seen_elsewhere=report.seen_elsewhere,
        too_short=report.too_short,
        filtered=report.filtered,
        skipped=len(report.problems),
        whole=report.whole,
        turns=summary(report.turns),
        turn_tokens=summary(report.tokens),
        passages=len(passages),
        corpora=_counts(passages, "corpus"),
        languages=_counts(passages, "language"),
        authors=_authors(passages, frequent),
        turn_histogram=dict(sorted(report.turns.items())),
    )


def summary(histogram: Counter) -> Summary:
    """Mean, spread and quartiles of a histogram.

    Examples:
        >>> summary(Counter({1: 2, 4: 2})).mean
        2.5
    """
    if not histogram:
        return Summary(0, 0.0, 0.0, 0, 0, 0, 0, 0)
    values = np.array(sorted(histogram))
    counts = np.array([histogram[value] for value in values])
    total = counts.sum()
    mean = float(values @ counts / total)
    spread = float(np.sqrt(((values - mean) ** 2) @ counts / total))
    quarters = np.searchsorted(counts.cumsum(), np.array([0.25, 0.5, 0.75]) * total)
    q1, median, q3 = map(int, values[quarters])
    return Summary(int(total), mean, spread, int(values[0]), q1, median, q3, int(values[-1]))


def _authors(passages: Passages, frequent: int) -> list[Author]:
    hashes = row_hashes(passages, ["author", "response"])
    lengths: dict[str, Counter] = {}
    rows: dict[str, list[np.ndarray]] = {}
    empty: Counter = Counter()
    start = 0
    for batch in batches(passages):
        encoded = batch["author"].dictionary_encode()
        texts, codes = batch["response"].to_pylist(), encoded.indices.to_numpy()
        tokens = np.fromiter(map(count_tokens, texts), dtype=np.int64, count=len(texts))
        blank = np.fromiter((not text.strip() for text in texts), dtype=bool, count=len(texts))
        for code, name in enumerate(encoded.dictionary.to_pylist()):
            members = np.flatnonzero(codes == code)
            rows.setdefault(name, []).append(start + members)
            lengths.setdefault(name, Counter()).update(tokens[members].tolist())
            empty[name] += int(blank[members].sum())
        start += batch.num_rows
    return [
        Author(
            name=name,
            responses=sum(map(len, rows[name])),
            empty=empty[name],
            tokens=summary(lengths[name]),
            lengths=dict(sorted(lengths[name].items())),
            **_repetition(passages, np.concatenate(rows[name]), hashes, frequent),
        )
        for name in sorted(rows, key=lambda name: (name != "human", name))
    ]


def _repetition(passages: Passages, rows: np.ndarray, hashes: np.ndarray, frequent: int) -> dict:
    """How many distinct responses some rows have, and the most frequent ones."""
    _, first, counts = np.unique(hashes[rows], return_index=True, return_counts=True)
    top = np.lexsort((first, -counts))[:frequent]
    texts = passages.select(rows[first[top]])["response"] if len(top) else []
    return {
        "distinct": len(counts),
        "frequent": list(zip(texts, counts[top].tolist(), strict=True)),
    }


def _counts(passages: Passages, column: str) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for batch in batches(passages):
        for row in batch[column].value_counts().to_pylist():
            counts[row["values"] or ""] += row["counts"]
    return dict(counts.most_common())
