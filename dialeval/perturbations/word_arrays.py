"""Words of many texts at once, as arrays: what `tokens` finds, without a Python step for each.

A text of plain English is scanned with a few array operations together with all others. One that
may hold code, numbers with marks in them, emoji or letters beyond ASCII is read by `tokens`, whose
words the scan gives by definition.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dialeval.perturbations.tokens import tokens

Array = np.ndarray

_BLANK, _LETTER, _DIGIT, _MARK = range(4)
_APOSTROPHE, _HYPHEN, _DOT, _COMMA, _COLON, _EYES, _OPEN, _CLOSE, _SLASH = range(4, 13)
_ODD = 13  # anything that only `tokens` can tell
_LAST = 0x2028
_PADDING = " " * 8  # behind the last text, so that looking some places on stays inside


def _kinds() -> Array:
    """What each character is to the scan."""
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
        table[[ord(each) for each in characters]] = kind
    return table


_KINDS = _kinds()


class Words(NamedTuple):
    """The words of some texts, in order; places count from the beginning of the own text.

    `follows` says that nothing but blanks stands between a word and the one before it, `edge` that
    it is the first or the last token of its text.
    """

    row: Array
    start: Array
    end: Array
    follows: Array
    edge: Array
    joined: str  # all texts, with a new line behind each
    codes: Array  # the characters of that
    offsets: Array  # where each text begins in it
    lengths: Array


def words_of(texts: Sequence[str]) -> Words:
    """The words of all texts.

    Example:
        >>> found = words_of(["Ben ’ s tea , not mine.", "Why?"])
        >>> found.row.tolist(), found.start.tolist(), found.end.tolist(), found.follows.tolist()
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
    found = _spans(inside, kinds, offsets, lengths)
    if len(rows):
        found = _merged(found, _read(texts, rows.tolist()))
    return Words(*found, joined, codes, offsets, lengths)


def _scan(inside: Array, solid: Array, kinds: Array, codes: Array) -> Array:
    """Let words go on over their joints; gives places that only `tokens` can tell."""
    places = np.flatnonzero(kinds > _MARK)  # few: the rest costs next to nothing
    here, before, after = kinds[places], kinds[places - 1], kinds[places + 1]
    solid_before, solid_after = solid[places - 1], solid[places + 1]
    joint = ((here == _APOSTROPHE) | (here == _HYPHEN)) & solid_before & solid_after
    inside[places[joint]] = True
    marked_after = (after == _MARK) | (after == _SLASH)
    open_before = solid_before | (before == _MARK) | (before == _HYPHEN)
    odd = (here == _ODD) | ((here == _SLASH) & ~solid_before)
    odd |= (here == _DOT) & open_before & solid_after
    odd |= (here == _DOT) & (after != _BLANK) & _behind_www(codes, places)
    odd |= ((here == _COLON) | (here == _EYES)) & (solid_after | (after == _HYPHEN) | marked_after)
    odd |= (here == _OPEN) & (after == _CLOSE)
    odd |= (here == _HYPHEN) & ~solid_before & (solid_after | (after == _HYPHEN))
    odd |= ((here == _COMMA) | (here == _COLON)) & (before == _DIGIT) & (after == _DIGIT)
    apostrophes = here == _APOSTROPHE
    tight, loose = places[apostrophes & joint], places[apostrophes & ~joint]
    return np.concatenate((places[odd], _join_clitics(inside, solid, codes, tight, loose)))


def _behind_www(codes: Array, places: Array) -> Array:
    """Whether an address may begin before these places."""
    return np.logical_and.reduce([codes[places - by] == ord("w") for by in (1, 2, 3)])


