"""Calibration, against hand-computed cases, brute force and scikit-learn."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, brier_score_loss

from dialeval.metrics.calibration import (
    brier_score,
    expected_calibration_error,
    fit_isotonic,
    fit_temperature,
    threshold_for_accuracy,
)


def random_margins(seed: int, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Margins that are overconfident about their labels."""
    rng = np.random.default_rng(seed)
    margins = rng.normal(0, 4, size=n)
    return margins, (rng.random(n) < 1 / (1 + np.exp(-margins / 3))).astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_brier_agrees_with_scikit_learn(seed):
    margins, labels = random_margins(seed)
    probabilities = 1 / (1 + np.exp(-margins))
    expected = brier_score_loss(labels, probabilities)
    assert brier_score(probabilities, labels) == pytest.approx(expected)


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_calibration_error_agrees_with_the_reliability_curve(bins):
    margins, labels = random_margins(0)
    probabilities = 1 / (1 + np.exp(-margins))
    share, mean = calibration_curve(labels, probabilities, n_bins=bins)
    counts = np.histogram(probabilities, bins, (0, 1))[0]
    expected = np.abs(share - mean) @ counts[counts > 0] / len(labels)
    assert expected_calibration_error(probabilities, labels, bins) == pytest.approx(expected)


def test_calibration_error_by_hand():
    # One bin of [0, .5] with mean .25 and no human, one of (.5, 1] with mean .75 and all human.
    assert expected_calibration_error([0.0, 0.5, 0.6, 0.9], [0, 0, 1, 1], 2) == pytest.approx(0.25)
    assert expected_calibration_error([0.5, 0.5], [1, 0]) == 0.0
    assert expected_calibration_error([1.0, 0.0], [0, 1]) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_temperature_is_the_one_coefficient_of_logistic_regression(seed):
    margins, labels = random_margins(seed)
    model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10)
    slope = model.fit(margins[:, None], labels).coef_[0, 0]
    assert fit_temperature(margins, labels) == pytest.approx(1 / slope, rel=1e-4)


def test_temperature_fixes_overconfident_margins():
    margins, labels = random_margins(1, 4000)
    temperature = fit_temperature(margins, labels)
    assert temperature == pytest.approx(3, rel=0.15)
    before, after = (1 / (1 + np.exp(-margins / divisor)) for divisor in (1, temperature))
    assert (
        expected_calibration_error(after, labels) < expected_calibration_error(before, labels) / 3
    )
    assert brier_score(after, labels) < brier_score(before, labels)


def test_temperature_stays_within_bounds():
    assert fit_temperature([3.0, -3.0], [1, 0]) == pytest.approx(0.01, rel=0.5)
    assert fit_temperature([3.0, -3.0], [0, 1]) == pytest.approx(100, rel=0.01)
    assert fit_temperature([900.0, 800.0, -900.0], [1, 0, 0]) <= 100


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("higher_is_human", [True, False])
def test_no_threshold_is_better(seed, higher_is_human):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat([0, 1], [20, 13]))
    scores = np.round(rng.normal(labels if higher_is_human else -labels, 1.5), 1)  # with ties

    def accuracy(threshold):
        predicted = scores >= threshold if higher_is_human else scores <= threshold
        return balanced_accuracy_score(labels, predicted)

    threshold, false_positive_rate = threshold_for_accuracy(scores, labels, higher_is_human)
    best = max(accuracy(candidate) for candidate in np.arange(-6, 6, 0.05))
    assert accuracy(threshold) == pytest.approx(best)
    human = scores[labels == 1]
    below = human < threshold if higher_is_human else human > threshold
    assert false_positive_rate == pytest.approx(below.mean())


def test_ties_go_to_the_middle():
    # .1|.2 and .6|.7 both get three of four.
    assert threshold_for_accuracy([0.1, 0.2, 0.6, 0.7], [0, 1, 0, 1])[0] == pytest.approx(0.65)
    # Beyond [0, 1] the median is the middle, here 11: -3.5 is nearer to it than 45.
    assert threshold_for_accuracy([-9, 2, 20, 70], [0, 1, 0, 1]) == (-3.5, 0.0)


def test_threshold_of_constant_and_of_neighbouring_scores():
    assert threshold_for_accuracy([0.5, 0.5], [1, 0]) == (0.5, 0.0)
    above = np.nextafter(0.5, 1)
    assert threshold_for_accuracy([0.5, above], [0, 1]) == (above, 0.0)
    assert threshold_for_accuracy([-4.0, -1.0], [1, 0], higher_is_human=False) == (-2.5, 0.0)


@pytest.mark.parametrize(
    "measure", [brier_score, expected_calibration_error, fit_temperature, threshold_for_accuracy]
)
def test_bad_input_says_what_to_do(measure):
    with pytest.raises(ValueError, match="all 2 responses are human. Pass both kinds"):
        measure([0.5, 0.6], [1, 1])
    with pytest.raises(ValueError, match="1 of 2 .* are not finite numbers. Drop these rows"):
        measure([0.5, np.nan], [1, 0])
    with pytest.raises(ValueError, match="two lists of the same length"):
        measure([0.5, 0.6, 0.7], [1, 0])
    with pytest.raises(ValueError, match="there are no responses"):
        measure([], [])
    with pytest.raises(ValueError, match="Labels are 1 .human. or 0"):
        measure([0.5, 0.6], [1, 2])


@pytest.mark.parametrize("measure", [brier_score, expected_calibration_error])
def test_margins_are_not_probabilities(measure):
    with pytest.raises(ValueError, match="range from -2 to 3. Pass margins through a sigmoid"):
        measure([-2.0, 3.0], [0, 1])


def test_bins_are_counted_from_one():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        expected_calibration_error([0.1, 0.9], [0, 1], bins=0)


def test_isotonic_is_the_smoothed_regression_of_scikit_learn():
    rng = np.random.default_rng(0)
    margins = np.round(rng.normal(size=400), 1)  # with ties
    human = rng.random(400) < 1 / (1 + np.exp(-margins * 3))
    corners, levels = fit_isotonic(margins, human)
    assert corners == sorted(corners)
    assert levels == sorted(levels)
    assert 0 < levels[0] < levels[-1] < 1
    calibrated = np.interp(margins, corners, levels)
    plain = IsotonicRegression().fit(margins, human).predict(margins)
    highest = 0.0
    for level in np.unique(plain):
        block = plain == level
        highest = max(highest, (human[block].sum() + 0.5) / (block.sum() + 1))
        np.testing.assert_allclose(calibrated[block], highest)


def test_isotonic_of_uninformative_margins_is_flat():
    _, levels = fit_isotonic([2.0, 1.0, -1.0, -2.0], [0, 0, 1, 1])
    assert levels == [0.5, 0.5]
