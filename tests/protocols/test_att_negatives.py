"""Negatives of HvR: what they are, and that it learns to reject copies without losing the rest."""

import numpy as np
import pytest

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.protocols.att import AttRun
from dialeval.protocols.att.negatives import (
    NEAR_COPY,
    fit_relevance,
    hard_negatives,
    near_copies,
    negative_pairs,
    training_pairs,
)
from dialeval.protocols.att.players import _accuracy, make_parts
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.training.game_settings import GameConfig

DIMENSIONS = 48


class TopicVectors:
    """Vectors of invented texts `topic word number`: texts of one topic have a cosine near .5."""

    name = "topics"

    def __call__(self, texts):
        rows = []
        for text in texts:
            topic = text.split()[0] if text.split() else text
            rows.append(self._vector(topic) + self._vector(f"alone {text}"))
        table = np.array(rows)
        return table / np.linalg.norm(table, axis=1, keepdims=True)

    def _vector(self, text):
        seed = int.from_bytes(text.encode()[:24].ljust(24), "little")
        vector = np.random.default_rng(seed).standard_normal(DIMENSIONS)
        return vector / np.linalg.norm(vector)


def talk(dialogues: int, start: int = 0):
    """Dialogues of four turns, each on one of twelve topics."""
    return to_passages(
        Passage(
            (Turn("A", f"topic{number % 12} turn{turn} of {number}"),),
            f"topic{number % 12} turn{turn + 1} of {number}",
            id=f"{number}-{turn}",
            dialogue_id=str(number),
        )
        for number in range(start, start + dialogues)
        for turn in range(3)
    )


HUMAN = talk(2)


def texts(kind: str) -> dict[str, str]:
    return {passage.id: passage.response for passage in hard_negatives(kind, HUMAN, HUMAN)}


def test_a_copy_repeats_a_turn_of_its_context():
    contexts = {passage.id: passage.context[0].text for passage in iterate(HUMAN)}
    assert texts("copy") == contexts


def test_a_near_copy_lacks_one_word():
    contexts = {passage.id: passage.context[0].text.split() for passage in iterate(HUMAN)}
    for name, text in texts(NEAR_COPY).items():
        assert len(text.split()) == len(contexts[name]) - 1
        assert set(text.split()) <= set(contexts[name])


def test_every_context_has_a_near_copy_even_one_word():
    single = Passage((Turn("A", "hello"),), "hi", id="x", dialogue_id="x")
    copies = near_copies([single, *iterate(HUMAN)], name="bot")
    assert copies[0].response == "hello"
    assert all(copy.author == "bot" and copy.response for copy in copies)
    assert {copy.id: copy.response for copy in copies[1:]} == texts(NEAR_COPY)


def test_shuffled_words_are_those_of_the_reply_in_another_order():
    replies = {passage.id: passage.response for passage in iterate(HUMAN)}
    shuffled = texts("shuffled")
    assert len(shuffled) >= 4  # a shuffle that changes nothing is left out
    for name, text in shuffled.items():
        assert sorted(text.split()) == sorted(replies[name].split())
        assert text != replies[name]


def test_the_previous_turn_is_looked_up_where_the_context_does_not_have_it():
    assert texts("previous") == {
        f"{dialogue}-{turn}": f"topic{dialogue} turn{turn - 1} of {dialogue}"
        for dialogue in range(2)
        for turn in (1, 2)  # nothing precedes the first turn of a dialogue
    }
    longer = Passage((Turn("A", "first"), Turn("B", "second")), "third", id="x", dialogue_id="x")
    table = to_passages([longer])
    assert [p.response for p in hard_negatives("previous", table, table)] == ["first"]


def test_a_negative_never_is_the_human_reply():
    echo = to_passages([Passage((Turn("A", "same"),), "same", id="x", dialogue_id="x")])
    assert not hard_negatives("copy", echo, echo)
    assert not hard_negatives("shuffled", echo, echo)


def test_a_negative_depends_on_its_passage_and_the_seed_alone():
    both, one = talk(2), talk(1)
    by_id = {p.id: p.response for p in hard_negatives("shuffled", both, both, seed=3)}
    assert {p.id: p.response for p in hard_negatives("shuffled", one, one, seed=3)}.items() <= (
        by_id.items()
    )
    assert by_id != texts("shuffled")


