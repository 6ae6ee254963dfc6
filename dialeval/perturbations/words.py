"""Random swaps and stop-word dropout, computed for many utterances at once."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, repeat
from random import Random
from typing import ClassVar, NamedTuple

import numpy as np

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Edited, Perturbation, new_edit
from dialeval.perturbations.lexicon import keep_words, stop_words
from dialeval.perturbations.tokens import lexicon_form
from dialeval.perturbations.word_arrays import Array, Words, cut, ranges, text_of, words_of


class _BatchPerturbation(Perturbation):
    """A strategy that edits many texts at once."""

    @abstractmethod
    def apply(self, texts: Sequence[str], seeds: Sequence[int]) -> Edited: ...

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        return self.apply(texts, seeds).logs

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [rng.getrandbits(64)])[0]


@dataclass(frozen=True)
class RandomSwap(_BatchPerturbation):
    """Exchange neighbouring words (Niu & Bansal, 2018, sec. 3.1), never across punctuation.

    Args:
        words_per_swap (`int`, *optional*, defaults to 4):
            At most one swap per so many words of the utterance; no word moves twice.
        by_gap (`bool`, *optional*, defaults to `False`):
            Count the words between two punctuation marks, and keep the utterance's first and last
            token in place, as the released code does.

    Examples:
        >>> RandomSwap()("I don't want you to go.", 2)
        "I don't want to you go."
    """

    name = "random-swap"
    kind = "should_not_change"
    languages = None
    presets: ClassVar = {"released": {"words_per_swap": 3, "by_gap": True}}

    words_per_swap: int = 4
    by_gap: bool = False

    def __post_init__(self) -> None:
        if self.words_per_swap < 2:
            raise BadInput(
                f"`words_per_swap` must be 2 or more, but got {self.words_per_swap}.",
                hint="One swap moves two words.",
            )

    def apply(self, texts: Sequence[str], seeds: Sequence[int]) -> Edited:
        words = words_of(texts)
        if not len(words.row):
            return Edited(list(texts), [[] for _ in texts])
        free = ~words.edge if self.by_gap else np.ones(len(words.row), bool)
        linked = words.follows & free
        linked[1:] &= free[:-1]
        groups = np.cumsum(~linked) if self.by_gap else words.row
        most = np.bincount(groups[free], minlength=groups[-1] + 1) // self.words_per_swap
        pairs = np.append(linked[1:], False) & ~_equals_next(words)
        order = _priorities(words.row, seeds)
        indices = _first_of_group(_disjoint_pairs(pairs, order), order, groups, most)
        return _swap_words(words, indices)


def _equals_next(words: Words) -> Array:
    """Whether a word equals the next one, so that a swap would change nothing."""
    start, end = words.offsets[words.row] + words.start, words.offsets[words.row] + words.end
    alike = np.zeros(len(start), bool)
    alike[:-1] = (end - start)[:-1] == (end - start)[1:]
    at = np.flatnonzero(alike)
    at = at[words.codes[start[at]] == words.codes[start[at + 1]]]
    alike[:] = False
    bounds = (bound[at + by].tolist() for by in (0, 1) for bound in (start, end))
    joined = words.joined
    alike[at] = [joined[a:b] == joined[c:d] for a, b, c, d in zip(*bounds, strict=True)]
    return alike


def _priorities(rows: Array, seeds: Sequence[int]) -> Array:
    """A random number for every word, from its text's seed and its index (SplitMix64)."""
    first = np.searchsorted(rows, np.arange(len(seeds)))
    index = np.arange(len(rows)) - first[rows]
    state = np.array(seeds, np.uint64)[rows] + (index + 1).astype(np.uint64) * _GOLDEN
    state = (state ^ (state >> _30)) * _MIX_1
    state = (state ^ (state >> _27)) * _MIX_2
    return state ^ (state >> _31)


