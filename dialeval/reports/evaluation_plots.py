"""Pictures of an evaluation: summaries of its scores, never a point a response."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from dialeval.reports.drawing import Frame
from dialeval.reports.evaluation_rows import Row, cleaned, number

_COLUMNS = ("system", "evaluator", "label", "fold", "score", "taken", "tokens")
_GRID = np.linspace(0, 1, 101)  # false positive rates at which the folds' curves are averaged
CORNERS = {  # AdverSuc and machine-vs-random, as they lie in the picture
    "low-high": "a style of its own",
    "high-high": "what one hopes for",
    "low-low": "human words, wrong place",
    "high-low": "like any random reply",
}
HALFWAY = (0.25, 0.75)  # AdverSuc and machine-vs-random between a coin and a perfect judge


@dataclass(frozen=True)
class Scores:
    """A judge's scores of one system's responses and of the human ones beside them."""

    human: np.ndarray  # (n,) bool
    fold: np.ndarray  # (n,)
    score: np.ndarray  # (n,)
    taken: np.ndarray  # (n,) bool, taken for human
    tokens: np.ndarray  # (n,)


def read_scores(path: Path) -> dict[tuple[str, str], Scores]:
    """The human-vs-machine scores of each system and evaluator, without missing scores."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(
        path, columns=list(_COLUMNS), filters=[("scenario", "=", "human_machine")]
    )
    read = {name: table[name].to_numpy() for name in _COLUMNS}
    known = np.isfinite(read["score"].astype(float))
    read = {name: values[known] for name, values in read.items()}
    names = (map(cleaned, read[name].tolist()) for name in ("system", "evaluator"))
    keys = list(zip(*names, strict=True))
    order = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    which = np.array([order[key] for key in keys], dtype=int)
    return {key: _scores(read, which == place) for key, place in order.items()}


def _scores(read: Mapping[str, np.ndarray], rows: np.ndarray) -> Scores:
    return Scores(
        human=read["label"][rows] == 1,
        fold=read["fold"][rows],
        score=read["score"][rows].astype(float),
        taken=read["taken"][rows].astype(bool),
        tokens=read["tokens"][rows].astype(float),
    )


def averaged_roc(scores: Scores) -> np.ndarray | None:
    """Machines found at each of 101 shares of humans accused, averaged over folds.

    Scores of several judges have no common scale, so each fold has a curve of its own; `None` when
    a fold lacks humans or machines.
    """
    curves = []
    for fold in np.unique(scores.fold):
        inside = scores.fold == fold
        human, score = scores.human[inside], scores.score[inside]
        if human.all() or not human.any():
            return None
        cuts = np.unique(score)
        accused, found = (
            np.searchsorted(np.sort(score[kind]), cuts, side="right") / kind.sum()
            for kind in (human, ~human)
        )
        curves.append(np.interp(_GRID, np.r_[0, accused], np.r_[0, found]))
    return np.mean(curves, axis=0) if curves else None


def roc_plot(judges: Mapping[str, Scores], kinds: Mapping[str, str], alt: str) -> Markup:
    """The ROC curve of each judge, a machine being what is to be found."""
    frame = Frame((0, 1), (0, 1))
    parts = [frame.line([0, 1], [0, 1], "chance")]
    for name, scores in judges.items():
        curve = averaged_roc(scores)
        if curve is not None:
            parts.append(frame.line(np.r_[0, _GRID], np.r_[0, curve], f"line {kinds[name]}"))
    return frame.drawn(parts, ("humans accused", "machines found"), alt)


def histogram_plot(scores: Scores, alt: str, bins: int = 20) -> Markup:
    """How often humans and the machine get each score, as shares of their own."""
    low, high = min(0, scores.score.min()), max(1, scores.score.max())
    shares = {}
    for kind, rows in (("human", scores.human), ("machine", ~scores.human)):
        counts, edges = np.histogram(scores.score[rows], bins, (low, high))
        shares[kind] = np.repeat(counts / max(rows.sum(), 1), 2)
    frame = Frame((low, high), (0, 1.05 * max(each.max() for each in shares.values())))
    x = np.r_[edges[0], np.repeat(edges[1:-1], 2), edges[-1]]
    parts = []
    for kind, share in shares.items():
        parts += [frame.area(x, 0 * x, share, f"band {kind}"), frame.line(x, share, f"line {kind}")]
    if (scores.taken == (scores.score >= 0.5)).all():
        parts.append(frame.line([0.5, 0.5], frame.y, "chance"))
    return frame.drawn(parts, (_axis(scores), "share"), alt)


def _axis(scores: Scores) -> str:
    """What a score is: P(human), or what a judge gives that knows no probabilities."""
    inside = ((scores.score >= 0) & (scores.score <= 1)).all()
    return "score: P(human)" if inside else "score: higher is human"


