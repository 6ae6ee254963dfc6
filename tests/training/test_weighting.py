"""Weights of responses by tf-idf: each number is worked out here."""

from math import log

import numpy as np
import pytest

from dialeval.training.weighting import TfIdfWeights

CORPUS = [
    "i do not know .",  # all of them stop words but `know`
    "you know that cat , the black cat !",
    "the dog chased a black cat",
    "cats purr",
    "know thyself",
    "the dog sleeps",
    "it is .",
    "they are not .",
]
# Documents with the word, of 8: know 3, cat 2, black 2, dog 2, all others 1.


def test_scores_by_hand():
    weights = TfIdfWeights(CORPUS)
    assert weights.score("i do not know .") == pytest.approx(log(8 / 3))
    # know once, cat twice, black once: (1 log 8/3 + 2 log 4 + 1 log 4 + 2 log 4) / 4
    assert weights.score(CORPUS[1]) == pytest.approx((log(8 / 3) + 5 * log(4)) / 4)
    assert weights.score(CORPUS[2]) == pytest.approx((3 * log(4) + log(8)) / 4)
    assert weights.score("they are not .") == 0
    assert weights.score("") == 0
    assert weights.score("never seen zebras") == pytest.approx(log(8))  # two stop words
    assert weights.score("CAT") == weights.score("cat")


def test_weights_by_hand_with_the_cap():
    # Scores 0.9808, 1.9781, 1.5596, 2.0794 and 0: none is above 3 * 0.9808, and 0 becomes 0.9808.
    scores = [log(8 / 3), (log(8 / 3) + 5 * log(4)) / 4, (3 * log(4) + log(8)) / 4, log(8)]
    scores.append(scores[0])
    expected = [5 * score / sum(scores) for score in scores]
    weights = TfIdfWeights(CORPUS)([*CORPUS[:4], "they are not ."])
    assert weights == pytest.approx(expected)
    assert weights == pytest.approx([0.6471, 1.3050, 1.0289, 1.3719, 0.6471], abs=1e-4)


@pytest.mark.parametrize(
    ("cap", "expected"),
    [
        (3.0, [0.5, 1.5, 1.5, 0.5, 1.0]),  # 1, 3 (not 10), 3, 1 (from nothing), 2: their mean is 2
        (1.0, [1, 1, 1, 1, 1]),
        (100.0, [1 / 3.4, 10 / 3.4, 3 / 3.4, 1 / 3.4, 2 / 3.4]),
    ],
)
def test_scores_are_cut_at_so_many_times_the_smallest_positive_one(cap, expected):
    weights = TfIdfWeights(CORPUS, cap).weights(np.array([1.0, 10.0, 3.0, 0.0, 2.0]))
    assert weights == pytest.approx(expected)


def test_weights_of_any_batch_average_one():
    rng = np.random.default_rng(0)
    weights = TfIdfWeights(CORPUS)
    for size in (1, 2, 7, 64, 1_000):
        scaled = weights.weights(rng.exponential(size=size) * rng.integers(0, 2, size))
        assert scaled.mean() == pytest.approx(1, abs=1e-12)
        assert (scaled > 0).all() and scaled.max() <= 3.000001 * scaled.min()


def test_order_does_not_matter():
    weights, order = TfIdfWeights(CORPUS), np.random.default_rng(0).permutation(len(CORPUS))
    turned = TfIdfWeights(CORPUS[::-1])
    assert weights(CORPUS)[order] == pytest.approx(turned([CORPUS[at] for at in order]))


def test_a_batch_of_stop_words_counts_alike():
    dull = ["it is .", "they are not .", "I don't .", "it's", "we haven’t", "...", ""]
    assert TfIdfWeights(CORPUS)(dull).tolist() == [1.0] * 7
    assert TfIdfWeights(["one", "one"])(["one", "one"]).tolist() == [1, 1]  # said by everybody
    assert TfIdfWeights([])(["nothing counted"]).tolist() == [1]


def test_a_cat_s_is_no_stop_word_and_stop_words_can_be_given():
    weights = TfIdfWeights(["the cat's", "a", "b", "c"])
    assert weights.score("the cat's") == pytest.approx(log(4))
    plain = TfIdfWeights(["the cat", "the dog", "don't"], stop_words=())
    assert plain.score("the cat") == pytest.approx((log(3 / 2) + log(3)) / 2)
    assert plain.score("don't") == pytest.approx(log(3))
