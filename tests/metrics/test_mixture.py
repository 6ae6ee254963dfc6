"""Mixture proportions against expectation maximisation, scipy, and cases worked out by hand."""

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from dialeval.metrics.mixture import (
    densities,
    largest_share,
    likelihood_share,
    misfit,
    moment_share,
    quantile_edges,
    resampled_sums,
    unit_histograms,
)
from dialeval.metrics.pooled_shares import intraclass_correlation, null_means, pooled_shares
from dialeval.metrics.significance import benjamini_hochberg

HUMAN, MACHINE = np.array([50.0, 30, 15, 5]), np.array([5.0, 10, 25, 60])


@pytest.mark.parametrize("counts", [[40, 30, 20, 10], [10, 20, 30, 40], [25, 25, 25, 25]])
def test_the_likelihood_is_maximised_where_em_converges(counts):
    data, share = np.array(counts, dtype=float), 0.5
    human, machine = densities(HUMAN), densities(MACHINE)
    for _ in range(5_000):  # Saerens et al. (2002)
        posterior = share * machine / (share * machine + (1 - share) * human)
        share = float((data * posterior).sum() / data.sum())
    assert likelihood_share(data, HUMAN, MACHINE) == pytest.approx(share, abs=1e-6)


def test_pure_samples_are_at_the_ends():
    assert likelihood_share(HUMAN, HUMAN, MACHINE) < 1e-6
    assert likelihood_share(MACHINE, HUMAN, MACHINE) > 1 - 1e-6
    assert moment_share(HUMAN, HUMAN, MACHINE) == 0 and moment_share(MACHINE, HUMAN, MACHINE) == 1


def test_resamples_are_estimated_like_single_samples():
    data = np.stack([HUMAN, (HUMAN + MACHINE) / 2, MACHINE])
    together = likelihood_share(data, HUMAN, MACHINE)
    single = [float(likelihood_share(row, HUMAN, MACHINE)) for row in data]
    assert together.tolist() == pytest.approx(single)


def test_edges_give_both_kinds_the_same_weight():
    human, machine = np.linspace(0, 1, 1000), np.linspace(2, 3, 10)
    edges = quantile_edges(human, machine, bins=4)
    assert 0.49 < edges[0] < 0.51 and edges[1] == 2 and 2.4 < edges[2] < 2.7
    assert quantile_edges([0.5] * 3, [0.5] * 3).size == 0  # an evaluator that abstains


def test_units_are_drawn_whole():
    table = unit_histograms(np.array([0, 0, 1]), np.array([0, 0, 1]), 2)
    sums = resampled_sums(table, 200, np.random.default_rng(0))
    assert {tuple(row) for row in sums.tolist()} == {(4, 0), (2, 1), (0, 2)}
    assert resampled_sums(table, 5, np.random.default_rng(0), drawn=0).sum() == 0


def test_a_mixture_fits_and_something_else_does_not():
    mixed = 1000 * (0.3 * densities(MACHINE) + 0.7 * densities(HUMAN))
    assert misfit(mixed, HUMAN, MACHINE) < 1e-9
    assert misfit(np.array([0.0, 0, 100, 0]), HUMAN, MACHINE) > 0.5


def test_the_largest_share_bounds_the_true_one():
    rng = np.random.default_rng(0)
    kind = rng.normal(2, 1, 2_000)
    data = np.r_[rng.normal(-2, 1, 1_500), rng.normal(2, 1, 500)]
    bound, _ = largest_share(data, kind)
    assert 0.22 < bound < 0.3


def test_false_discovery_rates_agree_with_scipy():
    p_values = np.random.default_rng(0).random(50) ** 3
    assert benjamini_hochberg(p_values) == pytest.approx(false_discovery_control(p_values))


def test_small_groups_are_drawn_towards_the_others():
    large = np.array([HUMAN * 2] * 20)
    small = np.array([[0.0, 0, 1, 1]])
    pooled = pooled_shares(np.vstack([large, small]), HUMAN, MACHINE, np.ones(21))
    assert likelihood_share(small[0], HUMAN, MACHINE) == 1 and pooled.share[-1] < 0.3
    assert (pooled.low <= pooled.share).all() and (pooled.share <= pooled.high).all()


def test_a_design_effect_widens_the_interval():
    counts = np.array([HUMAN + MACHINE] * 5)
    widths = [
        np.ptp([pooled.low, pooled.high], axis=0).mean()
        for pooled in (pooled_shares(counts, HUMAN, MACHINE, np.full(5, n)) for n in (1.0, 8.0))
    ]
    assert widths[1] >= widths[0]


def test_replies_of_one_person_are_alike():
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(200), 10)
    values = rng.normal(size=200)[people] + rng.normal(size=2_000)
    assert intraclass_correlation(values, people) == pytest.approx(0.5, abs=0.07)
    assert intraclass_correlation(rng.normal(size=2_000), people) < 0.03


def test_a_null_draw_is_of_one_person_where_people_are_known():
    values, dialogues = np.array([0.0, 0, 1, 1]), np.arange(4)
    rng = np.random.default_rng(0)
    people = null_means(values, dialogues, np.array([0, 0, 1, 1]), 2, 500, rng)
    assert set(people.tolist()) == {0.0, 1.0}
    assert set(null_means(values, dialogues, None, 2, 500, rng).tolist()) == {0.0, 0.5, 1.0}


def test_long_dialogues_count_as_several_where_a_group_has_few_replies_of_each():
    values, dialogues = np.array([0.0, 1, 0, 1]), np.array([0, 1, 0, 1])  # alike within one
    rng = np.random.default_rng(0)
    assert set(null_means(values, dialogues, None, 1, 500, rng).tolist()) == {0.0, 1.0}
    varied = np.array([0.0, 0, 4, 4, 2])
    means = null_means(varied, np.array([0, 1, 0, 1, 0]), None, 1, 500, rng, replies=2)
    assert set(means.tolist()) == {2.0}  # parts of 2, 2 and 1 replies, all of mean 2
