"""Paired tests, against enumeration, statsmodels, scipy and true nulls."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from dialeval.metrics import approximate_randomisation, mcnemar, paired_bootstrap


def by_enumeration(first, second, groups) -> float:
    """Share of all combinations of swaps within groups that are as extreme."""
    first, second, groups = map(np.asarray, (first, second, groups))
    names, extreme = np.unique(groups), []
    observed = abs(first.mean() - second.mean())
    for swaps in product([False, True], repeat=len(names)):
        swapped = np.isin(groups, names[list(swaps)])
        one, two = np.where(swapped, second, first), np.where(swapped, first, second)
        extreme.append(abs(one.mean() - two.mean()) >= observed - 1e-12)
    return float(np.mean(extreme))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", ["zeros and ones", "fractions"])
def test_swaps_agree_with_enumeration(seed, kind):
    rng = np.random.default_rng(seed)
    first, second = rng.random(30) + 0.15, rng.random(30)
    if kind[0] == "z":
        first, second = first > 0.6, second > 0.6
    groups = rng.integers(9, size=30)
    exact = by_enumeration(first, second, groups)
    assert approximate_randomisation(first, second, groups) == pytest.approx(exact)
    drawn = approximate_randomisation(first, second, groups, resamples=400, seed=seed)
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 400) + 1 / 400)


def test_swaps_keep_a_dialogue_together():
    # Ten differences of 1 in two dialogues are two swaps, not ten.
    first, second = np.ones(10), np.zeros(10)
    assert approximate_randomisation(first, second, "aaaaabbbbb") == 0.5
    assert approximate_randomisation(first, second) == 2 / 2**10


def test_equal_systems_are_equal():
    values = [1, 0, 1, 1]
    assert approximate_randomisation(values, values) == 1.0
    assert paired_bootstrap(values, values, resamples=50) == {
        "difference": 0.0, "low": 0.0, "high": 0.0, "p": 1.0,
    }  # fmt: skip
    assert mcnemar(values, values) == {"p": 1.0, "only_first": 0, "only_second": 0}


@pytest.mark.parametrize("sign", [1, -1])
def test_the_sign_of_the_difference_does_not_change_the_p_value(sign):
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.3, 1, size=60), rng.normal(size=60)
    one, two = (first, second) if sign > 0 else (second, first)
    assert approximate_randomisation(one, two, seed=3) == approximate_randomisation(
        first, second, seed=3
    )
    result = paired_bootstrap(one, two)
    assert result["difference"] == pytest.approx(sign * (first - second).mean())
    assert result["p"] == pytest.approx(paired_bootstrap(first, second)["p"])


def test_bootstrap_of_differences_agrees_with_scipy():
    rng = np.random.default_rng(1)
    first, second = rng.random(150) + 0.05, rng.random(150)
    expected = bootstrap(
        (first, second),
        lambda one, two, axis=-1: one.mean(axis) - two.mean(axis),
        paired=True,
        n_resamples=4_000,
        method="percentile",
        vectorized=True,
        batch=500,
        rng=0,
    )
    result = paired_bootstrap(first, second, resamples=4_000)
    bounds = expected.confidence_interval
    error = np.sqrt(2 * 0.025 * 0.975 / 4_000) * expected.standard_error / 0.05845
    assert abs(result["low"] - bounds.low) < 4 * error
    assert abs(result["high"] - bounds.high) < 4 * error
    shares = [(expected.bootstrap_distribution <= 0).mean(), 1]
    assert result["p"] == pytest.approx(2 * min(shares), abs=0.02)


@pytest.mark.parametrize("gap", [0.0, 0.1, 0.2, 0.4])
def test_the_p_value_agrees_with_the_interval(gap):
    rng = np.random.default_rng(2)
    groups = np.repeat(np.arange(50), 3)
    first = rng.normal(gap, 1, size=150) + rng.normal(size=50).repeat(3)
    result = paired_bootstrap(first, np.zeros(150), groups)
    outside = result["low"] > 0 or result["high"] < 0
    assert outside == (result["p"] < 0.05)


def test_pairing_sees_what_separate_intervals_do_not():
    rng = np.random.default_rng(3)
    hard = rng.normal(0, 5, size=100)  # contexts differ much, systems a little but always
    result = paired_bootstrap(hard + 0.2 + rng.normal(0, 0.1, size=100), hard)
    assert result["low"] > 0.15
    assert result["p"] < 0.001


@pytest.mark.parametrize("test", ["bootstrap", "swaps", "mcnemar"])
def test_true_nulls_are_seldom_rejected(test):
    rng, rejected, rounds = np.random.default_rng(4), 0, 300
    groups = np.repeat(np.arange(40), 2)
    for number in range(rounds):
        dialogue = rng.normal(size=40).repeat(2)
        first, second = (dialogue + rng.normal(size=80) > 0 for _ in range(2))
        if test == "bootstrap":
            p = paired_bootstrap(first, second, groups, resamples=400, seed=number)["p"]
        elif test == "swaps":
            p = approximate_randomisation(first, second, groups, 400, number)
        else:
            p = mcnemar(first, second)["p"]
        rejected += p <= 0.05
    limit = {"bootstrap": 0.11, "swaps": 0.09, "mcnemar": 0.09}[test]  # 5 % and chance
    assert 0.005 <= rejected / rounds <= limit


@pytest.mark.parametrize("seed", range(6))
def test_mcnemar_agrees_with_statsmodels_and_scipy(seed):
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    rng = np.random.default_rng(seed)
    first, second = rng.random(80) < 0.8, rng.random(80) < 0.6
    table = [
        [(first & second).sum(), (first & ~second).sum()],
        [(~first & second).sum(), (~first & ~second).sum()],
    ]
    result = mcnemar(first, second)
    assert result["p"] == pytest.approx(tables.mcnemar(table, exact=True).pvalue)
    assert (result["only_first"], result["only_second"]) == (table[0][1], table[1][0])
    both = table[0][1] + table[1][0]
    assert result["p"] == pytest.approx(binomtest(table[0][1], both).pvalue)


def test_mcnemar_is_the_swap_test_of_single_responses():
    first, second = [1] * 9 + [0] * 3 + [1, 1], [0] * 9 + [1] * 3 + [1, 1]
    assert approximate_randomisation(first, second) == pytest.approx(mcnemar(first, second)["p"])


def test_bad_input_says_what_to_do():
    with pytest.raises(ValueError, match="3 values of the second system for 2 responses"):
        paired_bootstrap([1, 0], [1, 0, 1])
    with pytest.raises(ValueError, match="1 of 2 values of the first system are not finite"):
        approximate_randomisation([1, np.nan], [1, 0])
    with pytest.raises(ValueError, match="first_correct are 0 .no. or 1 .yes."):
        mcnemar([0.4, 1], [0, 1])
    with pytest.raises(ValueError, match="Pass at least one number"):
        mcnemar([], [])
