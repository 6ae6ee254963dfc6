"""Pairs: balanced, disjoint, and without a leak in the random replies."""

from collections import Counter
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialeval.dialogues import (
    SCENARIOS,
    BadInput,
    Pairing,
    Passage,
    count_tokens,
    iterate,
    pair_folds,
    read_passages,
    to_passages,
)
from dialeval.dialogues.matching import derangement
from tests.conftest import talk


def labels(pairs):
    return np.array(pairs["label"])


def side(pairs, label):
    return [p for p, value in zip(iterate(pairs), pairs["label"], strict=True) if value == label]


def deaf_accuracy(pairs, salt):
    """Accuracy of an evaluator that reads the response alone, and decides by a hash of it."""
    taken = [
        blake2b(f"{salt}{text}".encode(), digest_size=1).digest()[0] < 100
        for text in pairs["response"]
    ]
    return (np.array(taken) == labels(pairs)).mean()


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("paired", [True, False])
def test_classes_are_balanced_in_every_scenario(scenario, paired, human, machine):
    pairs = Pairing(scenario, paired)(human, machine)
    assert labels(pairs).mean() == 0.5 and len(pairs) > 20
    assert set(pairs["scenario"]) == {scenario}
    counts = Counter(zip(pairs["pair"], pairs["label"], strict=True))
    assert set(counts.values()) == {1}  # each pair has one of each class


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("random", ["response", "dialogue"])
@pytest.mark.parametrize("match_length", [None, 2])
def test_an_evaluator_that_ignores_the_context_is_at_exactly_one_half(paired, random, match_length):
    rows = talk(60, 5)
    rows = [p.with_response(f"{p.response} {'so ' * (n % 4)}", "human") for n, p in enumerate(rows)]
    pairing = Pairing("human_random", paired, random, match_length, seed=3)
    for fold in pair_folds(to_passages(rows), pairing, k=3):
        for salt in range(5):
            assert deaf_accuracy(fold, salt) == 0.5
        assert all(p.source_dialogue_id not in (None, p.dialogue_id) for p in side(fold, 0))


@pytest.mark.shared
def test_no_leak_on_real_dialogues(shared):
    passages = read_passages(shared / "dailydialog" / "dialogues_test.txt")
    pairs = Pairing("human_random")(passages)
    assert [deaf_accuracy(pairs, salt) for salt in range(10)] == [0.5] * 10
    lengths = np.array([count_tokens(text) for text in pairs["response"]])
    assert all(((lengths > cut) == labels(pairs)).mean() == 0.5 for cut in range(1, 40))


def test_random_replies_stay_in_their_fold(human):
    for fold in pair_folds(human, Pairing("human_random"), k=3):
        assert {p.source_dialogue_id for p in side(fold, 0)} <= {
            p.dialogue_id for p in side(fold, 1)
        }


def test_paired_random_replies_answer_the_same_contexts(human):
    pairs = Pairing("human_random")(human)
    ones, zeros = side(pairs, 1), side(pairs, 0)
    assert [p.context for p in ones] == [p.context for p in zeros]
    assert {p.author for p in zeros} == {"random"}
    assert sorted(p.response for p in ones) == sorted(p.response for p in zeros)


def test_a_random_dialogue_has_no_turn_of_its_own(human):
    for passage in side(Pairing("human_random", random="dialogue")(human), 0):
        number = passage.dialogue_id.removeprefix("t")
        for turn in passage.context:
            assert turn.text.split()[-1] != number


def test_unpaired_classes_share_no_dialogue(human, machine):
    for scenario in SCENARIOS:
        pairs = Pairing(scenario, paired=False)(human, machine)
        ones, zeros = ({p.dialogue_id for p in side(pairs, label)} for label in (1, 0))
        assert not (ones & zeros), scenario


def test_a_system_is_joined_by_id_and_else_by_context(human, machine):
    by_id = Pairing()(human, machine)
    anonymous = to_passages(
        Passage(p.context, p.response, "bot", f"no-{n}") for n, p in enumerate(iterate(machine))
    )
    by_context = Pairing()(human, anonymous)
    assert side(by_id, 1) == side(by_context, 1)
    assert [p.response for p in side(by_id, 0)] == [p.response for p in side(by_context, 0)]
    assert all(
        z.response == f"reply to {o.id}"
        for o, z in zip(side(by_id, 1), side(by_id, 0), strict=True)
    )


