"""Preferences: an exact test, intervals, and a logistic regression for Bradley-Terry."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import binomtest
from statsmodels.stats.descriptivestats import sign_test

from dialeval.judgements import bradley_terry, ratings_as_preferences, win_rate
from dialeval.judgements.planning import (
    items_for_difference,
    judgements_for_preference,
    judgements_for_share,
)
from dialeval.judgements.preference import log_strengths


def test_single_turn_row_of_li_et_al():
    """Table 4: 200 items, .62 win, .18 lose, .20 tie."""
    outcomes = ["win"] * 124 + ["lose"] * 36 + ["tie"] * 40
    result = win_rate(outcomes, resamples=500)
    assert (result["win"], result["lose"], result["tie"]) == (0.62, 0.18, 0.20)
    assert result["p_value"] == binomtest(124, 160).pvalue
    gaps = [1] * 124 + [-1] * 36 + [0] * 40
    assert result["p_value"] == pytest.approx(sign_test(gaps)[1])
    assert result["win_low"] == pytest.approx(0.555, abs=0.015)  # Wilson's: .551 to .684
    assert result["win_high"] == pytest.approx(0.685, abs=0.015)
    assert result["net"] == pytest.approx(0.44) and result["net_low"] > 0.3


def test_three_annotators_of_an_item_are_one_unit():
    outcomes = ["win", "win", "lose"] * 5 + ["lose", "lose", "tie"] * 3 + ["win", "lose", "tie"]
    groups = [index // 3 for index in range(len(outcomes))]
    result = win_rate(outcomes, groups, resamples=50)
    assert (result["items_won"], result["items_lost"], result["n_items"]) == (5, 3, 9)
    assert result["p_value"] == binomtest(5, 8).pvalue
    alone = win_rate(outcomes * 10, resamples=50)
    assert alone["n_items"] == 270


def test_only_ties_settle_nothing():
    assert win_rate(["tie"] * 4, resamples=5)["p_value"] == 1.0


def test_all_wins_of_a_few_items_are_no_certainty():
    result = win_rate(["win"] * 15, ["abcde"[n // 3] for n in range(15)], resamples=50)
    assert (result["win"], result["win_high"]) == (1.0, 1.0)
    assert result["win_low"] == pytest.approx(5 / (5 + 1.96**2), abs=1e-4)  # Wilson, n = 5 items
    assert result["net_low"] == pytest.approx(2 * result["win_low"] - 1)
    assert (result["tie"], result["tie_low"]) == (result["lose"], result["lose_low"]) == (0.0, 0.0)
    assert result["tie_high"] == pytest.approx(1 - result["win_low"])


def test_bad_outcomes_are_named():
    with pytest.raises(ValueError, match="there is 'better'"):
        win_rate(["win", "better"])
    with pytest.raises(ValueError, match="1 groups for 2 outcomes"):
        win_rate(["win", "win"], ["a"])
    with pytest.raises(ValueError, match="no judgements"):
        win_rate([])


def simulated(n: int = 900):
    rng, strength = np.random.default_rng(3), {"a": 1.0, "b": 0.2, "c": -0.1, "d": -1.1}
    rows = []
    for _ in range(n):
        first, second = rng.choice(list(strength), 2, replace=False)
        chance = 1 / (1 + np.exp(strength[second] - strength[first]))
        outcome = "tie" if rng.random() < 0.1 else "win" if rng.random() < chance else "lose"
        rows.append((str(first), str(second), outcome))
    return rows


def test_strengths_are_those_of_a_logistic_regression():
    rows, names = simulated(), ["a", "b", "c", "d"]
    design, target, weight = [], [], []
    for first, second, outcome in rows:
        row = [(name == first) - (name == second) for name in names[1:]]
        for value, share in (("win", 1.0), ("lose", 0.0)):
            weight.append(0.5 if outcome == "tie" else float(outcome == value))
            design.append(row)
            target.append(share)
    binomial = sm.families.Binomial()
    fit = sm.GLM(
        np.array(target), np.array(design, dtype=float), binomial, freq_weights=weight
    ).fit()
    expected = np.array([0.0, *fit.params])
    expected -= expected.mean()
    result = {row.system: row for row in bradley_terry(rows, resamples=60)}
    assert [result[name].strength for name in names] == pytest.approx(expected.tolist(), abs=1e-5)
    truth = np.array([1.0, 0.2, -0.1, -1.1])
    for name, value in zip(names, truth, strict=True):
        assert result[name].low - 0.1 < value < result[name].high + 0.1
    assert (result["a"].rank_low, result["a"].rank_high) == (1, 1)
    assert (result["d"].rank_low, result["d"].rank_high) == (4, 4)


def test_an_unbeaten_system_stays_finite():
    strengths = log_strengths(np.array([[0.0, 5.0], [0.0, 0.0]]))
    assert np.isfinite(strengths).all() and strengths[0] > 5


def test_ratings_of_one_item_become_pairs():
    rows, items = ratings_as_preferences({"x": {"b": 1.0, "a": 2.0}, "y": {"a": 1.0, "b": 1.0}})
    assert rows == [("a", "b", "win"), ("a", "b", "tie")] and items == ["x", "y"]


# How many judgements


@pytest.mark.parametrize("share", [0.6, 0.75])
def test_the_planned_number_has_the_planned_power(share):
    n = judgements_for_share(share)
    rng = np.random.default_rng(0)
    significant = [binomtest(int(hits), n).pvalue < 0.05 for hits in rng.binomial(n, share, 400)]
    assert np.mean(significant) == pytest.approx(0.8, abs=0.07)


def test_ties_need_more_items():
    assert judgements_for_preference(6, 4, 10) == 2 * judgements_for_preference(6, 4)
    assert judgements_for_preference(0, 0, 5) is None and judgements_for_preference(5, 5) is None


def test_items_for_a_difference_of_ratings():
    from statsmodels.stats.power import TTestPower

    exact = TTestPower().solve_power(effect_size=0.2, power=0.8, alpha=0.05)
    assert items_for_difference(0.2, 1.0) == pytest.approx(exact, abs=3)
    assert items_for_difference(0.0, 1.0) is None


def test_ties_only_do_not_show_that_systems_are_equal():
    result = win_rate(["tie"] * 5)
    assert result["net"] == 0 and result["net_low"] < -0.2 and result["net_high"] > 0.2
