"""Adversarial success and related measures, against scikit-learn, brute force and by hand."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, roc_auc_score, roc_curve

from dialeval.metrics import adversuc, auroc, interval, tpr_at_fpr, wilson


def random_scores(seed: int, humans: int = 120, machines: int = 120, digits: int = 1):
    """Scores with many ties, labels in random order."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat([1, 0], [humans, machines]))
    return np.round(rng.normal(0.35 + 0.3 * labels, 0.3), digits), labels


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.9, 0.2], 0.0),
        ([0.9, 0.8], 0.5),  # the machine response is predicted human
        ([0.1, 0.8], 1.0),
        ([0.5, 0.1], 0.0),  # the threshold itself counts as human
        ([0.9, 0.5], 0.5),
    ],
)
def test_it_is_one_minus_accuracy(scores, expected):
    result = adversuc(scores, [1, 0])
    assert result["adversuc"] == expected
    assert result["accuracy"] == 1 - expected
    assert (result["n"], result["n_human"], result["n_machine"]) == (2, 1, 1)
    assert result["balanced"] is True


def test_both_kinds_of_error_are_reported_separately():
    result = adversuc([0.9, 0.4, 0.3, 0.8, 0.6, 0.5, 0.1, 0.2], [1, 1, 1, 1, 0, 0, 0, 0])
    assert result["humans_predicted_machine"] == 0.5
    assert result["machines_predicted_human"] == 0.5
    result = adversuc([0.9, 0.4, 0.1, 0.2], [1, 1, 0, 0])
    assert (result["humans_predicted_machine"], result["machines_predicted_human"]) == (0.5, 0)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("classes", [(120, 120), (150, 40), (30, 200)])
