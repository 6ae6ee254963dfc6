"""Intervals and p-values of few units: what they must not claim."""

import numpy as np
import pytest

from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.paired import approximate_randomisation, paired_bootstrap
from dialeval.metrics.random_replies import versus_random
from dialeval.metrics.rank_effects import cliffs_delta
from dialeval.protocols.robustness.effects import effects, mean_of


@pytest.mark.parametrize("dialogues", [1, 2, 3, 5])
def test_a_bootstrap_of_few_dialogues_claims_no_more_than_random_signs(dialogues):
    first, second = np.ones(dialogues), np.zeros(dialogues)
    p_value = paired_bootstrap(first, second, resamples=500)["p"]
    assert p_value >= approximate_randomisation(first, second)
    part = {"movement": mean_of(first)}
    assert not effects(part, range(dialogues), resamples=500)["movement"].p < 0.05


def test_dialogues_that_do_not_differ_are_no_evidence():
    first, second = np.array([1.0, 1, 1, 0, 0, 0, 0, 0]), np.zeros(8)
    assert paired_bootstrap(first, second, resamples=500)["p"] >= 0.25


def test_an_evaluator_that_scores_all_pairs_equally_has_a_wide_interval():
    scores, labels, pairs = [0.5] * 20, [1, 0] * 10, np.arange(20) // 2
    result = adversuc(scores, labels, pairs=pairs)
    assert result["pairwise_accuracy"] == 0.5
    assert result["pairwise_low"] < 0.4 and result["pairwise_high"] > 0.6
    choice = versus_random(scores, labels, candidates=pairs)
    assert choice["n_choose_1_low"] < 0.4 < 0.6 < choice["n_choose_1_high"]


@pytest.mark.parametrize(("first", "second"), [(5, 5), (5, 40), (10, 10)])
def test_small_samples_rarely_have_very_small_p_values(first, second):
    rng = np.random.default_rng(1)
    p_values = np.array(
        [
            cliffs_delta(rng.poisson(6, first), rng.poisson(6, second))["p_value"]
            for _ in range(1_000)
        ]
    )
    assert (p_values < 0.05 / 19).mean() <= 0.005  # .006 to .017 by Brunner and Munzel's test alone
    assert 0.01 < (p_values < 0.05).mean() < 0.07
