"""Intervals, against scipy, statsmodels, plain resampling and simulated coverage."""

import numpy as np
import pytest
from scipy.stats import binomtest, bootstrap

from dialeval.metrics.intervals import (
    balanced_interval,
    interval,
    mean_of_ratios,
    ratio_interval,
    sums_interval,
)
from dialeval.metrics.resampling import resampled_sums
from dialeval.metrics.share_intervals import wilson

RESAMPLES = 4_000


def by_hand(values, groups, statistic, seed=1) -> np.ndarray:
    """The statistic of whole groups drawn one by one: slow, plain and independent."""
    rng, names = np.random.default_rng(seed), np.unique(groups)
    rows = [np.flatnonzero(groups == name) for name in names]
    statistics = []
    for _ in range(RESAMPLES):
        drawn = np.concatenate([rows[k] for k in rng.integers(len(names), size=len(names))])
        statistics.append(statistic(values[drawn], drawn))
    return np.array(statistics)


def assert_close(bounds, resampled) -> None:
    """Both bounds within 4 Monte-Carlo standard errors of a quantile, for two independent draws."""
    spread = np.std(resampled)
    expected = np.quantile(resampled, [0.025, 0.975])
    density = 0.05845 / spread  # of a normal distribution at its 2.5 % point
    error = np.sqrt(2 * 0.025 * 0.975 / RESAMPLES) / density
    assert np.abs(np.array(bounds) - expected).max() < 4 * error


@pytest.mark.parametrize(("successes", "n"), [(0, 10), (10, 10), (3, 10), (481, 1000), (1, 1)])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_wilson_agrees_with_scipy_and_statsmodels(successes, n, level):
    bounds = wilson(successes, n, level)
    expected = binomtest(successes, n).proportion_ci(level, method="wilson")
    assert bounds == pytest.approx((expected.low, expected.high), abs=1e-12)
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    other = proportion.proportion_confint(successes, n, 1 - level, method="wilson")
    assert bounds == pytest.approx(other, abs=1e-12)


def test_wilson_refuses_impossible_counts():
    with pytest.raises(ValueError, match="got 4 of 3"):
        wilson(4, 3)
    with pytest.raises(ValueError, match="n > 0, got 0 of 0"):
        wilson(0, 0)


@pytest.mark.parametrize("kind", ["zeros and ones", "fractions"])
@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_single_responses_agree_with_scipy(kind, method):
    rng = np.random.default_rng(0)
    values = (rng.random(300) < 0.2).astype(float) if kind[0] == "z" else rng.exponential(size=300)
    expected = bootstrap(
        (values,), np.mean, n_resamples=RESAMPLES, method=method, vectorized=True, batch=500, rng=1
    )
    bounds = interval(
        values, method="bca" if method == "BCa" else "bootstrap", resamples=RESAMPLES, seed=2
    )
    low, high = expected.confidence_interval
    error = np.sqrt(2 * 0.025 * 0.975 / RESAMPLES) * expected.standard_error / 0.05845
    assert abs(bounds[0] - low) < 4 * error
    assert abs(bounds[1] - high) < 4 * error


def test_bca_shifts_the_bounds_of_skewed_values_up():
    values = np.random.default_rng(3).lognormal(sigma=1.5, size=60)
    plain, shifted = (interval(values, method=method) for method in ("bootstrap", "bca"))
    assert shifted[0] > plain[0]
    assert shifted[1] > plain[1] + 0.1


@pytest.mark.parametrize("kind", ["zeros and ones", "fractions"])
def test_dialogues_are_drawn_whole(kind):
    rng = np.random.default_rng(4)
    groups = rng.integers(40, size=200)
    values = rng.normal(groups / 10, 1)  # responses of a dialogue correlate
    values = (values > 2).astype(float) if kind[0] == "z" else values
    resampled = by_hand(values, groups, lambda drawn, _: drawn.mean())
    bounds = interval(values, groups, method="bootstrap", resamples=RESAMPLES)
    assert_close(bounds, resampled)
    alone = interval(values, method="bootstrap", resamples=RESAMPLES)
    assert bounds[1] - bounds[0] > 1.5 * (alone[1] - alone[0])


