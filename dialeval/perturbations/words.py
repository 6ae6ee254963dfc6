"""Perturbations of word order and word presence, made for many utterances at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar, NamedTuple

import numpy as np

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation, new_edit
from dialeval.perturbations.lexicon import keep_words, stop_words
from dialeval.perturbations.tokens import spelt
from dialeval.perturbations.word_arrays import Array, Words, words_of


@dataclass(frozen=True)
class RandomSwap(Perturbation):
    """Exchange neighbouring words (Niu & Bansal, 2018, sec. 3.1), never across punctuation.

    Args:
        words_per_swap (`int`, *optional*, defaults to 4):
            At most one swap for so many words of the utterance; no word moves twice.
        by_gap (`bool`, *optional*, defaults to `False`):
            Count the words between two punctuation marks, and keep the utterance's first and last
            token in place, as the released code does.

    Example:
        >>> RandomSwap()("I don't want you to go.", 2)
        "I don't want to you go."
    """

    name = "random-swap"
    kind = "should_not_change"
    languages = None
    presets: ClassVar = {"released": {"words_per_swap": 3, "by_gap": True}}

    words_per_swap: int = 4
    by_gap: bool = False

    def __post_init__(self):
        if self.words_per_swap < 2:
            raise BadInput(
                f"`words_per_swap` must be 2 or more, but got {self.words_per_swap}.",
                remedy="One swap moves two words.",
            )

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [rng.getrandbits(64)])[0]

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        found = words_of(texts)
        if not len(found.row):
            return [[] for _ in texts]
        free = ~found.edge if self.by_gap else np.ones(len(found.row), bool)
        runs = np.cumsum(~(found.follows & free & np.append(False, free[:-1])))
        groups = runs if self.by_gap else found.row
        most = np.bincount(groups, free)[groups] // self.words_per_swap
        pairs = np.append(found.follows[1:] & free[1:] & free[:-1], False)
        pairs &= (most > 0) & ~_repeated(texts, found)
        order = _priorities(found.row, seeds)
        places = _first_of_group(_apart(pairs, order), order, groups, most)
        return _swaps(texts, found, places)


def _repeated(texts: Sequence[str], found: Words) -> Array:
    """Whether a word is the same as the next: then there is nothing to swap."""
    start, end = found.offsets[found.row] + found.start, found.offsets[found.row] + found.end
    alike = np.zeros(len(start), bool)
    alike[:-1] = (end - start)[:-1] == (end - start)[1:]
    at = np.flatnonzero(alike)
    at = at[found.codes[start[at]] == found.codes[start[at + 1]]]
    alike[:] = False
    for place in at.tolist():
        text, other = texts[found.row[place]], texts[found.row[place + 1]]
        one = text[found.start[place] : found.end[place]]
        alike[place] = one == other[found.start[place + 1] : found.end[place + 1]]
    return alike


def _priorities(rows: Array, seeds: Sequence[int]) -> Array:
    """A random number for every word, from its text's seed and its place (SplitMix64)."""
    first = np.searchsorted(rows, np.arange(len(seeds)))
    place = np.arange(len(rows)) - first[rows]
    state = np.array(seeds, np.uint64)[rows] + (place + 1).astype(np.uint64) * _GOLDEN
    state = (state ^ (state >> _30)) * _MIX_1
    state = (state ^ (state >> _27)) * _MIX_2
    return state ^ (state >> _31)


