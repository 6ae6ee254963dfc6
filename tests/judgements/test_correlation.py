"""Correlations against scipy, a published example of Williams' test, and its false alarms."""

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr, spearmanr

from dialeval.judgements import correlate, williams_test
from dialeval.judgements.correlation import correlation_gap


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(6, 1))
    ratings = quality + rng.normal(size=(6, 80))
    metric = quality + 2 * rng.normal(size=(6, 80))
    ratings[2, 5] = np.nan
    return metric, ratings


@pytest.mark.parametrize(
    ("name", "function"), [("pearson", pearsonr), ("spearman", spearmanr), ("kendall", kendalltau)]
)
def test_coefficients_are_those_of_scipy(data, name, function):
    metric, ratings = data
    present = np.isfinite(ratings)
    result = correlate(metric, ratings, name, "item", resamples=30)
    assert result.value == pytest.approx(function(metric[present], ratings[present]).statistic)
    means = [np.where(present, values, 0).sum(1) / present.sum(1) for values in (metric, ratings)]
    result = correlate(metric, ratings, name, "system", resamples=30)
    assert result.value == pytest.approx(function(*means).statistic)
    assert (result.n_systems, result.n_items, result.n) == (6, 80, 479)
    assert result.low <= result.value <= result.high


def test_drawing_systems_too_widens_the_interval(data):
    metric, ratings = data
    widths = {
        drawn: (lambda row: row.high - row.low)(
            correlate(metric, ratings, "pearson", resampled=drawn, resamples=300)
        )
        for drawn in ("items", "both")
    }
    assert widths["both"] > 1.5 * widths["items"]


def test_a_constant_metric_has_no_correlation(data):
    assert np.isnan(correlate(np.ones((6, 80)), data[1], resamples=5).value)


def test_bad_names_and_shapes_are_refused(data):
    with pytest.raises(ValueError, match="Choose one of pearson, spearman, kendall"):
        correlate(*data, "rho")
    with pytest.raises(ValueError, match="same shape"):
        correlate(data[0][:3], data[1])


def test_williams_example_of_howells_textbook():
    """Statistical Methods for Psychology, 6th edition, p. 262: t(23) = 1.36, p = .187."""
    statistic, p_value = williams_test(0.80, 0.72, 0.89, 26)
    assert statistic == pytest.approx(1.361, abs=5e-4) and p_value == pytest.approx(0.187, abs=5e-4)
    assert williams_test(0.72, 0.80, 0.89, 26)[0] == -statistic


def test_williams_test_keeps_its_level():
    """Two metrics of the same quality differ significantly in 5 % of the samples."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(800):
        human = rng.normal(size=30)
        first, second = human + rng.normal(size=30), human + rng.normal(size=30)
        r = np.corrcoef([human, first, second])
        alarms += williams_test(r[0, 1], r[0, 2], r[1, 2], 30)[1] < 0.05
    assert 0.03 < alarms / 800 < 0.075


def test_williams_test_needs_points():
    with pytest.raises(ValueError, match="4 points or more"):
        williams_test(0.5, 0.4, 0.3, 3)
    assert williams_test(0.5, 0.5, 1.0, 10) == (0.0, 1.0)


def test_the_gap_of_two_metrics_is_the_difference_of_their_correlations(data):
    metric, ratings = data
    better = np.where(np.isfinite(ratings), ratings, 0)
    gap, low, high = correlation_gap(better, metric, ratings, "pearson", "item", resamples=100)
    first, second = (
        correlate(values, ratings, "pearson", "item", resamples=2).value
        for values in (better, metric)
    )
    assert gap == pytest.approx(first - second) and 0 < low <= gap <= high


def test_systems_without_scores_are_not_drawn(data):
    metric, ratings = data
    empty = np.full((5, 80), np.nan)
    padded = np.vstack([metric, empty]), np.vstack([ratings, np.ones((5, 80))])
    assert correlate(*padded, resamples=50) == correlate(metric, ratings, resamples=50)
    gaps = [correlation_gap(one, one**2, two, resamples=20) for one, two in (padded, data)]
    assert gaps[0] == gaps[1]
