"""Plots of an evaluation: summaries of its scores, never one point per response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from markupsafe import Markup

from dialeval.metrics.evaluation_results import CurvePoint
from dialeval.metrics.results import Result
from dialeval.reports.drawing import Frame
from dialeval.reports.evaluation.rows import Row, bounds_of, value_of
from dialeval.reports.format import finite, one_line, shorten

_COLUMNS = ("system", "evaluator", "label", "fold", "score", "predicted_human", "tokens")
_GRID = np.linspace(0, 1, 101)  # false positive rates at which the folds' curves are averaged
_LABEL_WIDTH, _LABEL_TOP = 52, 16  # pixels: of a label, and from the top of a picture
CORNERS = {  # AdverSuc and machine-vs-random, in the order of the picture
    "low-high": "distinctive style",
    "high-high": "human-like and relevant",
    "low-low": "human-like, off topic",
    "high-low": "like a random response",
}
HALFWAY = (0.25, 0.75)
"""AdverSuc and machine-vs-random halfway between a random guess and a perfect evaluator."""


@dataclass(frozen=True)
class Scores:
    """Scores by one evaluator of one system's responses and of the human ones.

    Args:
        human (`np.ndarray`):
            Whether a response is human, shape `(n,)`; the others have the same shape.
        fold (`np.ndarray`):
            Fold in which it was held out.
        score (`np.ndarray`):
            Its score; higher is more human-like.
        predicted_human (`np.ndarray`):
            Whether it was classified as human.
        tokens (`np.ndarray`):
            Its length.
    """

    human: np.ndarray
    fold: np.ndarray
    score: np.ndarray
    predicted_human: np.ndarray
    tokens: np.ndarray

    def subset(self, rows: np.ndarray) -> "Scores":
        """The scores of some rows."""
        return Scores(
            self.human[rows], self.fold[rows], self.score[rows],
            self.predicted_human[rows], self.tokens[rows],
        )  # fmt: skip


def read_scores(path: Path) -> dict[tuple[str, str], Scores]:
    """The human-vs-machine scores by system and evaluator, without missing scores."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(
        path, columns=list(_COLUMNS), filters=[("scenario", "=", "human_machine")]
    )
    columns = {name: table[name].to_numpy() for name in _COLUMNS}
    scores = Scores(
        human=columns["label"] == 1,
        fold=columns["fold"],
        score=columns["score"].astype(float),
        predicted_human=columns["predicted_human"].astype(bool),
        tokens=columns["tokens"].astype(float),
    )
    keys = list(zip(columns["system"].tolist(), columns["evaluator"].tolist(), strict=True))
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    group = np.array([numbers[key] for key in keys], dtype=int)
    present = np.isfinite(scores.score)
    subsets = {key: scores.subset(present & (group == number)) for key, number in numbers.items()}
    return {key: subset for key, subset in subsets.items() if len(subset.score)}


def average_roc(scores: Scores) -> np.ndarray | None:
    """True positive rates at 101 false positive rates, averaged over folds.

    Scores of evaluators trained on different folds have no common scale, so each fold has its own
    curve; `None` when a fold lacks human or machine responses.
    """
    curves = []
    for fold in np.unique(scores.fold):
        part = scores.subset(scores.fold == fold)
        if part.human.all() or not part.human.any():
            return None
        thresholds = np.unique(part.score)
        false_positives, true_positives = (
            np.searchsorted(np.sort(part.score[side]), thresholds, side="right") / side.sum()
            for side in (part.human, ~part.human)
        )
        curves.append(np.interp(_GRID, np.r_[0, false_positives], np.r_[0, true_positives]))
    return np.mean(curves, axis=0) if curves else None


def roc_plot(scores: Mapping[str, Scores], classes: Mapping[str, str], alt: str) -> Markup:
    """One ROC curve per evaluator; a machine response is the positive class.

    Args:
        scores (`Mapping[str, Scores]`):
            Scores by evaluator.
        classes (`Mapping[str, str]`):
            CSS class of each evaluator's line.
        alt (`str`):
            Description.

    Returns:
        `Markup`: An `<svg>` element.
    """
    frame = Frame((0, 1), (0, 1))
    parts = [frame.line([0, 1], [0, 1], "chance")]
    for name, part in scores.items():
        curve = average_roc(part)
        if curve is not None:
            parts.append(frame.line(np.r_[0, _GRID], np.r_[0, curve], f"line {classes[name]}"))
    return frame.to_svg(parts, ("false positive rate", "true positive rate"), alt)


