"""The load tests with few of everything; `python -m tests.faults.load` has the full size."""

import pytest

from tests.faults import load


def test_writers_of_one_cache_lose_nothing():
    assert "none lost, none wrong" in load.cache(4, 4_000)


def test_annotators_at_the_same_time_lose_nothing():
    assert "none lost, none twice" in load.annotators(4, 1.5)


@pytest.mark.slow
def test_more_passages_need_no_more_memory():
    lines = load.passages(40_000).splitlines()
    memory = [float(line.split(": ")[2].split()[0]) for line in lines]
    few, many = memory[:2], memory[2:]
    for before, after in zip(few, many, strict=True):
        assert after < 1.25 * before + 30
