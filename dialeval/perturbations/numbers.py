"""Number Swap and Name Swap: change facts that a reply depends on, in the same form."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar

from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.inflection import with_case_of
from dialeval.perturbations.lexicon import names
from dialeval.perturbations.tokens import Token, tokenize

_SERIES = tuple(
    tuple(row.split())
    for row in (
        "two three four five six seven eight nine ten eleven twelve",
        "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
        "twenty thirty forty fifty sixty seventy eighty ninety",
        "third fourth fifth sixth seventh eighth ninth tenth",
    )
)
CARDINALS = frozenset(word for row in _SERIES[:3] for word in row)
_UNITS = _SERIES[0][:8]  # after tens
_PAST_HOUR = ("fifteen", "twenty", "thirty", "forty", "fifty")  # after an hour: "two-thirty"
_IN_SERIES = {word: row for row in _SERIES for word in row}
_DIGITS = re.compile(
    r"(?P<sign>[$£€]?)(?P<body>\d[\d.,:/]*\d|\d)(?P<end>st|nd|rd|th|am|pm|%|k|s)?", re.I
)
_TIME = re.compile(r"\d{1,2}(?::\d{2}){1,2}")
_AN = re.compile(r"8|1[18](?!\d)|1[18],|ei|el", re.I)  # numbers that take `an`
_IDIOMS = frozenset(
    ["fifty-fifty", "fifty fifty", "50-50", "high five", "high fives", "high-five", "third party"]
)
_CLOCK = frozenset(("am", "pm", "a.m", "p.m", "o'clock", "a", "p"))


@dataclass(frozen=True)
class NumberSwap(Perturbation):
    """Change every number to another plausible one of the same form.

    A lone 1 stays, because what it counts is singular; versions change in their last part.

    Examples:
        >>> NumberSwap()("Meet me at 3 pm.") in [f"Meet me at {n} pm." for n in range(1, 13)]
        True
    """

    name: ClassVar[str] = "number-swap"
    kind: ClassVar = "should_change"

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """A replacement for every number."""
        tokens, edits = tokenize(text), []
        for at, token in enumerate(tokens):
            counts = token.is_word and not _is_idiom(tokens, at)
            new = _fitting_number(tokens, at, rng) if counts else None
            if new is not None and new != token.text:
                edits.append(Edit(token.start, token.text, new))
        return edits


def _is_idiom(tokens: Sequence[Token], at: int) -> bool:
    """Whether a number counts nothing: `high five`, `24/7`, `fifty-fifty`."""
    word = tokens[at].word
    beside = f"{_form(tokens, at - 1)} {word}", f"{word} {_form(tokens, at + 1)}"
    return word in _IDIOMS or not _IDIOMS.isdisjoint(beside) or _is_round_the_clock(tokens, at)


def _is_round_the_clock(tokens: Sequence[Token], at: int) -> bool:
    slash = next((index for index in (at - 1, at + 1) if _form(tokens, index) == "/"), 0)
    return bool(slash) and (_form(tokens, slash - 1), _form(tokens, slash + 1)) == ("24", "7")


def _fitting_number(tokens: Sequence[Token], at: int, rng: Random) -> str | None:
    """Another number that fits the article before it; None if there is none."""
    before = _form(tokens, at - 1)
    for _ in range(20):
        new = _other_number(tokens, at, rng)
        if new is None or before not in ("a", "an"):
            return new
        if bool(_AN.match(new)) == (before == "an"):
            return new
    return None


def _other_number(tokens: Sequence[Token], at: int, rng: Random) -> str | None:
    """Another number in the form of the token; None if the token is no number."""
    word = tokens[at].text
    if not word[0].isdigit():
        return _other_words(word, _form(tokens, at - 1), rng)
    match = _DIGITS.fullmatch(word)
    if match is None:
        return None
    ending = match["end"] or ""
    new = _other_digits(match["body"], ending.lower(), tokens, at, rng)
    if new is None:
        return None
    whole = new.replace(",", "")
    if ending.lower() in ("st", "nd", "rd", "th") and whole.isdigit():
        ending = _ordinal_ending(int(whole))
    return new + ending


def _other_words(word: str, before: str, rng: Random) -> str | None:
    """Another number word: `three`, `twenty-five`, the three of `three-star`."""
    parts = word.split("-")
    if not any(part.lower() in _IN_SERIES for part in parts):
        return None
    for index, part in enumerate(parts):
        row = _IN_SERIES.get(part.lower())
        if row:
            tens = parts[index - 1].lower() if index else before
            row = _UNITS if tens in _SERIES[2] and part.lower() in _UNITS else row
            row = _PAST_HOUR if tens in _SERIES[0] and part.lower() in _PAST_HOUR else row
            others = [other for other in row if other != part.lower()]
            parts[index] = with_case_of(rng.choice(others), part)
    return "-".join(parts)


def _other_digits(
    body: str, ending: str, tokens: Sequence[Token], at: int, rng: Random
) -> str | None:
    """Other digits of the same form: a time, a date, a price, a year, a count."""
    if ":" in body:
        return _time(body, rng) if _TIME.fullmatch(body) else _other_end(body, ":", rng)
    if body.isdigit():
        return _integer(body, ending, tokens, at, rng)
    if "/" in body:
        return "/".join(_other_count(part, rng) or part for part in body.split("/"))
    head, point, tail = body.rpartition(".")
    if point and "." not in head:
        whole = _other_count(head, rng) or head
        return f"{whole}.{_any_digits(tail, rng)}"
    return _other_end(body, ".", rng) if point else _other_count(body, rng)


def _other_end(body: str, mark: str, rng: Random) -> str | None:
    """A version, or an address with or without its port, with another last part."""
    head, _, tail = body.rpartition(mark)
    new = _other_count(tail, rng) or (tail.isdigit() and _draw(range(2, 10), int(tail), rng))
    return f"{head}{mark}{new}" if new else None


def _integer(body: str, ending: str, tokens: Sequence[Token], at: int, rng: Random) -> str | None:
    """Another whole number; hours, minutes, days and years stay what they are."""
    value, behind = int(body), _form(tokens, at + 1)
    if _form(tokens, at - 1) == ":" and len(body) == 2:
        return f"{_draw(range(0, 60, 5), value, rng):02d}"
    is_hour = behind == ":" and _form(tokens, at + 2).isdigit()
    if value <= 24 and (ending in ("am", "pm") or behind in _CLOCK or is_hour):
        return str(_draw(range(1, 13), value, rng))
    if 1 < value <= 12 and _form(tokens, at - 1) in ("at", "until", "till", "by"):
        return str(_draw(range(2, 13), value, rng))
    if value == 100 and "%" in (ending, behind):
        return str(rng.randrange(20, 100, 10))
    if ending in ("st", "nd", "rd", "th") and value <= 31:
        return str(_draw(range(1, 29), value, rng))
    if len(body) == 4 and 1900 <= value <= 2099:
        return str(_draw(range(value - 20, min(value + 20, 2100)), value, rng))
    return None if value <= 1 else _other_count(body, rng)


def _form(tokens: Sequence[Token], at: int) -> str:
    return tokens[at].word if 0 <= at < len(tokens) else ""


def _time(body: str, rng: Random) -> str:
    hour, _, rest = body.partition(":")
    hours = range(1, 13) if int(hour) <= 12 else range(13, 24)
    new = str(_draw(hours, int(hour), rng))
    return f"{new.zfill(2) if hour.startswith('0') else new}:{rest}"


def _draw(choices: Sequence[int], old: int, rng: Random) -> int:
    return rng.choice([choice for choice in choices if choice != old])


def _other_count(body: str, rng: Random) -> str | None:
    """A number with as many digits, commas and final zeros, and another first digit."""
    digits = body.replace(",", "")
    if not digits.isdigit() or int(digits) <= 1 or len(digits) > 15:
        return None
    core = digits.rstrip("0")
    first = str(_draw(range(2, 10), int(core[0]), rng))
    new = iter(first + _any_digits(core[1:], rng) + "0" * (len(digits) - len(core)))
    return "".join("," if mark == "," else next(new) for mark in body)


def _any_digits(old: str, rng: Random) -> str:
    """As many random digits; zeros stay, and no other digit becomes zero."""
    return "".join(digit if digit == "0" else str(rng.randint(1, 9)) for digit in old)


def _ordinal_ending(value: int) -> str:
    if value % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")


@dataclass(frozen=True)
class NameSwap(Perturbation):
    """Change every first name and city to another one; a name keeps its gender.

    Examples:
        >>> NameSwap()("Tom lives here.") == "Tom lives here."
        False
    """

    name: ClassVar[str] = "name-swap"
    kind: ClassVar = "should_change"

    def edits(self, text: str, rng: Random) -> list[Edit]:
        """A replacement for every name, the same for each mention of it."""
        chosen: dict[str, str] = {}
        edits = []
        for match in _names().finditer(text):
            old = match.group()
            if old not in chosen:
                used = {old, *chosen.values()}
                kind = next(kind for kind in ("female", "male", "city") if old in names(kind))
                chosen[old] = rng.choice([name for name in names(kind) if name not in used])
            edits.append(Edit(match.start(), old, chosen[old]))
        return edits


@lru_cache
def _names() -> re.Pattern:
    """All names, the longest first."""
    known = (name for kind in ("female", "male", "city") for name in names(kind))
    listed = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    return re.compile(rf"(?<![\w@/.-])(?:{listed})(?![\w@/-]|\.\w)")