def by_length(scores: Scores, rows: np.ndarray, most: int = 10) -> np.ndarray:
    """Mean length, mean score and its quartiles of some responses, by classes of length."""
    bins = int(np.clip(len(scores.tokens) // 20, 1, most))
    edges = np.unique(np.quantile(scores.tokens, np.linspace(0, 1, bins + 1)))
    which = np.digitize(scores.tokens, edges[1:-1])[rows]
    tokens, score = scores.tokens[rows], scores.score[rows]
    found = []
    for each in np.unique(which):
        inside = which == each
        quartiles = np.quantile(score[inside], (0.25, 0.75))
        found.append([tokens[inside].mean(), score[inside].mean(), *quartiles])
    return np.array(found).reshape(-1, 4).T  # (4, classes)


def length_plot(scores: Scores, alt: str) -> Markup:
    """The mean score of humans and machine by length, with the middle half as a band."""
    known = np.isfinite(scores.tokens)
    scores = Scores(*(getattr(scores, name)[known] for name in Scores.__dataclass_fields__))
    lines = {
        kind: by_length(scores, rows)
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
    return frame.drawn(parts, ("words in the response", _axis(scores)), alt)


def corner_plot(found: Sequence[Row], numbers: Mapping[str, int], alt: str) -> Markup:
    """AdverSuc against machine-vs-random, each system as its number, with intervals as a cross."""
    placed = [(row, *map(_span, (row.adversuc, row.machine))) for row in found if corner(row)]
    right = max(0.6, *(x[2] for _, x, _ in placed)) + 0.03
    down = min(0.4, *(y[1] for _, _, y in placed)) - 0.03
    frame = Frame((0, right), (down, 1.02), width=420, height=320, bottom=40)
    parts = _quadrants(frame)
    for _, x, y in placed:
        parts.append(frame.line(x[1:], [y[0]] * 2, "whisker"))
        parts.append(frame.line([x[0]] * 2, y[1:], "whisker"))
    for row, x, y in placed:
        parts.append(frame.dots([x[0]], [y[0]], "dot machine", 7))
        parts.append(frame.text(x[0], y[0], str(numbers[row.system]), "number middle"))
    return frame.drawn(parts, ("AdverSuc", "machine-vs-random accuracy"), alt)


def _span(result: Mapping[str, Any]) -> tuple[float, float, float]:
    """A number and the ends of its interval, which are the number itself when there is none."""
    value, low, high = (number(result, name) for name in ("value", "low", "high"))
    return value, value if low is None else low, value if high is None else high


def _quadrants(frame: Frame) -> list[Markup]:
    """The four corners with their names, and the line of a judge that ignores the context."""
    (left, right), (down, up) = frame.x, frame.y
    cuts = ([HALFWAY[0]] * 2, frame.y), (frame.x, [HALFWAY[1]] * 2)
    end = min(right, 1 - down)
    parts = [*(frame.line(*cut, "cut") for cut in cuts)]
    parts.append(frame.line([0, end], [1, 1 - end], "chance"))
    top, floor, edge = up - 0.035, down + 0.015, right - 0.08  # beside the dashed line
    places = [(left + 0.05, top), (edge, top), (left + 0.005, floor), (edge, floor)]
    for place, (name, said) in zip(places, CORNERS.items(), strict=True):
        parts.append(frame.text(*place, said, "corner end" if name[0] == "h" else "corner"))
    return parts


def corner(row: Row) -> str | None:
    """Which corner a system stands in, such as `high-low`: AdverSuc, then machine-vs-random."""
    values = [number(part, "value") for part in (row.adversuc, row.machine)]
    if None in values:
        return None
    sides = zip(values, HALFWAY, strict=True)
    return "-".join("high" if value >= middle else "low" for value, middle in sides)


def learning_plot(
    curves: Mapping[str, Sequence[Mapping[str, Any]]], kinds: Mapping[str, str], alt: str
) -> Markup:
    """AdverSuc by the number of training examples, a line for each judge."""
    names = ("n_train", "adversuc", "low", "high")
    lines = {}
    for name, points in curves.items():
        told = [[number(point, each) for each in names] for point in points]
        told = sorted((each for each in told if None not in each[:2]), key=lambda each: each[0])
        if told:
            lines[name] = np.array(told, dtype=float).T  # (4, points)
    highest = max((np.nanmax(line[1:]) for line in lines.values()), default=0.5)
    furthest = max((line[0].max() for line in lines.values()), default=1)
    frame = Frame((0, max(1, 1.05 * furthest)), (0, max(0.55, 1.05 * highest)))
    parts = [frame.line(frame.x, [0.5, 0.5], "chance")]
    for name, (n, value, low, high) in lines.items():
        if np.isfinite([low, high]).all():
            parts.append(frame.area(n, low, high, f"band {kinds[name]}"))
        parts.append(frame.line(n, value, f"line {kinds[name]}"))
        parts.append(frame.dots(n, value, f"dot {kinds[name]}"))
    return frame.drawn(parts, ("training examples", "AdverSuc"), alt)
