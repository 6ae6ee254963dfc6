"""The load tests with few of everything; `python -m tests.faults.load` has the full size."""

import pytest

from tests.faults import load


def test_writers_of_one_cache_lose_nothing():
    assert "none lost, none wrong" in load.cache(4, 4_000)


def test_annotators_at_the_same_time_lose_nothing():
    assert "none lost, none twice" in load.annotators(4, 1.5)


def anonymous(lines):
    """MB of the lines of a load test."""
    return [float(line.split(" resident, ")[1].split()[0]) for line in lines.splitlines()]


@pytest.mark.slow
def test_more_passages_need_no_more_memory():
    memory = anonymous(load.passages(40_000))
    few, many = memory[:2], memory[2:]
    for before, after in zip(few, many, strict=True):
        assert after < 1.1 * before + 20


@pytest.mark.slow
def test_more_conversations_need_no_more_memory():
    few, many = anonymous(load.piles(20_000))
    assert many - few < 0.1 * few + 20
