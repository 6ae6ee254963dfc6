"""Relevance: its scale, its interval, and what it refuses."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from dialeval.metrics import relevance


def scores(n: int = 400, seed: int = 0):
    rng = np.random.default_rng(seed)
    human, random = rng.normal(0.8, 0.1, n), rng.normal(0.3, 0.1, n)
    return rng.normal(0.5, 0.1, n), human, random


def test_by_hand():
    # Means .7, .9 and .2: five of seven parts of the way.
    result = relevance([0.6, 0.8], human=[0.9, 0.9], random=[0.3, 0.1])
    assert result["relevance"] == pytest.approx(5 / 7) and result["n"] == 2
    means = (result["system_score"], result["human_score"], result["random_score"])
    assert means == pytest.approx((0.7, 0.9, 0.2))


def test_random_replies_have_0_and_human_ones_1_on_any_scale():
    _, human, random = scores()
    assert relevance(random, human, random)["relevance"] == 0
    assert relevance(human, human, random)["relevance"] == 1
    assert relevance(human + 0.5, human, random)["relevance"] > 1  # a copy of the context
    system = scores()[0]
    first, second = (relevance(*(a * x + b for x in (system, human, random)))["relevance"]
                     for a, b in ((1, 0), (7, -3)))  # fmt: skip
    assert first == pytest.approx(second)


def test_the_interval_is_that_of_a_bootstrap_of_contexts():
    system, human, random = scores()
    result = relevance(system, human, random, resamples=4_000)

    def position(s, h, r, axis=-1):
        return (s.mean(axis) - r.mean(axis)) / (h.mean(axis) - r.mean(axis))

    other = bootstrap((system, human, random), position, paired=True, n_resamples=4_000,
                      method="percentile", rng=np.random.default_rng(1))  # fmt: skip
    expected = other.confidence_interval
    assert (result["low"], result["high"]) == pytest.approx(tuple(expected), abs=0.006)


def test_dialogues_are_drawn_whole():
    system, human, random = (np.repeat(values, 5) for values in scores(80))
    groups = np.repeat(np.arange(80), 5).tolist()
    whole, single = (
        relevance(system, human, random, groups=groups),
        relevance(system, human, random),
    )
    assert whole["high"] - whole["low"] > 1.8 * (single["high"] - single["low"])
    assert (whole["n"], whole["n_groups"]) == (400, 80)


def test_an_evaluator_that_does_not_prefer_human_replies_measures_nothing():
    with pytest.raises(ValueError, match="mean score of 0.300 and random ones 0.300.*human-vs-ran"):
        relevance([0.5, 0.5], human=[0.3, 0.3], random=[0.3, 0.3])
    with pytest.raises(ValueError, match="random"):
        relevance([0.5, 0.5], human=[0.3, 0.3], random=[0.3])
