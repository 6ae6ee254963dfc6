"""Intervals of means and ratios that take the dialogue as the unit.

Responses of one dialogue are not independent, so the variance is that between dialogues, or whole
dialogues are drawn with replacement. An interval is conditional on the trained evaluator: the
variation over training seeds is not in it.
"""

from collections.abc import Callable
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, both_kinds, numbers, units_of
from dialeval.metrics.resampling import resampled_sums
from dialeval.metrics.share_intervals import clustered_wilson, tails, wilson

METHODS = ("auto", "bootstrap", "bca", "wilson")

Statistic = Callable[[np.ndarray], np.ndarray]  # (..., columns) -> (...)


class IntervalSettings(TypedDict, total=False):
    """Keywords that all interval functions share."""

    method: str
    level: float
    resamples: int
    seed: int


def interval(
    values: ArrayLike,
    groups: Ids | None = None,
    *,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the mean of one number per response, with the dialogue as the unit.

    Args:
        values (`ArrayLike`):
            One number per response.
        groups (`Sequence`, *optional*):
            Dialogue ids, any hashables. Without them every response is a unit of its own.
        method (`str`, *optional*, defaults to `"auto"`):
            `"auto"` is Wilson's for dialogues where all values are from 0 to 1, as decisions are
            (see [`clustered_wilson`]), and draws dialogues elsewhere, widened for few of them (see
            [`sums_interval`]). `"bootstrap"` (percentiles) and `"bca"` (Efron, 1987) draw
            dialogues; `"wilson"` needs values 0 and 1, one per dialogue.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `tuple[float, float]`: Lower and upper bound; NaN twice if there is only one dialogue.

    Examples:
        >>> interval([1, 0, 1, 0, 1, 1], "aabbcc", method="bootstrap", resamples=1_000)
        (0.5, 1.0)
        >>> [round(bound, 2) for bound in interval([1, 0, 1, 0, 1, 1], "aabbcc")]  # 3 are few
        [0.12, 0.97]
        >>> [round(bound, 3) for bound in interval([0.5] * 10)]  # ties only
        [0.361, 0.639]
    """
    array = numbers(values)
    unit = units_of(len(array), groups)
    table = np.column_stack([np.bincount(unit, array), np.bincount(unit)])
    _check_method(method, array, table[:, 1])
    if method == "wilson":
        return wilson(array.sum(), len(array), level)
    if method == "auto" and _are_shares(array):
        return clustered_wilson(table, float(array.var()), level)
    return sums_interval(table, ratio, method=method, level=level, resamples=resamples, seed=seed)


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
    """Interval of the mean of two classes' means, with the dialogue as the unit.

    The methods are those of `interval`, but `"wilson"` also needs classes of equal size. An
    evaluator that calls every response human is correct in half of the cases for certain, and has
    not shown that nothing can be detected: by `"auto"` its interval is that of as many independent
    decisions as there are dialogues.

    Args:
        values (`ArrayLike`):
            One number per response.
        labels (`ArrayLike`):
            The class of each response, 1 or 0.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units.
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
    _check_method(method, array, np.bincount(unit), bool(2 * positive.sum() == len(positive)))
    if method == "wilson":
        return wilson(array.sum(), len(array), level)
    table = class_sums(array, positive, unit)
    if method == "auto" and _are_shares(array):
        variance = (array[positive].var() + array[~positive].var()) / 2
        return clustered_wilson(table, float(variance), level)
    return sums_interval(
        table, mean_of_ratios, method=method, level=level, resamples=resamples, seed=seed
    )


def ratio_interval(
    parts: ArrayLike,
    wholes: ArrayLike,
    *,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of a ratio of sums over units, such as words over responses.

    Args:
        parts (`ArrayLike`):
            Numerator of each unit.
        wholes (`ArrayLike`):
            Denominator of each unit.
        method (`str`, *optional*, defaults to `"auto"`):
            As in [`sums_interval`].
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
    method: str = "auto",
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
        method (`str`, *optional*, defaults to `"auto"`):
            `"auto"` (percentiles, further out where units are few: see [`percentiles`]),
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
    if method not in ("auto", "bootstrap", "bca"):
        raise ValueError(f"Unknown method {method!r}. Choose auto, bootstrap or bca.")
    units, bounds = np.asarray(table, dtype=float), tails(level)
    if len(units) < 2:  # one unit has no spread
        return float("nan"), float("nan")
    resampled = statistic(resampled_sums(units, resamples, seed))
    if method == "auto":
        return percentiles(resampled, level, len(units))
    if method == "bca":
        bounds = _bca(units, statistic, resampled[np.isfinite(resampled)], bounds)
    return _quantiles(resampled, bounds)


def percentiles(
    resampled: np.ndarray, level: float = 0.95, units: int | None = None
) -> tuple[float, float]:
    """The bounds of the middle `level` of resampled numbers, ignoring those that are not finite.

    A bootstrap of n units has a standard error that is too small by sqrt(1 - 1 / n), and takes it
    for known. With the number of units the bounds lie further out, where those of Student's t
    would (Hesterberg, 2015, sec. 4.1.3): with 10 units at 0.9 % and 99.1 %.

    Args:
        resampled (`np.ndarray`):
            The statistic in each resample.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        units (`int`, *optional*):
            Number of units that were drawn from; without it, plain percentiles.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> percentiles(np.arange(101.0), 0.5)
        (25.0, 75.0)
        >>> low, high = percentiles(np.arange(101.0), 0.5, units=5)
        >>> round(low, 1), round(high, 1)
        (20.4, 79.6)
    """
    from scipy.stats import norm, t

    bounds = tails(level)
    if units is not None and units > 1:
        bounds = norm.cdf(t.ppf(bounds, units - 1) * np.sqrt(units / (units - 1)))
    return _quantiles(resampled, bounds)


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
    table: np.ndarray, statistic: Statistic, resampled: np.ndarray, bounds: np.ndarray
) -> np.ndarray:
    """The tails, shifted by the bias of the resamples and the skew of the jackknife."""
    from scipy.stats import norm

    if not len(resampled):
        return bounds
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
    shifted = bias + norm.ppf(bounds)
    return norm.cdf(bias + shifted / (1 - skew * shifted))


def _quantiles(resampled: np.ndarray, bounds: np.ndarray) -> tuple[float, float]:
    finite = resampled[np.isfinite(resampled)]
    if not len(finite):
        return float("nan"), float("nan")
    low, high = np.quantile(finite, bounds)
    return float(low), float(high)


def _check_method(method: str, values: np.ndarray, sizes: np.ndarray, equal: bool = True) -> None:
    if method not in METHODS:
        raise ValueError(f"Unknown method {method!r}. Choose one of {', '.join(METHODS)}.")
    trials = np.isin(values, (0, 1)).all() and sizes.max() == 1 and equal
    if method == "wilson" and not trials:
        raise ValueError(
            "Wilson's interval needs values 0 and 1, one in each group, and classes of equal size. "
            'Pass method="auto", which needs neither.'
        )


def _are_shares(values: np.ndarray) -> bool:
    return bool(values.min() >= 0 and values.max() <= 1)
