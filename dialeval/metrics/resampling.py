"""Column sums over units drawn with replacement: what every bootstrap here needs.

A statistic of a resample depends only on column sums, so units with equal rows are interchangeable:
how often each *distinct* row is drawn is one multinomial draw. That is exact, and takes a few
numbers per resample instead of thousands.

Where most rows differ, as with real-valued scores, many resamples come from one draw. How often
every unit was drawn is a vector of exchangeable counts, so the same counts shifted by any number of
units are a resample of the same distribution, and one Fourier transform gives the sums for all
shifts. Resamples of one draw are not quite independent: with the units in random order, two of
them correlate by about 1 / sqrt(units) in either direction. Only one shift in `_STRIDE` is used, so
the Monte-Carlo variance of a 2.5 % quantile grows by a factor of about
1 + (z^2 / 2) phi(z)^2 / (.025 * .975) / _STRIDE = 1.02.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

_CELLS = 200_000  # counts or draws in memory at once: more would not fit into a CPU cache
_MULTINOMIAL_COST = 16  # a multinomial count costs as much as this many single draws
_SHIFTED_UNITS = 1_000  # from this many units on, a draw is shifted
_STRIDE = 16  # one shift in as many is used


def resampled_sums(table: ArrayLike, resamples: int, seed: int | Sequence[int]) -> np.ndarray:
    """Column sums over units drawn with replacement.

    Args:
        table (`ArrayLike`):
            What each unit adds to the sums, shape `(units, columns)`.
        resamples (`int`):
            How many times to draw.
        seed (`int` or `Sequence[int]`):
            Seed of the draws.

    Returns:
        `np.ndarray`: Shape `(resamples, columns)`.

    Examples:
        >>> resampled_sums([[1.0, 2.0], [1.0, 2.0]], resamples=2, seed=0).tolist()
        [[2.0, 4.0], [2.0, 4.0]]
    """
    if resamples < 1:
        raise ValueError(f"`resamples` counts draws, so it is at least 1, not {resamples}.")
    units, rng = np.asarray(table, dtype=float), np.random.default_rng(seed)
    rows, counts = np.unique(units, axis=0, return_counts=True)
    if len(rows) * _MULTINOMIAL_COST < len(units):
        return _draw_rows(rows, counts, resamples, rng)
    if len(units) >= _SHIFTED_UNITS and np.isfinite(units).all():
        return _shift_units(units, resamples, rng)
    return _draw_units(units, resamples, rng)


def _draw_rows(
    rows: np.ndarray, counts: np.ndarray, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Sums from multinomial counts of the distinct rows."""
    total, sums = counts.sum(), np.empty((resamples, rows.shape[1]))
    for block in _blocks(sums, len(rows)):
        block[:] = rng.multinomial(total, counts / total, size=len(block)) @ rows
    return sums


def _draw_units(table: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of units drawn one by one."""
    units, sums = len(table), np.empty((resamples, table.shape[1]))
    for block in _blocks(sums, units):
        block[:] = _drawn_counts(len(block), units, rng) @ table
    return sums


def _shift_units(table: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Sums of drawn counts and of their cyclic shifts, by a cross-correlation."""
    from scipy import fft

    units, sums = len(table), np.empty((resamples, table.shape[1]))
    spectrum = fft.rfft(table[rng.permutation(units)], axis=0)  # (frequencies, columns)
    per_draw = units // _STRIDE
    for block in _blocks(sums, max(1, units // per_draw)):
        draws = -(-len(block) // per_draw)
        counts = _drawn_counts(draws, units, rng)
        product = np.conj(fft.rfft(counts, axis=1))[:, :, None] * spectrum
        shifted = fft.irfft(product, units, axis=1)[:, : per_draw * _STRIDE : _STRIDE]
        block[:] = shifted.reshape(-1, table.shape[1])[: len(block)]
    whole = (table == np.rint(table)).all(axis=0)
    sums[:, whole] = np.rint(sums[:, whole])  # counts stay counts, and an empty class stays empty
    return sums


def _drawn_counts(draws: int, units: int, rng: np.random.Generator) -> np.ndarray:
    """How often every unit was drawn in each of several draws, `(draws, units)`."""
    drawn = rng.integers(units, size=(draws, units))
    drawn += units * np.arange(draws)[:, None]  # one bincount for all draws
    return np.bincount(drawn.ravel(), minlength=draws * units).reshape(draws, units)


def _blocks(sums: np.ndarray, width: int) -> list[np.ndarray]:
    """Views of consecutive resamples, few enough for the cache."""
    step = max(1, _CELLS // width)
    return [sums[start : start + step] for start in range(0, len(sums), step)]
