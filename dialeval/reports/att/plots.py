"""Plots of the attack-defence game, turn by turn."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from dialeval.reports.att.rows import GamePoint
from dialeval.reports.drawing import Frame
from dialeval.reports.format import format_share, one_line, shorten

_NAMES = ("turn", "accuracy after the attack")
Curve = Sequence[GamePoint]


def last_turn(games: Mapping[str, Curve]) -> float:
    """The end of the axis of turns; at least 5, so that its ticks are whole turns."""
    return max([5, *(point.turn for points in games.values() for point in points)])


def game_plot(
    points: Curve,
    kind: str,
    end: float,
    c_high: float | None,
    alt: str,
    lowest: Sequence[float] = (),
) -> Markup:
    """The accuracy after each attack, in its range.

    Args:
        points (`Sequence[GamePoint]`):
            The curve.
        kind (`str`):
            CSS class of its colour.
        end (`float`):
            Last turn of the axis.
        c_high (`float`, *optional*):
            Accuracy that a defence must reach, drawn as a line.
        alt (`str`):
            Description for screen readers.
        lowest (`Sequence[float]`, *optional*):
            A second, dotted curve over the same turns.

    Returns:
        `Markup`: An SVG picture.
    """
    frame = Frame((0, end), (0, 1))
    turns = [point.turn for point in points]
    low, high = [point.low for point in points], [point.high for point in points]
    parts = [*_thresholds(frame, c_high), frame.area(turns, low, high, f"band {kind}")]
    if len(points) == 1:  # an area without width
        parts.append(frame.line(turns * 2, [low[0], high[0]], "whisker"))
    if lowest:
        parts.append(frame.line(turns, lowest, f"past {kind}"))
    return frame.to_svg([*parts, *_curve(frame, points, kind)], _NAMES, alt)


def games_plot(
    games: Mapping[str, Curve], kinds: Mapping[str, str], c_high: float | None, alt: str
) -> Markup:
    """The accuracy after each attack, all games in one plot.

    Args:
        games (`Mapping[str, Sequence[GamePoint]]`):
            Curves by game.
        kinds (`Mapping[str, str]`):
            CSS classes of their colours.
        c_high (`float`, *optional*):
            Accuracy that a defence must reach, drawn as a line.
        alt (`str`):
            Description for screen readers.

    Returns:
        `Markup`: An SVG picture.
    """
    frame = Frame((0, last_turn(games)), (0, 1), width=620, height=260)
    parts = _thresholds(frame, c_high)
    for name, points in games.items():
        parts += _curve(frame, points, kinds[name])
    last_points = [(line[-1].turn, line[-1].value, name) for name, line in games.items() if line]
    parts += frame.end_labels([(x, y, shorten(one_line(name), 18)) for x, y, name in last_points])
    return frame.to_svg(parts, _NAMES, alt)


def _curve(frame: Frame, points: Curve, kind: str) -> list[Markup]:
    turns, values = [point.turn for point in points], [point.value for point in points]
    return [frame.line(turns, values, f"line {kind}"), frame.dots(turns, values, f"dot {kind}")]


def _thresholds(frame: Frame, c_high: float | None) -> list[Markup]:
    parts = [frame.line(frame.x, [0.5, 0.5], "chance")]
    if c_high is not None:
        parts.append(frame.line(frame.x, [c_high, c_high], "goal"))
        label = f"c_high {format_share(c_high).rstrip('0')}"
        parts.append(frame.text(0.01 * frame.x[1], c_high + 0.02, label, "tick"))
    return parts


def habits_plot(turns: Sequence[float], shares: Mapping[str, Sequence[float]], alt: str) -> Markup:
    """Shares of an attacker's replies by turn, one line for each share.

    Args:
        turns (`Sequence[float]`):
            Numbers of the turns.
        shares (`Mapping[str, Sequence[float]]`):
            Shares by the CSS class of their colour.
        alt (`str`):
            Description for screen readers.

    Returns:
        `Markup`: An SVG picture.
    """
    frame = Frame((0, max([5, *turns])), (0, 1))
    parts = []
    for kind, values in shares.items():
        parts += [
            frame.line(turns, values, f"line {kind}"),
            frame.dots(turns, values, f"dot {kind}"),
        ]
    return frame.to_svg(parts, ("turn", "share of replies"), alt)