_GOLDEN, _MIX_1, _MIX_2 = map(
    np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_24, _27, _30, _31, _40 = map(np.uint64, (24, 27, 30, 31, 40))


def _disjoint_pairs(pairs: Array, order: Array) -> Array:
    """Pairs that do not share a word, selected greedily in order; each round selects all minima."""
    selected, open_ = np.zeros(len(pairs), bool), pairs.copy()
    while open_.any():
        rank = np.where(open_, order, _LAST)
        before = np.append(_LAST, rank[:-1])
        after = np.append(rank[1:], _LAST)
        now = open_ & (rank < before) & (rank <= after)
        selected |= now
        open_ &= ~now
        open_[1:] &= ~now[:-1]
        open_[:-1] &= ~now[1:]
    return selected


_LAST = np.uint64(2**64 - 1)


def _first_of_group(selected: Array, order: Array, groups: Array, most: Array) -> Array:
    """Indices of the selected words, at most `most` per group, in order."""
    indices = np.flatnonzero(selected)
    keys = (groups[indices].astype(np.uint64) << _40) | (order[indices] >> _24)
    ranked = indices[np.argsort(keys, kind="stable")]  # fast, because groups are in order
    of = groups[ranked]
    counts = np.bincount(of)
    number = np.arange(len(of)) - (counts.cumsum() - counts)[of]
    return np.sort(ranked[number < most[of]], kind="stable")


def _swap_words(words: Words, indices: Array) -> Edited:
    """The texts with each of these words and the next one swapped."""
    row, begun = words.row[indices], words.offsets[words.row[indices]]
    start, end = begun + words.start[indices], begun + words.end[indices]
    other, stop = begun + words.start[indices + 1], begun + words.end[indices + 1]
    codes, at = words.codes.copy(), start
    for one, two in ((other, stop), (end, other), (start, end)):  # next word, gap, word
        codes[ranges(at, at + two - one)] = words.codes[ranges(one, two)]
        at = at + two - one
    swapped = text_of(codes)
    return Edited(cut(swapped, words.lengths), _logs(words, row, start, stop, swapped))


def _logs(words: Words, row: Array, start: Array, end: Array, made: str) -> list[Sequence[Edit]]:
    """A list of edits for each text; each span becomes its text in `made`, or is removed."""
    spans = start.tolist(), end.tolist()
    before = [words.joined[one:two] for one, two in zip(*spans, strict=True)]
    after = [made[one:two] for one, two in zip(*spans, strict=True)] if made else repeat("")
    columns = (start - words.offsets[row]).tolist(), before, after
    edits = list(map(new_edit, repeat(Edit), zip(*columns, strict=False)))
    firsts = np.searchsorted(row, np.arange(len(words.lengths) + 1)).tolist()
    return [edits[one:two] for one, two in pairwise(firsts)]


@dataclass(frozen=True)
class StopwordDropout(_BatchPerturbation):
    """Leave out stop words, drawn at random (Niu & Bansal, 2018, sec. 3.1).

    At least one word always stays, so that no utterance becomes empty.

    Args:
        most (`int`, *optional*, defaults to 8):
            Maximum number of dropped words per utterance; `None` for no limit.
        keep (`bool`, *optional*, defaults to `True`):
            Keep pronouns, wh-words and negation. The paper does not, its released code does:
            without "not" a sentence says something else, and the answer should change.
        lexicon (`str`, *optional*):
            File of other stop words, in any language.

    Examples:
        >>> StopwordDropout()("Ben ate the carrot.")
        'Ben ate carrot.'
    """

    name = "stopword-dropout"
    kind = "should_not_change"
    presets: ClassVar = {"released": {"most": None}}

    most: int | None = 8
    keep: bool = True
    lexicon: str | None = None

    def __post_init__(self) -> None:
        if self.most is not None and self.most < 1:
            raise BadInput(f"`most` must be 1 or more, or None for all, but got {self.most}.")

    def apply(self, texts: Sequence[str], seeds: Sequence[int]) -> Edited:
        words = words_of(texts)
        if not len(words.row):
            return Edited(list(texts), [[] for _ in texts])
        drop = _droppable(self.lexicon, self.keep).among(words)
        stop_counts, word_counts = (
            np.bincount(rows, minlength=len(texts)) for rows in (words.row[drop], words.row)
        )
        most = stop_counts - (stop_counts == word_counts)  # at least one word stays
        most = most if self.most is None else np.minimum(most, self.most)
        indices = _first_of_group(drop, _priorities(words.row, seeds), words.row, most)
        return _drop_words(words, indices)


class _Droppable(NamedTuple):
    """Stop words, those of up to eight letters as integers, and a table of their shapes.

    A shape is first letter, last letter and length.
    """

    words: frozenset[str]
    keys: Array
    shapes: Array

    def among(self, words: Words) -> Array:
        """Mask of the words that are stop words."""
        begun = words.offsets[words.row]
        start, end = begun + words.start, begun + words.end
        letters = np.take(_LETTERS, words.codes, mode="clip")
        shapes = letters[start], letters[end - 1], np.minimum(end - start, _LONGEST)
        at = np.flatnonzero(self.shapes[shapes])
        start, end = start[at], end[at]
        keys, plain = _keys(letters, start, end)
        are = self.keys[np.searchsorted(self.keys[:-1], keys)] == keys
        strange = np.flatnonzero(~plain)
        bounds = zip(start[strange].tolist(), end[strange].tolist(), strict=True)
        are[strange] = [self._has(words.joined[one:two].lower()) for one, two in bounds]
        name = (words.codes[start] == ord("A")) & (end - start == 1)  # as in `A: thanks`
        last = words.end[at] == words.lengths[words.row[at]]
        are &= ~name | (_is_blank(words.codes[end]) & ~last)
        among = np.zeros(len(words.row), bool)
        among[at] = are
        return among

    def _has(self, word: str) -> bool:
        return word in self.words or (not word.isalpha() and lexicon_form(word) in self.words)


_LONGEST, _OTHER = 15, 127
# Characters in lower case; all beyond ASCII map to one.
_LETTERS = np.array([ord(chr(code).lower()) for code in range(_OTHER + 1)], np.uint8)
_FIRST_OF = np.array([2 ** (8 * length) - 1 for length in range(9)], "<u8")  # letter masks


def _keys(letters: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """The first eight letters as integers, and whether a word is that short and alphabetic."""
    eights = np.ndarray(len(letters) - 7, "<u8", letters.data, strides=(1,))  # at every offset
    keys = eights[start] & _FIRST_OF[np.minimum(end - start, 8)]
    characters = keys.view(np.uint8).reshape(-1, 8)
    plain = ((characters == 0) | ((characters >= ord("a")) & (characters <= ord("z")))).all(1)
    return keys, plain & (end - start <= 8)


@lru_cache
def _droppable(lexicon: str | None, keep: bool) -> _Droppable:
    words = stop_words(lexicon) - keep_words() if keep else stop_words(lexicon)
    shapes = np.zeros((_OTHER + 1, _OTHER + 1, _LONGEST + 1), bool)
    for word in words:
        for blanks in range(3 if "'" in word else 1):  # `it's`, `it ' s`
            outer_letters = (min(ord(word[0]), _OTHER), min(ord(word[-1]), _OTHER))
            shapes[(*outer_letters, min(len(word) + blanks, _LONGEST))] = True
    short = (word.encode() for word in words if word.isascii() and len(word) <= 8)
    keys = np.frombuffer(b"".join(word.ljust(8, b"\0") for word in short), "<u8")
    return _Droppable(words, np.append(np.sort(keys), np.uint64(2**64 - 1)), shapes)


def _drop_words(words: Words, indices: Array) -> Edited:
    """The texts without these words and one adjacent space each, preferably the one before."""
    row, begun = words.row[indices], words.offsets[words.row[indices]]
    start, end = begun + words.start[indices], begun + words.end[indices]
    before = (words.start[indices] > 0) & _is_blank(words.codes[start - 1])
    after = (words.end[indices] < words.lengths[row]) & _is_blank(words.codes[end])
    touches = np.append(False, (row[1:] == row[:-1]) & (end[:-1] + 1 == start[1:]))
    right, settled = np.zeros(len(row), bool), False
    while not settled:  # a word that removes the space after it leaves none before the next
        left = before & ~(touches & np.append(False, right[:-1]))
        settled = bool((right == (~left & after)).all())
        right = ~left & after
    start, end = start - left, end + right
    kept = np.ones(len(words.codes), bool)
    kept[ranges(start, end)] = False
    shorter = np.bincount(row, end - start, len(words.lengths)).astype(np.int64)
    shortened = cut(text_of(words.codes[kept]), words.lengths - shorter)
    return Edited(shortened, _logs(words, row, start, end, ""))


def _is_blank(codes: Array) -> Array:
    return np.take(_BLANKS, codes, mode="clip")


_BLANKS = np.array([chr(code).isspace() for code in range(0x3002)])