def test_few_and_many_distinct_rows_give_the_same_distribution():
    table = np.column_stack([np.repeat([0.0, 1.0, 3.0], [70, 20, 10]), np.ones(100)])
    few = resampled_sums(table, RESAMPLES, 0)
    nudged = table + np.linspace(0, 1e-7, 100)[:, None]  # now all rows differ
    many = resampled_sums(nudged, RESAMPLES, 0)
    assert few[:, 1] == pytest.approx(np.full(RESAMPLES, 100.0))
    assert few[:, 0].mean() == pytest.approx(50, abs=4 * 9.22 / np.sqrt(RESAMPLES))
    assert few[:, 0].std() == pytest.approx(table[:, 0].std() * 10, rel=0.05)
    assert many[:, 0].mean() == pytest.approx(few[:, 0].mean(), abs=6 * 9.22 / np.sqrt(RESAMPLES))
    assert many[:, 0].std() == pytest.approx(few[:, 0].std(), rel=0.07)


def test_columns_of_a_unit_are_drawn_together():
    table = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    for rows in (table, np.repeat(table, 30, axis=0)):
        sums = resampled_sums(rows, 200, 0)
        assert sums[:, 1] == pytest.approx(10 * sums[:, 0])
        assert len(np.unique(sums[:, 0])) > 3


def test_ratio_weighs_units_by_their_size():
    rng = np.random.default_rng(5)
    sizes = rng.integers(1, 30, size=50)
    parts = rng.binomial(sizes, 0.3)
    resampled = by_hand(parts, np.arange(50), lambda drawn, rows: drawn.sum() / sizes[rows].sum())
    bounds = ratio_interval(parts, sizes, method="bootstrap", resamples=RESAMPLES)
    assert_close(bounds, resampled)


def test_units_without_responses_are_allowed():
    low, high = ratio_interval([1, 0, 0], [2, 2, 0], resamples=500)
    assert (low, high) == (0.0, 0.5)
    assert np.isnan(ratio_interval([0, 0], [0, 0], resamples=50, method="bca")).all()


@pytest.mark.parametrize("classes", [(60, 60), (150, 30)])
def test_both_classes_have_the_same_weight(classes):
    rng = np.random.default_rng(6)
    labels = np.repeat([True, False], classes)
    groups = rng.integers(45, size=len(labels))
    values = (rng.random(len(labels)) < np.where(labels, 0.2, 0.6)).astype(float)

    def balanced(drawn, rows):
        return (drawn[labels[rows]].mean() + drawn[~labels[rows]].mean()) / 2

    resampled = by_hand(values, groups, balanced)
    settings = {"method": "bootstrap", "resamples": RESAMPLES}
    assert_close(balanced_interval(values, labels, groups, **settings), resampled)


def test_auto_is_nearly_wilson_for_many_independent_trials():
    values = [1] * 300 + [0] * 700
    assert interval(values) == pytest.approx(wilson(300, 1_000), abs=2e-4)
    assert balanced_interval(values, [1, 0] * 500) == pytest.approx(wilson(300, 1_000), abs=2e-4)
    few = [1] * 3 + [0] * 7
    assert interval(few, method="wilson", level=0.9) == pytest.approx(wilson(3, 10, 0.9))
    assert balanced_interval(few, [1, 0] * 5, method="wilson") == pytest.approx(wilson(3, 10))
    low, high = interval(few)
    assert low < wilson(3, 10)[0] < wilson(3, 10)[1] < high


def test_auto_counts_dialogues_if_all_values_are_equal():
    assert interval([1, 1, 1, 1], "aabb") == pytest.approx(wilson(2, 2))
    assert interval([0, 0, 0, 0], "aabb") == pytest.approx(wilson(0, 2))
    assert interval([0, 0, 0, 0], "aabb", method="bootstrap") == (0.0, 0.0)  # equal resamples
    assert interval([0, 0, 1, 0], "aabb", method="bootstrap") == (0.0, 0.5)
    sizes = np.array([4, 1, 1])  # by Kish, 36 / 18 = 2 dialogues
    assert interval(np.ones(6), np.repeat([0, 1, 2], sizes)) == pytest.approx(wilson(2, 2))


def test_a_small_class_keeps_the_interval_wide_if_all_values_are_equal():
    # Independent: the variance v / 4 (1 / n1 + 1 / n0) is that of 4 / (1 / 90 + 1 / 10) = 36.
    labels = [1] * 90 + [0] * 10
    assert balanced_interval(np.zeros(100), labels) == pytest.approx(wilson(0, 36))
    # A human and a machine response to each of 50 contexts: no more than 50 units.
    pairs = [*range(50), *range(50)]
    bounds = balanced_interval(np.ones(100), [1] * 50 + [0] * 50, pairs)
    assert bounds == pytest.approx(wilson(50, 50))


