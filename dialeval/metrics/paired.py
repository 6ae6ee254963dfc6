"""Two systems, or two judges, on the same responses: is one better?

Holm's correction for many such tests is `dialeval.metrics.significance.holm`.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from dialeval.metrics.checks import numbers, truths, units_of
from dialeval.metrics.intervals import ratio, resampled_sums, sums_interval

_CLOSE = 1e-9  # sums that differ by less are equal but for rounding


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, float]:
    """Difference of two means over the same responses, its interval and a two-sided p-value.

    The p-value is twice the smaller share of resampled differences on either side of 0 (0 itself
    on both), so that it falls below .05 about where the percentile interval of 95 % leaves 0 out.

    Args:
        first, second (`ArrayLike`):
            One number per response for each system, aligned.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units that are drawn.
        method (`str`, *optional*, defaults to `"bootstrap"`):
            `"bootstrap"` (percentiles) or `"bca"`.

    Returns:
        `dict[str, float]`: `difference` (first minus second), `low`, `high`, `p`.

    Example:
        >>> paired_bootstrap([1, 1, 1, 1], [0, 0, 0, 0], resamples=99)["difference"]
        1.0
    """
    gaps, unit = _aligned(first, second, groups)
    table = np.column_stack([np.bincount(unit, gaps), np.bincount(unit)])
    settings = {"resamples": resamples, "seed": seed}
    low, high = sums_interval(table, ratio, method=method, level=level, **settings)
    drawn = resampled_sums(table, **settings)[:, 0]
    slack = _CLOSE * np.abs(gaps).sum()
    sides = (drawn <= slack).sum(), (drawn >= -slack).sum()
    p = min(1.0, 2 * (min(sides) + 1) / (resamples + 1))
    return {"difference": float(gaps.mean()), "low": low, "high": high, "p": float(p)}


def approximate_randomisation(
    first: ArrayLike,
    second: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    resamples: int = 10_000,
    seed: int = 0,
) -> float:
    """Two-sided p-value of a difference of means, were the two systems swapped in dialogues.

    In each dialogue a fair coin says whether the systems change places (Noreen, 1989). All ways
    are gone through when there are no more of them than `resamples`; then the p-value is exact.

    Example:
        >>> approximate_randomisation([1, 1, 1, 1], [0, 0, 0, 0])  # 2 of the 16 ways are as far
        0.125
    """
    gaps, unit = _aligned(first, second, groups)
    per_unit = np.bincount(unit, gaps)
    sizes, counts = np.unique(np.abs(per_unit[per_unit != 0]), return_counts=True)
    observed = abs(per_unit.sum()) - _CLOSE * np.abs(per_unit).sum()
    if 2.0 ** counts.sum() <= resamples:
        return float((np.abs(_all_swaps(sizes, counts)) >= observed).mean())
    # Of c dialogues with equal differences, a binomial number keeps its sign.
    kept = np.random.default_rng(seed).binomial(counts, 0.5, size=(resamples, len(counts)))
    as_far = np.abs((2 * kept - counts) @ sizes) >= observed
    return float((as_far.sum() + 1) / (resamples + 1))


def mcnemar(first_right: ArrayLike, second_right: ArrayLike) -> dict[str, float | int]:
    """Two-sided exact test that two judges are right equally often (McNemar, 1947).

    It takes responses for independent; `approximate_randomisation` takes dialogues.

    Returns:
        `dict`: `p`, and how often `only_first` and `only_second` was right.

    Example:
        >>> mcnemar([1, 1, 1, 1, 0], [0, 0, 0, 1, 0])  # 3 to 0: two of eight ways
        {'p': 0.25, 'only_first': 3, 'only_second': 0}
    """
    first = truths(first_right, "first_right")
    second = truths(second_right, "second_right", len(first))
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    fewer, both = min(only_first, only_second), only_first + only_second
    p = min(1.0, 2 * float(binom.cdf(fewer, both, 0.5)))
    return {"p": p, "only_first": only_first, "only_second": only_second}


def _aligned(
    first: ArrayLike, second: ArrayLike, groups: Sequence[Hashable] | None
) -> tuple[np.ndarray, np.ndarray]:
    first = numbers(first, "values of the first system")
    second = numbers(second, "values of the second system", len(first))
    return first - second, units_of(len(first), groups)


def _all_swaps(sizes: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The sum of differences for every way to set their signs."""
    sums = np.zeros(1)
    for size in np.repeat(sizes, counts):
        sums = np.concatenate([sums + size, sums - size])
    return sums
