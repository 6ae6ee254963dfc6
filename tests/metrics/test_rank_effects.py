"""Cliff's delta against counting all pairs, and its test against SciPy's."""

import numpy as np
import pytest
from scipy.stats import brunnermunzel

from dialeval.metrics.propensity import caliper_matches
from dialeval.metrics.rank_effects import cliffs_delta


def test_delta_counts_all_pairs_and_its_test_is_brunner_and_munzels():
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 6, 30), rng.integers(1, 7, 25)
    effect = cliffs_delta(one, other)
    assert effect["delta"] == pytest.approx(np.sign(other[:, None] - one[None, :]).mean())
    assert effect["p_value"] == pytest.approx(brunnermunzel(one, other).pvalue)
    assert effect["low"] < effect["delta"] < effect["high"]


def test_separated_samples_have_an_interval_that_is_not_a_point():
    effect = cliffs_delta([1, 2, 3], [4, 5, 6])
    assert effect["delta"] == 1 and effect["low"] < 0.5


def test_matches_stay_within_calipers_and_prefer_the_nearest():
    left, right = caliper_matches([0, 0, 5], [0, 0, 9], [[0.9, 0.1, 0], [0.1, 0.9, 0], [0, 0, 0]])
    assert dict(zip(left.tolist(), right.tolist(), strict=True)) == {0: 1, 1: 0}
