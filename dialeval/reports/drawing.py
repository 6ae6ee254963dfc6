"""Small plots as inline SVG with the colours and fonts of the page around them.

The only text from a user in a picture is its description; names are printed next to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from dialeval.metrics.results import REFERENCES
from dialeval.reports.format import clean_text

_COLOURS = 8  # of lines, in style.css.jinja


@dataclass(frozen=True)
class Frame:
    """The coordinate system of a plot.

    Args:
        x, y (`tuple[float, float]`):
            Lowest and highest value of each axis.
        width, height (`int`, *optional*):
            Size of the picture in pixels.
        left, bottom (`int`, *optional*):
            Margins for the labels of the axes, in pixels.
    """

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
        """A line through points.

        Args:
            x, y (`ArrayLike`):
                The points.
            kind (`str`):
                CSS class.

        Returns:
            `Markup`: An SVG element.
        """
        return Markup('<polyline class="{}" points="{}"/>').format(kind, self._points(x, y))

    def area(self, x: Any, low: Any, high: Any, kind: str) -> Markup:
        """The area between two lines.

        Args:
            x (`ArrayLike`):
                Where both are.
            low, high (`ArrayLike`):
                The lower and the upper line.
            kind (`str`):
                CSS class.

        Returns:
            `Markup`: An SVG element.
        """
        x, low, high = map(np.asarray, (x, low, high))
        points = self._points(np.r_[x, x[::-1]], np.r_[high, low[::-1]])
        return Markup('<polygon class="{}" points="{}"/>').format(kind, points)

    def dots(self, x: Any, y: Any, kind: str, radius: float = 2.5) -> Markup:
        """A dot at each point.

        Args:
            x, y (`ArrayLike`):
                The points.
            kind (`str`):
                CSS class.
            radius (`float`, *optional*, defaults to 2.5):
                Of the dots, in pixels.

        Returns:
            `Markup`: An SVG element.
        """
        dot = Markup('<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="{}"/>')
        points = zip(self.across(x), self.up(y), strict=True)
        return Markup("").join(dot.format(kind, *point, radius) for point in points)

    def text(self, x: float, y: float, label: str, kind: str) -> Markup:
        """A label at a point.

        Args:
            x, y (`float`):
                The point.
            label (`str`):
                The text.
            kind (`str`):
                CSS class.

        Returns:
            `Markup`: An SVG element.
        """
        word = Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>')
        return word.format(kind, float(self.across(x)), float(self.up(y)), label)

    def label(self, x: float, y: float, text: str, kind: str) -> Markup:
        """A label at a point of the picture.

        Args:
            x, y (`float`):
                Pixels from the left and from the top.
            text (`str`):
                The label; it is escaped.
            kind (`str`):
                CSS class.

        Returns:
            `Markup`: An SVG element.
        """
        return _label(kind, x, y, clean_text(text))

    def end_labels(self, last_points: Sequence[tuple[float, float, str]]) -> list[Markup]:
        """Names above the ends of lines, that of the lowest below it, moved apart.

        Args:
            last_points (`Sequence[tuple[float, float, str]]`):
                The last point of each line, and its name.

        Returns:
            `list[Markup]`: SVG elements.
        """
        parts, last = [], -1e9
        for index, (x, y, name) in enumerate(sorted(last_points, key=lambda end: -end[1])):
            is_lowest = index and index == len(last_points) - 1
            at = last = max(float(self.up(y)) + (14 if is_lowest else -6), last + 11)
            across = min(float(self.across(x)) + 4, self.width - 10)
            parts.append(self.label(across, max(at, 9), name, "label end"))
        return parts

    def to_svg(
        self,
        parts: Sequence[Markup],
        names: tuple[str, str],
        alt: str,
        across: Sequence[tuple[float, str]] | None = None,
    ) -> Markup:
        """The picture.

        Args:
            parts (`Sequence[Markup]`):
                Lines, areas, dots and labels.
            names (`tuple[str, str]`):
                Labels of the axes.
            alt (`str`):
                Description for those who cannot see it.
            across (`Sequence`, *optional*):
                Values and labels of the horizontal axis; round numbers by default.

        Returns:
            `Markup`: An `<svg>` element.
        """
        shape = Markup('<svg class="plot" role="img" viewBox="0 0 {} {}" aria-label="{}">{}</svg>')
        inside = Markup("").join([*self._axes(*names, across), *parts])
        return shape.format(self.width, self.height, clean_text(alt), inside)

    def _points(self, x: Any, y: Any) -> str:
        points = zip(self.across(x).tolist(), self.up(y).tolist(), strict=True)
        return " ".join(f"{right:.1f},{down:.1f}" for right, down in points)

    def horizontal_axis(
        self, name: str, labels: Sequence[tuple[float, str]] | None = None
    ) -> list[Markup]:
        """Grid, numbers and name of the horizontal axis."""
        floor, parts = self.height - self.bottom, []
        for at, label in labels or [(at, _tick(at)) for at in ticks(*self.x)]:
            parts.append(self.line([at, at], self.y, "grid"))
            parts.append(_label("tick middle", float(self.across(at)), floor + 14, label))
        middle = (self.left + self.width - 10) / 2
        return [*parts, _label("name middle", middle, self.height - 6, name)]

    def _axes(
        self, across: str, up: str, labels: Sequence[tuple[float, str]] | None
    ) -> list[Markup]:
        floor, side = self.height - self.bottom, self.left
        parts = self.horizontal_axis(across, labels)
        for at in ticks(*self.y):
            parts.append(self.line(self.x, [at, at], "grid"))
            parts.append(_label("tick end", side - 5, float(self.up(at)) + 3.5, _tick(at)))
        turned = Markup('<text class="name middle" transform="translate(11 {:.1f}) rotate(-90)">')
        return [*parts, turned.format((floor + 8) / 2) + up + Markup("</text>")]


def _label(kind: str, x: float, y: float, text: str) -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(kind, x, y, text)


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Round numbers in a range.

    Args:
        low, high (`float`):
            The range.
        most (`int`, *optional*, defaults to 5):
            Number of steps between them, at most.

    Returns:
        `list[float]`: At equal distances.

    Examples:
        >>> ticks(0, 1), ticks(0, 37)
        ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 10.0, 20.0, 30.0])
    """
    rough = (high - low) / most
    unit = 10 ** np.floor(np.log10(rough))
    step = next(n * unit for n in (1, 2, 5, 10) if n * unit >= rough * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return [round(float(at * step), 10) + 0.0 for at in np.arange(first, last + 1)]  # no -0.0


def _tick(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}".removeprefix("0") or "0"


def interval_bar(
    value: float | None, low: float | None, high: float | None, width: int = 90
) -> Markup:
    """An accuracy and its interval on a scale from chance (.5) to 1.

    Args:
        value, low, high (`float`, *optional*):
            The accuracy and the bounds of its interval.
        width (`int`, *optional*, defaults to 90):
            In pixels.

    Returns:
        `Markup`: An `<svg>` element.
    """
    bar = Markup('<svg class="bar" aria-hidden="true" viewBox="0 0 {0} 16">{1}</svg>')
    parts = [Markup('<path class="grid" d="M1 8H{}"/>').format(width - 1)]
    parts.append(Markup('<path class="chance" d="M{:.1f} 1V15"/>').format(_position(0, width)))
    if low is not None and high is not None:
        bounds = (_position(2 * low - 1, width), _position(2 * high - 1, width))
        parts.append(Markup('<path class="whisker" d="M{:.1f} 8H{:.1f}"/>').format(*bounds))
    if value is not None:
        dot = Markup('<circle class="dot machine" cx="{:.1f}" cy="8" r="2.5"/>')
        parts.append(dot.format(_position(2 * value - 1, width)))
    return bar.format(width, Markup("").join(parts))


def deviation_bar(value: float | None, width: int = 60) -> Markup:
    """A signed deviation between -.5 and .5 as a bar from the middle."""
    end = _position(0.5 + (value or 0), width)
    bar = Markup(
        '<svg class="bar small" aria-hidden="true" viewBox="0 0 {0} 12"><path class="grid" '
        'd="M{1} 0V12"/><path class="{2}" d="M{1} 6H{3:.1f}"/></svg>'
    )
    return bar.format(width, width // 2, "over" if (value or 0) > 0 else "under", end)


def _position(value: float, width: int) -> float:
    return 4 + min(max(value, 0), 1) * (width - 8)


def line_classes(names: Sequence[str]) -> dict[str, str]:
    """The CSS class of each line in every plot: a colour, and dashes once colours run out.

    Examples:
        >>> line_classes(["svm", "length"])
        {'svm': 'c0', 'coin': 'reference', 'length': 'reference'}
    """
    classes = {
        name: f"c{index % _COLOURS}" + (" dashed" if index >= _COLOURS else "")
        for index, name in enumerate(name for name in names if name not in REFERENCES)
    }
    return {**classes, **dict.fromkeys(REFERENCES, "reference")}


def percent_scale(
    value: float | None,
    low: float | None,
    high: float | None,
    marks: Sequence[tuple[str, float, str]],
    alt: str,
    axis: bool = True,
    start: float = 0.5,
    end: float = 1.0,
) -> Markup:
    """An accuracy with its interval on a scale, from chance (50 %) to always right (100 %).

    It is HTML and not a picture, so that its text keeps its size on a narrow screen.

    Args:
        value, low, high (`float`, *optional*):
            The accuracy and the bounds of its interval.
        marks (`Sequence`):
            Sign, accuracy and CSS class of what it is compared with.
        alt (`str`):
            Description for those who cannot see it.
        axis (`bool`, *optional*, defaults to `True`):
            Whether the numbers of a scale from 50 to 100 % are printed.
        start (`float`, *optional*, defaults to 0.5):
            Where the scale begins.
        end (`float`, *optional*, defaults to 1):
            Where it ends.

    Returns:
        `Markup`: A `<div>` element.
    """

    def part(share: float) -> float:
        """Per cent of the way from the start to the end."""
        return 100 * min(max((share - start) / (end - start), 0.0), 1.0)

    parts = []
    if value is not None and not np.isnan(value):
        parts.append(Markup('<span class="fill" style="width:{:.1f}%"></span>').format(part(value)))
        parts += [] if low is None or high is None else [_range(part(low), part(high))]
        parts.append(Markup('<span class="point" style="left:{:.1f}%"></span>').format(part(value)))
    for sign, at, kind in marks:
        mark = Markup('<span class="sign {}" style="left:{:.1f}%">{}</span>')
        parts.append(mark.format(kind, part(at), sign))
    numbers = Markup("")
    if axis:
        label = Markup('<span style="left:{}%">{}</span>')
        names = {0: "50 %", 20: "60", 40: "70", 60: "80", 80: "90", 100: "100 %"}
        inside = Markup("").join(label.format(at, name) for at, name in names.items())
        numbers = Markup('<div class="axis" aria-hidden="true">{}</div>').format(inside)
    scale = Markup(
        '<div class="scale" role="img" aria-label="{}"><div class="track">{}</div>{}</div>'
    )
    return scale.format(clean_text(alt), Markup("").join(parts), numbers)


def _range(start: float, end: float) -> Markup:
    span = Markup('<span class="range" style="left:{:.1f}%;width:{:.1f}%"></span>')
    return span.format(start, end - start)
