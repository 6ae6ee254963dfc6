"""Ratings: agreement, mean ratings of systems, and correlation with metrics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from dialeval.judgements import Judgement, bradley_terry, correlate, ratings_as_preferences
from dialeval.judgements.correlation import COEFFICIENTS, correlation_gap, pearson, williams_test
from dialeval.judgements.planning import items_for_difference
from dialeval.judgements.resampling import percentile_interval, resampled_sums
from dialeval.metrics.judgement_results import PEOPLE, Plan
from dialeval.metrics.paired import approximate_randomisation
from dialeval.metrics.results import Result
from dialeval.protocols.people.scores import Key, MetricScores, matrices

LEVELS = ("item", "system")
MIN_SYSTEMS = 4
"""Systems below which nothing is correlated over systems."""


def mean_ratings(judgements: Sequence[Judgement], scale: str | None) -> dict[Key, float]:
    """Mean rating of each reply on a scale; `None` averages over the scales."""
    sums: dict[Key, list[float]] = {}
    for row in judgements:
        if isinstance(row.answer, float) and scale in (None, row.scale):
            sums.setdefault((row.item, row.system), []).append(row.answer)
    return {key: float(np.mean(values)) for key, values in sums.items()}


def system_ratings(
    ratings: Mapping[Key, float], scale: str, resamples: int, seed: int, signature: str
) -> Iterator[Result]:
    """Mean rating of each system with its interval over items, the best first.

    Args:
        ratings (`Mapping`):
            Mean rating by item and system.
        scale (`str`):
            Name of the scale.
        resamples, seed (`int`):
            Of the bootstrap.
        signature (`str`):
            How the numbers were computed.

    Yields:
        `Result`: Metric `rating`.
    """
    by_system: dict[str, list[float]] = {}
    for (_, system), value in ratings.items():
        by_system.setdefault(system, []).append(value)
    for system, values in sorted(by_system.items(), key=lambda pair: -np.mean(pair[1])):
        table = np.column_stack([values, np.ones(len(values))])
        sums = resampled_sums(table, resamples, seed)
        low, high = percentile_interval(sums[:, 0] / sums[:, 1])
        yield Result(
            "rating", system, PEOPLE, float(np.mean(values)), low, high, len(values), signature,
            {"scale": scale},
        )  # fmt: skip


def rating_strengths(
    ratings: Mapping[Key, float], scale: str, resamples: int, seed: int, signature: str
) -> Iterator[Result]:
    """Bradley-Terry strengths from which reply of an item was rated higher.

    Args:
        ratings (`Mapping`):
            Mean rating by item and system.
        scale (`str`):
            Name of the scale.
        resamples, seed (`int`):
            Of the bootstrap.
        signature (`str`):
            How the numbers were computed.

    Yields:
        `Result`: Metric `strength`.
    """
    by_item: dict[Any, dict[str, float]] = {}
    for (item, system), value in ratings.items():
        by_item.setdefault(item, {})[system] = value
    preferences, items = ratings_as_preferences(by_item)
    if not preferences:
        return
    for row in bradley_terry(preferences, items, resamples=resamples, seed=seed):
        details = {"scale": scale, "rank_low": row.rank_low, "rank_high": row.rank_high}
        yield Result(
            "strength", row.system, PEOPLE, row.strength, row.low, row.high, row.n, signature,
            details,
        )  # fmt: skip


def rating_plans(ratings: Mapping[Key, float], scale: str) -> Iterator[Plan]:
    """How many items would separate every two systems that are next to each other."""
    by_system: dict[str, dict[str, float]] = {}
    for (item, system), value in ratings.items():
        by_system.setdefault(system, {})[item] = value
    order = sorted(by_system, key=lambda name: -np.mean(list(by_system[name].values())))
    for better, worse in pairwise(order):
        common = by_system[better].keys() & by_system[worse].keys()
        gaps = np.array([by_system[better][item] - by_system[worse][item] for item in common])
        if len(gaps) < 2:
            continue
        settled = approximate_randomisation(gaps, np.zeros(len(gaps))) < 0.05
        needed = items_for_difference(float(gaps.mean()), float(gaps.std(ddof=1)))
        name = f" on {scale}" if scale else ""
        yield Plan(f"Is {better} rated higher than {worse}{name}?", len(gaps), needed, settled)


def correlations(
    ratings: Mapping[Key, float],
    scale: str,
    metrics: Sequence[MetricScores],
    resamples: int,
    seed: int,
    signature: str,
    levels: Sequence[str] = LEVELS,
) -> Iterator[Result]:
    """Correlation of each metric with the ratings over replies and over systems.

    Args:
        ratings (`Mapping`):
            Mean rating by item and system.
        scale (`str`):
            Name of the scale.
        metrics (`Sequence[MetricScores]`):
            Metrics that scored the same replies.
        resamples, seed (`int`):
            Of the bootstrap over items and systems.
        signature (`str`):
            How the numbers were computed.
        levels (`Sequence[str]`, *optional*):
            `item` and `system` by default.

    Yields:
        `Result`: Metrics `pearson`, `spearman`, `kendall`; the evaluator is the metric's name.
    """
    for metric in metrics:
        scores, rated, systems, _ = matrices(ratings, metric)
        if not np.isfinite(scores).any():
            continue
        for level in levels:
            if level == "system" and len(systems) < MIN_SYSTEMS:
                continue
            for name in COEFFICIENTS:
                drawn = "both" if len(systems) >= MIN_SYSTEMS else "items"
                number = min(resamples, 200) if (name, level) == ("kendall", "item") else resamples
                row = correlate(
                    scores, rated, name, level, resampled=drawn, resamples=number, seed=seed
                )
                details = {**asdict(row), "scale": scale, "level": level}
                yield Result(
                    name, "", metric.name, row.value, row.low, row.high, row.n, signature, details
                )


def compare_metrics(
    ratings: Mapping[Key, float],
    scale: str,
    metrics: Sequence[MetricScores],
    resamples: int,
    seed: int,
    signature: str,
    levels: Sequence[str] = LEVELS,
) -> Iterator[Result]:
    """Williams' test and the bootstrap difference of every two metrics' correlations.

    Williams' test takes points to be independent, which replies to one context are not: the
    interval over items and systems stands beside it.

    Args:
        ratings (`Mapping`):
            Mean rating by item and system.
        scale (`str`):
            Name of the scale.
        metrics (`Sequence[MetricScores]`):
            Metrics that scored the same replies.
        resamples, seed (`int`):
            Of the bootstrap over items and systems.
        signature (`str`):
            How the numbers were computed.
        levels (`Sequence[str]`, *optional*):
            `item` and `system` by default.

    Yields:
        `Result`: Metric `correlation_gap`, first metric minus second, with t and p as details.
    """
    for first, second in combinations(metrics, 2):
        one, rated, systems, _ = matrices(ratings, first)
        two, *_ = matrices(ratings, second)
        for level in levels:
            if level == "system" and len(systems) < MIN_SYSTEMS:
                continue
            points = _points(one, two, rated, level)
            if points.shape[1] < 4:
                continue
            r12, r13, r23 = (pearson(points[a], points[b]) for a, b in ((2, 0), (2, 1), (0, 1)))
            if not np.isfinite([r12, r13, r23]).all():
                continue
            statistic, p_value = williams_test(r12, r13, r23, points.shape[1])
            gap, low, high = correlation_gap(
                one, two, rated, "pearson", level, resamples=resamples, seed=seed
            )
            details = {"scale": scale, "level": level, "other": second.name, "t": statistic,
                       "p_value": p_value, "r_first": r12, "r_second": r13}  # fmt: skip
            yield Result(
                "correlation_gap", "", first.name, gap, low, high, points.shape[1], signature,
                details,
            )  # fmt: skip


def _points(one: np.ndarray, two: np.ndarray, rated: np.ndarray, level: str) -> np.ndarray:
    """First metric, second metric and ratings, shape `(3, points)`."""
    arrays = np.stack([one, two, rated])
    present = np.isfinite(arrays).all(0)
    if level == "item":
        return arrays[:, present]
    counts = present.sum(1)
    sums = np.where(present, arrays, 0.0).sum(2)
    return sums[:, counts > 0] / counts[counts > 0]
