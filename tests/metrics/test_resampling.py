"""Sums of shifted draws, against plain draws and the moments that theory gives."""

import numpy as np
import pytest

from dialeval.metrics.intervals import ratio_interval
from dialeval.metrics.resampling import _draw_units, resampled_sums

UNITS, RESAMPLES = 2_000, 8_000
SORTED = np.sort(np.random.default_rng(0).lognormal(size=UNITS))  # the worst order for shifts


def test_moments_are_those_of_the_bootstrap():
    sums = resampled_sums(SORTED[:, None], RESAMPLES, 1)[:, 0]
    spread = SORTED.std() * np.sqrt(UNITS)  # variance of a sum of n draws: n times the plain one
    assert sums.mean() == pytest.approx(SORTED.sum(), abs=4 * spread / np.sqrt(RESAMPLES))
    assert sums.std() == pytest.approx(spread, rel=0.05)


def test_quantiles_vary_over_seeds_as_much_as_those_of_plain_draws():
    def quantiles(draw) -> np.ndarray:
        return np.array([np.quantile(draw(seed), [0.025, 0.975]) for seed in range(60)])

    table = SORTED[:1_000, None]
    shifted = quantiles(lambda seed: resampled_sums(table, 1_000, seed))
    plain = quantiles(lambda seed: _draw_units(table, 1_000, np.random.default_rng(seed)))
    error = plain.std(0) / np.sqrt(60)
    assert (np.abs(shifted.mean(0) - plain.mean(0)) < 4 * np.sqrt(2) * error).all()
    assert (shifted.std(0) < 1.45 * plain.std(0)).all()  # 60 seeds: 9 % error each


@pytest.mark.parametrize("units", [1_000, 1_009])  # a prime needs another transform
def test_every_resample_has_as_many_units(units):
    table = np.column_stack([np.arange(units) / 7, np.ones(units)])
    sums = resampled_sums(table, 300, 0)
    assert (sums[:, 1] == units).all()
    assert len(np.unique(sums[:, 0])) > 250


def test_a_class_without_a_drawn_unit_has_no_ratio():
    rng = np.random.default_rng(2)
    wholes = np.zeros(UNITS)
    wholes[:2] = 1  # missing in e^-2 = 13.5 % of resamples
    parts = wholes * 0.5
    table = np.column_stack([parts, wholes, rng.random(UNITS)])
    counts = resampled_sums(table, RESAMPLES, 3)[:, 1]
    assert (counts == 0).mean() == pytest.approx(np.exp(-2), abs=0.03)
    assert np.bincount(counts.astype(int))[:4] / RESAMPLES == pytest.approx(
        np.exp(-2) * np.array([1, 2, 2, 4 / 3]), abs=0.03
    )
    bounds = ratio_interval(parts + 1e-9 * rng.random(UNITS), wholes, resamples=500)
    assert np.isfinite(bounds).all()


def test_columns_are_drawn_together_and_seeds_matter():
    table = np.column_stack([SORTED, 3 * SORTED])
    sums = resampled_sums(table, 500, 0)
    assert sums[:, 1] == pytest.approx(3 * sums[:, 0])
    assert (resampled_sums(table, 500, 0) == sums).all()
    assert not np.allclose(resampled_sums(table, 500, 1), sums)
