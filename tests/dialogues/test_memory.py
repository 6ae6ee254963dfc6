"""What is held while a corpus is read, sampled and scored does not grow with the corpus."""

import gc
import json
import tracemalloc

import numpy as np
import pytest

from dialeval.dialogues import (
    Filters,
    ReadOptions,
    count_tokens,
    read,
    read_options,
    row_file,
    to_passages,
)
from dialeval.dialogues.matching import partners
from dialeval.dialogues.row_file import RowFile
from dialeval.dialogues.splits import row_hashes, sample_dialogues
from dialeval.protocols.unpaired.piles import limited_piles, shares_contexts
from dialeval.scorers import baselines
from dialeval.scorers.baselines import LengthScorer
from dialeval.scorers.scoring import score_passages
from tests.conftest import talk


def write_piles(folder, conversations):
    """A file of conversations for each of two sides."""
    for side in ("human", "bot"):
        with (folder / f"{side}.jsonl").open("w", encoding="utf-8") as file:
            for number in range(conversations):
                texts = [f"{side} says {number} in turn {turn}" for turn in range(6)]
                messages = [
                    {"role": ("user", "assistant")[turn % 2], "content": text}
                    for turn, text in enumerate(texts)
                ]
                file.write(json.dumps({"id": f"{side}-{number}", "messages": messages}) + "\n")


def evaluation_data(folder):
    """What an unpaired evaluation of 100 responses a side does before it fits anything."""
    human, bot = (
        read(folder / f"{side}.jsonl", ReadOptions(role="assistant", side=side))[0]
        for side in ("human", "bot")
    )
    few = sample_dialogues(human, 100)
    assert not shares_contexts(few, {"bot": bot})
    piles = limited_piles(human, {"bot": bot}, 100, 0)
    assert len(piles.human) == len(piles.systems["bot"]) == 100


def scored(folder):
    """What `dialeval score` does."""
    passages = read(folder / "bot.jsonl", ReadOptions(role="assistant", side="bot"))[0]
    scorer = LengthScorer([1, 0, 0, 0], 0.5, [3, 1, 9, 1], [1, 1, 1, 1])
    assert len(score_passages(scorer, passages)) == len(passages)


@pytest.mark.parametrize("work", [evaluation_data, scored])
def test_five_times_the_conversations_need_hardly_more_memory(work, tmp_path, monkeypatch):
    for name in ("CHUNK", "BUCKET"):
        monkeypatch.setattr(row_file, name, 2_000)
    for module in (read_options, baselines):  # a cache of bounded size is not what is measured
        monkeypatch.setattr(module, "count_tokens", count_tokens.__wrapped__)
    peaks = []
    for conversations in (40, 1_700, 8_500):  # the first one imports and compiles
        write_piles(tmp_path, conversations)
        gc.collect()
        tracemalloc.start()
        work(tmp_path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    more_passages = (8_500 - 1_700) * 3
    assert peaks[2] - peaks[1] < 20 * more_passages


@pytest.fixture
def corpus(write):
    """Conversations, a copy of some under other ids, and a file that they are held against."""
    lines = [
        {"id": f"d{n}", "messages": [
            {"role": "user", "content": f"so what is {n} then"},
            {"role": "assistant", "content": " ".join(["well"] * (1 + n % 9)) + f" {n}"},
            {"role": "user", "content": f"thanks for {n}"},
        ]}
        for n in range(300)
    ]  # fmt: skip
    again = [{**line, "id": f"again-{line['id']}"} for line in lines[:40]]
    repeated = [{**lines[7], "messages": [*lines[9]["messages"], *lines[8]["messages"]]}]
    return write("talk.jsonl", [*lines, *again, *repeated]), write("seen.jsonl", lines[100:130])


def read_all(corpus, small, monkeypatch):
    """Passages and counts of reading, with buckets of a few rows or with one for all."""
    for name in ("CHUNK", "BUCKET"):
        monkeypatch.setattr(row_file, name, 16 if small else 1 << 16)
    options = ReadOptions(role="any", filters=Filters(min_response=3), skip_bad=True)
    passages, report = read(corpus[0], options, [corpus[1]])
    counts = (report.duplicate_dialogues, report.seen_elsewhere, report.filtered)
    messages = [str(problem) for problem in report.problems]
    sample = sample_dialogues(passages, 50, seed=3, per_dialogue=1)
    return passages["id"][:], counts, messages, sample["id"][:]


def test_small_buckets_give_what_a_single_one_gives(corpus, monkeypatch):
    ids, counts, messages, sample = read_all(corpus, False, monkeypatch)
    assert read_all(corpus, True, monkeypatch) == (ids, counts, messages, sample)
    assert counts[:2] == (40, 30) and counts[2] > 0 and len(messages) > 0
    assert len(sample) == 50 and not any(name.startswith("again") for name in ids)


def test_rows_with_one_key_are_in_one_bucket_in_their_order(monkeypatch):
    monkeypatch.setattr(row_file, "CHUNK", 10)
    monkeypatch.setattr(row_file, "BUCKET", 20)
    values = np.random.default_rng(0).integers(1, 2**64, 40, dtype=np.uint64)
    keys = np.concatenate([values, np.zeros(5, dtype=np.uint64), values[::-1]])
    with RowFile([("key", "u8"), ("number", "u4")]) as first, RowFile(first.dtype.descr) as rows:
        first.write(key=keys[:30], number=np.arange(30))
        rows.extend(first)
        rows.write(key=keys[30:], number=np.arange(30, 85))
        buckets = list(rows.buckets("key"))
    assert len(buckets) == 5
    for index, part in buckets:
        assert index.tolist() == part["number"].tolist() == sorted(index)
        assert all(np.count_nonzero(part["key"] == value) == 2 for value in part["key"])
    in_order = np.concatenate([np.unique(part["key"]) for _, part in buckets])
    assert in_order.tolist() == sorted(values.tolist())
    assert not rows.path.exists() and not first.path.exists()


def test_draws_are_those_of_a_permutation_of_all_dialogues():
    passages = to_passages(talk(dialogues=40, turns=4))
    _, unit = np.unique(row_hashes(passages, ["dialogue_id"]), return_inverse=True)
    rank = np.random.default_rng(5).permutation(40)[unit]
    expected = np.flatnonzero(rank < 4)  # three passages of each
    sample = sample_dialogues(passages, 12, seed=5)
    assert sample["id"][:] == [passages["id"][int(row)] for row in expected]


def test_the_order_of_two_sides_of_different_size_does_not_matter():
    few, many = to_passages(talk(3, 4)), to_passages(talk(9, 4))
    left, right = partners(few, many)
    assert [few["id"][int(a)] for a in left] == [many["id"][int(b)] for b in right]
    assert left.tolist() == list(range(len(few)))
    swapped = partners(many, few)
    assert swapped[0].tolist() == right.tolist() and swapped[1].tolist() == left.tolist()