@pytest.mark.parametrize("threshold", [0.5, 0.3])
def test_accuracy_and_area_agree_with_scikit_learn(seed, classes, threshold):
    scores, labels = random_scores(seed, *classes)
    result = adversuc(scores, labels, threshold=threshold, resamples=50)
    predicted = scores >= threshold
    assert result["accuracy"] == pytest.approx(balanced_accuracy_score(labels, predicted))
    assert result["balanced"] is (classes[0] == classes[1])
    if result["balanced"]:
        assert result["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert result["auroc"] == pytest.approx(roc_auc_score(labels, scores))
    assert result["auroc"] == pytest.approx(roc_auc_score(1 - labels, -scores))


@pytest.mark.parametrize("fpr", [0.05, 0.01, 0.2])
@pytest.mark.parametrize("seed", range(4))
def test_true_positive_rates_agree_with_the_roc_curve(seed, fpr):
    scores, labels = random_scores(seed, 150, 90, digits=2)
    fprs, tprs, _ = roc_curve(1 - labels, -scores, drop_intermediate=False)
    expected = max(tpr for share, tpr in zip(fprs, tprs, strict=True) if share <= fpr)
    assert tpr_at_fpr(scores, labels, fpr) == pytest.approx(expected)


def test_the_allowed_share_is_reached_exactly():
    # 20 humans, so 5 % is one of them: the lowest may be flagged, not the second.
    humans = np.linspace(0.5, 0.9, 20)
    machines = [0.1, 0.51, 0.6, 0.95]
    scores, labels = [*humans, *machines], [1] * 20 + [0] * 4
    assert tpr_at_fpr(scores, labels, 0.05) == 0.5
    assert tpr_at_fpr(scores, labels, 1.0) == 1.0


def test_true_positive_rates_are_none_without_enough_humans():
    scores, labels = random_scores(0, 99, 99, digits=6)
    result = adversuc(scores, labels)
    assert result["tpr_at_1_fpr"] is None  # 99 humans are fewer than 100
    assert result["tpr_at_5_fpr"] is not None
    constant = adversuc([0.7] * 400, [1, 0] * 200)  # all scores tie, so all or none are flagged
    assert constant["tpr_at_5_fpr"] is None
    assert constant["tpr_at_1_fpr"] is None
    assert constant["auroc"] == 0.5
    # One human in 20 shares the lowest score with a machine: that much is allowed.
    assert tpr_at_fpr([0.1, *[0.9] * 19, 0.1, 0.9], [1] * 20 + [0, 0], 0.05) == 0.5
    assert tpr_at_fpr([0.1, 0.1, *[0.9] * 18, 0.1, 0.9], [1] * 20 + [0, 0], 0.05) is None


def test_folds_are_ranked_separately_and_averaged():
    parts = [random_scores(seed, 40, 40) for seed in range(3)]
    scores = np.concatenate([part + 10 * k for k, (part, _) in enumerate(parts)])  # other scales
    labels = np.concatenate([labels for _, labels in parts])
    folds = np.repeat(["x", "y", "z"], 80)
    result = adversuc(scores, labels, folds=folds, threshold=5, resamples=50)
    areas = [roc_auc_score(labels, part) for part, labels in parts]
    assert result["auroc"] == pytest.approx(np.mean(areas))
    shares = [tpr_at_fpr(*part, 0.05) for part in parts]
    assert result["tpr_at_5_fpr"] == pytest.approx(np.mean(shares))
    assert result["tpr_at_1_fpr"] is None  # 120 humans, but 40 in a fold
    pooled = adversuc(scores, labels, threshold=5, resamples=50)
    assert result["adversuc"] == pooled["adversuc"]
    assert result["auroc"] > pooled["auroc"] + 0.1


def test_a_fold_of_one_class_cannot_be_ranked():
    result = adversuc([0.9, 0.1, 0.8], [1, 0, 1], folds=[0, 0, 1])
    assert result["auroc"] is None
    assert result["adversuc"] == 0


@pytest.mark.parametrize("seed", range(3))
def test_area_is_the_share_of_combinations(seed):
    scores, labels = random_scores(seed, 15, 11)
    combinations = product(scores[labels == 1], scores[labels == 0])
    assert auroc(scores, labels) == pytest.approx(
        np.mean([(human > machine) + (human == machine) / 2 for human, machine in combinations])
    )


def test_pairs_are_compared_within_their_context():
    scores = [0.9, 0.8, 0.3, 0.2, 0.5, 0.5, 0.1]
    labels = [1, 0, 1, 0, 1, 0, 1]
    pairs = ["a", "a", "b", "b", "c", "c", None]
    result = adversuc(scores, labels, pairs=pairs)
    assert result["pairwise_accuracy"] == 2.5 / 3  # a tie counts half
    assert result["n_pairs"] == 3
    assert result["n_groups"] == 4  # without groups, a pair is a unit
    assert result["pairwise_low"] < 2.5 / 3 <= result["pairwise_high"]


def test_incomplete_pairs_are_skipped_and_order_does_not_matter():
    scores, labels = np.array([0.9, 0.8, 0.3, 0.2, 0.7]), np.array([1, 0, 1, 0, 0])
    pairs = np.array(["a", "a", "b", "c", "b"])
    result = adversuc(scores, labels, pairs=pairs, resamples=50)
    assert (result["pairwise_accuracy"], result["n_pairs"]) == (0.5, 2)
    order = np.random.default_rng(0).permutation(5)
    shuffled = adversuc(scores[order], labels[order], pairs=pairs[order], resamples=50)
    assert shuffled["pairwise_accuracy"] == 0.5
    assert adversuc(scores, labels)["pairwise_accuracy"] is None


def test_bad_pairs_say_what_to_pass():
    with pytest.raises(ValueError, match="an id occurs at two responses of the same class"):
        adversuc([0.9, 0.8, 0.1], [1, 1, 0], pairs=["a", "a", "a"])
    with pytest.raises(ValueError, match="No pair has both a human and a machine"):
        adversuc([0.9, 0.1], [1, 0], pairs=["a", "b"])
    with pytest.raises(ValueError, match="No pair has both"):
        adversuc([0.9, 0.1], [1, 0], pairs=[None, None])
    with pytest.raises(ValueError, match="3 pairs for 2 responses"):
        adversuc([0.9, 0.1], [1, 0], pairs="abc")


@pytest.mark.parametrize("seed", range(2))
def test_lower_scores_may_be_human(seed):
    scores, labels = random_scores(seed)
    pairs = np.empty(len(labels), dtype=int)
    pairs[labels == 1] = pairs[labels == 0] = np.arange(120)
    settings = {"pairs": pairs, "resamples": 100}
    up = adversuc(scores, labels, threshold=0.5, **settings)
    down = adversuc(-scores, labels, threshold=-0.5, higher_is_human=False, **settings)
    assert up == down


def test_intervals_draw_dialogues_where_they_are_given():
    scores, labels = random_scores(5)
    wrong = (scores >= 0.5) != labels
    alone = adversuc(scores, labels)
    assert (alone["low"], alone["high"]) == pytest.approx(wilson(wrong.sum(), 240), abs=1e-3)
    # Both of a pair in one dialogue: then the mean over responses is balanced in every resample.
    order = np.argsort(labels, kind="stable").reshape(2, 120)
    groups = np.empty(240, dtype=int)
    groups[order[0]] = groups[order[1]] = np.arange(120) // 4
    result = adversuc(scores, labels, groups=groups, seed=3)
    assert result["n_groups"] == 30
    assert (result["low"], result["high"]) == pytest.approx(
        interval(wrong, groups, seed=9), abs=0.01
    )
    shifted = adversuc(scores, labels, groups=groups, method="bca", seed=3)
    assert (shifted["low"], shifted["high"]) != (result["low"], result["high"])


def test_a_perfect_evaluator_still_has_an_interval():
    result = adversuc([0.9, 0.1] * 10, [1, 0] * 10, pairs=np.repeat(range(10), 2))
    assert (result["adversuc"], result["low"]) == (0, 0)
    assert result["high"] == pytest.approx(wilson(0, 10)[1])


def test_intervals_cover_the_truth_for_pairs():
    rng, covered, rounds = np.random.default_rng(1), 0, 200
    pairs, labels = np.repeat(np.arange(100), 2), np.tile([1, 0], 100)
    for number in range(rounds):
        context = rng.normal(size=100).repeat(2)  # makes both scores of a pair high or low
        scores = context + labels + rng.normal(size=200)
        result = adversuc(scores, labels, threshold=0.5, pairs=pairs, resamples=400, seed=number)
        covered += result["low"] <= 0.36184 <= result["high"]  # P(N(0, 2) > .5)
    assert 0.90 <= covered / rounds <= 0.99


@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([0.9, 0.2], [1, 1], "all 2 responses are human. Pass both kinds"),
        ([0.9, 0.2], [0, 0], "all 2 responses are machine. Pass both kinds"),
        ([0.9, np.nan], [1, 0], "1 of 2 scores are not finite numbers. Drop these rows"),
        ([0.9], [1, 0], "Pass two lists of the same length"),
        ([], [], "there are no responses. Pass both kinds"),
        ([0.9, 0.2], [1, 2], "Labels are 1 .human. or 0 .machine."),
    ],
)
def test_bad_input_says_what_to_do(scores, labels, message):
    with pytest.raises(ValueError, match=message):
        adversuc(scores, labels)


def test_groups_and_folds_must_be_as_many():
    with pytest.raises(ValueError, match="1 groups for 2 responses"):
        adversuc([0.9, 0.1], [1, 0], groups=["a"])
    with pytest.raises(ValueError, match="3 folds for 2 responses"):
        adversuc([0.9, 0.1], [1, 0], folds=[0, 1, 0])
    with pytest.raises(ValueError, match="such as 0.05, not 0"):
        tpr_at_fpr([0.9, 0.1], [1, 0], 0)
