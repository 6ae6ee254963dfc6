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

_BLANK, _LETTER, _DIGIT, _MARK, _APOSTROPHE, _HYPHEN, _DOT, _COMMA, _COLON, _EYES, _OPEN, _CLOSE = (
    range(12)
)
_ODD = 12  # anything that only `tokens` can tell
_LAST = 0x2028


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
        _ODD: "/\\@_`<>",
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
    codes: Array  # the characters of all texts
    offsets: Array  # where each text begins in `codes`


def words_of(texts: Sequence[str]) -> Words:
    """The words of all texts.

    Example:
        >>> found = words_of(["Ben ’ s tea , not mine.", "Why?"])
        >>> found.row.tolist(), found.start.tolist(), found.end.tolist(), found.follows.tolist()
        ([0, 0, 0, 0, 1], [0, 8, 14, 18, 0], [7, 11, 17, 22, 3], [False, True, False, True, False])
    """
    codes = np.frombuffer("\n".join(texts).encode("utf-32-le", "surrogatepass"), "<u4")
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    offsets = np.concatenate(([0], (lengths + 1).cumsum()[:-1])) if len(texts) else lengths
    kinds = np.zeros(len(codes) + 12, np.uint8)  # blanks on both sides, so that shifts stay inside
    kinds[6:-6] = _KINDS[np.minimum(codes, _LAST)]
    inside, odd = _scan(kinds, codes)
    rows = np.unique(np.searchsorted(offsets, odd, "right") - 1)
    plain = np.ones(len(texts), bool)
    plain[rows] = False
    found = _spans(inside, kinds[6:-6], offsets, lengths, plain)
    if len(rows):
        found = _merged(found, _read(texts, rows.tolist()))
    return Words(*found, codes, offsets)


def _scan(kinds: Array, codes: Array) -> tuple[Array, Array]:
    """Which characters are inside words, and places of those that only `tokens` can tell."""
    at = _shifted(kinds)
    here, after, before = at(0), at(1), at(-1)
    solid, solid_after, solid_before = (_is_solid(each) for each in (here, after, before))
    bridge = solid_before & solid_after
    joint = ((here == _APOSTROPHE) | (here == _HYPHEN)) & bridge
    inside = solid | joint
    open_before = solid_before | (before == _MARK) | (before == _HYPHEN)
    odd = (here == _ODD) | ((here == _DOT) & open_before & solid_after)
    odd |= ((here == _COLON) | (here == _EYES)) & (
        solid_after | (after == _HYPHEN) | (after == _MARK)
    )
    odd |= (here == _OPEN) & (after == _CLOSE)
    odd |= (here == _HYPHEN) & ~solid_before & (solid_after | (after == _HYPHEN))
    marks = (here == _COMMA) | (here == _COLON)
    odd |= marks & (before == _DIGIT) & (after == _DIGIT)
    w = codes == ord("w")  # `www` may begin an address
    odd[2:] |= w[2:] & w[1:-1] & w[:-2]
    strange = _join_clitics(inside, joint, here, codes)
    return inside, np.concatenate((np.flatnonzero(odd), strange))


def _shifted(kinds: Array):
    """The characters so many places further on."""
    return lambda by: kinds[6 + by : len(kinds) - 6 + by]


def _is_solid(kinds: Array) -> Array:
    return (kinds == _LETTER) | (kinds == _DIGIT)


