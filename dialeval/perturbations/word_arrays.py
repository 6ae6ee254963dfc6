"""Words of many texts as arrays: the words of `tokenize`, without a Python step per word.

Texts of plain English are scanned together with a few array operations. A text that may contain
code, numbers with marks in them, emoji or letters beyond ASCII is read by `tokenize`; by definition
both ways give the same words.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dialeval.perturbations.tokens import tokenize

Array = np.ndarray

_BLANK, _LETTER, _DIGIT, _MARK = range(4)
_APOSTROPHE, _HYPHEN, _DOT, _COMMA, _COLON, _EYES, _OPEN, _CLOSE, _SLASH = range(4, 13)
_ODD = 13  # anything that only `tokenize` handles
_LAST = 0x2028
_PADDING = " " * 8  # after the last text, so that looking ahead stays in bounds


def _kinds() -> Array:
    """The scan's class of each character."""
    table = np.full(_LAST + 1, _ODD, np.uint8)
    table[0x21:0x7F] = _MARK
    for kind, characters in {
        _BLANK: "\t\n\r ",
        _LETTER: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        _DIGIT: "0123456789",
        _MARK: "‘“”…–—",
        _APOSTROPHE: "'’",
        _HYPHEN: "-",
        _DOT: ".",
        _COMMA: ",",
        _COLON: ":",
        _EYES: ";=",
        _OPEN: "(",
        _CLOSE: ")",
        _SLASH: "/",
        _ODD: "\\@_`<>",
    }.items():
        table[[ord(character) for character in characters]] = kind
    return table


_KINDS = _kinds()


class Words(NamedTuple):
    """The words of some texts, in order; `start` and `end` count from the beginning of the text.

    `follows` is whether only whitespace separates a word from the one before it, `edge` whether it
    is the first or the last token of its text.
    """

    row: Array
    start: Array
    end: Array
    follows: Array
    edge: Array
    joined: str  # all texts, with a line break after each
    codes: Array  # the characters of that
    offsets: Array  # where each text begins in it
    lengths: Array


def words_of(texts: Sequence[str]) -> Words:
    """The words of all texts.

    Examples:
        >>> words = words_of(["Ben ’ s tea , not mine.", "Why?"])
        >>> words.row.tolist(), words.start.tolist(), words.end.tolist(), words.follows.tolist()
        ([0, 0, 0, 0, 1], [0, 8, 14, 18, 0], [7, 11, 17, 22, 3], [False, True, False, True, False])
    """
    joined = "\n".join((*texts, _PADDING))
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), "<u4")
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    offsets = (lengths + 1).cumsum() - lengths - 1
    kinds = np.take(_KINDS, codes, mode="clip")
    solid = (kinds == _LETTER) | (kinds == _DIGIT)
    inside = solid.copy()
    odd = _scan(inside, solid, kinds, codes)
    rows = np.unique(np.searchsorted(offsets, odd, "right") - 1)
    inside[ranges(offsets[rows], offsets[rows] + lengths[rows])] = False
    spans = _spans(inside, kinds, offsets, lengths)
    if len(rows):
        spans = _merge_spans(spans, _read_spans(texts, rows.tolist()))
    return Words(*spans, joined, codes, offsets, lengths)


def _scan(inside: Array, solid: Array, kinds: Array, codes: Array) -> Array:
    """Mark joints as inside words; returns indices that only `tokenize` handles."""
    indices = np.flatnonzero(kinds > _MARK)  # few, so the rest is cheap
    here, before, after = kinds[indices], kinds[indices - 1], kinds[indices + 1]
    solid_before, solid_after = solid[indices - 1], solid[indices + 1]
    joint = ((here == _APOSTROPHE) | (here == _HYPHEN)) & solid_before & solid_after
    inside[indices[joint]] = True
    marked_after = (after == _MARK) | (after == _SLASH)
    open_before = solid_before | (before == _MARK) | (before == _HYPHEN)
    odd = (here == _ODD) | ((here == _SLASH) & ~solid_before)
    odd |= (here == _DOT) & open_before & solid_after
    odd |= (here == _DOT) & (after != _BLANK) & _behind_www(codes, indices)
    odd |= ((here == _COLON) | (here == _EYES)) & (solid_after | (after == _HYPHEN) | marked_after)
    odd |= (here == _OPEN) & (after == _CLOSE)
    odd |= (here == _HYPHEN) & ~solid_before & (solid_after | (after == _HYPHEN))
    odd |= ((here == _COMMA) | (here == _COLON)) & (before == _DIGIT) & (after == _DIGIT)
    apostrophes = here == _APOSTROPHE
    tight, loose = indices[apostrophes & joint], indices[apostrophes & ~joint]
    return np.concatenate((indices[odd], _join_clitics(inside, solid, codes, tight, loose)))


def _behind_www(codes: Array, indices: Array) -> Array:
    """Whether an address may begin before these indices."""
    return np.logical_and.reduce([codes[indices - by] == ord("w") for by in (1, 2, 3)])


