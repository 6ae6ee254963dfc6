"""Intervals of means and ratios that take the dialogue as the unit.

Responses of one dialogue are not independent, so whole dialogues are drawn with replacement. An
interval is conditional on the trained evaluator: the variation over training seeds is not in it.
"""

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, both_kinds, numbers, units_of
from dialeval.metrics.resampling import resampled_sums

METHODS = ("auto", "bootstrap", "bca", "wilson")

_NO_SPREAD = 1e-12
Statistic = Callable[[np.ndarray], np.ndarray]  # (..., columns) -> (...)


class IntervalSettings(TypedDict, total=False):
    """Keywords that all interval functions share."""

    method: str
    level: float
    resamples: int
    seed: int


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share of independent trials (Wilson, 1927); also valid at 0 and at `n`.

    Args:
        successes (`float`):
            How many trials succeeded.
        n (`float`):
            How many trials there were.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> low, high = wilson(0, 10)
        >>> low, round(high, 4)  # the upper bound is z² / (n + z²)
        (0.0, 0.2775)
    """
    from scipy.stats import norm

    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"Expected 0 <= successes <= n and n > 0, got {successes:g} of {n:g}.")
    z, share = norm.ppf(_tails(level)[1]), successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, float(centre - half))
    return low, 1.0 if successes == n else min(1.0, float(centre + half))


def interval(
    values: ArrayLike,
    groups: Ids | None = None,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the mean of one number per response, dialogues drawn with replacement.

    Args:
        values (`ArrayLike`):
            One number per response.
        groups (`Sequence`, *optional*):
            Dialogue ids, any hashables. Without them every response is a unit of its own.
        method (`str`, *optional*, defaults to `"bootstrap"`):
            `"bootstrap"` (percentiles), `"bca"` (Efron, 1987), `"wilson"` (values 0 and 1, one
            per dialogue), or `"auto"`: Wilson where it is valid; where all values are the same
            share, such as 1, or .5 for ties, every resample is the same too, and Wilson's bound
            says how many dialogues might differ. Percentiles elsewhere.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `tuple[float, float]`: Lower and upper bound; NaN twice if there is only one dialogue.

    Examples:
        >>> interval([1, 0, 1, 0, 1, 1], "aabbcc", resamples=1_000)  # means .5, .5 and 1
        (0.5, 1.0)
        >>> [round(bound, 3) for bound in interval([0.5] * 10, method="auto")]  # ties only
        [0.361, 0.639]
    """
    array = numbers(values)
    unit = units_of(len(array), groups)
    sizes = np.bincount(unit)
    if method == "auto" and np.ptp(array) == 0 and 0 < array[0] < 1:
        return constant_bounds(float(array[0]), len(sizes), level=level)
    method = _resolve_method(method, array, sizes)
    if method == "wilson":
        return wilson(array.mean() * len(sizes), len(sizes), level)
    sums = np.bincount(unit, array)
    return ratio_interval(sums, sizes, method=method, level=level, resamples=resamples, seed=seed)


def constant_bounds(
    value: float, n: float, least: float = 0.0, *, level: float = 0.95
) -> tuple[float, float]:
    """Bounds of a mean of which all `n` units have the same value.

    None of the units was seen to differ, so the share of all units that do is at most Wilson's
    bound of 0 in n, and these could have any value from the least to 1.

    Args:
        value (`float`):
            What every unit has.
        n (`float`):
            Number of units.
        least (`float`, *optional*, defaults to 0.0):
            The smallest value that is possible; 1 is the largest.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> [round(bound, 3) for bound in constant_bounds(1.0, 10)]  # that of Wilson
        [0.722, 1.0]
    """
    differ = wilson(0, n, level)[1]
    return value - (value - least) * differ, value + (1 - value) * differ


