"""Length control, against scikit-learn, loops and evaluators that only count words."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from dialeval.metrics import length_auroc, match_histogram, stratified_accuracy


def random_lengths(seed: int, n: int = 2_000):
    """Lengths of humans and of machines, which are shorter."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    return rng.poisson(np.where(labels, 14, 9)), labels, rng


@pytest.mark.parametrize("seed", range(3))
def test_area_agrees_with_scikit_learn(seed):
    lengths, labels, _ = random_lengths(seed)
    assert length_auroc(lengths, labels) == pytest.approx(roc_auc_score(labels, lengths))


def test_strata_by_hand():
    lengths = [1, 2, 3, 11, 12, 13, 14, 50]
    labels = [1, 0, 0, 1, 1, 1, 0, 0]
    correct = [1, 1, 0, 1, 0, 0, 1, 1]
    result = stratified_accuracy(correct, labels, lengths, [10, 20])
    short, middle = (1 + 1 / 2) / 2, (1 / 3 + 1) / 2  # both have weight 1, the length 50 has none
    assert result["accuracy"] == pytest.approx((short + middle) / 2)
    assert (result["n"], result["used"]) == (4, 0.5)
    assert [stratum["shortest"] for stratum in result["strata"]] == [1, 11]
    assert [stratum["longest"] for stratum in result["strata"]] == [3, 14]
    sizes = [(stratum["n_human"], stratum["n_machine"]) for stratum in result["strata"]]
    assert sizes == [(1, 2), (3, 1)]


@pytest.mark.parametrize("bins", [1, 4, [5, 10, 15]])
def test_strata_agree_with_a_loop(bins):
    lengths, labels, rng = random_lengths(0)
    predicted = rng.random(len(labels)) < 0.3 + 0.4 * labels
    result = stratified_accuracy(predicted == labels, labels, lengths, bins)
    edges = bins if isinstance(bins, list) else np.quantile(lengths, np.arange(1, bins) / bins)
    total = weights = 0
    for low, high in zip([-np.inf, *edges], [*edges, np.inf], strict=True):
        rows = (lengths >= low) & (lengths < high)
        weight = min(labels[rows].sum(), (1 - labels[rows]).sum())
        weights += weight
        total += weight * balanced_accuracy_score(labels[rows], predicted[rows])
    assert result["accuracy"] == pytest.approx(total / weights)
    assert result["n"] == 2 * weights


def test_an_evaluator_of_length_is_at_chance_within_strata():
    lengths, labels, _ = random_lengths(1)
    correct = (lengths >= 12) == labels
    assert correct.mean() > 0.75
    result = stratified_accuracy(correct, labels, lengths, np.arange(1, 40))
    assert result["accuracy"] == pytest.approx(0.5)


def test_an_evaluator_that_ignores_length_keeps_its_accuracy():
    lengths, labels, rng = random_lengths(2)
    correct = rng.random(len(labels)) < 0.8
    assert stratified_accuracy(correct, labels, lengths)["accuracy"] == pytest.approx(0.8, abs=0.04)


def test_no_common_length_gives_no_accuracy():
    result = stratified_accuracy([1, 1], [1, 0], [3, 30], [10])
    assert result == {"accuracy": None, "n": 0, "used": 0.0, "strata": []}


@pytest.mark.parametrize("width", [1, 3, 2.5])
def test_both_classes_get_the_same_histogram(width):
    lengths, labels, _ = random_lengths(3)
    keep = match_histogram(lengths, labels, width, seed=0)
    bins = np.floor(lengths / width).astype(int)
    before = [np.bincount(bins[labels == kind], minlength=99) for kind in (0, 1)]
    after = [np.bincount(bins[keep & (labels == kind)], minlength=99) for kind in (0, 1)]
    assert np.array_equal(after[0], after[1])
    assert np.array_equal(after[0], np.minimum(*before))  # no more rows are dropped than needed
    assert keep.dtype == bool
    if width == 1:
        assert length_auroc(lengths[keep], labels[keep]) == 0.5


def test_dropped_rows_are_random():
    lengths, labels = [4] * 100, [1] * 90 + [0] * 10
    first, repeated, other = (match_histogram(lengths, labels, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first, repeated)
    assert not np.array_equal(first, other)
    assert first[90:].all()
    kept = sum(match_histogram(lengths, labels, seed=seed)[:90] for seed in range(300))
    assert kept.mean() == pytest.approx(300 / 9)
    assert kept.min() > 10  # no row is always dropped: the binomial of 300 and 1/9 has sd 5.4
    assert kept.max() < 60


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
    with pytest.raises(ValueError, match="3 marks in `correct` for 2 responses"):
        stratified_accuracy([1, 1, 0], [1, 0], [3, 4])
