"""Measurements of each response, and markers that look like words."""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dialeval.dialogues.format_steps import edges, fix_encoding
from dialeval.dialogues.normaliser import Normaliser
from dialeval.dialogues.storage import Passages, batches
from dialeval.dialogues.tokens import count_tokens, tokens
from dialeval.dialogues.traits import CONTENT_TRAITS, FORMAT_TRAITS
from dialeval.dialogues.types import text_hash
from dialeval.protocols.leaks.rows import Rows

_TRAITS = FORMAT_TRAITS + CONTENT_TRAITS
_COLUMN = {trait.name: index for index, trait in enumerate(_TRAITS)}
_PUNCTUATION = ".,!?;:…'\"()-"


class Table:
    """Numbers of each response; words and markers are codes into `names`, 0 for none."""

    def __init__(self, rows: int, markers: tuple[str, ...]):
        self.traits = np.empty((rows, len(_TRAITS)), dtype=np.float32)
        self.lengths = np.empty((rows, 2), dtype=np.int32)  # tokens; words between spaces
        self.edge_codes = np.empty((rows, 4), dtype=np.int32)  # start, end marker; first, last word
        self.text = np.empty(rows, dtype=np.uint64)  # hash of the normalised response
        self.words, self.owner = array("i"), array("i")  # of all responses, and the row of each
        self.codes: dict[str, int] = {"": 0}
        self.markers = markers

    def put(self, row: int, text: str) -> None:
        """Measure a response."""
        measured = _measured(text, self.markers)
        self.traits[row], self.lengths[row] = measured.traits, measured.lengths
        self.text[row] = measured.text
        self.edge_codes[row] = self._codes(measured.edges)
        self.words.extend(self._codes(measured.words))
        self.owner.extend([row] * len(measured.words))

    def _codes(self, names: Sequence[str]) -> list[int]:
        return [self.codes.setdefault(name, len(self.codes)) for name in names]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.traits[:, _COLUMN[name]]

    @property
    def names(self) -> list[str]:
        """Words and markers by code."""
        return list(self.codes)


class _Measured(NamedTuple):
    """Measurements of one response."""

    traits: tuple[float, ...]
    lengths: tuple[int, int]
    text: int
    edges: tuple[str, str, str, str]
    words: tuple[str, ...]


@lru_cache(maxsize=1 << 15)  # the human responses are measured again for every system
def _measured(text: str, markers: tuple[str, ...]) -> _Measured:
    parts, level = edges(text, markers), Normaliser(markers=markers)(text)
    fixed = fix_encoding(parts.core)
    forms = {"raw": text, "core": parts.core, "fixed": fixed, "level": level}
    words = tuple(tokens(level))
    first, last = (words[0], words[-1]) if words else ("", "")
    return _Measured(
        tuple(trait(forms[trait.of]) for trait in _TRAITS),
        (count_tokens(parts.core), len(parts.core.split())),
        text_hash([level]),
        (parts.start, parts.end, first, last),
        words,
    )


def measure(human: Passages, system: Passages, rows: Rows, markers: tuple[str, ...]) -> Table:
    """Measure all responses.

    Args:
        human, system (`Passages`):
            Both sides.
        rows (`Rows`):
            Which responses are compared.
        markers (`tuple[str, ...]`):
            Markers that look like words.

    Returns:
        `Table`: One row per response, human ones first.
    """
    table = Table(len(rows.dialogue), markers)
    for row, text in responses(human, rows.human):
        table.put(row, text)
    for row, text in responses(system, rows.system):
        table.put(len(rows.human) + row, text)
    _fill(table.traits, rows.train)
    return table


def _fill(traits: np.ndarray, train: np.ndarray) -> None:
    """Replace missing values by the median of the training half, so that they carry no signal."""
    for column in traits.T:
        unseen = np.isnan(column)
        seen = column[train & ~unseen]
        column[unseen] = np.percentile(seen, 50, method="lower") if len(seen) else 0.0


def responses(passages: Passages, rows: np.ndarray) -> Iterator[tuple[int, str]]:
    """The responses in some rows, in the order of the file, with their position in `rows`."""
    position_of = np.full(len(passages), -1)
    position_of[rows] = np.arange(len(rows))
    start = 0
    for batch in batches(passages.select_columns(["response"])):
        positions = position_of[start : start + batch.num_rows].tolist()
        for row, text in zip(positions, batch["response"].to_pylist(), strict=True):
            if row >= 0:
                yield row, text or ""
        start += batch.num_rows


def find_markers(human: Passages, system: Passages, rows: Rows) -> tuple[str, ...]:
    """Tokens that begin or end most responses of one side, and that the other side never uses.

    Args:
        human, system (`Passages`):
            Both sides.
        rows (`Rows`):
            Which responses are compared.

    Returns:
        `tuple[str, ...]`: The tokens.
    """
    sides = (
        (human, rows.human, rows.train[rows.is_human]),
        (system, rows.system, rows.train[~rows.is_human]),
    )
    markers = [
        token
        for side, other in (sides, sides[::-1])
        for token in _common_edges(*side)
        if _share_with(token, *other) <= 0.005
    ]
    return tuple(dict.fromkeys(markers))


def _common_edges(passages: Passages, rows: np.ndarray, train: np.ndarray) -> Iterator[str]:
    """The token that begins, and the one that ends, at least half of the training responses."""
    edge_pairs: tuple[Counter[tuple[str, str]], ...] = (Counter(), Counter())
    for row, text in responses(passages, rows):
        if train[row] and len(words := edges(text).core.split()) > 1:
            edge_pairs[0][words[0], words[1]] += 1
            edge_pairs[1][words[-1], words[-2]] += 1
    for pairs in edge_pairs:
        tokens_alone: Counter[str] = Counter()
        for (token, _), times in pairs.items():
            tokens_alone[token] += times
        for token, times in tokens_alone.most_common(1):
            # The neighbours of a marker vary: the last word of a canned answer is no marker.
            varied = max(n for (first, _), n in pairs.items() if first == token) < times / 2
            if times >= train.sum() / 2 and varied and token.strip(_PUNCTUATION):
                yield token


def _share_with(token: str, passages: Passages, rows: np.ndarray, train: np.ndarray) -> float:
    count = sum(token in text.split() for row, text in responses(passages, rows) if train[row])
    return count / train.sum()
