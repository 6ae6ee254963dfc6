"""Paired tests of two systems, or two evaluators, on the same responses.

Holm's correction for several such tests is `dialeval.metrics.significance.holm`.
"""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, numbers, units_of, zeros_and_ones
from dialeval.metrics.intervals import ratio, sums_interval
from dialeval.metrics.resampling import resampled_sums

_TOLERANCE = 1e-9  # relative; sums that differ by less are equal up to rounding


class PairedResult(TypedDict):
    """What `paired_bootstrap` returns."""

    difference: float
    low: float
    high: float
    p: float


class McNemarResult(TypedDict):
    """What `mcnemar` returns."""

    p: float
    only_first: int
    only_second: int


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    groups: Ids | None = None,
    *,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> PairedResult:
    """Difference of two means over the same responses, its interval and a two-sided p-value.

    The p-value is twice the smaller share of resampled differences on either side of 0 (0 itself
    on both), so that it falls below .05 about where the 95 % percentile interval excludes 0. It is
    never below 2 / 2^k if k dialogues differ: random signs have them all on one side so often.

    Args:
        first, second (`ArrayLike`):
            One number per response for each system, aligned.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units that are drawn.
        method (`str`, *optional*, defaults to `"bootstrap"`):
            As in [`sums_interval`]; by `"auto"` the p-value too is that of Student's t.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `PairedResult`: `difference` (first minus second), `low`, `high`, `p`.

    Examples:
        >>> paired_bootstrap([1, 1, 1, 1], [0, 0, 0, 0], resamples=99)["difference"]
        1.0
    """
    gaps, unit = _paired_differences(first, second, groups)
    table = np.column_stack([np.bincount(unit, gaps), np.bincount(unit)])
    low, high = sums_interval(
        table, ratio, method=method, level=level, resamples=resamples, seed=seed
    )
    sums = resampled_sums(table, resamples=resamples, seed=seed)[:, 0]
    slack = _TOLERANCE * np.abs(gaps).sum()
    sides = (sums <= slack).sum(), (sums >= -slack).sum()
    differ = int(np.count_nonzero(table[:, 0]))
    share = 2 * (min(sides) + 1) / (resamples + 1)
    if method == "auto":
        share = small_sample_p(share, len(table))
    p = min(1.0, max(share, least_p(differ)))
    return {"difference": float(gaps.mean()), "low": low, "high": high, "p": float(p)}


def small_sample_p(p_value: float, units: int) -> float:
    """The p-value of a bootstrap of so many units, by Student's t in place of the normal quantile.

    It goes with the bounds of `percentiles`: it is below .05 about where these exclude 0.

    Examples:
        >>> [round(small_sample_p(0.05, units), 3) for units in (10, 100, 10_000)]
        [0.096, 0.054, 0.05]
    """
    from scipy.stats import norm, t

    if units < 2:
        return 1.0
    statistic = norm.ppf(min(p_value, 1.0) / 2) * np.sqrt((units - 1) / units)
    return float(2 * t.cdf(statistic, units - 1))


def least_p(units: int) -> float:
    """The smallest two-sided p-value that a test on so many independent units can have.

    Examples:
        >>> least_p(1), least_p(5)
        (1.0, 0.0625)
    """
    return float(min(1.0, 2.0 ** (1 - units)))


def approximate_randomisation(
    first: ArrayLike,
    second: ArrayLike,
    groups: Ids | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """Two-sided p-value of a difference of means under random swaps of the two systems.

    The systems are swapped in each dialogue with probability .5 (Noreen, 1989). All combinations
    are enumerated if there are at most `resamples` of them; then the p-value is exact.

    Args:
        first, second (`ArrayLike`):
            One number per response for each system, aligned.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units that are swapped.
        resamples (`int`, *optional*, defaults to 10000):
            Random combinations of swaps.
        seed (`int`, *optional*, defaults to 0):
            Seed of the swaps.

    Returns:
        `float`: The p-value.

    Examples:
        >>> approximate_randomisation([1, 1, 1, 1], [0, 0, 0, 0])  # 2 of 16 are as extreme
        0.125
    """
    gaps, unit = _paired_differences(first, second, groups)
    per_unit = np.bincount(unit, gaps)
    sizes, counts = np.unique(np.abs(per_unit[per_unit != 0]), return_counts=True)
    observed = abs(per_unit.sum()) - _TOLERANCE * np.abs(per_unit).sum()
    if 2.0 ** counts.sum() <= resamples:
        return float((np.abs(_all_swaps(sizes, counts)) >= observed).mean())
    # Of c dialogues with equal differences, a binomial number keeps its sign.
    unswapped = np.random.default_rng(seed).binomial(counts, 0.5, size=(resamples, len(counts)))
    as_extreme = np.abs((2 * unswapped - counts) @ sizes) >= observed
    return float((as_extreme.sum() + 1) / (resamples + 1))


def mcnemar(first_correct: ArrayLike, second_correct: ArrayLike) -> McNemarResult:
    """Two-sided exact test that two evaluators are correct equally often (McNemar, 1947).

    It assumes independent responses; `approximate_randomisation` only independent dialogues.

    Returns:
        `McNemarResult`: `p`, and how often `only_first` and `only_second` was correct.

    Examples:
        >>> mcnemar([1, 1, 1, 1, 0], [0, 0, 0, 1, 0])  # 3 to 0: two of eight outcomes
        {'p': 0.25, 'only_first': 3, 'only_second': 0}
    """
    from scipy.stats import binom

    first = zeros_and_ones(first_correct, "first_correct")
    second = zeros_and_ones(second_correct, "second_correct", len(first))
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    fewer, both = min(only_first, only_second), only_first + only_second
    p = min(1.0, 2 * float(binom.cdf(fewer, both, 0.5)))
    return {"p": p, "only_first": only_first, "only_second": only_second}


def _paired_differences(
    first: ArrayLike, second: ArrayLike, groups: Ids | None
) -> tuple[np.ndarray, np.ndarray]:
    """First minus second value of each response, and the index of its unit."""
    minuend = numbers(first, "values of the first system")
    subtrahend = numbers(second, "values of the second system", len(minuend))
    return minuend - subtrahend, units_of(len(minuend), groups)


def _all_swaps(sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The sum of differences for every combination of signs."""
    sums = np.zeros(1)
    for size in np.repeat(sizes, counts):
        sums = np.concatenate([sums + size, sums - size])
    return sums