def balanced_interval(
    values: ArrayLike,
    labels: ArrayLike,
    groups: Ids | None = None,
    *,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the mean of two classes' means, dialogues drawn with replacement.

    The methods are those of `interval`, but Wilson also needs classes of equal size. Where all
    values are 0 or all are 1 its n is 4 / (1 / n_1 + 1 / n_0) with the classes' numbers of
    dialogues, so that a small class makes it small, or the number of dialogues if that is less.
    Where every resample is the same for another reason, as with an evaluator that calls every
    response human, it is Wilson's too, with that first n: such an evaluator has not shown that
    nothing can be detected.

    Args:
        values (`ArrayLike`):
            One number per response.
        labels (`ArrayLike`):
            The class of each response, 1 or 0.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units that are drawn.
        method (`str`, *optional*, defaults to `"auto"`):
            As in `interval`.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> low, high = balanced_interval([0, 0, 0, 0], [1, 1, 0, 0])
        >>> round(high, 3) == round(wilson(0, 4)[1], 3)
        True
    """
    positive = both_kinds(labels)
    array = numbers(values, length=len(positive))
    unit = units_of(len(array), groups)
    sizes = np.bincount(unit)
    equal = bool(2 * positive.sum() == len(positive))
    chosen = _resolve_method(method, array, sizes, equal)
    if chosen == "wilson" and equal and sizes.max() == 1:
        return wilson(array.sum(), len(array), level)
    table = class_sums(array, positive, unit)
    n = float(4 / (1 / np.count_nonzero(table[:, 1]) + 1 / np.count_nonzero(table[:, 3])))
    if chosen == "wilson":
        n = min(n, len(sizes))
        return wilson(n * array[0], n, level)
    low, high = sums_interval(
        table, mean_of_ratios, method=chosen, level=level, resamples=resamples, seed=seed
    )
    if method == "auto" and high - low < _NO_SPREAD and set(array.tolist()) <= {0.0, 1.0}:
        return wilson(n * float(mean_of_ratios(table.sum(0))), n, level)
    return low, high


def ratio_interval(
    parts: ArrayLike,
    wholes: ArrayLike,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of a ratio of sums over units, such as correct decisions over responses.

    Args:
        parts (`ArrayLike`):
            Numerator of each unit.
        wholes (`ArrayLike`):
            Denominator of each unit.
        method (`str`, *optional*, defaults to `"bootstrap"`):
            `"bootstrap"` (percentiles) or `"bca"`.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> ratio_interval([1, 2, 4], [2, 4, 8], resamples=100)  # one half in any resample
        (0.5, 0.5)
    """
    numerators = numbers(parts, "parts")
    table = np.column_stack([numerators, numbers(wholes, "wholes", len(numerators))])
    return sums_interval(table, ratio, method=method, level=level, resamples=resamples, seed=seed)


def sums_interval(
    table: ArrayLike,
    statistic: Statistic,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of any statistic of column sums, units drawn with replacement.

    Resamples for which the statistic is not a finite number, such as those without any response
    of a class, are skipped.

    Args:
        table (`ArrayLike`):
            What each unit adds to the sums, shape `(units, columns)`.
        statistic (`Callable`):
            Maps sums of shape `(..., columns)` to numbers of shape `(...)`.
        method (`str`, *optional*, defaults to `"bootstrap"`):
            `"bootstrap"` (percentiles) or `"bca"`.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `tuple[float, float]`: Lower and upper bound; NaN twice if there is only one unit.

    Examples:
        >>> sums_interval([[1, 2], [2, 4]], lambda sums: sums[..., 0] / sums[..., 1])
        (0.5, 0.5)
    """
    if method not in ("bootstrap", "bca"):
        raise ValueError(f"Unknown method {method!r}. Choose bootstrap or bca.")
    units, tails = np.asarray(table, dtype=float), _tails(level)
    if len(units) < 2:  # one unit has no spread
        return float("nan"), float("nan")
    resampled = statistic(resampled_sums(units, resamples, seed))
    if method == "bca":
        tails = _bca(units, statistic, resampled[np.isfinite(resampled)], tails)
    return _quantiles(resampled, tails)


def percentiles(resampled: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The bounds of the middle `level` of resampled numbers, ignoring those that are not finite.

    Examples:
        >>> percentiles(np.arange(101.0), 0.5)
        (25.0, 75.0)
    """
    return _quantiles(resampled, _tails(level))


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first column over the second; NaN where both are 0.

    Examples:
        >>> ratio(np.array([[1.0, 4.0], [3.0, 4.0]])).tolist()
        [0.25, 0.75]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def mean_of_ratios(sums: np.ndarray) -> np.ndarray:
    """The mean of first over second and third over fourth column.

    Examples:
        >>> float(mean_of_ratios(np.array([1.0, 2.0, 1.0, 4.0])))
        0.375
    """
    return (ratio(sums[..., :2]) + ratio(sums[..., 2:])) / 2


def class_sums(values: np.ndarray, labels: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Sum and number of the values of class 1, then of class 0, per unit.

    Args:
        values (`np.ndarray`):
            One number per response.
        labels (`np.ndarray`):
            Whether each response is of class 1.
        unit (`np.ndarray`):
            Index of the unit of each response.

    Returns:
        `np.ndarray`: Shape `(units, 4)`.

    Examples:
        >>> class_sums(np.ones(3), np.array([True, False, False]), np.array([0, 0, 1])).tolist()
        [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    columns = [labels * values, labels, ~labels * values, ~labels]
    return np.column_stack([np.bincount(unit, column) for column in columns])


def _bca(
    table: np.ndarray, statistic: Statistic, resampled: np.ndarray, tails: np.ndarray
) -> np.ndarray:
    """The tails, shifted by the bias of the resamples and the skew of the jackknife."""
    from scipy.stats import norm

    if not len(resampled):
        return tails
    rows, counts = np.unique(table, axis=0, return_counts=True)
    total = counts @ rows
    value, jackknife = statistic(total), statistic(total - rows)
    finite = np.isfinite(jackknife)
    jackknife, counts = jackknife[finite], counts[finite]
    gaps = np.average(jackknife, weights=counts) - jackknife
    spread = counts @ gaps**2
    skew = counts @ gaps**3 / (6 * spread**1.5) if spread > 0 else 0.0
    below = ((resampled < value).mean() + (resampled <= value).mean()) / 2  # ties count half
    n = len(resampled)
    bias = norm.ppf(np.clip(below, 0.5 / n, 1 - 0.5 / n))
    shifted = bias + norm.ppf(tails)
    return norm.cdf(bias + shifted / (1 - skew * shifted))


def _quantiles(resampled: np.ndarray, tails: np.ndarray) -> tuple[float, float]:
    finite = resampled[np.isfinite(resampled)]
    if not len(finite):
        return float("nan"), float("nan")
    low, high = np.quantile(finite, tails)
    return float(low), float(high)


def _resolve_method(method: str, values: np.ndarray, sizes: np.ndarray, equal: bool = True) -> str:
    if method not in METHODS:
        raise ValueError(f"Unknown method {method!r}. Choose one of {', '.join(METHODS)}.")
    binary = bool(np.isin(values, (0, 1)).all())
    trials = binary and sizes.max() == 1 and equal
    if method == "wilson" and not trials:
        raise ValueError(
            "Wilson's interval needs values 0 and 1, one in each group, and classes of equal size. "
            'Pass method="bootstrap", or "auto" to use it only where it is valid.'
        )
    if method == "auto":
        return "wilson" if trials or (binary and np.ptp(values) == 0) else "bootstrap"
    return method


def _tails(level: float) -> np.ndarray:
    if not 0 < level < 1:
        raise ValueError(f"`level` is a share between 0 and 1, such as 0.95, not {level:g}.")
    return np.array([(1 - level) / 2, (1 + level) / 2])
