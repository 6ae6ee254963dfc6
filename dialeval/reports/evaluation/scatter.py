"""Human-like and relevant: both answers about every system in one picture."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from dialeval.metrics.evaluation_results import EvaluationResults, Verdict
from dialeval.metrics.results import SECOND_HUMAN
from dialeval.reports.drawing import Frame
from dialeval.reports.evaluation.rows import bounds_of, headline_verdicts, value_of
from dialeval.reports.format import finite, one_line, shorten

LABEL = 22
"""Characters of a name in the picture."""
_LINE, _LETTER = 13, 7  # pixels between two labels, and of a letter
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Point:
    """A system in the picture.

    Args:
        name (`str`):
            Its name.
        accuracy, relevance (`float`):
            How often an evaluator is right, and how closely replies follow their contexts.
        across, up (`tuple[float, float]`):
            Their intervals.
        kind (`str`):
            CSS class.
    """

    name: str
    accuracy: float
    relevance: float
    across: Bounds
    up: Bounds
    kind: str = "machine"


def scatter_view(results: EvaluationResults) -> dict[str, Any]:
    """The picture, and the systems that it lacks."""
    verdicts = list(headline_verdicts(results).values())
    points = [point for verdict in verdicts if (point := _point(results, verdict))]
    points += _second_human(results, verdicts)
    names = [point.name for point in points]
    without = [verdict.system for verdict in verdicts if verdict.system not in names]
    return {"plot": scatter_plot(points) if points else "", "without": without}


def _point(results: EvaluationResults, verdict: Verdict) -> Point | None:
    accuracy, relevance = finite(verdict.accuracy), finite(verdict.relevance)
    if accuracy is None or relevance is None:
        return None
    rows = results.select("relevance", verdict.system)
    row = next((row for row in rows if row.value == relevance), None)
    low, high = finite(verdict.low), finite(verdict.high)
    across = accuracy if low is None else low, accuracy if high is None else high
    return Point(verdict.system, accuracy, relevance, across, _bounds(row, relevance))


def _bounds(row: Any, value: float) -> Bounds:
    low, high = bounds_of(row)
    return value if low is None else low, value if high is None else high


def _second_human(results: EvaluationResults, verdicts: Sequence[Verdict]) -> list[Point]:
    """The second human, by the first evaluator that measured both."""
    for row in results.select("relevance", SECOND_HUMAN):
        success = results.get("adversuc", SECOND_HUMAN, row.evaluator)
        wrong, relevance = value_of(success), value_of(row)
        if wrong is not None and relevance is not None and verdicts:
            low, high = _bounds(success, wrong)
            across = (1 - high, 1 - low)
            return [
                Point(SECOND_HUMAN, 1 - wrong, relevance, across, _bounds(row, relevance), "human")
            ]
    return []


def scatter_plot(points: Sequence[Point]) -> Markup:
    """Relevance against accuracy, which falls to the right; names stand beside the dots."""
    low = min(0.0, *(point.up[0] for point in points)) - 0.08
    high = max(1.0, *(point.up[1] for point in points)) + 0.12
    # A negative axis, so that more human-like is to the right.
    frame = Frame((-1.0, -0.45), (low, high), width=480, height=300, bottom=44, left=52)
    parts = [frame.line([-0.5, -0.5], frame.y, "chance"), frame.line(frame.x, [0, 0], "cut")]
    parts += [frame.line(frame.x, [1, 1], "cut"), frame.text(-0.5, 1, "★", "star middle")]
    for point in points:
        at = -max(point.accuracy, 0.46)
        ends_across = [-max(bound, 0.46) for bound in point.across]
        parts.append(frame.line(ends_across, [point.relevance] * 2, "whisker"))
        parts.append(frame.line([at, at], point.up, "whisker"))
        parts.append(frame.dots([at], [point.relevance], f"dot {point.kind}", 5))
    parts += _labels(frame, points)
    return frame.to_svg(
        parts,
        ("evaluator accuracy in %: more human-like to the right", "relevance"),
        "Relevance against the accuracy of the evaluator: " + _described(points),
        across=[(-value / 100, f"{value}") for value in range(100, 49, -10)],
    )


def _labels(frame: Frame, points: Sequence[Point]) -> list[Markup]:
    """Names beside the dots, moved down where they would overlap."""
    parts, boxes = list[Markup](), list[tuple[float, float, float]]()
    for point in sorted(points, key=lambda item: float(frame.up(item.relevance))):
        name = shorten(one_line(point.name), LABEL)
        is_right = point.accuracy < 0.65
        across = float(frame.across(-max(point.accuracy, 0.46))) + (-8 if is_right else 8)
        width = _LETTER * len(name)
        start, end = (across - width, across) if is_right else (across, across + width)
        at = float(frame.up(point.relevance)) - 6
        for other_start, other_end, height in boxes:
            if start < other_end and other_start < end:
                at = max(at, height + _LINE)
        boxes.append((start, end, at))
        parts.append(frame.label(across, at, name, "label end" if is_right else "label"))
    return parts


def _described(points: Sequence[Point]) -> str:
    return "; ".join(
        f"{one_line(point.name)} {100 * point.accuracy:.0f} %, relevance {point.relevance:.2f}"
        for point in points
    )
