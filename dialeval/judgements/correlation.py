"""Correlation of metrics with human ratings, over items and over systems, and Williams' test."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import kendalltau, rankdata, t

from dialeval.judgements.resampling import percentile_interval

LEVELS = ("item", "system")
RESAMPLED = ("both", "items", "systems")
MIN_POINTS = 3
"""Points below which there is no correlation."""


@dataclass(frozen=True)
class Correlation:
    """A correlation between a metric and ratings.

    Args:
        coefficient (`str`):
            `pearson`, `spearman` or `kendall` (tau-b).
        level (`str`):
            `item`: over all replies; `system`: over the systems' means.
        value, low, high (`float`):
            The correlation with its 95 % interval; NaN where one side is constant.
        n_systems, n_items, n (`int`):
            Systems, items, and rated replies.
        resampled (`str`):
            What the interval draws: `items`, `systems` or `both`.
    """

    coefficient: str
    level: str
    value: float
    low: float
    high: float
    n_systems: int
    n_items: int
    n: int
    resampled: str


def pearson(first: np.ndarray, second: np.ndarray) -> float:
    """Pearson's r; NaN where one side is constant."""
    first, second = first - first.mean(), second - second.mean()
    norm = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / norm if norm > 1e-12 else math.nan


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's rho: Pearson's r of the ranks."""
    return pearson(rankdata(first), rankdata(second))


def kendall(first: np.ndarray, second: np.ndarray) -> float:
    """Kendall's tau-b."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return float(kendalltau(first, second).statistic)


COEFFICIENTS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "kendall": kendall,
}


def correlate(
    metric: ArrayLike,
    ratings: ArrayLike,
    coefficient: str = "spearman",
    level: str = "system",
    *,
    resampled: str = "both",
    resamples: int = 1_000,
    seed: int = 0,
) -> Correlation:
    """Correlation of a metric with ratings, with an interval over items, systems or both.

    The interval of `both` draws systems and items with replacement at once (Deutsch et al., 2021,
    "boot-both"), so it is about other systems and other items.

    Args:
        metric, ratings (`ArrayLike`):
            Shape `(systems, items)`; NaN where there is none. Only cells that have both count.
        coefficient (`str`, *optional*, defaults to `"spearman"`):
            `pearson`, `spearman` or `kendall`.
        level (`str`, *optional*, defaults to `"system"`):
            `system` for means over items, `item` for all replies at once.
        resampled (`str`, *optional*, defaults to `"both"`):
            What is drawn.
        resamples (`int`, *optional*, defaults to 1000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `Correlation`: With its interval.

    Examples:
        >>> rated = [[1.0, 2.0], [3.0, 3.0], [4.0, 5.0]]
        >>> correlate([[0.1, 0.1], [0.2, 0.3], [0.9, 0.8]], rated, resamples=20).value
        1.0
    """
    _check_names(coefficient, level, resampled)
    scores, rated = np.asarray(metric, dtype=float), np.asarray(ratings, dtype=float)
    if scores.shape != rated.shape or scores.ndim != 2:
        raise ValueError(
            "Expected a metric and ratings of the same shape (systems, items), but got "
            f"{scores.shape} and {rated.shape}."
        )
    both = np.isfinite(scores) & np.isfinite(rated)
    scores, rated = _kept(both, scores, rated)
    measure = _measure(coefficient, level)
    rng, (systems, items) = np.random.default_rng(seed), scores.shape
    drawn = []
    for _ in range(resamples):
        rows = rng.integers(systems, size=systems) if resampled != "items" else np.arange(systems)
        columns = rng.integers(items, size=items) if resampled != "systems" else np.arange(items)
        drawn.append(measure(scores[rows][:, columns], rated[rows][:, columns]))
    low, high = percentile_interval(np.array(drawn))
    return Correlation(
        coefficient, level, measure(scores, rated), low, high,
        int(both.any(1).sum()), int(both.any(0).sum()), int(both.sum()), resampled,
    )  # fmt: skip


