"""Ranked bars: the first thing on a page that compares several things by one number."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dialeval.reports.drawing import percent_scale
from dialeval.reports.format import finite, format_percent

CHANCE = ("│", 0.5, "chance-mark")
"""The mark of a random guess on a scale from 0 to 100 %."""


@dataclass(frozen=True)
class RankedBar:
    """One line of a ranking.

    Args:
        name (`str`):
            What is ranked.
        value (`float`, *optional*):
            The number behind its bar.
        text (`str`):
            What the number says, in a few words.
        low, high (`float`, *optional*):
            Its interval.
        more (`str`, *optional*):
            A second line.
        tone (`str`, *optional*):
            CSS class: `"good"`, `"apart"`, `"noise"` or `"open"`.
        number (`str`, *optional*):
            How the number is printed; in per cent by default.
        link (`str`, *optional*):
            Id of the part of the page about it.
        marks (`tuple`, *optional*):
            Sign, value and CSS class of what the number is compared with.
    """

    name: str
    value: float | None
    text: str
    low: float | None = None
    high: float | None = None
    more: str = ""
    tone: str = "noise"
    number: str | None = None
    link: str = ""
    marks: tuple[tuple[str, float, str], ...] = ()


def ranking(
    bars: Iterable[RankedBar],
    marks: Sequence[tuple[str, float, str]] = (),
    start: float = 0.0,
    in_order: bool = False,
    end: float = 1.0,
) -> list[dict[str, Any]]:
    """The lines of a ranking for the macro `ranked`, the highest first.

    Args:
        bars (`Iterable[RankedBar]`):
            The lines.
        marks (`Sequence`, *optional*):
            Marks that all lines have.
        start (`float`, *optional*, defaults to 0):
            Where the scale begins.
        in_order (`bool`, *optional*, defaults to `False`):
            Whether the lines keep their order.
        end (`float`, *optional*, defaults to 1):
            Where the scale ends.

    Returns:
        `list[dict[str, Any]]`: Views of the lines.
    """
    lines = list(bars)
    if not in_order:
        lines.sort(key=lambda bar: -1.0 if finite(bar.value) is None else -float(bar.value or 0))
        lines.sort(key=lambda bar: finite(bar.value) is None)
    return [_line(bar, [*marks, *bar.marks], start, end) for bar in lines]


def _line(
    bar: RankedBar, marks: Sequence[tuple[str, float, str]], start: float, end: float
) -> dict[str, Any]:
    number = format_percent(bar.value) if bar.number is None else bar.number
    bounds = finite(bar.low), finite(bar.high)
    alt = f"{bar.name}: {number}"
    scale = percent_scale(finite(bar.value), *bounds, marks, alt, axis=False, start=start, end=end)
    return {
        "name": bar.name, "number": number, "scale": scale, "text": bar.text, "more": bar.more,
        "tone": bar.tone, "link": bar.link,
    }  # fmt: skip
