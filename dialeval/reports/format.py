"""Numbers and texts as reports print them: shares, intervals, p-values, counts, clean lines."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialeval.metrics.results import Result

NONE = "–"
"""What a table prints where there is no number."""
_WORDS = 3
"""Words that a clause has at least, to say something by itself."""
_OPENED, _CLOSED = re.compile(r"(?<!\w)['\"](?=\w)"), re.compile(r"(?<=[\w.,!?])['\"](?!\w)")
"""Straight quotation marks before and after what they quote; an apostrophe is neither."""
_CONTROL = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def finite(value: Any) -> float | None:
    """The value if it is a finite number, else `None`.

    Examples:
        >>> finite(0.5), finite(float("nan")), finite(True), finite("x")
        (0.5, None, None, None)
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and math.isfinite(value) else None


def detail(result: Result | None, name: str) -> float | None:
    """A number among the details of a result; `None` when there is none."""
    return None if result is None else finite(result.details.get(name))


def format_share(value: float | None, digits: int = 3) -> str:
    """A share without its leading zero.

    Examples:
        >>> format_share(0.3125), format_share(1), format_share(None), format_share(-0.02)
        ('.312', '1.000', '–', '−.020')
    """
    number = finite(value)
    if number is None:
        return NONE
    text = f"{abs(number):.{digits}f}".removeprefix("0")
    return f"−{text}" if number < 0 and text.strip(".0") else text


def format_percent(value: float | None) -> str:
    """A share as a whole percentage.

    Examples:
        >>> format_percent(0.771), format_percent(None)
        ('77 %', '–')
    """
    number = finite(value)
    return NONE if number is None else f"{100 * number:.0f} %"


def format_signed(value: float | None) -> str:
    """A difference with its sign.

    Examples:
        >>> format_signed(0.041), format_signed(-0.3), format_signed(0)
        ('+.041', '−.300', '.000')
    """
    text = format_share(value)
    return f"+{text}" if text.strip(".0–") and text[0] != "−" else text


def format_p_value(value: float | None) -> str:
    """A p-value with three decimals, or `<.001`."""
    number = finite(value)
    return "<.001" if number is not None and number < 0.001 else format_share(number)


def format_interval(low: float | None, high: float | None) -> str:
    """The bounds of an interval.

    Examples:
        >>> format_interval(0.2, 0.3), format_interval(float("nan"), 1)
        ('.200–.300', '–')
    """
    if finite(low) is None or finite(high) is None:
        return NONE
    return f"{format_share(low)}–{format_share(high)}"


def format_with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A share with its interval in parentheses, where there is one.

    Args:
        value (`float`, *optional*):
            The share.
        low, high (`float`, *optional*):
            Bounds of its interval.

    Returns:
        `str`: Such as `.250 (.200–.300)`.
    """
    bounds = format_interval(low, high)
    return format_share(value) + (f" ({bounds})" if bounds != NONE else "")


def format_result(result: Result | None) -> str:
    """The value of a result with its interval in parentheses."""
    if result is None:
        return NONE
    return format_with_interval(result.value, result.low, result.high)


def format_count(value: float | None) -> str:
    """A count with a comma between thousands."""
    return NONE if finite(value) is None else f"{value:,.0f}"


def format_list(names: Sequence[str]) -> str:
    """Names with commas, and "and" before the last one.

    Examples:
        >>> format_list(["a", "b", "c"]), format_list(["a"])
        ('a, b and c', 'a')
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def plural(count: int, noun: str) -> str:
    """A count and a noun in singular or plural.

    Examples:
        >>> plural(1, "system"), plural(2, "system")
        ('1 system', '2 systems')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def clean_text(text: Any) -> str:
    """A text without control characters, which would reach the terminal or break a page."""
    return _CONTROL.sub("\ufffd", "" if text is None else str(text))


def one_line(text: Any) -> str:
    """A text without control characters, in one line."""
    return " ".join(clean_text(text).split())


def shorten(text: Any, most: int = 800) -> str:
    """A text cut to `most` characters, with an ellipsis where it was cut."""
    text = "" if text is None else str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def flatten(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Settings as pairs of a dotted name and a text.

    Examples:
        >>> list(flatten({"seed": 0, "data": {"limit": 5}}))
        [('seed', '0'), ('data.limit', '5')]
    """
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from flatten(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def of_hundred(value: float | None) -> str:
    """A share as a number of cases.

    Examples:
        >>> of_hundred(0.977), of_hundred(None)
        ('98 of 100', '–')
    """
    number = finite(value)
    return NONE if number is None else f"{100 * number:.0f} of 100"


def sentence(text: str) -> str:
    """A text that begins with a capital letter and ends with a full stop.

    Examples:
        >>> sentence("replies were cut")
        'Replies were cut.'
    """
    text = one_line(text)
    ending = "" if text.endswith((".", "!", "?")) else "."
    return text[:1].upper() + text[1:] + ending


def first_clause(text: str, most: int = 72) -> str:
    """The longest beginning of a text that is a clause of at most `most` characters.

    Where no clause is that short, the text is cut between words.

    Examples:
        >>> first_clause("60 contexts are few: look at the intervals, not at the values.", 30)
        '60 contexts are few'
        >>> first_clause("Nothing to detect.")
        'Nothing to detect'
        >>> first_clause("bot gives the same response: 'Sure, it's fine.'", 40)
        'bot gives the same response'
    """
    line = one_line(text).rstrip(".")
    if len(line) <= most:
        return line
    heads = [line[: sign.start()] for sign in re.finditer(r"[.,:;](?= )", line[: most + 2])]
    heads = [head for head in heads if head.count(" ") >= _WORDS - 1 and _is_closed(head)]
    if heads:
        return heads[-1]
    return line[:most].rpartition(" ")[0].rstrip(".,:;") + "…"


def _is_closed(text: str) -> bool:
    """Whether every parenthesis and quotation mark that is opened is closed."""
    quotes = len(_OPENED.findall(text)) == len(_CLOSED.findall(text))
    return quotes and all(text.count(one) == text.count(other) for one, other in ("()", "“”"))
