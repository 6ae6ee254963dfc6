"""Log-odds with an informative prior, against a computation by hand."""

import math
from collections import Counter

import numpy as np
import pytest

from dialeval.metrics.log_odds import log_odds


def test_the_numbers_are_those_of_the_equations():
    rows = {row.word: row for row in log_odds({"a": 8, "b": 2}, {"a": 3, "b": 7}, prior_size=10)}
    # Prior of 10 pseudo-counts in the proportions of both sides: a 11/20, b 9/20 of 10.
    first = math.log((8 + 5.5) / (2 + 4.5)) - math.log((3 + 5.5) / (7 + 4.5))
    variance = 1 / (8 + 5.5) + 1 / (3 + 5.5)
    assert rows["a"].log_odds == pytest.approx(first)
    assert rows["a"].z == pytest.approx(first / math.sqrt(variance))
    assert (rows["a"].first, rows["a"].second) == (8, 3)


def test_words_drawn_alike_are_seldom_significant():
    rng, alarms = np.random.default_rng(0), 0
    words = [f"w{number}" for number in range(40)]
    shares = rng.dirichlet(np.ones(40))
    for _ in range(60):
        sides = [Counter(dict(zip(words, rng.multinomial(800, shares).tolist(), strict=True)))
                 for _ in range(2)]  # fmt: skip
        alarms += any(row.p_holm < 0.05 for row in log_odds(*sides))
    assert alarms <= 8  # about 3 of 60 samples at 5 %, for all words together


def test_a_planted_word_is_found_and_a_rare_one_is_not():
    first = Counter({"the": 500, "thanks": 40, "zyx": 1})
    second = Counter({"the": 510, "thanks": 5})
    rows = log_odds(first, second)
    assert rows[0].word == "thanks" and rows[0].p_holm < 0.001
    assert next(row for row in rows if row.word == "zyx").p_holm > 0.5
    assert "zyx" not in [row.word for row in log_odds(first, second, min_count=2)]


def test_both_sides_are_needed():
    with pytest.raises(ValueError, match="Both sides need words"):
        log_odds({"a": 1}, {})
