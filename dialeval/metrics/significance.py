"""Significance tests with the dialogue as the unit: permutation tests, bootstrap, Holm."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

_EXACT_TOTAL = 10_000  # above this sum the convolution is slow and the normal limit accurate
_PAIRED_LIMIT = 2_000
_UNPAIRED_LIMIT = 5_000
_BATCH = 500  # random permutations in memory at once


def holm(p_values: ArrayLike) -> np.ndarray:
    """P-values adjusted for their number by Holm's step-down method (Holm, 1979).

    Examples:
        >>> holm([0.01, 0.04, 0.03]).tolist()
        [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=float)
    order = np.argsort(raw, kind="stable")
    factors = np.arange(len(raw), 0, -1)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> np.ndarray:
    """Adjusted p-values whose rejection keeps the false discovery rate (Benjamini, Hochberg, 1995).

    Examples:
        >>> benjamini_hochberg([0.01, 0.04, 0.03, 0.005]).round(3).tolist()
        [0.02, 0.04, 0.04, 0.02]
    """
    values = np.asarray(p_values, dtype=float)
    n = len(values)
    order = np.argsort(values)
    scaled = values[order] * n / np.arange(1, n + 1)
    adjusted = np.empty(n)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted


def sign_flip_test(differences: ArrayLike, seed: int, resamples: int = 9_999) -> float:
    """One-sided p-value that paired differences exceed 0, under random signs.

    Integers are tested exactly, through the distribution of their sum; other numbers by
    `resamples` random sign flips, or by the normal limit if there are more than 2,000.

    Args:
        differences (`ArrayLike`):
            One number per independent unit, such as a dialogue.
        seed (`int`):
            Seed of the random sign flips.
        resamples (`int`, *optional*, defaults to 9999):
            How many random sign flips.

    Returns:
        `float`: The p-value.

    Examples:
        >>> sign_flip_test([1, 1, 1, 1], seed=0)  # one of 16 combinations of signs
        0.0625
    """
    from scipy.stats import norm

    values = np.asarray(differences, dtype=float)
    values = values[values != 0]  # a zero has no sign, so it never changes the sum
    if not len(values):
        return 1.0
    are_integers = not np.any(values % 1)
    if are_integers and np.abs(values).sum() <= _EXACT_TOTAL:
        return _exact_sign_flips(values.astype(np.int64))
    if are_integers or len(values) > _PAIRED_LIMIT:
        return float(norm.sf(values.sum() / np.sqrt(np.square(values).sum())))
    return _permutations((values,), np.sum, "samples", seed, resamples)


def exchange_test(first: ArrayLike, second: ArrayLike, seed: int, resamples: int = 9_999) -> float:
    """One-sided p-value that the first sample's mean exceeds the second's, under permuted labels.

    Zeros and ones are tested exactly (the hypergeometric distribution); other numbers by
    `resamples` random permutations, or by the normal limit if there are more than 5,000.

    Args:
        first, second (`ArrayLike`):
            The two samples, one number per independent unit.
        seed (`int`):
            Seed of the random permutations.
        resamples (`int`, *optional*, defaults to 9999):
            How many random permutations.

    Returns:
        `float`: The p-value.

    Examples:
        >>> round(exchange_test([1, 1, 1], [0, 0, 0], seed=0), 3)  # one of 20 permutations
        0.05
    """
    from scipy.stats import hypergeom, norm

    samples = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    sizes, pool = [len(sample) for sample in samples], np.concatenate(samples)
    if np.ptp(pool) == 0:
        return 1.0
    if np.isin(pool, (0.0, 1.0)).all():
        return float(hypergeom.sf(samples[0].sum() - 1, len(pool), pool.sum(), sizes[0]))
    if len(pool) > _UNPAIRED_LIMIT:
        error = pool.std(ddof=1) * np.sqrt(1 / sizes[0] + 1 / sizes[1])
        return float(norm.sf((samples[0].mean() - samples[1].mean()) / error))
    return _permutations(samples, _mean_difference, "independent", seed, resamples)


def _exact_sign_flips(differences: np.ndarray) -> float:
    """P(sum >= observed), from the distribution of the sum of the positive ones."""
    from scipy.stats import binom

    distribution = np.ones(1)
    for size, count in zip(*np.unique(np.abs(differences), return_counts=True), strict=True):
        spread = np.zeros(size * count + 1)
        spread[::size] = binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, spread)
    positive = differences[differences > 0].sum()
    return float(min(distribution[positive:].sum(), 1.0))


def _mean_difference(first: np.ndarray, second: np.ndarray, axis: int) -> np.ndarray:
    return first.mean(axis=axis) - second.mean(axis=axis)


def _permutations(
    samples: tuple[np.ndarray, ...],
    statistic: Callable[..., np.ndarray],
    kind: str,
    seed: int,
    resamples: int,
) -> float:
    from scipy.stats import permutation_test

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