def test_a_system_that_answers_less_is_compared_on_what_it_answers(human, machine, caplog):
    pairs = Pairing()(human, machine.select(range(50)))
    assert len(pairs) == 100
    assert "250 of one only are left out" in caplog.text


def test_the_next_utterance_is_what_followed(human):
    pairs = Pairing("human_next")(human)
    for one, zero in zip(side(pairs, 1), side(pairs, 0), strict=True):
        assert one.following == zero.response and one.context == zero.context
    assert len(pairs) == 2 * sum(passage.following is not None for passage in talk())


def test_the_next_utterance_needs_every_turn_cut(human):
    first = human.select([i for i, name in enumerate(human["id"]) if name.endswith("#1")])
    with pytest.raises(BadInput, match="two or more replies per conversation.*responses='every'"):
        Pairing("human_next")(first)
    last = human.select([i for i, text in enumerate(human["following"]) if text is None])
    with pytest.raises(BadInput, match="No passage has the turn after"):
        Pairing("human_next")(last)


@pytest.mark.parametrize(("scenario", "paired"), [(s, p) for s in SCENARIOS for p in (True, False)])
def test_matched_classes_have_one_histogram_of_lengths(scenario, paired):
    rows = [
        replace(p, response="so " * (i % 7 + 1), following="so " * (i % 5 + 3))
        for i, p in enumerate(talk(60))
    ]
    bots = to_passages(p.with_response("oh " * (i % 4 + 1), "bot") for i, p in enumerate(rows))
    pairs = Pairing(scenario, paired, match_length=2)(to_passages(rows), bots)
    histograms = [
        Counter(count_tokens(p.response) // 2 for p in side(pairs, label)) for label in (1, 0)
    ]
    assert histograms[0] == histograms[1] and sum(histograms[0].values()) > 10


def test_pairs_are_the_same_for_a_seed_and_others_for_another(human):
    one, again, other = (Pairing("human_random", seed=s)(human) for s in (0, 0, 1))
    assert one["response"][:] == again["response"][:]
    assert one["response"][:] != other["response"][:]


@settings(max_examples=200, deadline=None)
@given(sizes=st.lists(st.integers(1, 9), min_size=2, max_size=12), seed=st.integers(0, 9))
def test_a_derangement_exists_unless_one_group_is_too_large(sizes, seed):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rng = np.random.default_rng(seed)
    rng.shuffle(groups)
    if 2 * max(sizes) > sum(sizes):
        with pytest.raises(BadInput, match=f"holds {max(sizes)} of the {sum(sizes)} passages"):
            derangement(groups, rng)
    else:
        order = derangement(groups, rng)
        assert sorted(order) == list(range(len(groups)))
        assert (groups[order] != groups).all()


def test_every_reply_of_another_dialogue_is_about_as_likely():
    groups = np.repeat(np.arange(6), 2)
    counts = np.zeros((12, 12))
    for seed in range(3000):
        counts[np.arange(12), derangement(groups, np.random.default_rng(seed))] += 1
    elsewhere = counts[groups[:, None] != groups[None, :]]
    assert counts[groups[:, None] == groups[None, :]].sum() == 0
    assert abs(elsewhere / 300 - 1).max() < 0.35  # 300 expected, standard error about 16


def test_one_author_where_two_are_needed(human, machine):
    with pytest.raises(BadInput, match="Expected one system, found none"):
        Pairing()(human)
    with pytest.raises(BadInput, match="No human responses here, only those of 'bot'"):
        Pairing("human_random")(machine)
    with pytest.raises(
        BadInput, match="Unknown scenario 'human_alien'. Choose one of human_machine"
    ):
        Pairing("human_alien")


def test_strangers_cannot_be_paired(human):
    stranger = to_passages([Passage((), "hm", "bot", "zzz")])
    with pytest.raises(BadInput, match="answers none of the human contexts"):
        Pairing()(human, stranger)
