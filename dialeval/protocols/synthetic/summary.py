"""Rates and errors over trials."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.metrics.share_intervals import wilson
from dialeval.metrics.significance import holm
from dialeval.protocols.evaluation.verdict import ALPHA
from dialeval.protocols.synthetic.study import Planted, Trial

ALL = "all, Holm"
"""The test of a verdict: the smallest p-value of the evaluators, corrected for their number."""


@dataclass(frozen=True)
class Rate:
    """How often something happened, with Wilson's interval."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Summary:
    """Trials of one world, size and evaluator.

    Args:
        kind, distance (`str`, `float`):
            The world.
        contexts (`int`):
            Size of the corpora.
        evaluator (`str`):
            Name of the evaluator, or `ALL`.
        best (`float`):
            The best possible accuracy.
        error (`float`):
            Mean of the measured accuracy minus the best one; NaN for `ALL`.
        spread (`float`):
            Standard deviation of the measured accuracy over trials.
        rejected (`Rate`):
            How often the test finds a difference: its size where there is none, else its power.
        above (`Rate`):
            How often the interval's lower bound exceeds the best accuracy, which is impossible in
            truth.
    """

    kind: str
    distance: float
    contexts: int
    evaluator: str
    best: float
    error: float
    spread: float
    rejected: Rate
    above: Rate


@dataclass(frozen=True)
class PlantedRate:
    """The mean power that the check promised, and the share of systems that were detected."""

    share: float
    contexts: int
    evaluator: str
    promised: float
    detected: Rate


def rate(events: Iterable[bool]) -> Rate:
    """The share of events that happened.

    Examples:
        >>> rate([True, False, False, True]).value
        0.5
    """
    values = list(events)
    return Rate(sum(values) / len(values), *wilson(sum(values), len(values)), len(values))


def summarise(trials: Iterable[Trial]) -> list[Summary]:
    """One summary per world, size and evaluator, and one for the test over all evaluators.

    Args:
        trials (`Iterable[Trial]`):
            Trials in any order.

    Returns:
        `list[Summary]`: Sorted by world and size.
    """
    groups: dict[tuple[str, float, int], dict[str, list[Trial]]] = {}
    for trial in trials:
        world = groups.setdefault((trial.kind, trial.distance, trial.contexts), {})
        world.setdefault(trial.evaluator, []).append(trial)
    summaries = []
    for world in (groups[key] for key in sorted(groups)):
        summaries += [_of_evaluator(rows) for rows in world.values()]
        if len(world) > 1:
            summaries.append(_of_all(list(world.values())))
    return summaries


def planted_rates(trials: Iterable[Planted]) -> list[PlantedRate]:
    """The calibration of the check by planted replies.

    Args:
        trials (`Iterable[Planted]`):
            Trials in any order.

    Returns:
        `list[PlantedRate]`: By share, size and evaluator.
    """
    groups: dict[tuple[float, int, str], list[Planted]] = {}
    for trial in trials:
        groups.setdefault((trial.share, trial.contexts, trial.evaluator), []).append(trial)
    return [
        PlantedRate(
            *key,
            float(np.mean([row.promised for row in rows])),
            rate(row.p_value < ALPHA for row in rows),
        )
        for key, rows in sorted(groups.items())
    ]


def _of_evaluator(rows: Sequence[Trial]) -> Summary:
    first, accuracies = rows[0], np.array([row.accuracy for row in rows])
    spread = float(accuracies.std(ddof=1)) if len(rows) > 1 else float("nan")
    return Summary(
        first.kind, first.distance, first.contexts, first.evaluator, first.best,
        float(accuracies.mean() - first.best), spread,
        rate(row.p_value < ALPHA for row in rows), rate(_above(row) for row in rows),
    )  # fmt: skip


def _above(trial: Trial) -> bool:
    """Whether the whole interval exceeds the best accuracy, by more than rounding."""
    return trial.low > trial.best + 1e-9


def _of_all(by_evaluator: Sequence[Sequence[Trial]]) -> Summary:
    """The verdict's test, trial by trial."""
    by_seed: dict[int, list[Trial]] = {}
    for rows in by_evaluator:
        for row in rows:
            by_seed.setdefault(row.seed, []).append(row)
    first, nan = by_evaluator[0][0], float("nan")
    whole = [rows for rows in by_seed.values() if len(rows) == len(by_evaluator)]
    rejected = rate(min(holm([row.p_value for row in rows])) < ALPHA for rows in whole)
    above = rate(any(map(_above, rows)) for rows in whole)
    return Summary(
        first.kind, first.distance, first.contexts, ALL, first.best, nan, nan, rejected, above
    )
