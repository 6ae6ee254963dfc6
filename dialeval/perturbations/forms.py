"""Whether two words have the same grammatical form, or are easily confused."""

from difflib import SequenceMatcher
from functools import lru_cache

from dialeval.perturbations.lexicon import word_tags

_SMALL = ({"DT"}, {"IN", "TO"}, {"MD"})  # classes of function words that people confuse


@lru_cache(maxsize=16384)
def is_known(word: str) -> bool:
    """Whether a word in lower case is in the tables of English words."""
    return word in word_tags() or bool(_bases(word))


@lru_cache(maxsize=16384)
def _bases(word: str) -> dict[str, tuple[str, ...]]:
    """Base forms by part of speech; empty for an unknown word."""
    from lemminflect import getAllLemmas

    return getAllLemmas(word)


@lru_cache(maxsize=16384)
def same_form(one: str, two: str) -> bool:
    """Whether two words are of the same parts of speech, and both or neither inflected.

    Examples:
        >>> same_form("bought", "purchased"), same_form("hold", "held"), same_form("hold", "grip")
        (True, False, True)
    """
    return _is_used(one) and _is_used(two) and _shape(one) == _shape(two)


def _is_used(phrase: str) -> bool:
    return " " in phrase or is_known(phrase.lower())


def _shape(phrase: str) -> tuple[bool, bool, dict[str, bool]]:
    """Whether it ends with -ing or -s, and whether a word is a base form, by part of speech."""
    word = phrase.lower()
    bases = {} if " " in word else _bases(word)
    is_base = {part: word in lemmas for part, lemmas in bases.items()}
    return word.endswith("ing"), word.endswith("s"), is_base


@lru_cache(maxsize=16384)
def same_word(one: str, two: str) -> bool:
    """Whether one word is easily confused with the other: a form of it, or spelled alike.

    Examples:
        >>> same_word("goes", "go"), same_word("in", "at"), same_word("know", "have")
        (True, True, False)
    """
    one, two = one.lower(), two.lower()
    if any(base in _all_bases(two) for base in _all_bases(one)) or _both_small(one, two):
        return True
    alike = SequenceMatcher(None, one, two, autojunk=False).ratio() >= 0.75
    return alike and one[:1] == two[:1]


def _all_bases(word: str) -> frozenset[str]:
    return frozenset(base for bases in _bases(word).values() for base in bases)


def _both_small(one: str, two: str) -> bool:
    first, second = (word_tags().get(word, ("",))[0] for word in (one, two))
    return any(first in small and second in small for small in _SMALL)