def histogram_plot(scores: Scores, alt: str, bins: int = 20) -> Markup:
    """How often human and machine responses get each score, as shares of either.

    Args:
        scores (`Scores`):
            Scores by one evaluator.
        alt (`str`):
            Description.
        bins (`int`, *optional*, defaults to 20):
            Number of bins.

    Returns:
        `Markup`: An `<svg>` element.
    """
    low, high = min(0, scores.score.min()), max(1, scores.score.max())
    edges = np.linspace(low, high, bins + 1)
    shares = {}
    for kind, rows in (("human", scores.human), ("machine", ~scores.human)):
        counts, _ = np.histogram(scores.score[rows], bins, (low, high))
        shares[kind] = np.repeat(counts / max(rows.sum(), 1), 2)
    frame = Frame((low, high), (0, 1.15 * max(share.max() for share in shares.values())))
    x = np.r_[edges[0], np.repeat(edges[1:-1], 2), edges[-1]]
    parts = []
    for kind, share in shares.items():
        parts += [frame.area(x, 0 * x, share, f"band {kind}"), frame.line(x, share, f"line {kind}")]
    if (scores.predicted_human == (scores.score >= 0.5)).all():
        parts.append(frame.line([0.5, 0.5], frame.y, "chance"))
    parts += _peak_labels(frame, x, shares)
    return frame.to_svg(parts, (_score_label(scores), "share"), alt)


def _peak_labels(frame: Frame, x: np.ndarray, shares: Mapping[str, np.ndarray]) -> list[Markup]:
    """The name of each side above its highest bar, at the top of the picture, moved apart."""
    peaks = sorted(
        (float(frame.across(x[int(share.argmax())])), kind) for kind, share in shares.items()
    )
    (first, _), (second, _) = peaks
    missing = max(_LABEL_WIDTH - (second - first), 0) / 2
    start = max(first - missing, frame.left + _LABEL_WIDTH / 2)
    end = min(max(second + missing, start + _LABEL_WIDTH), frame.width - _LABEL_WIDTH / 2)
    positions = (min(start, end - _LABEL_WIDTH), end)
    return [
        frame.label(across, _LABEL_TOP, kind, f"label {kind} middle")
        for across, (_, kind) in zip(positions, peaks, strict=True)
    ]


def _score_label(scores: Scores) -> str:
    """What a score is: P(human), or another number that is higher for humans."""
    is_probability = ((scores.score >= 0) & (scores.score <= 1)).all()
    return "score: P(human)" if is_probability else "score: higher is human"


