"""Tests and intervals that take the dialogue as the unit: exchange tests, bootstrap, Holm."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom, hypergeom, norm, permutation_test

from dialeval.metrics.intervals import resampled_sums

_EXACT_TOTAL = 10_000  # beyond this sum the convolution is slow, and the normal limit good
_PAIRED_LIMIT = 2_000
_UNPAIRED_LIMIT = 5_000
_BATCH = 500  # random permutations held in memory at once


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted for their number by Holm's step-down method (Holm, 1979).

    Example:
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def sign_flip_test(differences: ArrayLike, seed: int, resamples: int = 9_999) -> float:
    """One-sided p-value that paired differences exceed 0, were each sign a fair coin's.

    Whole numbers are tested exactly, through the distribution of their sum; others by
    `resamples` random sign flips, or by the normal limit when there are more than 2,000.

    Args:
        differences (`ArrayLike`):
            One number per independent unit, such as a dialogue.
        seed (`int`):
            Of the random sign flips.

    Example:
        >>> sign_flip_test([1, 1, 1, 1], seed=0)  # one of the 16 ways to set the signs
        0.0625
    """
    differences = np.asarray(differences, dtype=float)
    differences = differences[differences != 0]  # a zero has no sign, so it never moves the sum
    if not len(differences):
        return 1.0
    whole = not np.any(differences % 1)
    if whole and np.abs(differences).sum() <= _EXACT_TOTAL:
        return _exact_sign_flips(differences.astype(np.int64))
    if whole or len(differences) > _PAIRED_LIMIT:
        return float(norm.sf(differences.sum() / np.sqrt(np.square(differences).sum())))
    return _permutations((differences,), np.sum, "samples", seed, resamples)


def exchange_test(first: ArrayLike, second: ArrayLike, seed: int, resamples: int = 9_999) -> float:
    """One-sided p-value that the first sample's mean exceeds the second's, were labels exchanged.

    Zeros and ones are tested exactly (the hypergeometric distribution); other numbers by
    `resamples` random exchanges, or by the normal limit when there are more than 5,000.

    Example:
        >>> round(exchange_test([1, 1, 1], [0, 0, 0], seed=0), 3)  # one of 20 ways to deal
        0.05
    """
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    pool = np.concatenate([first, second])
    if np.ptp(pool) == 0:
        return 1.0
    if np.isin(pool, (0.0, 1.0)).all():
        return float(hypergeom.sf(first.sum() - 1, len(pool), pool.sum(), len(first)))
    if len(pool) > _UNPAIRED_LIMIT:
        error = pool.std(ddof=1) * np.sqrt(1 / len(first) + 1 / len(second))
        return float(norm.sf((first.mean() - second.mean()) / error))
    return _permutations((first, second), _mean_difference, "independent", seed, resamples)


def bootstrap_ratios(
    parts: ArrayLike, wholes: ArrayLike, seed: int, resamples: int = 2_000
) -> np.ndarray:
    """Ratios of sums over units drawn with replacement, shape `(resamples, columns)`.

    Args:
        parts (`ArrayLike`):
            Numerators, shape `(units, columns)`.
        wholes (`ArrayLike`):
            Denominators, shape `(units,)`.

    Example:
        >>> bootstrap_ratios([[1.0], [2.0]], [2.0, 4.0], seed=0, resamples=2).tolist()
        [[0.5], [0.5]]
    """
    table = np.column_stack([parts, wholes])  # (units, columns + 1)
    sums = resampled_sums(table, resamples, seed)
    return sums[:, :-1] / sums[:, -1:]


def _exact_sign_flips(differences: np.ndarray) -> float:
    """P(sum >= observed), from the distribution of the sum of those that come out positive."""
    distribution = np.ones(1)
    for size, count in zip(*np.unique(np.abs(differences), return_counts=True), strict=True):
        spread = np.zeros(size * count + 1)
        spread[::size] = binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, spread)
    positive = differences[differences > 0].sum()
    return float(min(distribution[positive:].sum(), 1.0))


def _mean_difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    return first.mean(axis=axis) - second.mean(axis=axis)


def _permutations(samples, statistic, kind: str, seed: int, resamples: int) -> float:
    result = permutation_test(
        samples,
        statistic,
        permutation_type=kind,
        vectorized=True,
        n_resamples=resamples,
        batch=_BATCH,
        alternative="greater",
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)