def test_training_pairs_hold_the_share_of_hard_negatives():
    human = talk(40)
    pairs = training_pairs(["random", "copy", "shuffled"], human, human, share=0.25)
    labels, numbers = np.asarray(pairs["label"]), np.asarray(pairs["pair"])
    authors = np.asarray(pairs["author"])
    assert (authors == "random").sum() == len(human) == 120
    assert (authors == "copy").sum() == 20
    assert 15 <= (authors == "shuffled").sum() <= 20
    assert sorted(numbers[labels == 1]) == sorted(numbers[labels == 0]) == list(
        range(len(pairs) // 2)
    )  # fmt: skip
    contexts = [passage.context for passage in iterate(pairs)]
    for number in (0, 119, 125, len(pairs) // 2 - 1):
        first, second = np.flatnonzero(numbers == number)
        assert contexts[first] == contexts[second]


def accuracies(scorer) -> dict[str, float]:
    test = talk(60, start=1_000)
    return {
        kind: _accuracy(scorer, negative_pairs(kind, test, test)).pairwise_accuracy
        for kind in ("random", "copy")
    }


def test_two_classes_cannot_reject_both_random_replies_and_copies():
    human, embed = talk(200), TopicVectors()
    random_only = EmbeddingScorer.fit(negative_pairs("random", human, human), embed=embed)
    both = EmbeddingScorer.fit(training_pairs(["random", "copy"], human, human, 0.5), embed=embed)
    before, mixed = accuracies(random_only), accuracies(both)
    assert before["random"] > 0.9 and before["copy"] < 0.1  # a parrot is its ideal
    assert min(mixed.values()) < 0.8


def test_a_class_for_each_kind_rejects_both(tmp_path):
    human, embed = talk(200), TopicVectors()
    scorer = fit_relevance(["random", "copy"], human, human, 0.2, embed=embed)
    after = accuracies(scorer)
    assert after["random"] > 0.9 and after["copy"] > 0.9
    scores = scorer(list(iterate(human)))
    assert ((scores > 0) & (scores < 1)).all() and scores.mean() > 0.5
    save_scorer(scorer, tmp_path / "hvr")
    loaded = load_scorer(tmp_path / "hvr", embed=embed)
    np.testing.assert_allclose(loaded(list(iterate(human))), scores)


def test_on_real_vectors_a_parrot_no_longer_wins_and_random_replies_still_lose():
    run = AttRun(generator_passages=600, hvr_pairs=600)
    parts = make_parts(run, GameConfig(validation_contexts=75))
    human, test = parts["generator"], parts["validation"]
    paper = EmbeddingScorer.fit(negative_pairs("random", human, human))
    hard = fit_relevance(["random", "copy"], human, human, 0.2, embed=paper.embed)
    before, after = (
        {
            kind: _accuracy(scorer, negative_pairs(kind, test, test)).pairwise_accuracy
            for kind in ("random", "copy", NEAR_COPY)
        }
        for scorer in (paper, hard)
    )
    assert before["copy"] < 0.1 and after["copy"] > 0.9
    assert after[NEAR_COPY] > 0.7  # which it was never trained on
    assert after["random"] > max(0.65, before["random"] - 0.07)


def test_a_kind_that_no_context_has_is_refused_with_a_hint():
    single = to_passages(
        Passage((Turn("A", f"topic{n} a"),), f"topic{n} b", id=str(n), dialogue_id=str(n))
        for n in range(30)
    )
    with pytest.raises(BadInput, match=r"kind 'previous'.*context_turns"):
        fit_relevance(["random", "previous"], single, single, 0.2, embed=TopicVectors())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hvr_negatives": ["random", "parrot"]}, "'parrot'.*copy, shuffled, previous"),
        ({"hvr_negatives": ["copy"]}, "no random ones"),
        ({"hvr_hard_share": 1.0}, "between 0 and 1"),
    ],
)
def test_unknown_negatives_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        AttRun(**settings)