def _join_clitics(inside: Array, solid: Array, codes: Array, tight: Array, loose: Array) -> Array:
    """Let `don ’ t` and `do n't` be one word; gives places that are better left to `tokens`.

    Args:
        tight (`Array`):
            Apostrophes between two letters; `loose` are all others.
    """
    before = np.where(codes[loose - 1] == 32, loose - 2, loose - 1)
    after = np.where(codes[loose + 1] == 32, loose + 2, loose + 1)
    size = _clitic(codes, solid, after)
    fits = solid[before] & (size > 0)
    starts, ends = before[fits] + 1, (after + size)[fits]
    inside[ranges(starts, ends)] = True
    is_nt = (codes[tight - 1] == ord("n")) & (codes[tight + 1] == ord("t"))
    is_nt &= ~solid[tight + 2] & (codes[tight - 2] == 32) & solid[tight - 3]
    nt = tight[is_nt]
    inside[nt - 2] = True
    ends = np.concatenate((ends, nt + 2))
    more = np.isin(codes[ends], _JOINTS)  # `don ' t-shirt`: the word ends, though it seems not to
    return ends[more]


_JOINTS = [ord(each) for each in "'’-"]


def _clitic(codes: Array, solid: Array, at: Array) -> Array:
    """How long the clitic at each place is; 0 for none."""
    one, two = _small(codes[at]), _small(codes[at + 1])
    single = np.isin(one, [ord(each) for each in "stdm"]) & ~solid[at + 1]
    double = np.isin(one, [ord("r"), ord("v")]) & (two == ord("e"))
    double |= (one == ord("l")) & (two == ord("l"))
    double &= ~solid[at + 2]
    clock = ~solid[np.minimum(at + 5, len(solid) - 1)]
    for by, each in enumerate("clock"):
        clock &= codes[np.minimum(at + by, len(codes) - 1)] == ord(each)
    return np.where(single, 1, np.where(double, 2, np.where(clock, 5, 0)))


def _small(codes: Array) -> Array:
    """Characters in small letters; those beyond ASCII as they are."""
    return np.where((codes >= 65) & (codes <= 90), codes | 32, codes)


def ranges(starts: Array, ends: Array) -> Array:
    """All places from each start up to its end, one after the other.

    Example:
        >>> ranges(np.array([3, 10]), np.array([5, 13])).tolist()
        [3, 4, 10, 11, 12]
    """
    lengths = ends - starts
    before = lengths.cumsum() - lengths
    return np.arange(lengths.sum()) + np.repeat(starts - before, lengths)


def text_of(codes: Array) -> str:
    """Characters as one text."""
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def cut(joined: str, lengths: Array) -> list[str]:
    """Texts of these lengths, of which each has one character behind it that is left out.

    Example:
        >>> cut("Why? No.", np.array([4, 3]))
        ['Why?', 'No.']
    """
    ends = (lengths + 1).cumsum() - 1
    bounds = zip((ends - lengths).tolist(), ends.tolist(), strict=True)
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
    seen = np.append(0, np.cumsum(marks, dtype=np.int32))  # of them before each place
    marks_before, marks_after = seen[start], seen[end]
    follows = np.zeros(len(start), bool)
    follows[1:] = (row[1:] == row[:-1]) & (marks_before[1:] == marks_after[:-1])
    edge = np.zeros(len(start), bool)
    first, last = bounds < np.append(bounds[1:], len(start)), np.append(bounds[1:], len(start)) - 1
    edge[bounds[first]] |= marks_before[bounds[first]] == seen[offsets[first]]
    edge[last[first]] |= marks_after[last[first]] == seen[(offsets + lengths)[first]]
    begun = offsets[row]
    return row, start - begun, end - begun, follows, edge


def _read(texts: Sequence[str], rows: Sequence[int]) -> Spans:
    """The words of some texts as `tokens` finds them."""
    words = [
        (row, start, end, at > 0 and found[at - 1].is_word, at in (0, len(found) - 1))
        for row in rows
        for found in [tokens(texts[row])]
        for at, (_, start, end, shape) in enumerate(found)
        if shape == "word"
    ]
    columns = np.array(words, np.int64).reshape(-1, 5).T
    return (*columns[:3], *columns[3:].astype(bool))


def _merged(found: Spans, others: Spans) -> Spans:
    """All words in the order of the texts."""
    later = np.searchsorted(found[0], others[0]) + np.arange(len(others[0]))
    is_other = np.zeros(len(found[0]) + len(later), bool)
    is_other[later] = True
    joined = tuple(np.empty(len(is_other), each.dtype) for each in found)
    for each, one, two in zip(joined, found, others, strict=True):
        each[~is_other], each[is_other] = one, two
    return joined
