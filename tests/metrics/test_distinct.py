"""Diversity of responses, by hand and against a vectoriser."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from dialeval.metrics import distinct


def test_by_hand():
    result = distinct(["no no no no", "i do not know", "i do not know", "", "yes ."])
    assert result["tokens"] == 14 / 5
    assert result["distinct_1"] == 7 / 14  # no i do not know yes .
    assert result["distinct_2"] == 5 / 14  # no-no, i-do, do-not, not-know, yes-.
    assert result["most_frequent"] == 2 / 5
    assert result["unique"] == 4 / 5
    assert result["self_repetition"] == 1 / 5
    assert result["n"] == 5


def test_grams_agree_with_a_vectoriser():
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(list("abcdefgh"), size=rng.integers(1, 12))) for _ in range(80)]
    result = distinct(texts)
    tokens = sum(len(text.split()) for text in texts)
    for n in (1, 2):
        counter = CountVectorizer(ngram_range=(n, n), token_pattern=r"\S+", lowercase=False)
        kinds = counter.fit_transform(texts)
        assert result[f"distinct_{n}"] == kinds.shape[1] / tokens
    assert result["self_repetition"] == np.mean((kinds.toarray() > 1).any(axis=1))
    words = CountVectorizer(token_pattern=r"\S+").fit_transform(texts).toarray()
    assert distinct(texts, repeat_n=1)["self_repetition"] == np.mean((words > 1).any(axis=1))


def test_bigrams_do_not_cross_responses():
    assert distinct(["a b", "c d"])["distinct_2"] == 2 / 4


def test_the_tokeniser_is_a_choice():
    assert distinct(["Yes yes"])["distinct_1"] == 1
    assert distinct(["Yes yes"], lambda text: text.lower().split())["distinct_1"] == 0.5
    assert distinct(["abab"], list)["self_repetition"] == 1


def test_one_response_for_everything():
    result = distinct(["ok"] * 50)
    assert (result["most_frequent"], result["unique"]) == (1, 1 / 50)
    assert result["distinct_1"] == 1 / 50
    assert distinct(["", ""])["distinct_1"] == 0


def test_bad_input_says_what_to_do():
    for bad in ("a text", [["a", "b"]], [None]):
        with pytest.raises(ValueError, match="list of responses, each a string"):
            distinct(bad)
    with pytest.raises(ValueError, match="There are no responses"):
        distinct([])
    with pytest.raises(ValueError, match="at least 1, not 0"):
        distinct(["a"], repeat_n=0)
