"""How much more of something one sample has than another: Cliff's delta, with interval and test."""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import brunnermunzel, mannwhitneyu, norm, rankdata

from dialeval.metrics.checks import numbers
from dialeval.metrics.share_intervals import wilson


class RankEffect(TypedDict):
    """What [`cliffs_delta`] gives."""

    delta: float
    low: float
    high: float
    p_value: float


def cliffs_delta(first: ArrayLike, second: ArrayLike, level: float = 0.95) -> RankEffect:
    """P(an item of the second sample is greater) minus P(it is smaller) (Cliff, 1993).

    The standard error is that of DeLong et al. (1988), the interval is made on the log odds of
    (delta + 1) / 2. The p-value is the larger one of two tests: that of Brunner and Munzel (2000),
    which does not assume equal spread, but rejects too often far out in the tail if samples are
    small, where a correction for many tests looks; and that of Mann and Whitney. Samples that do
    not overlap have no standard error: the interval then is Wilson's for the smaller sample, and
    the test that of Mann and Whitney alone.

    Args:
        first, second (`ArrayLike`):
            One number per independent unit, such as a dialogue; two or more of each.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `RankEffect`: `delta` in [-1, 1] with `low` and `high`, and a two-sided `p_value`.

    Examples:
        >>> effect = cliffs_delta([1, 2, 3, 4], [3, 4, 5, 6])
        >>> effect["delta"]  # 14 of 16 pairs are not smaller, two of them ties: (13 - 1) / 16
        0.75
    """
    one, other = numbers(first, "first"), numbers(second, "second")
    if min(len(one), len(other)) < 2:
        raise ValueError("Two units or more of each sample are needed.")
    share, error = _share_above(one, other)
    delta = 2 * share - 1
    if np.ptp(np.concatenate([one, other])) == 0:
        return {"delta": 0.0, "low": 0.0, "high": 0.0, "p_value": 1.0}
    if share in (0.0, 1.0) or error == 0:
        return _separated(one, other, share, level)
    odds, spread = np.log(share / (1 - share)), error / (share * (1 - share))
    bounds = odds + np.array([-1, 1]) * norm.ppf((1 + level) / 2) * spread
    low, high = 2 / (1 + np.exp(-bounds)) - 1
    tests = brunnermunzel(one, other), mannwhitneyu(one, other)
    p_value = max(float(test.pvalue) for test in tests)
    return {"delta": delta, "low": float(low), "high": float(high), "p_value": p_value}


def _share_above(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """P(second > first) with ties counting half, and its standard error, from placements."""
    m, n = len(one), len(other)
    ranks = rankdata(np.concatenate([one, other]))
    above_first = (ranks[m:] - rankdata(other)) / m  # share of the first sample below each
    above_second = 1 - (ranks[:m] - rankdata(one)) / n
    error = np.sqrt(above_second.var(ddof=1) / m + above_first.var(ddof=1) / n)
    return float(above_first.mean()), float(error)


def _separated(one: np.ndarray, other: np.ndarray, share: float, level: float) -> RankEffect:
    smaller = min(len(one), len(other))
    low, high = wilson(share * smaller, smaller, level)
    p_value = float(mannwhitneyu(one, other).pvalue)
    bounds = 2 * low - 1, 2 * high - 1
    return {"delta": 2 * share - 1, "low": bounds[0], "high": bounds[1], "p_value": p_value}
