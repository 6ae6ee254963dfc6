"""The distance from a mixture: against loops over replies, and its rates in simulations."""

import numpy as np
import pytest

from dialeval.metrics.mixture_fit import UnitProducts, _distances, mixture_fit

HUMAN, MACHINE, OTHER = np.array([0.0, 0, 0]), np.array([1.0, 0, 0]), np.array([0, 1.0, 0])


def vectors(rng, human, machine=0, other=0):
    """Replies with two-sided noise around the mean of their kind."""
    means = [*[HUMAN] * human, *[MACHINE] * machine, *[OTHER] * other]
    return np.array(means) + rng.normal(0, 0.7, (len(means), 3))


def fitted(rng, data, share, permutations=99):
    samples = [data, vectors(rng, 80), vectors(rng, 0, 80)]
    rows = np.concatenate(samples)
    kinds = np.repeat(range(3), [len(part) for part in samples])
    units = UnitProducts(rows @ rows.T, np.ones(len(rows)), kinds)
    return mixture_fit(units, share, permutations, rng)


def test_distances_are_those_of_loops_over_replies():
    rng = np.random.default_rng(0)
    sizes = np.array([2, 1, 3, 1, 2])
    replies = [rng.normal(size=(size, 4)) for size in sizes]
    gram = np.array([[(one @ two.T).sum() for two in replies] for one in replies])
    units = UnitProducts(gram, sizes, np.zeros(5))
    is_sample = np.array([[True, False, True, False, False], [False, True, True, True, False]])
    direction, length = rng.normal(size=5), 0.7
    expected = []
    for chosen in is_sample:
        sides = [np.flatnonzero(chosen), np.flatnonzero(~chosen)]
        parts = []
        for left, right in ((0, 0), (1, 1), (0, 1)):
            products = [
                float(one @ two)
                for a in sides[left] for b in sides[right] if a != b
                for one in replies[a] for two in replies[b]
            ]  # fmt: skip
            parts.append(np.mean(products))
        along = [direction[side].sum() / sizes[side].sum() for side in sides]
        expected.append(parts[0] + parts[1] - 2 * parts[2] - (along[0] - along[1]) ** 2 / length)
    actual = _distances(units, np.arange(5), is_sample, direction, length)
    assert actual == pytest.approx(expected)


@pytest.mark.parametrize(
    ("machine", "share"), [(0, 0.0), (24, 0.2), (24, 0.26), (60, 0.5), (110, 0.92)]
)
def test_mixtures_are_rejected_as_often_as_stated_even_if_the_share_is_off(machine, share):
    rng = np.random.default_rng(1)
    fits = [fitted(rng, vectors(rng, 120 - machine, machine), share) for _ in range(150)]
    p_values = [fit.p_value for fit in fits if fit is not None]
    if machine == 110:  # too few human units would be left in this proportion
        assert not p_values
        return
    assert np.mean(np.array(p_values) <= 0.05) <= 0.105  # .05 and three standard errors


def test_a_third_kind_is_noticed_and_its_share_is_about_the_planted_one():
    rng = np.random.default_rng(2)
    fits = [fitted(rng, vectors(rng, 60, 24, 36), 0.2) for _ in range(40)]
    assert np.mean([fit.p_value <= 0.05 for fit in fits]) >= 0.6
    assert np.mean([fit.unexplained for fit in fits]) == pytest.approx(0.3, abs=0.05)


def test_a_share_from_which_it_is_noticed_is_noticed_in_half_of_the_cases():
    rng = np.random.default_rng(3)
    noticed = np.mean([fitted(rng, vectors(rng, 120), 0.0).noticed_from for _ in range(40)])
    other = round(120 * noticed)
    fits = [fitted(rng, vectors(rng, 120 - other, 0, other), 0.0) for _ in range(100)]
    assert 0.3 <= np.mean([fit.p_value <= 0.05 for fit in fits]) <= 0.7
