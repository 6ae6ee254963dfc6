"""Pictures of the attack-defence game, turn by turn."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from dialeval.reports.drawing import Frame
from dialeval.reports.evaluation_rows import share

_NAMES = ("turn", "accuracy after the attack")
Curve = Sequence[Mapping[str, float]]


def last_turn(games: Mapping[str, Curve]) -> float:
    """Where the axis of turns ends; never before 5, so that its ticks are whole turns."""
    return max([5, *(point["turn"] for points in games.values() for point in points)])


def game_plot(
    points: Curve, kind: str, end: float, c_high: float | None, alt: str, lowest: str = ""
) -> Markup:
    """The accuracy after each attack, in its range; `lowest` names a second, dotted line."""
    frame = Frame((0, end), (0, 1))
    turns = [each["turn"] for each in points]
    ends = ([each[name] for each in points] for name in ("low", "high"))
    parts = [*_thresholds(frame, c_high), frame.area(turns, *ends, f"band {kind}")]
    if len(points) == 1:  # an area without width
        parts.append(frame.line([turns[0]] * 2, [points[0]["low"], points[0]["high"]], "whisker"))
    if lowest:
        parts.append(frame.line(turns, [each[lowest] for each in points], f"past {kind}"))
    return frame.to_svg([*parts, *_curve(frame, points, kind)], _NAMES, alt)


def games_plot(
    games: Mapping[str, Curve], kinds: Mapping[str, str], c_high: float | None, alt: str
) -> Markup:
    """The accuracy after each attack, all games in one picture."""
    frame = Frame((0, last_turn(games)), (0, 1), width=620, height=260)
    parts = _thresholds(frame, c_high)
    for name, points in games.items():
        parts += _curve(frame, points, kinds[name])
    return frame.to_svg(parts, _NAMES, alt)


def _curve(frame: Frame, points: Curve, kind: str) -> list[Markup]:
    places = [[each[name] for each in points] for name in ("turn", "value")]
    return [frame.line(*places, f"line {kind}"), frame.dots(*places, f"dot {kind}")]


def _thresholds(frame: Frame, c_high: float | None) -> list[Markup]:
    parts = [frame.line(frame.x, [0.5, 0.5], "chance")]
    if c_high is not None:
        parts.append(frame.line(frame.x, [c_high, c_high], "goal"))
        said = f"c_high {share(c_high).rstrip('0')}"
        parts.append(frame.text(0.01 * frame.x[1], c_high + 0.02, said, "tick"))
    return parts


def habits_plot(turns: Sequence[float], shares: Mapping[str, Sequence[float]], alt: str) -> Markup:
    """Shares of an attacker's replies by turn, each kind of line a share."""
    frame = Frame((0, max([5, *turns])), (0, 1))
    parts = []
    for kind, values in shares.items():
        parts += [
            frame.line(turns, values, f"line {kind}"),
            frame.dots(turns, values, f"dot {kind}"),
        ]
    return frame.to_svg(parts, ("turn", "share of replies"), alt)
