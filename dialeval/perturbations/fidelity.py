"""Whether a paraphrase says what its original says, as far as single words can tell."""

import re
from collections import Counter
from collections.abc import Iterable

from dialeval.perturbations.lexicon import stop_words
from dialeval.perturbations.numbers import CARDINALS
from dialeval.perturbations.tokens import Token, tokens, word_set, words
from dialeval.perturbations.word_classes import SENTENCE_ENDS, normal, split_contraction

_QUESTION_MARKS = "?？؟"
_FREE = 12  # characters that even a short text may gain
_LEAST = 0.6  # of the words that a paraphrase keeps or replaces
_LABEL = re.compile(r"[^\n:.?!]{0,80}:\s+")
_QUOTES = {'"': '"', "“": "”", "'": "'"}
_SENTENCES = re.compile(r"[.!…]+\s|^\w+[:,]\s")  # also behind `A: ` or `Well, `
_ASKING = word_set(
    "is are am was were do does did can could will would shall should may has what why how who "
    "whom whose where which what's who's isn't aren't don't doesn't didn't can't"
)
_PERSONS = {
    **dict.fromkeys(word_set("i me my mine myself we us our ours ourselves let's"), "first"),
    **dict.fromkeys(word_set("you your yours yourself yourselves u ya ur"), "second"),
    **dict.fromkeys(word_set("he him his himself"), "he"),
    **dict.fromkeys(word_set("she her hers herself"), "she"),
}
_NEGATIONS = word_set(
    "n't not no nope never nothing nobody none neither nor nowhere without hardly"
)
_NUMBERS = CARDINALS | word_set("hundred thousand million billion half dozen")


def unwrapped(other: str, text: str) -> str:
    """A model's paraphrase without what it says about it: labels, quotes, further remarks.

    Example:
        >>> unwrapped('Here is another way to say it: "Do sit down."', "Please sit down.")
        'Do sit down.'
    """
    label = _LABEL.match(other)
    if label and label.group().strip() not in text:
        other = other[label.end() :]
    if "\n" not in text.strip():
        other = other.strip().split("\n")[0].strip()
    closing = _QUOTES.get(other[:1])
    if closing and other[1:].endswith(closing) and other[:1] != text[:1]:
        other = other[1:-1].strip()
    return other


def is_same(text: str, other: str) -> bool:
    """Whether two texts differ in blanks, marks and capitals at most."""
    one, two = _letters(text), _letters(other)
    return one == two if one or two else text.split() == other.split()


def _letters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def has_form(text: str, other: str) -> bool:
    """Whether both ask or neither does, and the second is neither cut short nor much longer."""
    long = len(other) > 1.5 * len(text) + _FREE
    short = len(words(other)) < _LEAST * (len(words(text)) - 1)
    short |= _letters(text).startswith(_letters(other))  # the beginning of it
    ended = text.rstrip()[-1:] not in SENTENCE_ENDS or other.rstrip()[-1:] in SENTENCE_ENDS
    return _asks(text) == _asks(other) and not long and not short and ended


def _asks(text: str) -> bool:
    """Whether a text has a question mark, or a sentence begins as questions do."""
    first = (sentence.lower().partition(" ")[0] for sentence in _SENTENCES.split(text))
    return not _ASKING.isdisjoint(first) or any(mark in text for mark in _QUESTION_MARKS)


def has_sense(text: str, other: str) -> bool:
    """Whether English words tell of the same persons, numbers, names and negation; code stays.

    Example:
        >>> has_sense("My mother can cook.", "Your mother can cook.")
        False
        >>> has_sense("I won't come.", "I am not coming.")
        True
    """
    old, new = words(text), words(other)
    if not _is_within(_persons(new), _persons(old)) or _numbers(old) != _numbers(new):
        return False
    if _code(text) != _code(other):
        return False
    if any(map(_is_negation, _parts(old))) != any(map(_is_negation, _parts(new))):
        return False
    known = {token.word for token in old}
    return all(token.word in known for token in _names(other, new))


def repeats(text: str, other: str) -> bool:
    """Whether a word of meaning that stands in the first stands more often in the second.

    Example:
        >>> repeats("It's east of the square.", "The square is east of the square.")
        True
    """
    old, new = (Counter(token.word for token in words(each)) for each in (text, other))
    return any(0 < old[word] < number for word, number in new.items() if word not in stop_words())


def _parts(found: Iterable[Token]) -> list[str]:
    """Words with what clings to them on its own."""
    return [part for token in found for part in split_contraction(normal(token.text)) if part]


def _is_negation(part: str) -> bool:
    return part in _NEGATIONS


def _persons(found: Iterable[Token]) -> list[str]:
    """Who is spoken of, in order."""
    return [_PERSONS[part] for part in _parts(found) if part in _PERSONS]


def _is_within(few: Iterable[str], many: Iterable[str]) -> bool:
    """Whether the first are among the second in the same order."""
    rest = iter(many)
    return all(each in rest for each in few)


def _numbers(found: Iterable[Token]) -> list[str]:
    parts = [part for token in found for part in token.word.split("-")]
    return sorted(part for part in parts if part in _NUMBERS or part[:1].isdigit())


def _code(text: str) -> list[str]:
    return sorted(token.text for token in tokens(text) if token.shape == "code")


def _names(text: str, found: Iterable[Token]) -> list[Token]:
    """Words with a capital that do not open a sentence, but `I`."""
    return [
        token
        for token in found
        if token.text[:1].isupper()
        and split_contraction(token.word)[0] != "i"
        and text[: token.start].rstrip()[-1:] not in (*SENTENCE_ENDS, "", '"', "“", ":")
    ]