def _join_clitics(inside: Array, joint: Array, kinds: Array, codes: Array) -> Array:
    """Let `don ’ t` and `do n't` be one word; gives places that are better left to `tokens`."""
    padded = np.concatenate((codes, np.full(8, 32, codes.dtype)))  # -1 to -8 reach into it too
    solid = np.concatenate((_is_solid(kinds), np.zeros(8, bool)))
    lower = np.where((padded >= 65) & (padded <= 90), padded | 32, padded)
    places = np.flatnonzero(kinds == _APOSTROPHE)
    loose = places[~joint[places]]
    before = np.where(padded[loose - 1] == 32, loose - 2, loose - 1)
    after = np.where(padded[loose + 1] == 32, loose + 2, loose + 1)
    size = _clitic(lower, padded, solid, after)
    fits = solid[before] & (size > 0)
    spans = before[fits] + 1, (after + size)[fits]
    tight = places[joint[places]]
    is_nt = (padded[tight - 1] == ord("n")) & (padded[tight + 1] == ord("t"))
    is_nt &= ~solid[tight + 2] & (padded[tight - 2] == 32) & solid[tight - 3]
    nt = tight[is_nt]
    for by in range(int((spans[1] - spans[0]).max(initial=0))):
        reached = spans[0] + by
        inside[reached[reached < spans[1]]] = True
    inside[nt - 2] = True
    ends = np.concatenate((spans[1], nt + 2))
    more = np.isin(padded[ends], _JOINTS)  # `don ' t-shirt`: the word ends, though it seems not to
    return ends[more]


_JOINTS = [ord(each) for each in "'’-"]


def _clitic(lower: Array, padded: Array, solid: Array, at: Array) -> Array:
    """How long the clitic at each place is; 0 for none."""
    one, two = lower[at], lower[at + 1]
    single = np.isin(one, [ord(each) for each in "stdm"]) & ~solid[at + 1]
    double = np.isin(one, [ord("r"), ord("v")]) & (two == ord("e"))
    double |= (one == ord("l")) & (two == ord("l"))
    double &= ~solid[at + 2]
    clock = np.ones(len(at), bool)
    for by, each in enumerate("clock"):
        clock &= padded[np.minimum(at + by, len(padded) - 1)] == ord(each)
    clock &= ~solid[np.minimum(at + 5, len(solid) - 1)]
    return np.where(single, 1, np.where(double, 2, np.where(clock, 5, 0)))


Spans = tuple[Array, Array, Array, Array, Array]


def _spans(inside: Array, kinds: Array, offsets: Array, lengths: Array, plain: Array) -> Spans:
    """The words of plain texts."""
    edges = np.flatnonzero(np.diff(inside, prepend=False, append=False))
    start, end = edges[::2], edges[1::2]
    bounds = np.searchsorted(start, offsets)
    row = np.repeat(np.arange(len(offsets)), np.diff(bounds, append=len(start)))
    seen = np.concatenate(([0], np.cumsum((kinds != _BLANK) & ~inside)))  # marks before each place
    marks_before, marks_after = seen[start], seen[end]
    follows = np.zeros(len(start), bool)
    follows[1:] = (row[1:] == row[:-1]) & (marks_before[1:] == marks_after[:-1])
    edge = np.zeros(len(start), bool)
    first, last = bounds < np.append(bounds[1:], len(start)), np.append(bounds[1:], len(start)) - 1
    edge[bounds[first]] |= marks_before[bounds[first]] == seen[offsets[first]]
    edge[last[first]] |= marks_after[last[first]] == seen[(offsets + lengths)[first]]
    kept = plain[row]
    begun = offsets[row]
    found = row, start - begun, end - begun, follows, edge
    return found if kept.all() else tuple(each[kept] for each in found)


def _read(texts: Sequence[str], rows: Sequence[int]) -> Spans:
    """The words of some texts as `tokens` finds them."""
    words = [
        (row, token.start, token.end, at > 0 and found[at - 1].is_word, at in (0, len(found) - 1))
        for row in rows
        for found in [tokens(texts[row])]
        for at, token in enumerate(found)
        if token.is_word
    ]
    columns = np.array(words, np.int64).reshape(-1, 5).T
    return (*columns[:3], *columns[3:].astype(bool))


def _merged(found: Spans, others: Spans) -> Spans:
    """All words in the order of the texts."""
    joined = [np.concatenate(each) for each in zip(found, others, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return tuple(each[order] for each in joined)