def scores_by_length(scores: Scores, rows: np.ndarray, most: int = 10) -> np.ndarray:
    """Mean length, mean score and its quartiles of some responses, by classes of length.

    Args:
        scores (`Scores`):
            Scores by one evaluator.
        rows (`np.ndarray`):
            Which of them, as a boolean mask.
        most (`int`, *optional*, defaults to 10):
            Number of classes at most.

    Returns:
        `np.ndarray`: Shape `(4, classes)`.
    """
    bins = int(np.clip(len(scores.tokens) // 20, 1, most))
    edges = np.unique(np.quantile(scores.tokens, np.linspace(0, 1, bins + 1)))
    classes = np.digitize(scores.tokens, edges[1:-1])[rows]
    tokens, score = scores.tokens[rows], scores.score[rows]
    summaries = []
    for length_class in np.unique(classes):
        inside = classes == length_class
        quartiles = np.quantile(score[inside], (0.25, 0.75))
        summaries.append([tokens[inside].mean(), score[inside].mean(), *quartiles])
    return np.array(summaries).reshape(-1, 4).T


def length_plot(scores: Scores, alt: str) -> Markup:
    """The mean score of human and machine responses by length, the middle half as a band."""
    scores = scores.subset(np.isfinite(scores.tokens))
    lines = {
        kind: scores_by_length(scores, rows)
        for kind, rows in (("human", scores.human), ("machine", ~scores.human))
        if rows.any()
    }
    longest = max((line[0].max() for line in lines.values()), default=1)
    bounds = (min(0, scores.score.min(initial=0)), max(1, scores.score.max(initial=1)))
    frame = Frame((0, max(1.05 * longest, 1)), bounds)
    parts = []
    for kind, (tokens, mean, low, high) in lines.items():
        parts += [frame.area(tokens, low, high, f"band {kind}")]
        parts += [frame.line(tokens, mean, f"line {kind}"), frame.dots(tokens, mean, f"dot {kind}")]
    last_points = [(line[0][-1], line[1][-1], kind) for kind, line in lines.items() if line.size]
    parts += frame.end_labels(last_points)
    return frame.to_svg(parts, ("words in the response", _score_label(scores)), alt)


def corner_plot(rows: Sequence[Row], numbers: Mapping[str, int], alt: str) -> Markup:
    """AdverSuc against machine-vs-random: each system as its number, intervals as a cross.

    Args:
        rows (`Sequence[Row]`):
            Rows of one evaluator.
        numbers (`Mapping[str, int]`):
            The number of each system.
        alt (`str`):
            Description.

    Returns:
        `Markup`: An `<svg>` element.
    """
    points = [(row, _span(row.adversuc), _span(row.machine)) for row in rows if corner(row)]
    right = max(0.6, *(x[2] for _, x, _ in points)) + 0.03
    bottom = min(0.4, *(y[1] for _, _, y in points)) - 0.03
    frame = Frame((0, right), (bottom, 1.02), width=420, height=320, bottom=40)
    parts = _quadrants(frame)
    for _, x, y in points:
        parts.append(frame.line(x[1:], [y[0]] * 2, "whisker"))
        parts.append(frame.line([x[0]] * 2, y[1:], "whisker"))
    for row, x, y in points:
        parts.append(frame.dots([x[0]], [y[0]], "dot machine", 7))
        parts.append(frame.text(x[0], y[0], str(numbers[row.system]), "number middle"))
    return frame.to_svg(parts, ("AdverSuc", "machine-vs-random accuracy"), alt)


def _span(result: Result | None) -> tuple[float, float, float]:
    """A number and its bounds, which are the number itself when there is no interval."""
    value = value_of(result) or 0.0
    low, high = bounds_of(result)
    return value, value if low is None else low, value if high is None else high


def _quadrants(frame: Frame) -> list[Markup]:
    """The four corners with their names, and the line of an evaluator that ignores the context."""
    (left, right), (bottom, top) = frame.x, frame.y
    borders = ([HALFWAY[0]] * 2, frame.y), (frame.x, [HALFWAY[1]] * 2)
    end = min(right, 1 - bottom)
    parts = [frame.line(x, y, "cut") for x, y in borders]
    parts.append(frame.line([0, end], [1, 1 - end], "chance"))
    upper, lower, edge = top - 0.035, bottom + 0.015, right - 0.08  # next to the dashed line
    points = [(left + 0.05, upper), (edge, upper), (left + 0.005, lower), (edge, lower)]
    for (x, y), (name, label) in zip(points, CORNERS.items(), strict=True):
        parts.append(frame.text(x, y, label, "corner end" if name[0] == "h" else "corner"))
    return parts


def corner(row: Row) -> str | None:
    """The corner of a system, such as `high-low`: AdverSuc, then machine-vs-random."""
    adversuc, machine = value_of(row.adversuc), value_of(row.machine)
    if adversuc is None or machine is None:
        return None
    is_high = adversuc >= HALFWAY[0], machine >= HALFWAY[1]
    return "-".join("high" if high else "low" for high in is_high)


def learning_plot(
    curves: Mapping[str, Sequence[CurvePoint]], classes: Mapping[str, str], alt: str
) -> Markup:
    """Accuracy against the number of training examples, one line per evaluator.

    Args:
        curves (`Mapping[str, Sequence[CurvePoint]]`):
            Points by evaluator.
        classes (`Mapping[str, str]`):
            CSS class of each evaluator's line.
        alt (`str`):
            Description.

    Returns:
        `Markup`: An `<svg>` element.
    """
    lines = {name: line for name, points in curves.items() if (line := _curve(points)).size}
    lowest = min((np.nanmin(line[1:]) for line in lines.values()), default=0.5)
    furthest = max((line[0].max() for line in lines.values()), default=1)
    frame = Frame((0, max(1, 1.05 * furthest)), (min(0.45, lowest - 0.02), 1.0))
    parts = [frame.line(frame.x, [0.5, 0.5], "chance")]
    for name, (n, value, low, high) in lines.items():
        if np.isfinite([low, high]).all():
            parts.append(frame.area(n, low, high, f"band {classes[name]}"))
        parts.append(frame.line(n, value, f"line {classes[name]}"))
        parts.append(frame.dots(n, value, f"dot {classes[name]}"))
    last_points = [
        (line[0][-1], line[1][-1], shorten(one_line(name), 18)) for name, line in lines.items()
    ]
    parts += frame.end_labels(last_points)
    return frame.to_svg(parts, ("training examples", "accuracy"), alt)


def _curve(points: Sequence[CurvePoint]) -> np.ndarray:
    """Training examples, accuracy and its bounds, shape `(4, points)`."""
    rows = sorted(
        (point.n_train, 1 - point.adversuc, 1 - point.high, 1 - point.low)
        for point in points
        if finite(point.n_train) is not None and finite(point.adversuc) is not None
    )
    return np.array(rows, dtype=float).reshape(-1, 4).T
