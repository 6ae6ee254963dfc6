"""Detection by people and discriminators, against scikit-learn and the tables of a paper."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, precision_recall_fscore_support

from dialeval.judgements import detection


def test_scores_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.choice(["real", "random"], 200).tolist()
    predicted = [word if rng.random() < 0.7 else "real" for word in truth]
    result = detection(truth, predicted, resamples=100)
    assert result.accuracy == accuracy_score(truth, predicted)
    rows = precision_recall_fscore_support(truth, predicted, labels=["real", "random"])
    for index, name in enumerate(("real", "random")):
        scores = result.classes[name]
        expected = [column[index] for column in rows]
        assert [scores.precision, scores.recall, scores.f1, scores.n] == pytest.approx(expected)
    assert result.low < result.accuracy < result.high


def test_the_subtle_row_of_bruni_and_fernandez_is_reproduced_from_its_counts():
    """Table 1, SUB: 300 items, 150 real; recall .687 of the real and .787 of the random ones."""
    truth = ["real"] * 150 + ["random"] * 150
    predicted = ["real"] * 103 + ["random"] * 47 + ["random"] * 118 + ["real"] * 32
    result = detection(truth, predicted, resamples=10)
    real, random = result.classes["real"], result.classes["random"]
    values = [result.accuracy, real.precision, real.recall, real.f1]
    values += [random.precision, random.recall, random.f1]
    expected = [0.737, 0.763, 0.687, 0.723, 0.715, 0.787, 0.749]
    assert values == pytest.approx(expected, abs=6e-4)


def test_judgements_of_one_item_are_drawn_together():
    predicted = ["real" if index // 6 % 2 else "fake" for index in range(60)]
    items = [index // 6 for index in range(60)]  # every item is right, or wrong, as a whole
    result = detection(["real"] * 60, predicted, items, resamples=500)
    alone = detection(["real"] * 60, predicted, resamples=500)
    assert result.n_items == 10 and result.high - result.low > 2 * (alone.high - alone.low)


def test_a_class_that_is_never_predicted_has_no_precision():
    result = detection(["a", "b"], ["a", "a"], resamples=5)
    assert np.isnan(result.classes["b"].precision) and result.classes["b"].recall == 0.0


def test_lengths_must_match():
    with pytest.raises(ValueError, match="one decision for each truth"):
        detection(["a"], [])


def test_three_items_without_an_error_settle_nothing():
    result = detection(["real", "fake", "real"] * 3, ["real", "fake", "real"] * 3, list("abc") * 3)
    assert (result.accuracy, result.high) == (1.0, 1.0)
    assert result.low == pytest.approx(3 / (3 + 1.96**2), abs=1e-3) and result.low < 0.5
