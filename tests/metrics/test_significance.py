"""Holm, exchange tests and the bootstrap, against enumeration and other libraries."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import norm, permutation_test

from dialeval.metrics import exchange_test, holm, sign_flip_test


def by_enumeration(differences) -> float:
    """Share of all combinations of signs whose sum is at least the observed one."""
    signs = np.array(list(product([1, -1], repeat=len(differences))))
    sums = signs @ np.asarray(differences)
    return float(np.mean(sums >= np.sum(differences) - 1e-9))


def test_holm_by_hand():
    # Sorted .005 .01 .03 .04, times 4 3 2 1: .02 .03 .06 .04; the last may not fall below .06.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one_and_takes_ties_and_nothing():
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([0.02, 0.02]).tolist() == [0.04, 0.04]
    assert holm([]).tolist() == []


@pytest.mark.parametrize("seed", range(5))
def test_holm_agrees_with_statsmodels(seed):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p_values = np.random.default_rng(seed).beta(0.3, 1, size=24)
    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize(
    "differences",
    [
        [1, 1, 1, -1, 1],
        [3, -1, 2, 2, -2, 1, 5],
        [-1, -2, -3],
        [2, 2, 2, 0, 0, 0, 4],
        [0.5, 0.25, -0.75, 1.1, 0.3, 0.9],
        [1.5, -0.5, 2.5, 0.0],
    ],
)
def test_sign_flips_agree_with_enumeration(differences):
    assert sign_flip_test(differences, seed=0) == pytest.approx(by_enumeration(differences))


def test_nothing_but_zeros_is_no_evidence():
    assert sign_flip_test([0, 0, 0], seed=0) == 1.0
    assert sign_flip_test([], seed=0) == 1.0


def test_exact_sums_agree_with_random_sign_flips():
    differences = np.random.default_rng(3).integers(-3, 5, size=60)
    resampled = permutation_test(
        (differences,),
        np.sum,
        permutation_type="samples",
        vectorized=True,
        alternative="greater",
        n_resamples=20_000,
        rng=np.random.default_rng(0),
    )
    exact = sign_flip_test(differences, seed=0)
    error = np.sqrt(exact * (1 - exact) / 20_000)
    assert abs(exact - resampled.pvalue) < 4 * error


def test_fractions_depend_on_the_seed():
    differences = np.random.default_rng(0).normal(0.2, 1, size=40)
    assert sign_flip_test(differences, seed=1) == sign_flip_test(differences, seed=1)
    assert sign_flip_test(differences, seed=1) != sign_flip_test(differences, seed=2)
    assert sign_flip_test(differences, seed=1, resamples=99) * 100 == pytest.approx(
        round(sign_flip_test(differences, seed=1, resamples=99) * 100)
    )


def test_the_normal_limit_continues_the_exact_test():
    differences = np.repeat([1, -1], [5_150, 4_850])  # just within the exact range
    more = np.append(differences, [1, -1])  # just beyond
    assert sign_flip_test(more, seed=0) == pytest.approx(
        sign_flip_test(differences, seed=0), rel=0.05
    )
    fractions = np.random.default_rng(0).normal(0.05, 1, size=2_001)
    limit = sign_flip_test(fractions, seed=0)
    assert limit == norm.sf(fractions.sum() / np.sqrt(np.square(fractions).sum()))
    assert limit == pytest.approx(sign_flip_test(fractions[:-1], seed=0), abs=0.02)


@pytest.mark.parametrize("draw", ["integers", "fractions"])
def test_true_nulls_are_rejected_in_five_percent_at_most(draw):
    rng = np.random.default_rng(7)
    rejected = 0
    for number in range(400):
        differences = rng.integers(-4, 5, size=40) if draw == "integers" else rng.normal(size=40)
        rejected += sign_flip_test(differences, seed=number, resamples=499) <= 0.05
    error = np.sqrt(0.05 * 0.95 / 400)
    assert 0.05 - 3 * error < rejected / 400 < 0.05 + 2 * error


def test_sign_flips_are_one_sided():
    differences = np.repeat([1, -1], [70, 30])
    assert sign_flip_test(differences, seed=0) < 1e-4
    assert sign_flip_test(-differences, seed=0) > 0.999


@pytest.mark.parametrize(
    ("first", "second"),
    [([1, 1, 0, 1], [0, 0, 1, 0, 0]), ([0.5, 1.0, 0.75], [0.25, 0.0, 0.5, 0.1])],
)
def test_exchange_agrees_with_enumeration(first, second):
    pool, size = np.array([*first, *second]), len(first)
    observed = np.mean(first) - np.mean(second)
    gaps = [
        pool[list(subset)].mean() - np.delete(pool, subset).mean()
        for subset in combinations(range(len(pool)), size)
    ]
    expected = np.mean(np.array(gaps) >= observed - 1e-9)
    assert exchange_test(first, second, seed=0) == pytest.approx(expected)


def test_exchange_of_equal_values_is_no_evidence():
    assert exchange_test([1, 1], [1, 1, 1], seed=0) == 1.0
    assert exchange_test([0.5, 0.5], [0.5], seed=0) == 1.0


def test_exchange_of_many_is_near_the_normal_limit():
    rng = np.random.default_rng(0)
    first, second = rng.random(2_400) + 0.02, rng.random(2_600)
    resampled = exchange_test(first, second, seed=0, resamples=4_999)
    limit = exchange_test(np.append(first, 0.52), second, seed=0)
    assert resampled == pytest.approx(limit, abs=0.015)
    assert limit < 0.1
