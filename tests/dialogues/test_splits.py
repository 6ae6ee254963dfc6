"""Splits and folds: disjoint by dialogue, and unmoved by new data."""

from dataclasses import replace

import numpy as np
import pytest

from dialeval.dialogues import (
    PARTS,
    BadInput,
    SeenDialogues,
    folds,
    overlap,
    part_of,
    split,
    to_passages,
    warn_if_seen,
)
from tests.conftest import talk


def ids(passages):
    return set(passages["dialogue_id"])


def test_parts_share_no_dialogue_and_lose_nothing(human):
    parts = split(human)
    assert list(parts) == ["generator", "evaluator", "test"] == list(PARTS)
    assert sum(map(len, parts.values())) == len(human)
    assert not (ids(parts["generator"]) & ids(parts["evaluator"]))
    assert not (ids(parts["test"]) & (ids(parts["generator"]) | ids(parts["evaluator"])))


def test_shares_are_kept_in_the_long_run():
    parts = [part_of(f"d{number}") for number in range(20_000)]
    for name, share in PARTS.items():
        assert parts.count(name) / len(parts) == pytest.approx(share, abs=0.015)


def test_adding_data_never_moves_an_example():
    few, many = to_passages(talk(30)), to_passages(talk(60))
    for name, part in split(few).items():
        assert ids(part) == ids(split(many)[name]) & ids(few)
    before = dict(zip(few["id"], folds(few), strict=True))
    after = dict(zip(many["id"], folds(many), strict=True))
    assert all(after[key] == fold for key, fold in before.items())


def test_another_seed_is_another_split(human):
    assert ids(split(human)["test"]) != ids(split(human, seed=1)["test"])


def test_folds_keep_dialogues_together_and_use_every_number():
    passages = to_passages(talk(200, 3))
    number = folds(passages, 5)
    assert set(number) == set(range(5))
    assert np.bincount(number).min() > 0.6 * np.bincount(number).mean()
    by_dialogue = dict(zip(passages["dialogue_id"], number, strict=True))
    assert all(by_dialogue[d] == n for d, n in zip(passages["dialogue_id"], number, strict=True))


def test_shares_must_sum_to_one(human):
    with pytest.raises(BadInput, match=r"sum to 1, but .* sums to 0.9"):
        split(human, {"a": 0.5, "b": 0.4})
    with pytest.raises(BadInput, match="at least 2 folds, but got 1"):
        folds(human, 1)


def test_a_generator_that_saw_the_evaluation_is_noticed(human, recwarn):
    parts = split(human)
    warn_if_seen(parts["test"], parts["generator"])
    assert not recwarn.list
    with pytest.warns(SeenDialogues, match="dialeval data split"):
        warn_if_seen(parts["test"], human)


def test_borrowed_replies_count_for_overlap():
    passages = talk(2)
    borrowed = to_passages([replace(passages[0], source_dialogue_id="t1")])
    second = to_passages([passage for passage in passages if passage.dialogue_id == "t1"])
    assert overlap(borrowed, second).dialogue_ids == {"t1"}


def test_the_same_words_under_other_ids_are_noticed(human):
    renamed = to_passages(
        replace(passage, dialogue_id=f"x{passage.dialogue_id}") for passage in talk()
    )
    shared = overlap(renamed, human)
    assert not shared.dialogue_ids and shared.passages == len(human) and shared


def test_some_dialogues_gives_neighbours_of_dialogues_drawn_at_random():
    from dialeval.dialogues.splits import sample_dialogues

    passages = to_passages(talk(dialogues=40, turns=9))
    some = sample_dialogues(passages, 30, seed=1, per_dialogue=5)
    assert len(some) == 30
    by_dialogue = {}
    for key, dialogue in zip(some["id"], some["dialogue_id"], strict=True):
        by_dialogue.setdefault(dialogue, []).append(int(key.split("#")[1]))
    assert list(by_dialogue.values()) == [[1, 2, 3, 4, 5]] * 6
    assert some["id"][:] != sample_dialogues(passages, 30, seed=2)["id"][:]
    assert len(sample_dialogues(passages, 10**6)) == len(passages)
