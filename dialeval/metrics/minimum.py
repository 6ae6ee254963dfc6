"""Interval of the lowest of several means, such as the accuracy on the worst of many attackers.

The lowest of k observed means is lower than the lowest true mean, because it was selected, and the
plain interval of the selected one is too low as well. A percentile bootstrap of the minimum is
worse: it selects a second time, in every resample.
"""

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, units_of
from dialeval.metrics.intervals import percentiles
from dialeval.metrics.resampling import resampled_sums
from dialeval.metrics.share_intervals import clustered_wilson


def minimum_interval(
    values: ArrayLike,
    groups: Ids | None = None,
    *,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of the lowest true mean of several columns, dialogues drawn with replacement.

    All columns share the draws, so their correlation counts. The lower bound is the lowest of those
    of `interval`: it is too high only if that of the truly lowest column is. The upper bound adds
    to the observed minimum what the columns that may be the lowest fell short of their true means
    together: the upper quantile of the largest shortfall in a resample. Those are the columns
    within sqrt(ln n) standard errors of the minimum, as in moment selection (Andrews and Soares,
    2010). It is never below that of `interval` for the lowest column; with one column, or one that
    is far below all others, it is nearly the same.

    Args:
        values (`ArrayLike`):
            Numbers from 0 to 1, shape `(responses, columns)`: for each context, whether the pair
            with each attacker was decided correctly.
        groups (`Sequence`, *optional*):
            Dialogue ids of the rows. Without them every row is a unit of its own.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `tuple[float, float]`: Lower and upper bound; NaN twice if there is only one dialogue.

    Examples:
        >>> rows = [[1, 0], [0, 1]] * 50  # two columns of mean .5, never both correct
        >>> low, high = minimum_interval(rows, resamples=2_000)
        >>> low < 0.45 and high > 0.55
        True
    """
    table = np.asarray(values, dtype=float)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"Expected numbers in rows and columns, got the shape {table.shape}.")
    unit = units_of(len(table), groups)
    sizes = np.bincount(unit)
    if len(sizes) < 2:
        return float("nan"), float("nan")
    sums = np.column_stack([*(np.bincount(unit, column) for column in table.T), sizes])
    observed = table.mean(0)
    worst = int(observed.argmin())
    bounds = [
        clustered_wilson(sums[:, [column, -1]], float(table[:, column].var()), level)
        for column in range(len(observed))
    ]
    drawn = resampled_sums(sums, resamples, seed)
    means = drawn[:, :-1] / drawn[:, -1:]
    contenders = _contenders(means, observed, len(sizes))
    shortfall = (observed - means)[:, contenders].max(1)
    high = float(observed[worst]) + percentiles(shortfall, level, len(sizes))[1]
    return min(low for low, _ in bounds), min(1.0, max(high, bounds[worst][1]))


def _contenders(means: np.ndarray, observed: np.ndarray, units: int) -> np.ndarray:
    """Which columns may be the lowest; shape `(columns,)`."""
    worst = int(observed.argmin())
    errors = (means - means[:, [worst]]).std(0)  # of the difference, over shared draws
    return observed - observed[worst] <= np.sqrt(np.log(units)) * errors
