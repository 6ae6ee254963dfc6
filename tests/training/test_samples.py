"""Attackers' samples on disk: what comes back, and what is read."""

import math

import pyarrow as pa
import pytest

from dialeval.dialogues import BadInput
from dialeval.training.samples import AttackerSamples


def columns(count: int, word: str = "tea") -> dict[str, list]:
    return {
        "row": list(range(10, 10 + count)),
        "response": [f"{word} {number} “é”" for number in range(count)],
        "temperature": [0.3] * count,
        "finished": [number % 2 == 0 for number in range(count)],
        "relevance": [number / 7 for number in range(count)],
    }


@pytest.fixture
def samples(tmp_path) -> AttackerSamples:
    return AttackerSamples(tmp_path / "samples")


def test_what_was_added_comes_back_also_to_others(samples):
    samples.add(0, "train", columns(5))
    samples.add(0, "validation", columns(3, "rain"))
    for stored in (samples, AttackerSamples(samples.folder)):
        assert stored.all(0, "train") == columns(5)
        assert stored.all(0, "validation") == columns(3, "rain")
        assert (stored.size(0, "train"), stored.size(0, "validation")) == (5, 3)


def test_rows_come_in_the_requested_order(samples):
    samples.add(0, "train", columns(5))
    subset = samples.take(0, "train", [4, 0, 4])
    assert subset["row"] == [14, 10, 14]
    assert subset["response"] == [columns(5)["response"][row] for row in (4, 0, 4)]


def test_only_the_rows_asked_for_are_read_into_memory(samples):
    samples.add(0, "train", columns(50_000))
    before = pa.total_allocated_bytes()
    samples.take(0, "train", [7, 8])
    first = pa.total_allocated_bytes() - before
    assert first < 10_000  # the file has 2 megabytes


def test_a_turn_has_both_parts_or_is_not_there(samples):
    assert 0 not in samples
    samples.add(0, "train", columns(2))
    assert 0 not in samples
    samples.add(0, "validation", columns(2))
    assert 0 in samples and 1 not in samples


def test_a_set_is_replaced(samples):
    samples.add(2, "train", columns(5))
    assert samples.size(2, "train") == 5
    old = samples.take(2, "train", [0])
    samples.add(2, "train", columns(3, "rain"))
    assert samples.all(2, "train") == columns(3, "rain")
    assert old["response"] == ["tea 0 “é”"]


def test_a_set_that_cannot_be_written_leaves_the_old_one(samples):
    samples.add(0, "train", columns(5))
    with pytest.raises((pa.ArrowInvalid, ValueError)):
        samples.add(0, "train", {**columns(5), "row": ["a", "b", "c", "d", "e"]})
    assert samples.all(0, "train") == columns(5)
    assert [path.name for path in samples.folder.iterdir()] == ["turn_0000.train.arrow"]


def test_relevance_may_be_unknown(samples):
    samples.add(0, "train", {**columns(2), "relevance": [math.nan, math.nan]})
    assert all(map(math.isnan, samples.all(0, "train")["relevance"]))


def test_a_missing_set_is_named(samples):
    with pytest.raises(
        BadInput, match=r"turn_0003.train.arrow: the samples of this turn are missing"
    ):
        samples.take(3, "train", [0])
