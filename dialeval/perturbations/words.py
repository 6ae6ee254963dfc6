"""Perturbations of word order and word presence."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.lexicon import keep_words, stop_words
from dialeval.perturbations.tokens import Token, tokens


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
        >>> RandomSwap()("I don't want you to go.")
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
        found = tokens(text)
        runs = _runs(found)
        if self.by_gap:
            runs = _inner(runs, len(found))
            chosen = (_swaps(found, [run], len(run) // self.words_per_swap, rng) for run in runs)
            places = [place for swaps in chosen for place in swaps]
        else:
            most = sum(map(len, runs)) // self.words_per_swap
            places = _swaps(found, runs, most, rng)
        return [_swap(text, found[at], found[at + 1]) for at in sorted(places)]


def _runs(found: Sequence[Token]) -> list[range]:
    """Places of words that stand side by side, with nothing but blanks between them."""
    runs, start = [], 0
    for at, token in enumerate(found):
        if token[3] != "word":
            if start < at:
                runs.append(range(start, at))
            start = at + 1
    if start < len(found):
        runs.append(range(start, len(found)))
    return runs


def _inner(runs: Sequence[range], length: int) -> list[range]:
    """The runs without the first and the last token of the utterance."""
    return [range(max(run.start, 1), min(run.stop, length - 1)) for run in runs]


def _swaps(found: Sequence[Token], runs: Sequence[range], most: int, rng: Random) -> list[int]:
    """So many places at most, drawn at random, whose word changes place with the next one."""
    if most < 1:
        return []
    pairs = [
        at
        for run in runs
        for at in range(run.start, run.stop - 1)
        if found[at][0] != found[at + 1][0]
    ]
    places: set[int] = set()
    drawn = rng.random
    for at in sorted(pairs, key=lambda at: drawn()):  # a shuffle, at half its cost
        if at - 1 not in places and at + 1 not in places:
            places.add(at)
            if len(places) == most:
                break
    return list(places)


def _swap(text: str, left: Token, right: Token) -> Edit:
    between = text[left.end : right.start]
    after = right.text + between + left.text
    return Edit(left.start, text[left.start : right.end], after)


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
        droppable = _droppable(self.lexicon, self.keep)
        words = [token for token in tokens(text) if token[3] == "word"]
        found = [
            token for token in words if token.word in droppable and not _is_letter(text, token)
        ]
        spare = len(found) == len(words)  # something has to be left
        most = min(len(found) - spare, len(found) if self.most is None else self.most)
        if most < len(found):
            found = sorted(rng.sample(found, max(most, 0)), key=lambda token: token.start)
        return deletions(text, found)


def _is_letter(text: str, token: Token) -> bool:
    """Whether `A` is somebody's name, as in `A: thanks`, and no article."""
    return token[0] == "A" and not text[token.end : token.end + 1].isspace()


@lru_cache
def _droppable(lexicon: str | None, keep: bool) -> frozenset[str]:
    return stop_words(lexicon) - keep_words() if keep else stop_words(lexicon)


def deletions(text: str, found: Sequence[Token]) -> list[Edit]:
    """Edits that take words out, each with one blank beside it."""
    edits, done = [], 0
    for token in found:
        start, end = token.start, token.end
        if start > done and text[start - 1].isspace():
            start -= 1
        elif text[end : end + 1].isspace():
            end += 1
        edits.append(Edit(start, text[start:end], ""))
        done = end
    return edits
