"""Power: what is stated is what is observed."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from dialeval.metrics import (
    balanced_interval,
    minimum_detectable,
    planted_power,
    sign_flip_test,
    wilson,
    with_seed_variance,
)
from dialeval.metrics.power import _sign_flip_p


def test_the_minimum_of_independent_pairs_by_hand():
    signs = np.tile([1, -1], 200)
    by_hand = 0.5 + (1.6449 + 0.8416) / (2 * 20) + 1 / (2 * 400)  # the last: half a step of sums
    assert minimum_detectable(signs) == pytest.approx(by_hand, abs=1e-4)
    assert minimum_detectable(signs, alpha=0.01) > minimum_detectable(signs)
    # Pairs of one dialogue go together: a quarter as many units, twice the error.
    groups = np.repeat(np.arange(100), 4).tolist()
    together = np.repeat(np.tile([1, -1], 50), 4)
    assert minimum_detectable(together, groups) - 0.5 == pytest.approx(
        2 * 0.0622 + 4 / 800, abs=1e-3
    )


@pytest.mark.parametrize("pairs", [20, 50, 150, 500])
def test_the_minimum_is_detected_in_80_percent_of_cases_by_the_exact_test(pairs):
    accuracy = minimum_detectable(np.tile([1, -1], pairs // 2))
    needed = next(k for k in range(pairs) if binom.sf(k - 1, pairs, 0.5) < 0.05)
    assert binom.sf(needed - 1, pairs, accuracy) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize("pairs", [20, 50, 150])
def test_power_is_that_of_the_exact_test_which_the_run_uses(pairs):
    """All planted pairs are decided correctly: a binomial, of which the power is known."""
    needed = next(k for k in range(pairs) if binom.sf(k - 1, pairs, 0.5) < 0.05)
    expected = binom.sf(needed - 1, pairs, 0.5 + 0.4 / 2)
    stated = planted_power(np.ones(pairs), 0.4, draws=4_000)
    assert stated == pytest.approx(expected, abs=0.03)


def test_the_normal_limit_decides_as_the_exact_test_does():
    rng, different = np.random.default_rng(5), 0
    for _ in range(1_000):
        groups = rng.integers(0, rng.integers(10, 60), rng.integers(20, 120))
        signs = rng.choice([-1, 0, 1], len(groups), p=[0.38, 0.04, 0.58])
        gains = np.bincount(groups, signs)
        different += (_sign_flip_p(gains) < 0.05) != (sign_flip_test(gains, seed=0) < 0.05)
    assert different <= 10
    pairs = np.repeat([2, -2], [16, 9])  # sums lie 4 apart
    assert _sign_flip_p(pairs) == pytest.approx(sign_flip_test(pairs, 0), abs=0.003)


def test_a_confidence_takes_the_evaluator_at_its_lower_bound():
    signs = np.repeat([1, -1], [120, 30])  # .8 [.740, ...] at 95 %, one-sided
    plain, careful = planted_power(signs, 0.4), planted_power(signs, 0.4, confidence=0.95)
    low = wilson(120, 150, level=0.9)[0]
    same = planted_power(signs, 0.4 * (low - 0.5) / 0.3)
    assert careful < plain and careful == pytest.approx(same, abs=0.03)
    assert planted_power(-signs, 0.4, confidence=0.95) < 0.1
    # Five pairs that were all correct do not make an evaluator that never errs.
    assert planted_power(np.ones(9), 1.0) == 1.0 > planted_power(np.ones(9), 1.0, confidence=0.95)


def observed(accuracy: float, share: float, pairs: int, draws: int, seed: int) -> float:
    """Detected shares among simulated runs: planted pairs are decided correctly at a rate."""
    rng, detected = np.random.default_rng(seed), 0
    for _ in range(draws):
        planted = rng.random(pairs) < share
        correct = rng.random(pairs) < np.where(planted, accuracy, 0.5)
        detected += sign_flip_test(np.where(correct, 1, -1), seed=0) < 0.05
    return detected / draws


@pytest.mark.parametrize(("accuracy", "share"), [(0.9, 0.2), (0.9, 0.1), (0.7, 0.2), (0.5, 0.2)])
def test_the_stated_power_is_the_observed_one(accuracy, share):
    rng = np.random.default_rng(3)
    signs = np.where(rng.random(2_000) < accuracy, 1, -1)  # what a run knows of its evaluator
    stated = planted_power(signs[:500], share, draws=1_000)
    assert stated == pytest.approx(observed(accuracy, share, 500, 1_000, 1), abs=0.08)


def test_power_grows_with_the_share_the_accuracy_and_the_number_of_pairs():
    good, weak = np.tile([1, 1, 1, -1], 100), np.tile([1, 1, 1, -1, -1], 80)
    assert planted_power(good, 0.05) < planted_power(good, 0.2) < planted_power(good, 0.5)
    assert (
        planted_power(weak, 0.2) < planted_power(good, 0.2) < planted_power(np.tile(good, 4), 0.2)
    )
    assert planted_power(good, 0.2, alpha=0.025) < planted_power(good, 0.2)
    assert planted_power(good, 0.2, seed=1) == planted_power(good, 0.2, seed=1)


def test_an_interval_with_seeds_covers_the_mean_over_trainings():
    """A number that varies by its sample of dialogues and by its training."""
    rng, covered, conditional = np.random.default_rng(0), 0, 0
    truth, sampling, training = 0.6, 0.01, 0.015
    for _ in range(2_000):
        sampled = truth + sampling * rng.normal()
        seeds = sampled + training * rng.normal(size=3)
        low, high = seeds[0] - 1.96 * sampling, seeds[0] + 1.96 * sampling
        conditional += low <= truth <= high
        low, high = with_seed_variance(seeds[0], low, high, seeds.tolist())
        covered += low <= truth <= high
    assert conditional / 2_000 < 0.75  # for one training alone it is much too narrow
    assert covered / 2_000 > 0.92  # three seeds know their spread only roughly


def test_an_interval_with_seeds_stays_within_0_and_1():
    assert with_seed_variance(0.99, 0.98, 1.0, [0.99, 0.9, 0.95])[1] == 1.0
    assert with_seed_variance(0.01, 0.0, 0.02, [0.01, 0.1, 0.05])[0] == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(("contexts", "conditional"), [(150, 0.9), (400, 0.97)])
def test_intervals_with_seeds_cover_the_truth_of_cross_fitting(contexts, conditional):
    """A Gaussian world: the error of a regression that is trained on four fifths of it."""
    rng, d = np.random.default_rng(0), 30
    shift = np.where(np.arange(d) < 6, 0.35, 0.0)

    def sample(n):
        labels = np.repeat([1, 0], n)
        return (
            rng.normal(size=(2 * n, d)) + labels[:, None] * shift,
            labels,
            np.tile(np.arange(n), 2),
        )

    def errors(features, labels, context, seed):
        fold = (np.random.default_rng(seed).permutation(contexts) % 5)[context]
        wrong = np.empty(len(labels))
        for number in range(5):
            test = fold == number
            model = LogisticRegression(C=0.05).fit(features[~test], labels[~test])
            wrong[test] = model.predict(features[test]) != labels[test]
        return wrong

    def true_error():
        features, labels, _ = sample(int(0.8 * contexts))
        others, truth, _ = sample(2_000)
        return 1 - LogisticRegression(C=0.05).fit(features, labels).score(others, truth)

    truth, covered, narrow, repetitions = np.mean([true_error() for _ in range(100)]), 0, 0, 200
    for _ in range(repetitions):
        features, labels, context = sample(contexts)
        wrong = [errors(features, labels, context, seed) for seed in range(3)]
        values = [float(item.mean()) for item in wrong]
        low, high = balanced_interval(wrong[0], labels, context.tolist(), resamples=2_000)
        narrow += low <= truth <= high
        low, high = with_seed_variance(values[0], low, high, values)
        covered += low <= truth <= high
    rates = covered / repetitions, narrow / repetitions
    print(f"{contexts} contexts: {rates[0]:.3f}, without seeds {rates[1]:.3f}")
    assert rates[1] <= conditional
    assert rates[0] >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / repetitions)