_GOLDEN, _MIX_1, _MIX_2 = map(
    np.uint64, (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_24, _27, _30, _31, _40 = map(np.uint64, (24, 27, 30, 31, 40))


def _apart(pairs: Array, order: Array) -> Array:
    """Pairs of which no two share a word, taken in order: each round takes all that come first."""
    taken, open_ = np.zeros(len(pairs), bool), pairs.copy()
    while open_.any():
        rank = np.where(open_, order, _LAST)
        before = np.append(_LAST, rank[:-1])
        after = np.append(rank[1:], _LAST)
        now = open_ & (rank < before) & (rank <= after)
        taken |= now
        open_ &= ~now
        open_[1:] &= ~now[:-1]
        open_[:-1] &= ~now[1:]
    return taken


_LAST = np.uint64(2**64 - 1)


def _first_of_group(taken: Array, order: Array, groups: Array, most: Array) -> Array:
    """Places of what was taken, at most so many of a group, in order."""
    places = np.flatnonzero(taken)
    keys = (groups[places].astype(np.uint64) << _40) | (order[places] >> _24)
    ranked = places[np.argsort(keys)]  # one key is sorted four times as fast as two
    of = groups[ranked]
    number = np.arange(len(of)) - np.searchsorted(of, of)
    return np.sort(ranked[number < most[ranked]])


def _swaps(texts: Sequence[str], found: Words, places: Array) -> list[Sequence[Edit]]:
    """The edits of each text that exchange words with the next ones."""
    logs: list[list[Edit]] = [[] for _ in texts]
    columns = (found.row[places], found.start[places], found.end[places])
    columns += (found.start[places + 1], found.end[places + 1])
    for row, start, end, other, stop in zip(*(each.tolist() for each in columns), strict=True):
        text = texts[row]
        after = text[other:stop] + text[end:other] + text[start:end]
        logs[row].append(new_edit(Edit, (start, text[start:stop], after)))
    return logs


@dataclass(frozen=True)
class StopwordDropout(Perturbation):
    """Leave out stop words, drawn at random (Niu & Bansal, 2018, sec. 3.1).

    The last word that is left always stays, so that no utterance becomes empty.

    Args:
        most (`int`, *optional*, defaults to 8):
            Words that an utterance loses at most; `None` for all that there are.
        keep (`bool`, *optional*, defaults to `True`):
            Keep pronouns, wh-words and negation. The paper does not, its released code does:
            without "not" a sentence says something else, and the answer should change.
        lexicon (`str`, *optional*):
            File of other stop words, of any language.

    Example:
        >>> StopwordDropout()("Ben ate the carrot.")
        'Ben ate carrot.'
    """

    name = "stopword-dropout"
    kind = "should_not_change"
    presets: ClassVar = {"released": {"most": None}}

    most: int | None = 8
    keep: bool = True
    lexicon: str | None = None

    def __post_init__(self):
        if self.most is not None and self.most < 1:
            raise BadInput(f"`most` must be 1 or more, or None for all, but got {self.most}.")

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [rng.getrandbits(64)])[0]

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        found = words_of(texts)
        if not len(found.row):
            return [[] for _ in texts]
        drop = _droppable(self.lexicon, self.keep).among(texts, found)
        stops = np.bincount(found.row, drop)[found.row]
        most = stops - (stops == np.bincount(found.row)[found.row])  # something has to be left
        most = most if self.most is None else np.minimum(most, self.most)
        places = _first_of_group(drop, _priorities(found.row, seeds), found.row, most)
        return _deletions(texts, found, places)


class _Droppable(NamedTuple):
    """Stop words, and by first letter, last letter and length whether there is one such."""

    words: frozenset[str]
    shapes: Array

    def among(self, texts: Sequence[str], found: Words) -> Array:
        """Which words are among them."""
        begun = found.offsets[found.row]
        first, last = found.codes[begun + found.start], found.codes[begun + found.end - 1]
        length = np.minimum(found.end - found.start, _LONGEST)
        at = np.flatnonzero(self.shapes[_letter(first), _letter(last), length])
        columns = (each[at].tolist() for each in (found.row, found.start, found.end))
        are = [self._has(texts[row], start, end) for row, start, end in zip(*columns, strict=True)]
        among = np.zeros(len(found.row), bool)
        among[at] = are
        return among

    def _has(self, text: str, start: int, end: int) -> bool:
        word = text[start:end].lower()
        if word == "a":  # `A` may be somebody's name, as in `A: thanks`
            return word in self.words and (text[start] == "a" or text[end : end + 1].isspace())
        return word in self.words or (not word.isalpha() and spelt(word) in self.words)


_LONGEST, _OTHER = 15, 127


def _letter(codes: Array) -> Array:
    """Characters in small letters; all beyond ASCII are one."""
    return np.where((codes >= 65) & (codes <= 90), codes | 32, np.minimum(codes, _OTHER))


@lru_cache
def _droppable(lexicon: str | None, keep: bool) -> _Droppable:
    words = stop_words(lexicon) - keep_words() if keep else stop_words(lexicon)
    shapes = np.zeros((_OTHER + 1, _OTHER + 1, _LONGEST + 1), bool)
    for word in words:
        for blanks in range(3 if "'" in word else 1):  # `it's`, `it ' s`
            ends = (min(ord(word[0]), _OTHER), min(ord(word[-1]), _OTHER))
            shapes[(*ends, min(len(word) + blanks, _LONGEST))] = True
    return _Droppable(words, shapes)


def _deletions(texts: Sequence[str], found: Words, places: Array) -> list[Sequence[Edit]]:
    """Edits that take words out, each with a blank beside it, the one before it where it can."""
    row, start, end = found.row[places], found.start[places], found.end[places]
    before = (start > 0) & _is_blank(found, row, start - 1)
    after = _is_blank(found, row, end)  # a new line stands between two texts
    after &= end < np.append(np.diff(found.offsets) - 1, len(found.codes) - found.offsets[-1])[row]
    touches = np.append(False, (row[1:] == row[:-1]) & (end[:-1] + 1 == start[1:]))
    right, settled = np.zeros(len(row), bool), False
    while not settled:  # who takes the blank after it leaves none before the next
        left = before & ~(touches & np.append(False, right[:-1]))
        settled = bool((right == (~left & after)).all())
        right = ~left & after
    logs: list[list[Edit]] = [[] for _ in texts]
    for at, one, two in zip(
        row.tolist(), (start - left).tolist(), (end + right).tolist(), strict=True
    ):
        logs[at].append(new_edit(Edit, (one, texts[at][one:two], "")))
    return logs


def _is_blank(found: Words, row: Array, place: Array) -> Array:
    at = np.minimum(found.offsets[row] + place, len(found.codes) - 1)
    return np.isin(found.codes[at], _BLANKS)


_BLANKS = [code for code in range(0x3001) if chr(code).isspace()]
