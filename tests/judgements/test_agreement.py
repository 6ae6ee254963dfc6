"""Agreement: published worked examples and statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.inter_rater import fleiss_kappa

from dialeval.judgements import agreement, count_table, fleiss_pi, krippendorff_alpha
from dialeval.judgements.agreement import majority_answers

# The example of the literature on Fleiss' kappa: 14 raters, 10 subjects, 5 categories.
SUBJECTS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", part C: missing data.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def krippendorff_rows():
    return zip(
        *[(value, unit) for row in OBSERVERS for unit, value in enumerate(row) if value],
        strict=True,
    )


def test_pi_of_the_published_example():
    assert fleiss_pi(SUBJECTS) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(
    ("level", "alpha"),
    [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)],
)
def test_alpha_of_the_published_example_with_missing_data(level, alpha):
    answers, units = krippendorff_rows()
    result = agreement(answers, units, level=level, resamples=200)
    assert result["krippendorff_alpha"] == pytest.approx(alpha, abs=6e-4)
    assert result["krippendorff_alpha_low"] < alpha <= result["krippendorff_alpha_high"]
    assert (result["n_items"], result["n_judgements"]) == (11, 40)  # unit 12 has one answer


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=3, max_size=12))
def test_pi_is_statsmodels_kappa_where_all_items_have_the_same_raters(rows):
    answers = [answer for row in rows for answer in row]
    items = [item for item, row in enumerate(rows) for _ in row]
    counts, categories = count_table(answers, items)
    assert counts.sum() == len(answers) and categories == sorted(set(answers))
    if len(categories) > 1:
        assert fleiss_pi(counts) == pytest.approx(fleiss_kappa(counts), abs=1e-9)
    else:
        assert np.isnan(fleiss_pi(counts))


def test_nominal_alpha_approaches_pi_as_items_grow():
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(3, [0.6, 0.4]) for _ in range(2_000)])
    assert krippendorff_alpha(counts) == pytest.approx(fleiss_pi(counts), abs=1e-3)


def test_intervals_cover_the_value_of_the_population():
    """Two answers that agree with probability .8 at even odds have a pi of .6."""
    rng = np.random.default_rng(1)
    covered = 0
    for seed in range(60):
        first = rng.integers(0, 2, 150)
        second = np.where(rng.random(150) < 0.8, first, 1 - first)
        answers = [*first.tolist(), *second.tolist()]
        result = agreement(answers, [*range(150)] * 2, resamples=200, seed=seed)
        covered += result["fleiss_pi_low"] <= 0.6 <= result["fleiss_pi_high"]
    assert covered >= 52  # of 60 at 95 %


def test_equal_answers_have_no_coefficient():
    result = agreement(["a"] * 4, [1, 1, 2, 2], resamples=10)
    assert result["fleiss_pi"] is None and result["krippendorff_alpha"] is None
    assert result["observed_agreement"] == 1.0


@pytest.mark.parametrize(
    ("answers", "items", "level", "message"),
    [
        (["a", "b"], [1], "nominal", "2 answers and 1 items"),
        ([], [], "nominal", "no judgements"),
        (["a", "b"], [1, 2], "nominal", "two answers or more"),
        (["a", "b"], [1, 1], "ordinal", "answers are numbers"),
        (["a", "b"], [1, 1], "cardinal", "Choose one of nominal"),
    ],
)
def test_bad_input_is_explained(answers, items, level, message):
    with pytest.raises(ValueError, match=message):
        agreement(answers, items, level=level)


def test_a_majority_needs_more_than_a_tie():
    assert majority_answers(["y", "y", "n", "y", "n"], [1, 1, 1, 2, 2]) == {1: "y", 2: None}


def test_items_of_one_group_are_drawn_together():
    answers, items = ["a", "a", "a", "b"] * 20, [index // 2 for index in range(80)]
    alone = agreement(answers, items, resamples=200)
    together = agreement(answers, items, groups=[item // 2 for item in items], resamples=200)
    assert alone["fleiss_pi"] == together["fleiss_pi"]
    assert together["fleiss_pi_low"] == pytest.approx(together["fleiss_pi"])  # all groups are equal
    assert alone["fleiss_pi_low"] < alone["fleiss_pi"] - 0.05


def test_agreement_about_a_few_items_is_no_certainty():
    result = agreement(["a", "a", "b", "b", "a", "a"], [1, 1, 2, 2, 3, 3])
    assert result["fleiss_pi"] == result["krippendorff_alpha"] == 1
    assert result["fleiss_pi_low"] < 0.2 and result["krippendorff_alpha_low"] < 0.2
    many = agreement(["a", "a", "b", "b"] * 100, np.arange(200).repeat(2))
    assert 0.95 < many["fleiss_pi_low"] < 1 == many["fleiss_pi_high"]
