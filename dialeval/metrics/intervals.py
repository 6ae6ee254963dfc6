"""Intervals of means and ratios that take the dialogue as the unit.

Responses of one dialogue hang together, so whole dialogues are drawn with replacement. An interval
is conditional on the trained judge: the spread over judges trained with other seeds is not in it.

A resample is known by the sums of its columns, so units with equal rows are the same to it: how
often each *distinct* row is drawn is one multinomial draw. That is exact, and a few numbers a
resample where one would draw thousands.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from dialeval.metrics.checks import both_kinds, numbers, units_of

METHODS = ("auto", "bootstrap", "bca", "wilson")
_CELLS = 200_000  # counts or draws held at once: more would not fit into a processor's cache
_DEARER = 16  # a multinomial count costs as much as so many single draws

Statistic = Callable[[np.ndarray], np.ndarray]  # (..., columns) -> (...)


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share of independent trials (Wilson, 1927); it holds at 0 and at `n` too.

    Example:
        >>> low, high = wilson(0, 10)
        >>> low, round(high, 4)  # the upper end is z² / (n + z²)
        (0.0, 0.2775)
    """
    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"Expected 0 <= successes <= n and n > 0, found {successes:g} of {n:g}.")
    z, share = norm.ppf(_tails(level)[1]), successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, float(centre - half))
    return low, 1.0 if successes == n else min(1.0, float(centre + half))


