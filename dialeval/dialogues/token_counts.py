"""Tokens of whole columns of texts: what `count_tokens` gives, for many texts at once."""

import re
from functools import cache

import numpy as np
import pyarrow as pa

from dialeval.dialogues.tokens import count_tokens

_SPACE, _DIGIT, _LETTER, _SINGLE, _OTHER, _COMPATIBLE, _APOSTROPHE, _LESS, _GREATER = range(9)
_RUNS = 9
_UNKNOWN = 255
_MARKS = ".!?,-_*"
"""Punctuation of which a run is one token."""
_CLASSES = (
    (r"\s", _SPACE),
    (r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", _OTHER),  # a token a character
    (r"[\uf900-\ufaff]", _COMPATIBLE),  # the same, but a letter inside a word
    (r"[^\W\d_]", _LETTER),
    (r"\d", _DIGIT),
    ("['’]", _APOSTROPHE),
    ("<", _LESS),
    (">", _GREATER),
)
_CHARACTERS = 0x110000


def token_counts(texts: pa.Array) -> np.ndarray:
    """The number of words and punctuation marks of every text.

    Characters are classified by a table, and tokens counted where classes change. Texts with a
    marker such as `<unk>`, or with an apostrophe and a digit right after a letter, are left to
    `count_tokens`.

    Args:
        texts (`pa.Array`):
            Strings without null.

    Returns:
        `np.ndarray`: What `count_tokens` gives, for each text.

    Examples:
        >>> token_counts(pa.array(["see you at noon!", "don't... <unk>", "", " "])).tolist()
        [5, 3, 0, 0]
    """
    if not len(texts):
        return np.zeros(0, dtype=np.int64)
    kinds, bounds = _kinds(texts)
    if not len(kinds):
        return np.zeros(len(texts), dtype=np.int64)
    before = np.concatenate([np.zeros(1, np.uint8), kinds[:-1]])
    before[bounds[:-1][bounds[:-1] < len(kinds)]] = _SPACE  # no token goes on in the next text
    counts = _sums(_starts(kinds, before, bounds), bounds)
    for row in np.flatnonzero(_ambiguous(kinds, before, bounds)):
        counts[row] = count_tokens(texts[int(row)].as_py())
    return counts


def _kinds(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """The class of every character, and where each text begins, with the end of the last."""
    _, offsets, data = texts.buffers()
    edges = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    first, last = int(edges[0]), int(edges[-1])
    codes = np.frombuffer(data, np.uint8)[first:last] if data else np.zeros(0, np.uint8)
    bounds = edges.astype(np.int64) - first
    if codes.size and codes.max() > 127:
        bounds -= np.searchsorted(np.flatnonzero((codes & 0xC0) == 0x80), bounds)
        codes = np.frombuffer(codes.tobytes().decode("utf-8").encode("utf-32-le"), np.uint32)
    return _classes(codes), bounds


def _classes(codes: np.ndarray) -> np.ndarray:
    """The class of each character."""
    table = _table()
    kinds = table[codes]
    if (kinds == _UNKNOWN).any():
        for code in np.unique(codes[kinds == _UNKNOWN]).tolist():
            table[code] = _class_of(chr(code))
        kinds = table[codes]
    return kinds


@cache
def _table() -> np.ndarray:
    """Classes of the characters that were met; of ASCII from the beginning."""
    table = np.full(_CHARACTERS, _UNKNOWN, dtype=np.uint8)
    table[:128] = [_class_of(chr(code)) for code in range(128)]
    return table


def _class_of(character: str) -> int:
    if character in _MARKS:
        return _RUNS + _MARKS.index(character)
    matches = (kind for pattern, kind in _CLASSES if re.fullmatch(pattern, character))
    return next(matches, _DIGIT if re.fullmatch(r"[^\W_]", character) else _SINGLE)


def _starts(kinds: np.ndarray, before: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Where a token starts, if apostrophes among digits are left out of account."""
    is_word = (kinds == _DIGIT) | (kinds == _LETTER)
    follows_word = (before == _DIGIT) | (before == _LETTER)
    is_start = (kinds >= _RUNS) & (kinds != before)
    is_start |= (kinds >= _SINGLE) & (kinds < _RUNS)
    is_start |= is_word & ~follows_word
    marks = np.flatnonzero(kinds == _APOSTROPHE)
    marks = marks[follows_word[marks]]
    marks = marks[bounds[np.searchsorted(bounds, marks + 1)] != marks + 1]  # the text goes on
    joins = marks[kinds[marks + 1] == _LETTER]  # as in "don't": one word
    is_start[joins] = is_start[joins + 1] = False
    return is_start


def _ambiguous(kinds: np.ndarray, before: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Whether the tokens of each text depend on more than neighbouring characters."""

    def has(flags: np.ndarray) -> np.ndarray:
        return _sums(flags, bounds) > 0 if flags.any() else np.zeros(len(bounds) - 1, dtype=bool)

    ends_letters = ((kinds == _DIGIT) & (before == _LETTER)) | (kinds == _OTHER)
    return (
        (has(kinds == _LESS) & has(kinds == _GREATER))  # a marker
        | (has(kinds == _APOSTROPHE) & has(ends_letters))
        | has(kinds == _COMPATIBLE)
    )


def _sums(flags: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """How many flags each text has."""
    return np.diff(np.searchsorted(np.flatnonzero(flags), bounds))