def test_one_dialogue_gives_no_interval():
    assert np.isnan(interval([1, 0, 1], "aaa")).all()
    assert not np.isnan(interval([1, 1, 1], "aaa", method="auto")).any()  # Wilson with n = 1


def test_constant_fractions_have_no_width():
    assert interval([0.25] * 4, method="bca", resamples=50) == (0.25, 0.25)


def test_a_seed_repeats_and_another_differs():
    values = np.random.default_rng(7).normal(size=50)
    assert interval(values, seed=1) == interval(values, seed=1)
    assert interval(values, seed=1) != interval(values, seed=2)
    narrow, wide = interval(values, level=0.5), interval(values, level=0.99)
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("method", ["bootstrap", "bca"])
def test_clustered_intervals_cover_the_truth(method):
    rng, covered, rounds = np.random.default_rng(8), 0, 300
    for number in range(rounds):
        shares = rng.beta(4, 2, size=80)  # dialogues differ
        values = (rng.random((80, 4)) < shares[:, None]).astype(float).ravel()
        groups = np.repeat(np.arange(80), 4)
        low, high = interval(values, groups, method=method, resamples=500, seed=number)
        covered += low <= 4 / 6 <= high
    assert 0.90 <= covered / rounds <= 0.985


def test_any_statistic_of_sums_is_accepted():
    table = np.column_stack([np.arange(20.0), np.ones(20)])
    bounds = sums_interval(table, lambda sums: sums[..., 0] / sums[..., 1], resamples=500, seed=3)
    assert bounds == interval(np.arange(20.0), resamples=500, seed=3)
    plain = interval(np.arange(20.0), method="bootstrap", resamples=500, seed=3)
    assert bounds[0] < plain[0] < plain[1] < bounds[1]  # Student's t of 20 units
    assert mean_of_ratios(np.array([1.0, 4.0, 3.0, 4.0])) == 0.5


def test_bad_input_says_what_to_do():
    with pytest.raises(ValueError, match="Unknown method 'exact'. Choose one of auto, bootstrap"):
        interval([1, 0], method="exact")
    with pytest.raises(ValueError, match="Unknown method 'wilson'. Choose auto, bootstrap or bca"):
        ratio_interval([1, 0], [1, 1], method="wilson")
    for arguments in (([0.5, 1],), ([1, 0, 1], "aab")):
        with pytest.raises(ValueError, match="needs values 0 and 1, one in each group"):
            interval(*arguments, method="wilson")
    with pytest.raises(ValueError, match="classes of equal size"):
        balanced_interval([1, 0, 1], [1, 1, 0], method="wilson")
    with pytest.raises(ValueError, match="Pass at least one number"):
        interval([])
    with pytest.raises(ValueError, match="1 of 2 values are not finite"):
        interval([1, np.inf])
    with pytest.raises(ValueError, match="3 groups for 2 responses"):
        interval([1, 0], "abc")
    with pytest.raises(ValueError, match="1 of 2 groups are missing"):
        interval([1, 0], ["a", None])
    with pytest.raises(ValueError, match="such as 0.95, not 95"):
        interval([0.1, 0.2], level=95)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        interval([0.1, 0.2], method="bootstrap", resamples=0)
    with pytest.raises(ValueError, match="2 wholes for 3 responses"):
        ratio_interval([1, 2, 3], [1, 2])


def test_an_evaluator_that_takes_everything_for_human_is_not_certain_of_a_half():
    """Every dialogue has one decision of each kind, so that every resample gives one half."""
    correct, labels = np.tile([1, 0], 100), np.tile([1, 0], 100)
    groups = np.repeat(np.arange(100), 2).tolist()
    assert balanced_interval(correct, labels, groups) == pytest.approx(wilson(50, 100))
    assert balanced_interval(correct, labels, groups, level=0.975)[1] > 0.57
    assert balanced_interval(correct, labels, groups, method="bootstrap") == (0.5, 0.5)
    correct[0] = 0  # one decision differs: now there is a spread
    low, high = balanced_interval(correct, labels, groups)
    assert high - low < 0.03
