"""Input checks of the metrics."""

import numpy as np
import pytest

from dialeval.metrics.checks import both_kinds, encode_ids, numbers, units_of, zeros_and_ones


def test_ids_may_be_anything_that_can_be_hashed():
    ids = [("a", 1), "a", 7, ("a", 1), frozenset([1]), 7]
    assert encode_ids(ids, 6).tolist() == [0, 1, 2, 0, 3, 2]
    assert encode_ids(np.array(["x", "y", "x"]), 3).tolist() == [0, 1, 0]
    assert encode_ids(np.array([5, 3, 5]), 3).tolist() == [0, 1, 0]


def test_missing_ids_are_refused_or_marked():
    for missing_id in (None, float("nan")):
        with pytest.raises(ValueError, match="1 of 3 groups are missing"):
            encode_ids(["a", missing_id, "b"], 3)
        assert encode_ids(["a", missing_id, "a"], 3, missing=True).tolist() == [0, -1, 0]
    assert encode_ids([None, None], 2, missing=True).tolist() == [-1, -1]


def test_units_are_groups_then_pairs_then_responses():
    pairs = np.array([0, 1, -1, 0, -1])
    assert units_of(5, "xxyyz", pairs).tolist() == [0, 0, 1, 1, 2]
    assert units_of(5, None, pairs).tolist() == [0, 1, 2, 0, 3]
    assert units_of(3, None).tolist() == [0, 1, 2]
    assert units_of(2, None, np.array([-1, -1])).tolist() == [0, 1]


def test_numbers_and_booleans_say_what_is_wrong():
    with pytest.raises(ValueError, match="There are 2 lengths for 3 responses. Pass 3"):
        numbers([1, 2], "lengths", 3)
    with pytest.raises(ValueError, match=r"its shape is \(1, 2\)"):
        numbers([[1, 2]])
    with pytest.raises(ValueError, match="range from 0.2 to 1. Compare scores with a threshold"):
        zeros_and_ones([0.2, 1.0])
    assert zeros_and_ones(np.array([True, False])).dtype == bool


def test_labels_name_their_kinds():
    with pytest.raises(ValueError, match=r"Labels are 1 \(true\) or 0 \(random\)"):
        both_kinds([1, 2], ("random", "true"))
    with pytest.raises(ValueError, match="all 2 responses are random. Pass both kinds"):
        both_kinds([0, 0], ("random", "true"))
    with pytest.raises(ValueError, match="Labels are 1"):
        both_kinds(["human", "machine"])
