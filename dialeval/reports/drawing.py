"""Small plots as inline SVG, whose colours and fonts are those of the page around them.

No text that a user wrote goes into a picture but its description: names stand beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup


@dataclass(frozen=True)
class Frame:
    """The ranges of a plot, and where on its picture a number lies."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: int = 300
    height: int = 220
    left: int = 44
    bottom: int = 38

    def across(self, values: Any) -> np.ndarray:
        """Pixels from the left."""
        low, high = self.x
        return self.left + (np.asarray(values) - low) / (high - low) * (self.width - self.left - 10)

    def up(self, values: Any) -> np.ndarray:
        """Pixels from the top."""
        low, high = self.y
        return 8 + (high - np.asarray(values)) / (high - low) * (self.height - self.bottom - 8)

    def line(self, x: Any, y: Any, kind: str) -> Markup:
        """A line through points."""
        return Markup('<polyline class="{}" points="{}"/>').format(kind, self._points(x, y))

    def area(self, x: Any, low: Any, high: Any, kind: str) -> Markup:
        """The area between two lines."""
        x, low, high = map(np.asarray, (x, low, high))
        points = self._points(np.r_[x, x[::-1]], np.r_[high, low[::-1]])
        return Markup('<polygon class="{}" points="{}"/>').format(kind, points)

    def dots(self, x: Any, y: Any, kind: str, radius: float = 2.5) -> Markup:
        """A dot at each point."""
        dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>')
        places = zip(self.across(x), self.up(y), strict=True)
        return Markup("").join(dot.format(kind, *place, radius) for place in places)

    def text(self, x: float, y: float, said: str, kind: str) -> Markup:
        """A word at a point."""
        word = Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>')
        return word.format(kind, float(self.across(x)), float(self.up(y)), said)

    def drawn(self, parts: Sequence[Markup], names: tuple[str, str], alt: str) -> Markup:
        """The picture: axes, what is drawn between them, and its description."""
        shape = Markup('<svg class="plot" role="img" viewBox="0 0 {} {}" aria-label="{}">{}</svg>')
        inside = Markup("").join([*self._axes(*names), *parts])
        return shape.format(self.width, self.height, alt, inside)

    def _points(self, x: Any, y: Any) -> str:
        places = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        return " ".join(f"{right:.1f},{down:.1f}" for right, down in places)

    def _axes(self, across: str, up: str) -> list[Markup]:
        floor, side = self.height - self.bottom, self.left
        parts = []
        for at in ticks(*self.x):
            parts.append(self.line([at, at], self.y, "grid"))
            place = (float(self.across(at)), floor + 14)
            parts.append(_word("tick middle", *place, _tick(at)))
        for at in ticks(*self.y):
            parts.append(self.line(self.x, [at, at], "grid"))
            parts.append(_word("tick end", side - 5, float(self.up(at)) + 3.5, _tick(at)))
        middle = (side + self.width - 10) / 2
        parts.append(_word("name middle", middle, self.height - 6, across))
        turned = Markup('<text class="name middle" transform="translate(11 {:.1f}) rotate(-90)">')
        return [*parts, turned.format((floor + 8) / 2) + up + Markup("</text>")]


def _word(kind: str, x: float, y: float, said: str) -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(kind, x, y, said)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers in a range, at most `most` steps apart.

    Example:
        >>> ticks(0, 1), ticks(0, 37)
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 10.0, 20.0, 30.0])
    """
    rough = (high - low) / most
    unit = 10 ** np.floor(np.log10(rough))
    step = next(each * unit for each in (1, 2, 5, 10) if each * unit >= rough * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [round(float(at * step), 10) + 0.0 for at in np.arange(first, last + 1)]  # no -0.0


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}".removeprefix("0") or "0"


def interval_bar(
    value: float | None, low: float | None, high: float | None, top: float, width: int = 90
) -> Markup:
    """A number and its interval between 0 and `top`, with a line where a coin stands."""
    bar = Markup('<svg class="bar" aria-hidden="true" viewBox="0 0 {0} 16">{1}</svg>')
    parts = [Markup('<path class="grid" d="M1 8H{}"/>').format(width - 1)]
    parts.append(Markup('<path class="chance" d="M{:.1f} 1V15"/>').format(_place(0.5 / top, width)))
    if low is not None and high is not None:
        ends = (_place(low / top, width), _place(high / top, width))
        parts.append(Markup('<path class="whisker" d="M{:.1f} 8H{:.1f}"/>').format(*ends))
    if value is not None:
        dot = Markup('<circle class="dot machine" cx="{:.1f}" cy="8" r="2.5"/>')
        parts.append(dot.format(_place(value / top, width)))
    return bar.format(width, Markup("").join(parts))


def deviation_bar(value: float | None, width: int = 60) -> Markup:
    """A signed deviation between -.5 and .5 as a bar from the middle."""
    end = _place(0.5 + (value or 0), width)
    bar = Markup(
        '<svg class="bar small" aria-hidden="true" viewBox="0 0 {0} 12"><path class="grid" '
        'd="M{1} 0V12"/><path class="{2}" d="M{1} 6H{3:.1f}"/></svg>'
    )
    return bar.format(width, width // 2, "over" if (value or 0) > 0 else "under", end)


def _place(value: float, width: int) -> float:
    return 4 + min(max(value, 0), 1) * (width - 8)