def correlation_gap(
    first: ArrayLike,
    second: ArrayLike,
    ratings: ArrayLike,
    coefficient: str = "spearman",
    level: str = "system",
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> tuple[float, float, float]:
    """Difference of two metrics' correlations with the same ratings, drawn over both.

    Args:
        first, second, ratings (`ArrayLike`):
            Shape `(systems, items)`.
        coefficient, level (`str`, *optional*):
            As in [`correlate`].
        resamples, seed (`int`, *optional*):
            Of the bootstrap; both metrics get the same draws.

    Returns:
        `tuple[float, float, float]`: The difference and its 95 % interval.
    """
    _check_names(coefficient, level, "both")
    arrays = [np.asarray(array, dtype=float) for array in (first, second, ratings)]
    present = np.all([np.isfinite(array) for array in arrays], axis=0)
    one, two, rated = _kept(present, *arrays)
    measure, rng = _measure(coefficient, level), np.random.default_rng(seed)
    gaps = []
    for _ in range(resamples):
        rows, columns = (rng.integers(size, size=size) for size in rated.shape)
        cells = np.ix_(rows, columns)
        gaps.append(measure(one[cells], rated[cells]) - measure(two[cells], rated[cells]))
    low, high = percentile_interval(np.array(gaps))
    return measure(one, rated) - measure(two, rated), low, high


def williams_test(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    """Williams' test that two metrics correlate equally with the same ratings (Williams, 1959).

    Args:
        r12, r13 (`float`):
            Pearson's correlations of the ratings with the first and with the second metric.
        r23 (`float`):
            That of the two metrics.
        n (`int`):
            Points, at least 4.

    Returns:
        `tuple[float, float]`: The statistic t with n - 3 degrees of freedom, and its two-sided
        p-value.

    Examples:
        >>> [round(value, 3) for value in williams_test(0.80, 0.72, 0.89, 26)]
        [1.361, 0.187]
    """
    if n < 4:
        raise ValueError(f"Williams' test needs 4 points or more, but there are {n}.")
    determinant = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    mean = (r12 + r13) / 2
    spread = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r23) ** 3
    if spread <= 0:  # the metrics are the same up to scale
        return 0.0, 1.0
    statistic = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / spread)
    return statistic, float(2 * t.sf(abs(statistic), n - 3))


def _measure(coefficient: str, level: str) -> Callable[[np.ndarray, np.ndarray], float]:
    compute = COEFFICIENTS[coefficient]

    def measure(scores: np.ndarray, rated: np.ndarray) -> float:
        if level == "item":
            first, second = scores.ravel(), rated.ravel()
        else:
            first, second = _row_means(scores), _row_means(rated)
        present = np.isfinite(first) & np.isfinite(second)
        return compute(first[present], second[present]) if present.sum() >= MIN_POINTS else math.nan

    return measure


def _kept(present: np.ndarray, *arrays: np.ndarray) -> list[np.ndarray]:
    """Arrays with NaN where a cell is not complete, without systems and items that have none.

    A system without a single score must not be drawn: the others would be too few.
    """
    rows, columns = present.any(1), present.any(0)
    return [np.where(present, array, np.nan)[rows][:, columns] for array in arrays]


def _row_means(values: np.ndarray) -> np.ndarray:
    present = np.isfinite(values)
    counts = present.sum(1)
    sums = np.where(present, values, 0.0).sum(1)
    return np.divide(sums, counts, out=np.full(len(sums), np.nan), where=counts > 0)


def _check_names(coefficient: str, level: str, resampled: str) -> None:
    choices = {
        "coefficient": (coefficient, tuple(COEFFICIENTS)),
        "level": (level, LEVELS),
        "resampled": (resampled, RESAMPLED),
    }
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            raise ValueError(f"Unknown {name} {value!r}. Choose one of {', '.join(allowed)}.")
