"""True against random replies: Bruni's table, scikit-learn and brute force."""

import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    precision_recall_fscore_support,
)

from dialeval.metrics import versus_random, wilson


@pytest.mark.parametrize(
    ("true_right", "random_right", "row"),
    [
        (140, 35, ".583 .549 .933 .691 .778 .233 .359"),  # Switchboard
        (118, 85, ".677 .645 .787 .709 .726 .567 .637"),  # MovieTriples
        (103, 118, ".737 .763 .687 .723 .715 .787 .749"),  # SubTle
    ],
)
def test_the_discriminator_of_bruni_and_fernandez(true_right, random_right, row):
    # 150 true and 150 random passages; the recalls tell the counts (2017, Table 1).
    scores = np.concatenate(
        [np.arange(150) < true_right, np.arange(150) >= random_right]
    ).astype(float)  # fmt: skip
    found = versus_random(scores, np.repeat([1, 0], 150))
    names = ["accuracy", *(f"{m}_{k}" for k in ("true", "random") for m in _MEASURES)]
    assert [found[name] for name in names] == pytest.approx(
        [float(each) for each in row.split()], abs=0.0007
    )
    assert (found["low"], found["high"]) == pytest.approx(wilson(true_right + random_right, 300))


_MEASURES = ("precision", "recall", "f1")


@pytest.mark.parametrize("classes", [(80, 80), (30, 120)])
@pytest.mark.parametrize("higher", [True, False])
def test_each_class_agrees_with_scikit_learn(classes, higher):
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.repeat([1, 0], classes))
    scores = np.round(rng.normal(0.4 + 0.2 * labels, 0.2), 1)
    signed = scores if higher else -scores
    found = versus_random(
        signed, labels, threshold=0.5 if higher else -0.5, higher_is_true=higher, resamples=50
    )
    taken = scores >= 0.5
    theirs = precision_recall_fscore_support(labels, taken, labels=[1, 0])
    for column, kind in enumerate(("true", "random")):
        ours = [found[f"{measure}_{kind}"] for measure in _MEASURES]
        assert ours == pytest.approx([values[column] for values in theirs[:3]])
    assert found["accuracy"] == pytest.approx(balanced_accuracy_score(labels, taken))
    assert found["balanced"] is (classes[0] == classes[1])
    if found["balanced"]:
        assert found["accuracy"] == pytest.approx(accuracy_score(labels, taken))
    assert (found["n_true"], found["n_random"]) == classes
    assert found["low"] < found["accuracy"] < found["high"]


def test_precision_of_a_class_never_named_is_none():
    found = versus_random([0.9, 0.8], [1, 0])
    assert found["precision_random"] is None
    assert (found["recall_random"], found["f1_random"]) == (0, 0)
    assert found["precision_true"] == 0.5


def test_the_true_one_of_n_is_chosen_as_by_brute_force():
    rng = np.random.default_rng(1)
    contexts = np.repeat(np.arange(40), rng.integers(2, 6, size=40))
    labels = np.zeros(len(contexts), dtype=int)
    labels[np.unique(contexts, return_index=True)[1]] = 1
    scores = np.round(rng.random(len(contexts)) + 0.2 * labels, 1)  # with ties
    order = rng.permutation(len(contexts))
    found = versus_random(scores[order], labels[order], candidates=contexts[order])
    expected, sizes = [], []
    for context in range(40):
        rows = contexts == context
        best = np.flatnonzero(scores[rows] == scores[rows].max())
        expected.append(1 / len(best) if 0 in best else 0)  # the true one stands first
        sizes.append(rows.sum())
    assert found["n_choose_1"] == pytest.approx(np.mean(expected))
    assert found["n_choose_1_chance"] == pytest.approx(np.mean(1 / np.array(sizes)))
    assert found["n_contexts"] == found["n_groups"] == 40
    assert found["n_choose_1_low"] < found["n_choose_1"] < found["n_choose_1_high"]


def test_ties_share_and_whoever_stands_outside_does_not_count():
    scores = [0.5, 0.5, 0.5, 0.9, 0.1, 0.9, 0.2]
    labels = [1, 0, 0, 1, 0, 0, 1]
    found = versus_random(scores, labels, candidates=["a", "a", "a", "b", "b", None, "alone"])
    assert found["n_choose_1"] == pytest.approx((1 / 3 + 1) / 2)
    assert found["n_contexts"] == 2
    lower = versus_random(
        [0.1, 0.3, 0.2], [1, 0, 0], higher_is_true=False, threshold=0.15, candidates="aaa"
    )
    assert (lower["n_choose_1"], lower["accuracy"]) == (1, 1)
    assert versus_random([0.9, 0.1], [1, 0])["n_choose_1"] is None


def test_groups_are_the_units_of_both_intervals():
    rng = np.random.default_rng(2)
    dialogue = rng.normal(size=20).repeat(10)  # a dialogue where all goes right, or wrong
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