def interval(
    values: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the mean of one number per response, dialogues drawn with replacement.

    Args:
        groups (`Sequence`, *optional*):
            Dialogue ids, any hashables. Without them each response stands for itself.
        method (`str`, *optional*, defaults to `"bootstrap"`):
            `"bootstrap"` (percentiles), `"bca"` (Efron, 1987), `"wilson"` (values 0 and 1, one
            a dialogue), or `"auto"`: Wilson where it holds, or where all values are 0 or all are
            1, since every resample is the same there; the number of dialogues is its n then.
            Percentiles elsewhere.

    Returns:
        `tuple[float, float]`: NaN twice when one dialogue is all there is to draw from.

    Example:
        >>> interval([1, 0, 1, 0, 1, 1], "aabbcc", resamples=1_000)  # .5, .5 and 1 in a dialogue
        (0.5, 1.0)
    """
    values = numbers(values)
    unit = units_of(len(values), groups)
    sizes = np.bincount(unit)
    method = _method(method, values, sizes)
    if method == "wilson":
        return wilson(values.mean() * len(sizes), len(sizes), level)
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    return ratio_interval(np.bincount(unit, values), sizes, **settings)


def balanced_interval(
    values: ArrayLike,
    labels: ArrayLike,
    groups: Sequence[Hashable] | None = None,
    *,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the mean of two classes' means, dialogues drawn with replacement.

    The methods are those of `interval`, but Wilson asks for classes of equal size as well. Where
    all values are 0 or all are 1 its n is 4 / (1 / n_1 + 1 / n_0) with the classes' numbers of
    dialogues, which a small class keeps small, or the number of dialogues if that is less.

    Example:
        >>> low, high = balanced_interval([0, 0, 0, 0], [1, 1, 0, 0])
        >>> round(high, 3) == round(wilson(0, 4)[1], 3)
        True
    """
    labels = both_kinds(labels)
    values = numbers(values, like=len(labels))
    unit = units_of(len(values), groups)
    sizes = np.bincount(unit)
    equal = 2 * labels.sum() == len(labels)
    method = _method(method, values, sizes, equal)
    if method == "wilson" and equal and sizes.max() == 1:
        return wilson(values.sum(), len(values), level)
    table = class_sums(values, labels, unit)
    if method == "wilson":
        n = 4 / (1 / np.count_nonzero(table[:, 1]) + 1 / np.count_nonzero(table[:, 3]))
        n = min(n, len(sizes))
        return wilson(n * values[0], n, level)
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    return sums_interval(table, mean_of_ratios, **settings)


def ratio_interval(
    parts: ArrayLike,
    wholes: ArrayLike,
    *,
    method: str = "bootstrap",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of a ratio of sums over units, such as right answers and responses of a dialogue.

    Example:
        >>> ratio_interval([1, 2, 4], [2, 4, 8], resamples=100)  # one half, whatever is drawn
        (0.5, 0.5)
    """
    parts = numbers(parts, "parts")
    table = np.column_stack([parts, numbers(wholes, "wholes", len(parts))])
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    return sums_interval(table, ratio, **settings)


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

    Resamples for which the statistic is not a finite number, such as those without one response
    of a class, are left out.

    Args:
        table (`ArrayLike`):
            What each unit adds to the sums, shape `(units, columns)`.
        statistic (`Callable`):
            Sums of shape `(..., columns)` to numbers of shape `(...)`.

    Example:
        >>> sums_interval([[1, 2], [2, 4]], lambda sums: sums[..., 0] / sums[..., 1])
        (0.5, 0.5)
    """
    if method not in ("bootstrap", "bca"):
        raise ValueError(f"Unknown method {method!r}. Choose bootstrap or bca.")
    table, tails = np.asarray(table, dtype=float), _tails(level)
    if len(table) < 2:  # one unit says nothing about another
        return float("nan"), float("nan")
    drawn = statistic(resampled_sums(table, resamples, seed))
    if method == "bca":
        tails = _bca(table, statistic, drawn[np.isfinite(drawn)], tails)
    return _quantiles(drawn, tails)


def percentiles(drawn: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """The ends of the middle `level` of resampled numbers, without those that are not finite.

    Example:
        >>> percentiles(np.arange(101.0), 0.5)
        (25.0, 75.0)
    """
    return _quantiles(drawn, _tails(level))


def resampled_sums(table: ArrayLike, resamples: int, seed: int | Sequence[int]) -> np.ndarray:
    """Column sums over units drawn with replacement, shape `(resamples, columns)`.

    Example:
        >>> resampled_sums([[1.0, 2.0], [1.0, 2.0]], resamples=2, seed=0).tolist()
        [[2.0, 4.0], [2.0, 4.0]]
    """
    if resamples < 1:
        raise ValueError(f"`resamples` counts draws, so it is at least 1, not {resamples}.")
    table, rng = np.asarray(table, dtype=float), np.random.default_rng(seed)
    rows, counts = np.unique(table, axis=0, return_counts=True)
    few = len(rows) * _DEARER < len(table)
    sums = np.empty((resamples, table.shape[1]))
    step = max(1, _CELLS // (len(rows) if few else len(table)))
    for start in range(0, resamples, step):
        block = sums[start : start + step]
        block[:] = (
            _by_row(rows, counts, len(block), rng) if few else _by_unit(table, len(block), rng)
        )
    return sums


def ratio(sums: np.ndarray) -> np.ndarray:
    """The first column over the second; NaN where both are 0.

    Example:
        >>> ratio(np.array([[1.0, 4.0], [3.0, 4.0]])).tolist()
        [0.25, 0.75]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return sums[..., 0] / sums[..., 1]


def mean_of_ratios(sums: np.ndarray) -> np.ndarray:
    """The mean of first over second and third over fourth column.

    Example:
        >>> float(mean_of_ratios(np.array([1.0, 2.0, 1.0, 4.0])))
        0.375
    """
    return (ratio(sums[..., :2]) + ratio(sums[..., 2:])) / 2


def class_sums(values: np.ndarray, labels: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Sum and number of the values of class 1, then of class 0, for each unit.

    Example:
        >>> class_sums(np.ones(3), np.array([True, False, False]), np.array([0, 0, 1])).tolist()
        [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    columns = [labels * values, labels, ~labels * values, ~labels]
    return np.column_stack([np.bincount(unit, column) for column in columns])


def _by_row(
    rows: np.ndarray, counts: np.ndarray, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    drawn = rng.multinomial(counts.sum(), counts / counts.sum(), size=resamples)
    return drawn @ rows


def _by_unit(table: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    units = len(table)
    draws = rng.integers(units, size=(resamples, units))
    draws += units * np.arange(resamples)[:, None]  # so that one count serves all resamples
    counts = np.bincount(draws.ravel(), minlength=resamples * units)
    return counts.reshape(resamples, units) @ table


def _bca(
    table: np.ndarray, statistic: Statistic, drawn: np.ndarray, tails: np.ndarray
) -> np.ndarray:
    """The tails, moved by the bias of the resamples and the skew of leaving one unit out."""
    if not len(drawn):
        return tails
    rows, counts = np.unique(table, axis=0, return_counts=True)
    total = counts @ rows
    value, left = statistic(total), statistic(total - rows)
    known = np.isfinite(left)
    left, counts = left[known], counts[known]
    gaps = np.average(left, weights=counts) - left
    spread = counts @ gaps**2
    skew = counts @ gaps**3 / (6 * spread**1.5) if spread > 0 else 0.0
    below = ((drawn < value).mean() + (drawn <= value).mean()) / 2  # ties count half
    bias = norm.ppf(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    moved = bias + norm.ppf(tails)
    return norm.cdf(bias + moved / (1 - skew * moved))


def _quantiles(drawn: np.ndarray, tails: np.ndarray) -> tuple[float, float]:
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return float("nan"), float("nan")
    low, high = np.quantile(drawn, tails)
    return float(low), float(high)


def _method(method: str, values: np.ndarray, sizes: np.ndarray, equal: bool = True) -> str:
    if method not in METHODS:
        raise ValueError(f"Unknown method {method!r}. Choose one of {', '.join(METHODS)}.")
    binary = bool(np.isin(values, (0, 1)).all())
    trials = binary and sizes.max() == 1 and equal
    if method == "wilson" and not trials:
        raise ValueError(
            "Wilson's interval needs values 0 and 1, one in each group, and classes of equal size. "
            'Pass method="bootstrap", or "auto" to have it where it holds.'
        )
    if method == "auto":
        return "wilson" if trials or (binary and np.ptp(values) == 0) else "bootstrap"
    return method


def _tails(level: float) -> np.ndarray:
    if not 0 < level < 1:
        raise ValueError(f"`level` is a share between 0 and 1, such as 0.95, not {level:g}.")
    return np.array([(1 - level) / 2, (1 + level) / 2])
