"""Length control, against scikit-learn, loops and judges that only count words."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from dialeval.metrics import length_auroc, match_histogram, stratified_accuracy


def drawn(seed: int, n: int = 2_000):
    """Lengths of humans and of machines, which are shorter."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    return rng.poisson(np.where(labels, 14, 9)), labels, rng


@pytest.mark.parametrize("seed", range(3))
def test_area_agrees_with_scikit_learn(seed):
    lengths, labels, _ = drawn(seed)
    assert length_auroc(lengths, labels) == pytest.approx(roc_auc_score(labels, lengths))


def test_strata_by_hand():
    lengths = [1, 2, 3, 11, 12, 13, 14, 50]
    labels = [1, 0, 0, 1, 1, 1, 0, 0]
    right = [1, 1, 0, 1, 0, 0, 1, 1]
    found = stratified_accuracy(right, labels, lengths, [10, 20])
    short, middle = (1 + 1 / 2) / 2, (1 / 3 + 1) / 2  # each weighs 1, the length 50 nothing
    assert found["accuracy"] == pytest.approx((short + middle) / 2)
    assert (found["n"], found["used"]) == (4, 0.5)
    assert [each["shortest"] for each in found["strata"]] == [1, 11]
    assert [each["longest"] for each in found["strata"]] == [3, 14]
    assert [(each["n_human"], each["n_machine"]) for each in found["strata"]] == [(1, 2), (3, 1)]


@pytest.mark.parametrize("bins", [1, 4, [5, 10, 15]])
def test_strata_agree_with_a_loop(bins):
    lengths, labels, rng = drawn(0)
    taken = rng.random(len(labels)) < 0.3 + 0.4 * labels
    found = stratified_accuracy(taken == labels, labels, lengths, bins)
    edges = bins if isinstance(bins, list) else np.quantile(lengths, np.arange(1, bins) / bins)
    total = weights = 0
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        rows = (lengths >= low) & (lengths < high)
        weight = min(labels[rows].sum(), (1 - labels[rows]).sum())
        weights += weight
        total += weight * balanced_accuracy_score(labels[rows], taken[rows])
    assert found["accuracy"] == pytest.approx(total / weights)
    assert found["n"] == 2 * weights


def test_a_judge_of_length_is_right_overall_and_guesses_within_strata():
    lengths, labels, _ = drawn(1)
    right = (lengths >= 12) == labels
    assert right.mean() > 0.75
    found = stratified_accuracy(right, labels, lengths, np.arange(1, 40))
    assert found["accuracy"] == pytest.approx(0.5)


def test_a_judge_of_something_else_keeps_its_accuracy():
    lengths, labels, rng = drawn(2)
    right = rng.random(len(labels)) < 0.8
    assert stratified_accuracy(right, labels, lengths)["accuracy"] == pytest.approx(0.8, abs=0.04)


def test_no_common_length_gives_no_accuracy():
    found = stratified_accuracy([1, 1], [1, 0], [3, 30], [10])
    assert found == {"accuracy": None, "n": 0, "used": 0.0, "strata": []}


@pytest.mark.parametrize("width", [1, 3, 2.5])
def test_both_classes_get_the_same_histogram(width):
    lengths, labels, _ = drawn(3)
    keep = match_histogram(lengths, labels, width, seed=0)
    place = np.floor(lengths / width).astype(int)
    before = [np.bincount(place[labels == kind], minlength=99) for kind in (0, 1)]
    after = [np.bincount(place[keep & (labels == kind)], minlength=99) for kind in (0, 1)]
    assert np.array_equal(after[0], after[1])
    assert np.array_equal(after[0], np.minimum(*before))  # no row is given up without need
    assert keep.dtype == bool
    if width == 1:
        assert length_auroc(lengths[keep], labels[keep]) == 0.5


def test_which_rows_go_is_chance():
    lengths, labels = [4] * 100, [1] * 90 + [0] * 10
    first, again, other = (match_histogram(lengths, labels, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert first[90:].all()
    chosen = sum(match_histogram(lengths, labels, seed=seed)[:90] for seed in range(300))
    assert chosen.mean() == pytest.approx(300 / 9)
    assert chosen.min() > 10  # none is always left out: the binomial of 300 and 1/9 has sd 5.4
    assert chosen.max() < 60


def test_no_common_length_keeps_no_row():
    assert not match_histogram([1, 2, 30, 40], [1, 1, 0, 0], 10).any()


def test_bad_input_says_what_to_do():
    with pytest.raises(ValueError, match="all 2 responses are human"):
        length_auroc([1, 2], [1, 1])
    with pytest.raises(ValueError, match="1 of 2 lengths are not finite"):
        match_histogram([1, np.nan], [1, 0])
    with pytest.raises(ValueError, match="above 0, not 0"):
        match_histogram([1, 2], [1, 0], 0)
    with pytest.raises(ValueError, match="at least 1, not 0"):
        stratified_accuracy([1, 1], [1, 0], [3, 4], 0)
    with pytest.raises(ValueError, match="in rising order"):
        stratified_accuracy([1, 1], [1, 0], [3, 4], [9, 5])
    with pytest.raises(ValueError, match="3 marks in `right` for 2 responses"):
        stratified_accuracy([1, 1, 0], [1, 0], [3, 4])
