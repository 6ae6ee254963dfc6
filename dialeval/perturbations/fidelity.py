"""Word-level checks that a paraphrase keeps the meaning of its original."""

import re
from collections import Counter
from collections.abc import Iterable

from dialeval.perturbations.lexicon import stop_words
from dialeval.perturbations.numbers import CARDINALS
from dialeval.perturbations.tokens import Token, tokenize, word_set, word_tokens
from dialeval.perturbations.word_classes import SENTENCE_ENDS, normal, split_contraction

_QUESTION_MARKS = "?？؟"
_FREE = 12  # characters that even a short text may gain
_LEAST = 0.6  # of the words that a paraphrase keeps or replaces
_LABEL = re.compile(r"[^\n:.?!]{0,80}:\s+")
_QUOTES = {'"': '"', "“": "”", "'": "'"}
_SENTENCES = re.compile(r"[.!…]+\s|^\w+[:,]\s")  # also after `A: ` or `Well, `
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


def strip_wrapping(other: str, text: str) -> str:
    """A model's paraphrase without the text around it: labels, quotes, comments.

    Examples:
        >>> strip_wrapping('Here is another way to say it: "Do sit down."', "Please sit down.")
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
    """Whether two texts differ at most in whitespace, punctuation and case."""
    one, two = _letters(text), _letters(other)
    return one == two if one or two else text.split() == other.split()


def _letters(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def keeps_form(text: str, other: str) -> bool:
    """Whether both or neither are questions, and the second is not cut short or much longer."""
    long = len(other) > 1.5 * len(text) + _FREE
    short = len(word_tokens(other)) < _LEAST * (len(word_tokens(text)) - 1)
    short |= _letters(text).startswith(_letters(other))  # the beginning of it
    ended = text.rstrip()[-1:] not in SENTENCE_ENDS or other.rstrip()[-1:] in SENTENCE_ENDS
    return _asks(text) == _asks(other) and not long and not short and ended


def _asks(text: str) -> bool:
    """Whether a text has a question mark, or a sentence that starts like a question."""
    first = (sentence.lower().partition(" ")[0] for sentence in _SENTENCES.split(text))
    return not _ASKING.isdisjoint(first) or any(mark in text for mark in _QUESTION_MARKS)


def keeps_meaning(text: str, other: str) -> bool:
    """Whether both texts have the same persons, numbers, names, negation (in English) and code.

    Examples:
        >>> keeps_meaning("My mother can cook.", "Your mother can cook.")
        False
        >>> keeps_meaning("I won't come.", "I am not coming.")
        True
    """
    old, new = word_tokens(text), word_tokens(other)
    if not _is_within(_persons(new), _persons(old)) or _numbers(old) != _numbers(new):
        return False
    if _code(text) != _code(other):
        return False
    if any(map(_is_negation, _parts(old))) != any(map(_is_negation, _parts(new))):
        return False
    known = {token.word for token in old}
    return all(token.word in known for token in _names(other, new))


def repeats(text: str, other: str) -> bool:
    """Whether a content word of the first text occurs more often in the second.

    Examples:
        >>> repeats("It's east of the square.", "The square is east of the square.")
        True
    """
    old, new = (Counter(token.word for token in word_tokens(side)) for side in (text, other))
    return any(0 < old[word] < number for word, number in new.items() if word not in stop_words())


def _parts(tokens: Iterable[Token]) -> list[str]:
    """Words, with contractions split into host and clitic."""
    return [part for token in tokens for part in split_contraction(normal(token.text)) if part]


def _is_negation(part: str) -> bool:
    return part in _NEGATIONS


def _persons(tokens: Iterable[Token]) -> list[str]:
    """Grammatical persons of the pronouns, in order."""
    return [_PERSONS[part] for part in _parts(tokens) if part in _PERSONS]


def _is_within(few: Iterable[str], many: Iterable[str]) -> bool:
    """Whether the first are among the second in the same order."""
    rest = iter(many)
    return all(item in rest for item in few)


def _numbers(tokens: Iterable[Token]) -> list[str]:
    parts = [part for token in tokens for part in token.word.split("-")]
    return sorted(part for part in parts if part in _NUMBERS or part[:1].isdigit())


def _code(text: str) -> list[str]:
    return sorted(token.text for token in tokenize(text) if token.shape == "code")


def _names(text: str, tokens: Iterable[Token]) -> list[Token]:
    """Capitalised words that do not start a sentence, except `I`."""
    return [
        token
        for token in tokens
        if token.text[:1].isupper()
        and split_contraction(token.word)[0] != "i"
        and text[: token.start].rstrip()[-1:] not in (*SENTENCE_ENDS, "", '"', "“", ":")
    ]