def _join_clitics(inside: Array, solid: Array, codes: Array, tight: Array, loose: Array) -> Array:
    """Mark `don ’ t` and `do n't` as one word; returns indices that are left to `tokenize`.

    Args:
        tight (`Array`):
            Apostrophes between two letters; `loose` are all others.
    """
    before = np.where(codes[loose - 1] == 32, loose - 2, loose - 1)
    after = np.where(codes[loose + 1] == 32, loose + 2, loose + 1)
    size = _clitic(codes, solid, after)
    fits = solid[before] & (size > 0)
    starts, stops = before[fits] + 1, (after + size)[fits]
    inside[ranges(starts, stops)] = True
    is_nt = (codes[tight - 1] == ord("n")) & (codes[tight + 1] == ord("t"))
    is_nt &= ~solid[tight + 2] & (codes[tight - 2] == 32) & solid[tight - 3]
    nt = tight[is_nt]
    inside[nt - 2] = True
    stops = np.concatenate((stops, nt + 2))
    more = np.isin(codes[stops], _JOINTS)  # `don ' t-shirt`: the word ends before the hyphen
    return stops[more]


_JOINTS = [ord(character) for character in "'’-"]


def _clitic(codes: Array, solid: Array, at: Array) -> Array:
    """Length of the clitic at each index; 0 for none."""
    one, two = _to_lower(codes[at]), _to_lower(codes[at + 1])
    single = np.isin(one, [ord(letter) for letter in "stdm"]) & ~solid[at + 1]
    double = np.isin(one, [ord("r"), ord("v")]) & (two == ord("e"))
    double |= (one == ord("l")) & (two == ord("l"))
    double &= ~solid[at + 2]
    clock = ~solid[np.minimum(at + 5, len(solid) - 1)]
    for by, letter in enumerate("clock"):
        clock &= codes[np.minimum(at + by, len(codes) - 1)] == ord(letter)
    return np.where(single, 1, np.where(double, 2, np.where(clock, 5, 0)))


def _to_lower(codes: Array) -> Array:
    """Characters in lower case; those beyond ASCII unchanged."""
    return np.where((codes >= 65) & (codes <= 90), codes | 32, codes)


def ranges(starts: Array, stops: Array) -> Array:
    """All indices from each start up to its stop, concatenated.

    Examples:
        >>> ranges(np.array([3, 10]), np.array([5, 13])).tolist()
        [3, 4, 10, 11, 12]
    """
    lengths = stops - starts
    before = lengths.cumsum() - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def text_of(codes: Array) -> str:
    """Characters as one text."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def cut(joined: str, lengths: Array) -> list[str]:
    """Texts of these lengths, each followed by one separator character that is left out.

    Examples:
        >>> cut("Why? No.", np.array([4, 3]))
        ['Why?', 'No.']
    """
    stops = (lengths + 1).cumsum() - 1
    bounds = zip((stops - lengths).tolist(), stops.tolist(), strict=True)
    return [joined[one:two] for one, two in bounds]


Spans = tuple[Array, Array, Array, Array, Array]


def _spans(inside: Array, kinds: Array, offsets: Array, lengths: Array) -> Spans:
    """The words that the scan found."""
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1  # the padding is outside
    edges = np.append(0, edges) if len(edges) % 2 else edges
    start, end = edges[::2], edges[1::2]
    bounds = np.searchsorted(start, offsets)
    row = np.repeat(np.arange(len(offsets)), np.diff(bounds, append=len(start)))
    marks = (kinds != _BLANK) & ~inside
    seen = np.append(0, np.cumsum(marks, dtype=np.int32))  # number of marks before each index
    marks_before, marks_after = seen[start], seen[end]
    follows = np.zeros(len(start), bool)
    follows[1:] = (row[1:] == row[:-1]) & (marks_before[1:] == marks_after[:-1])
    edge = np.zeros(len(start), bool)
    first, last = bounds < np.append(bounds[1:], len(start)), np.append(bounds[1:], len(start)) - 1
    edge[bounds[first]] |= marks_before[bounds[first]] == seen[offsets[first]]
    edge[last[first]] |= marks_after[last[first]] == seen[(offsets + lengths)[first]]
    begun = offsets[row]
    return row, start - begun, end - begun, follows, edge


def _read_spans(texts: Sequence[str], rows: Sequence[int]) -> Spans:
    """The words of some texts, read by `tokenize`."""
    words = [
        (row, start, end, at > 0 and tokens[at - 1].is_word, at in (0, len(tokens) - 1))
        for row in rows
        for tokens in [tokenize(texts[row])]
        for at, (_, start, end, shape) in enumerate(tokens)
        if shape == "word"
    ]
    columns = np.array(words, np.int64).reshape(-1, 5).T
    row, start, end = columns[:3]
    follows, edge = columns[3:].astype(bool)
    return row, start, end, follows, edge


def _merge_spans(scanned: Spans, others: Spans) -> Spans:
    """All words in the order of the texts."""
    later = np.searchsorted(scanned[0], others[0]) + np.arange(len(others[0]))
    is_other = np.zeros(len(scanned[0]) + len(later), bool)
    is_other[later] = True
    row, start, end, follows, edge = (
        _interleave(is_other, *columns) for columns in zip(scanned, others, strict=True)
    )
    return row, start, end, follows, edge


def _interleave(is_other: Array, values: Array, others: Array) -> Array:
    """`others` where the mask is set, `values` elsewhere, both in order."""
    merged = np.empty(len(is_other), values.dtype)
    merged[~is_other], merged[is_other] = values, others
    return merged
