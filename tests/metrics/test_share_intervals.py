"""Intervals of shares in dialogues: by hand, against statsmodels, and how often they are right."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import norm, t
from statsmodels.stats.proportion import proportion_confint

from dialeval.metrics import share_intervals
from dialeval.metrics.intervals import balanced_interval, interval, mean_of_ratios, sums_interval
from dialeval.metrics.share_intervals import clustered_wilson, wilson

SIDES = {
    "one side": lambda share: (share,),
    "a pair": lambda share: (share, share),
    "unequal sides": lambda share: ((1 + share) / 2, 2 * share - (1 + share) / 2),
}


def test_one_error_in_four_dialogues_by_hand():
    values, groups = [1, 1, 1, 1, 1, 0, 1, 1], "aabbccdd"
    # Of each dialogue the sum minus 7 / 8 of its size, over 8: 1, 1, -3 and 1 times 1 / 32.
    variance = 4 / 3 * 12 / 32**2
    seen = 12**2 / (3 * 1**4 + 3**4)
    together = 7 / 64 / 4  # if both responses of a dialogue always agreed
    pooled = (seen * variance + together / 3) / (seen + 1 / 3)
    ratio = 3.1824463**2 / (7 / 64 / pooled)  # Student's t of 3 degrees of freedom
    centre, half = 7 / 8 + ratio / 2, np.sqrt(7 / 64 * ratio + ratio**2 / 4)
    expected = (centre - half) / (1 + ratio), (centre + half) / (1 + ratio)
    assert expected == pytest.approx((0.2943, 0.9916), abs=1e-4)
    assert interval(values, groups) == pytest.approx(expected, abs=1e-7)


def test_without_the_pooling_it_is_that_of_survey_statistics(monkeypatch):
    """Dean and Pagano (2015): Wilson's with n / design effect * (z / t)²."""
    monkeypatch.setattr(share_intervals, "_PRIOR", 0)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(25), 4)  # of equal sizes: Kish's number is that of dialogues
    values = (rng.random(100) < rng.beta(4, 2, 25)[groups]).astype(float)
    fit = sm.OLS(values, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    share = values.mean()
    n = share * (1 - share) / fit.cov_params()[0, 0] * (norm.ppf(0.975) / t.ppf(0.975, 24)) ** 2
    expected = proportion_confint(share * n, n, method="wilson")
    assert interval(values, groups) == pytest.approx(expected, abs=1e-9)


def test_responses_that_always_agree_count_as_one():
    values, groups = np.tile([1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1], 3), np.tile(np.arange(10), 3)
    assert interval(values, groups) == pytest.approx(interval(values[:10]))
    low, high = interval(values)
    assert high - low < 0.7 * np.ptp(interval(values, groups))


def test_dialogues_without_any_spread_are_no_certainty():
    half = interval([1, 0] * 20, np.repeat(np.arange(20), 2))  # one of two, in every dialogue
    assert half[0] < 0.3 and half[1] > 0.7
    ties = interval([0.5] * 20)
    assert ties == pytest.approx((0.5 - wilson(0, 20)[1] / 2, 0.5 + wilson(0, 20)[1] / 2))


def test_one_error_leaves_more_room_than_none():
    """The first error may not make the interval narrower on its other side."""
    groups = np.repeat(np.arange(60), 6)
    values = np.ones(360)
    low_of_none, _ = interval(values, groups)
    values[0] = 0
    low, _ = interval(values, groups)
    assert low == pytest.approx(low_of_none, abs=0.04)
    assert low < proportion_confint(359, 360, method="wilson")[0]


def test_shares_that_are_no_decisions_are_not_widened_to_those():
    values = 0.8 + 0.01 * np.random.default_rng(1).standard_normal(60)
    low, high = interval(values, np.repeat(np.arange(20), 3))
    plain = interval(values, np.repeat(np.arange(20), 3), method="bootstrap")
    assert high - low < 1.4 * np.ptp(plain) < 0.01


def decisions(
    dialogues: int, sides: tuple[float, ...], correlation: float, rng: np.random.Generator
) -> np.ndarray:
    """Correct decisions and contexts, of each side, in dialogues of 1 to 5 contexts.

    Sides of equal accuracy have it in common for a dialogue, as human and system replies do.
    """
    contexts, columns = rng.integers(1, 6, dialogues), []
    shares = {share: share for share in sides}
    if correlation:
        known = 1 / correlation - 1
        shares = {a: rng.beta(a * known, (1 - a) * known, dialogues) for a in shares}
    for share in sides:
        columns += [rng.binomial(contexts, shares[share]), contexts]
    return np.column_stack(columns).astype(float)


def bounds_of(table: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    rates = table[:, 0::2].sum(0) / table[:, 1::2].sum(0)
    return clustered_wilson(table, float((rates * (1 - rates)).mean()), level)


def coverage(
    dialogues: int, side: str, share: float, correlation: float, repetitions: int,
    level: float = 0.95,
) -> float:  # fmt: skip
    """How often the interval contains the true share."""
    rng, hits = np.random.default_rng([dialogues, round(1_000 * share)]), 0
    for _ in range(repetitions):
        table = decisions(dialogues, SIDES[side](share), correlation, rng)
        low, high = bounds_of(table, level)
        hits += low <= share <= high
    return hits / repetitions


def percentile_bounds(table: np.ndarray, seed: int, resamples: int = 400) -> tuple[float, float]:
    def statistic(sums):
        return sums[..., 0] / sums[..., 1] if sums.shape[-1] == 2 else mean_of_ratios(sums)

    return sums_interval(table, statistic, method="bootstrap", resamples=resamples, seed=seed)


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("dialogues", "share"), [(10, 0.7), (20, 0.9), (60, 0.97)])
def test_few_dialogues_are_covered(side, dialogues, share):
    assert coverage(dialogues, side, share, 0.3, 1_000) >= 0.93


def test_percentiles_of_few_dialogues_are_too_narrow():
    """Why they are not the default."""
    rng, hits = np.random.default_rng(0), 0
    for seed in range(300):
        low, high = percentile_bounds(decisions(20, (0.97, 0.97), 0.1, rng), seed)
        hits += low <= 0.97 <= high
    assert hits / 300 < 0.88


def test_many_dialogues_have_the_width_of_percentiles():
    rng = np.random.default_rng(1)
    for share in (0.5, 0.9):
        widths = []
        for seed in range(10):
            table = decisions(1_000, (share, share), 0.1, rng)
            widths.append([np.ptp(bounds_of(table)), np.ptp(percentile_bounds(table, seed, 4_000))])
        new, percentile = np.mean(widths, axis=0)
        assert 0.99 < new / percentile < 1.02


def test_classes_in_dialogues_of_their_own():
    """Two piles: the variance is that of both, and the smaller one counts."""
    rng, hits = np.random.default_rng(2), 0
    labels = np.repeat([1, 0], [90, 30])
    for _ in range(1_000):
        values = (rng.random(120) < np.where(labels, 0.95, 0.6)).astype(float)
        low, high = balanced_interval(values, labels)
        hits += low <= (0.95 + 0.6) / 2 <= high
    assert 0.93 <= hits / 1_000 <= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("dialogues", [5, 10, 20, 60, 200, 1_000])
def test_coverage_is_nearly_nominal_everywhere(side, dialogues):
    rates = {
        (share, correlation): coverage(dialogues, side, share, correlation, 3_000)
        for share in (0.5, 0.7, 0.9, 0.97)
        for correlation in (0, 0.1, 0.3)
    }
    print({key: round(rate, 3) for key, rate in rates.items()})
    assert min(rates.values()) >= 0.93
    assert dialogues < 1_000 or max(rates.values()) <= 0.965


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.9, 0.99])
def test_other_levels_are_nearly_nominal_too(level):
    for dialogues in (10, 20, 60):
        for share in (0.5, 0.9, 0.97):
            rate = coverage(dialogues, "a pair", share, 0.3, 3_000, level)
            assert rate >= level - 0.4 * (1 - level) - 0.004, (dialogues, share)
