"""Bootstrap over items: whole items are drawn, with all judgements about them."""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

_CELLS = 2_000_000  # counts in memory at once


def resampled_sums(table: ArrayLike, resamples: int, seed: int) -> np.ndarray:
    """Column sums of a table whose rows are drawn with replacement, `(resamples, columns)`.

    Equal rows are interchangeable, so how often each distinct row is drawn is one multinomial
    draw: a few numbers per resample instead of one per item.

    Args:
        table (`ArrayLike`):
            One row per item, shape `(items, columns)`.
        resamples (`int`):
            Number of draws.
        seed (`int`):
            Seed of the draws.

    Returns:
        `np.ndarray`: The sums of each resample.

    Examples:
        >>> resampled_sums([[1.0, 1.0]] * 5, resamples=2, seed=0).tolist()
        [[5.0, 5.0], [5.0, 5.0]]
    """
    rows, counts = np.unique(np.asarray(table, dtype=float), axis=0, return_counts=True)
    rng, n = np.random.default_rng(seed), int(counts.sum())
    step = max(1, _CELLS // max(1, len(rows)))
    parts = [
        rng.multinomial(n, counts / n, size=min(step, resamples - start)) @ rows
        for start in range(0, resamples, step)
    ]
    return np.concatenate(parts)


def percentile_interval(values: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """Bounds between which the middle share `level` of the values lies; NaNs are left out."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return float(low), float(high)


def sums_interval(
    table: ArrayLike,
    statistic: Callable[[np.ndarray], np.ndarray],
    resamples: int,
    seed: int,
    level: float = 0.95,
) -> tuple[float, float]:
    """Interval of a statistic of column sums by the bootstrap over rows.

    Args:
        table (`ArrayLike`):
            One row per item.
        statistic (`Callable`):
            From sums `(..., columns)` to values `(...)`.
        resamples, seed (`int`):
            Draws and their seed.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `tuple[float, float]`: The bounds.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return percentile_interval(statistic(resampled_sums(table, resamples, seed)), level)


def codes_of(values: Sequence[Hashable]) -> tuple[np.ndarray, list[Hashable]]:
    """Values as integers from 0 in order of first appearance, and the distinct values.

    Examples:
        >>> codes_of(["b", "a", "b"])[0].tolist()
        [0, 1, 0]
    """
    seen: dict[Hashable, int] = {}
    codes = [seen.setdefault(value, len(seen)) for value in values]
    return np.array(codes, dtype=np.int64), list(seen)
