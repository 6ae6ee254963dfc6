"""True against random replies: Bruni's table, scikit-learn and brute force."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    precision_recall_fscore_support,
)

from dialeval.metrics import versus_random


@pytest.mark.parametrize(
    ("true_correct", "random_correct", "row"),
    [
        (140, 35, ".583 .549 .933 .691 .778 .233 .359"),  # Switchboard
        (118, 85, ".677 .645 .787 .709 .726 .567 .637"),  # MovieTriples
        (103, 118, ".737 .763 .687 .723 .715 .787 .749"),  # SubTle
    ],
)
def test_the_discriminator_of_bruni_and_fernandez(true_correct, random_correct, row):
    # 150 true and 150 random passages; the recalls give the counts (2017, Table 1).
    scores = np.concatenate(
        [np.arange(150) < true_correct, np.arange(150) >= random_correct]
    ).astype(float)  # fmt: skip
    result = versus_random(scores, np.repeat([1, 0], 150))
    names = ["accuracy", *(f"{m}_{k}" for k in ("true", "random") for m in _MEASURES)]
    assert [result[name] for name in names] == pytest.approx(
        [float(number) for number in row.split()], abs=0.0007
    )
    # The classes have fixed sizes, so the variance is that of two shares, not of the pooled one.
    error = np.sqrt(sum(k * (150 - k) / 150**3 for k in (true_correct, random_correct))) / 2
    bounds = result["accuracy"] - 1.97 * error, result["accuracy"] + 1.97 * error
    assert (result["low"], result["high"]) == pytest.approx(bounds, abs=0.004)


_MEASURES = ("precision", "recall", "f1")


@pytest.mark.parametrize("classes", [(80, 80), (30, 120)])
@pytest.mark.parametrize("higher", [True, False])
def test_each_class_agrees_with_scikit_learn(classes, higher):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([1, 0], classes))
    scores = np.round(rng.normal(0.4 + 0.2 * labels, 0.2), 1)
    signed = scores if higher else -scores
    result = versus_random(
        signed, labels, threshold=0.5 if higher else -0.5, higher_is_true=higher, resamples=50
    )
    predicted = scores >= 0.5
    expected = precision_recall_fscore_support(labels, predicted, labels=[1, 0])
    for column, kind in enumerate(("true", "random")):
        values = [result[f"{measure}_{kind}"] for measure in _MEASURES]
        assert values == pytest.approx([measure[column] for measure in expected[:3]])
    assert result["accuracy"] == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert result["balanced"] is (classes[0] == classes[1])
    if result["balanced"]:
        assert result["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert (result["n_true"], result["n_random"]) == classes
    assert result["low"] < result["accuracy"] < result["high"]


def test_precision_of_a_class_never_predicted_is_none():
    result = versus_random([0.9, 0.8], [1, 0])
    assert result["precision_random"] is None
    assert (result["recall_random"], result["f1_random"]) == (0, 0)
    assert result["precision_true"] == 0.5


def test_the_true_one_of_n_is_chosen_as_by_brute_force():
    rng = np.random.default_rng(1)
    contexts = np.repeat(np.arange(40), rng.integers(2, 6, size=40))
    labels = np.zeros(len(contexts), dtype=int)
    labels[np.unique(contexts, return_index=True)[1]] = 1
    scores = np.round(rng.random(len(contexts)) + 0.2 * labels, 1)  # with ties
    order = rng.permutation(len(contexts))
    result = versus_random(scores[order], labels[order], candidates=contexts[order])
    expected, sizes = [], []
    for context in range(40):
        rows = contexts == context
        best = np.flatnonzero(scores[rows] == scores[rows].max())
        expected.append(1 / len(best) if 0 in best else 0)  # the true one is first
        sizes.append(rows.sum())
    assert result["n_choose_1"] == pytest.approx(np.mean(expected))
    assert result["n_choose_1_chance"] == pytest.approx(np.mean(1 / np.array(sizes)))
    assert result["n_contexts"] == result["n_groups"] == 40
    assert result["n_choose_1_low"] < result["n_choose_1"] < result["n_choose_1_high"]


def test_ties_are_split_and_responses_without_a_context_do_not_count():
    scores = [0.5, 0.5, 0.5, 0.9, 0.1, 0.9, 0.2]
    labels = [1, 0, 0, 1, 0, 0, 1]
    result = versus_random(scores, labels, candidates=["a", "a", "a", "b", "b", None, "alone"])
    assert result["n_choose_1"] == pytest.approx((1 / 3 + 1) / 2)
    assert result["n_contexts"] == 2
    lower = versus_random(
        [0.1, 0.3, 0.2], [1, 0, 0], higher_is_true=False, threshold=0.15, candidates="aaa"
    )
    assert (lower["n_choose_1"], lower["accuracy"]) == (1, 1)
    assert versus_random([0.9, 0.1], [1, 0])["n_choose_1"] is None


def test_groups_are_the_units_of_both_intervals():
    rng = np.random.default_rng(2)
    dialogue = rng.normal(size=20).repeat(10)  # all correct or all wrong in a dialogue
    labels, candidates = np.tile([1, 0], 100), np.repeat(np.arange(100), 2)
    scores = 0.5 + 0.3 * dialogue * (2 * labels - 1)
    by_context = versus_random(scores, labels, candidates=candidates)
    by_dialogue = versus_random(
        scores, labels, candidates=candidates, groups=np.repeat(np.arange(20), 10)
    )
    for low, high in (("low", "high"), ("n_choose_1_low", "n_choose_1_high")):
        narrow, wide = by_context[high] - by_context[low], by_dialogue[high] - by_dialogue[low]
        assert wide > 1.8 * narrow  # the square root of 5


def test_bad_input_says_what_to_do():
    with pytest.raises(ValueError, match="all 2 responses are true. Pass both kinds"):
        versus_random([0.1, 0.2], [1, 1])
    with pytest.raises(ValueError, match="1 contexts have more than one true response"):
        versus_random([0.1, 0.2, 0.3], [1, 1, 0], candidates="aaa")
    with pytest.raises(ValueError, match="No context has a true response and a random one"):
        versus_random([0.1, 0.2], [1, 0], candidates="ab")
    with pytest.raises(ValueError, match="1 candidates for 2 responses"):
        versus_random([0.1, 0.2], [1, 0], candidates="a")
    with pytest.raises(ValueError, match="1 of 2 scores are not finite"):
        versus_random([0.1, np.nan], [1, 0])
