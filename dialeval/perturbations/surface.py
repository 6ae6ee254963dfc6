"""Typing noise: typos, careless case and punctuation (beyond the paper)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.forms import is_known
from dialeval.perturbations.lexicon import word_tags
from dialeval.perturbations.tokens import Token, tokenize

_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f][a-z\u00df-\u024f]{3,}")


@dataclass(frozen=True)
class KeyboardTypos(Perturbation):
    """Mistype words of Latin letters: a neighbouring key, or a letter dropped, doubled or swapped.

    First letters, short words, names and acronyms stay, and no typo makes another English word.

    Args:
        words_per_typo (`int`, *optional*, defaults to 6):
            At most one typo per so many words, but at least one if any word can be mistyped.

    Examples:
        >>> KeyboardTypos()("That sounds interesting.")
        'That soudns interesting.'
    """

    name = "keyboard-typos"
    kind = "should_not_change"
    languages = None

    words_per_typo: int = 6

    def __post_init__(self) -> None:
        if self.words_per_typo < 1:
            raise BadInput(f"`words_per_typo` must be 1 or more, but got {self.words_per_typo}.")

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        tokens = tokenize(text)
        words = [at for at, token in enumerate(tokens) if _can_be_mistyped(tokens, at, token)]
        total = sum(token[3] == "word" for token in tokens)
        most = min(len(words), max(1, total // self.words_per_typo))
        chosen = (tokens[at] for at in sorted(rng.sample(words, most)))
        drawn = ((token, _typo(token.text, rng)) for token in chosen)
        return [Edit(token.start, token.text, typo) for token, typo in drawn if typo]


def _can_be_mistyped(tokens: Sequence[Token], at: int, token: Token) -> bool:
    if token[3] != "word" or not _LATIN.fullmatch(token.text):
        return False
    return token.text[0].islower() or (_opens(tokens, at) and token.word in word_tags())


def _opens(tokens: Sequence[Token], at: int) -> bool:
    """Whether a token is the first of a sentence."""
    return at == 0 or tokens[at - 1].text[-1] in ".!?\"'“"


@lru_cache
def _neighbours() -> dict[str, str]:
    """The neighbouring keys of each letter on an English keyboard."""
    places = {
        letter: (x + 0.5 * y, y) for y, row in enumerate(_ROWS) for x, letter in enumerate(row)
    }
    return {
        letter: "".join(
            other
            for other, (u, v) in places.items()
            if other != letter and abs(u - x) <= 1 and abs(v - y) <= 1
        )
        for letter, (x, y) in places.items()
    }


def _typo(word: str, rng: Random, tries: int = 5) -> str | None:
    """The word with one typo after its first letter; None if every try gave another word."""
    for _ in range(tries):
        slip = _SLIPS[int(rng.random() * len(_SLIPS))]
        made = slip(word, 1 + int(rng.random() * (len(word) - 1)), rng)
        if made != word and not is_known(made.lower()):
            return made
    return None


def _press_neighbour(word: str, at: int, rng: Random) -> str:
    keys = _neighbours().get(word[at])
    return word[:at] + keys[int(rng.random() * len(keys))] + word[at + 1 :] if keys else word


def _drop_letter(word: str, at: int, rng: Random) -> str:
    return word[:at] + word[at + 1 :]


def _double_letter(word: str, at: int, rng: Random) -> str:
    return word[:at] + word[at] + word[at:]


def _swap_letters(word: str, at: int, rng: Random) -> str:
    if at + 1 == len(word):
        at -= 1
    return word if at == 0 else word[:at] + word[at + 1] + word[at] + word[at + 2 :]


_SLIPS: tuple[Callable[[str, int, Random], str], ...] = (
    _press_neighbour,
    _drop_letter,
    _double_letter,
    _swap_letters,
)


@dataclass(frozen=True)
class CasingAndPunctuation(Perturbation):
    """Change the case or punctuation of an utterance, but not its words.

    Args:
        ways (`tuple[str, ...]`, *optional*):
            Options to draw from, among those that change the utterance: `lower` (no capitals
            except in acronyms), `upper` (all capitals), `drop` (no full stops and commas), `double`
            (the last mark several times). Question marks are never dropped.

    Examples:
        >>> CasingAndPunctuation(("drop",))("Well, I like it.")
        'Well I like it'
    """

    name = "casing-and-punctuation"
    kind = "should_not_change"
    languages = None

    ways: tuple[str, ...] = ("lower", "upper", "drop", "double")

    def __post_init__(self) -> None:
        object.__setattr__(self, "ways", tuple(self.ways))
        strange = [way for way in self.ways if way not in _WAYS]
        if strange or not self.ways:
            raise BadInput(f"unknown ways {strange}.", hint=f"Choose from {', '.join(_WAYS)}.")

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        tokens = tokenize(text)
        for way in rng.sample(self.ways, len(self.ways)):
            edits = _WAYS[way](text, tokens)
            if edits:
                return edits
        return []


def _change_case(tokens: Sequence[Token], case: Callable[[str], str]) -> list[Edit]:
    words = ((token, case(token.text)) for token in tokens if token.shape == "word")
    return [Edit(token.start, token.text, new) for token, new in words if new != token.text]


def _lower(text: str, tokens: Sequence[Token]) -> list[Edit]:
    def case(word: str) -> str:
        return word if len(word) > 1 and word.isupper() else word.lower()

    return _change_case(tokens, case)


def _upper(text: str, tokens: Sequence[Token]) -> list[Edit]:
    return _change_case(tokens, str.upper)


def _drop(text: str, tokens: Sequence[Token]) -> list[Edit]:
    """Drops full stops and commas, each with the space before it, if the text has words."""
    edits = []
    for token in tokens if any(token.shape == "word" for token in tokens) else ():
        if token.text in (".", ",", "。", "，", "、") and _ends_a_word(text, token):
            start = token.start - (token.start > 0 and text[token.start - 1] == " ")
            edits.append(Edit(start, text[start : token.end], ""))
    return edits


def _ends_a_word(text: str, token: Token) -> bool:
    """Whether a space or the end follows: `Yes.Why` would become one word."""
    return not text[token.end : token.end + 1].strip() or token.text in "。，、"


def _double(text: str, tokens: Sequence[Token]) -> list[Edit]:
    if not tokens or tokens[-1].text not in (".", "!", "?", "。", "！", "？"):
        return []
    last = tokens[-1]
    return [Edit(last.start, last.text, last.text * 3)]


_WAYS = {"lower": _lower, "upper": _upper, "drop": _drop, "double": _double}
