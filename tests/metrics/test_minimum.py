"""The interval of the lowest of several means: its coverage, and what it depends on."""

import numpy as np
import pytest
from scipy.stats import norm

from dialeval.metrics.intervals import interval
from dialeval.metrics.minimum import minimum_interval
from dialeval.metrics.share_intervals import wilson


def correct_pairs(
    means: list[float], n: int, rng: np.random.Generator, shared: float = 0.3
) -> np.ndarray:
    """Decisions on n contexts for several attackers; contexts are easy or hard for all of them."""
    context, attacker = rng.standard_normal((n, 1)), rng.standard_normal((n, len(means)))
    latent = np.sqrt(shared) * context + np.sqrt(1 - shared) * attacker
    return (latent < norm.ppf(means)).astype(float)


def coverage(means: list[float], n: int, repetitions: int = 150) -> tuple[float, float]:
    """How often the interval of the minimum, and the plain one of the selected, have the truth."""
    rng, truth, hits = np.random.default_rng(0), min(means), []
    for seed in range(repetitions):
        values = correct_pairs(means, n, rng)
        worst = values[:, values.mean(0).argmin()]
        bounds = (
            minimum_interval(values, resamples=400, seed=seed),
            interval(worst, resamples=400, seed=seed),
        )
        hits.append([low <= truth <= high for low, high in bounds])
    of_minimum, plain = np.mean(hits, axis=0)
    return of_minimum, plain


def test_it_covers_the_truth_where_the_plain_interval_of_the_selected_does_not():
    of_minimum, plain = coverage([0.7] * 13, 200)
    assert plain < 0.88  # the worst of 13 equal attackers looks worse than it is
    assert of_minimum >= 0.92


@pytest.mark.parametrize("means", [[0.62] * 3 + [0.7] * 10, [0.5] + [0.8] * 12])
def test_it_covers_the_truth_whatever_the_other_attackers_are(means):
    of_minimum, _ = coverage(means, 200)
    assert of_minimum >= 0.91


def test_attackers_far_above_the_worst_do_not_matter():
    rng = np.random.default_rng(1)
    values = correct_pairs([0.4] + [0.9] * 9, 300, rng)
    low, high = minimum_interval(values)
    alone = minimum_interval(values[:, :1])
    assert (low, high) == pytest.approx(alone, abs=1e-9)
    assert (low, high) == pytest.approx(interval(values[:, 0]), abs=0.01)


def test_all_columns_share_the_draws():
    rng = np.random.default_rng(2)
    column = correct_pairs([0.6], 100, rng)
    assert minimum_interval(np.tile(column, 20)) == pytest.approx(minimum_interval(column))


def test_dialogues_are_drawn_and_not_rows():
    rng = np.random.default_rng(3)
    values = correct_pairs([0.6, 0.65, 0.7], 80, rng)
    repeated, dialogues = np.repeat(values, 4, axis=0), np.repeat(np.arange(80), 4)
    assert minimum_interval(repeated, dialogues) == pytest.approx(minimum_interval(values))
    low, high = minimum_interval(repeated)
    wide_low, wide_high = minimum_interval(repeated, dialogues)
    assert wide_high - wide_low > 1.5 * (high - low)


def test_a_worst_that_is_never_correct_has_wilsons_interval():
    values = np.zeros((50, 2))
    values[:, 1] = 1
    assert minimum_interval(values) == pytest.approx(wilson(0, 50))


def test_one_dialogue_has_no_interval():
    assert np.isnan(minimum_interval([[1, 0], [0, 0]], ["a", "a"])).all()


@pytest.mark.parametrize(
    ("values", "level", "message"),
    [([0.0, 1.0], 0.95, "rows and columns"), ([[0.0], [1.0]], 95, "between 0 and 1")],
)
def test_other_shapes_and_levels_are_refused(values, level, message):
    with pytest.raises(ValueError, match=message):
        minimum_interval(values, level=level)
