"""Baselines: each must not see what it claims not to see."""

import numpy as np
import pytest

from dialeval.dialogues import BadInput, Pairing, Passage, Turn, iterate, select, to_passages
from dialeval.scorers import Decision, is_human, load_scorer, save_scorer
from dialeval.scorers.baselines import (
    NEUTRAL,
    CoinScorer,
    ConstantScorer,
    LengthScorer,
    ResponseOnlyScorer,
    ShuffledContextScorer,
)


class Recorder:
    """Scores by the first letters of context and response, and remembers what it saw."""

    name, higher_is_human, decision, signature = "recorder", False, Decision(7.0), "rec"

    def __call__(self, passages):
        self.seen = list(iterate(passages))
        return np.array([len(p.context[0].text) + len(p.response) / 100 for p in self.seen])


def of_lengths(human, machine):
    """Pairs with responses of given lengths."""
    sides = []
    for author, lengths in (("human", human), ("bot", machine)):
        sides.append(
            to_passages(
                Passage((Turn("A", "hi"),), "w " * length, author, f"{n}", f"d{n}")
                for n, length in enumerate(lengths)
            )
        )
    return Pairing()(*sides)


def accuracy(scorer, pairs) -> float:
    return float((is_human(scorer, scorer(pairs)) == np.array(pairs["label"])).mean())


def test_length_finds_that_machines_are_brief():
    pairs = of_lengths([8, 9, 10, 11] * 10, [2, 3, 4, 5] * 10)
    scorer = LengthScorer.fit(pairs)
    assert accuracy(scorer, pairs) == 1.0
    assert "n:80" in scorer.signature


@pytest.mark.parametrize(("human", "machine"), [([8, 9, 10], [2, 3, 30]), ([2, 3, 30], [8, 9, 10])])
def test_length_takes_a_rule_that_turns_back(human, machine):
    pairs = of_lengths(human * 30, machine * 30)
    assert accuracy(LengthScorer.fit(pairs), pairs) == 1.0


def test_length_says_half_where_lengths_are_equal():
    scores = LengthScorer.fit(of_lengths([5] * 20, [5] * 20))(of_lengths([5, 500], [0, 7]))
    assert scores == pytest.approx(0.5)


def test_length_learns_nothing_from_one_length_whatever_rounding_says():
    pairs = of_lengths([7] * 30, [7] * 30)
    machine = np.flatnonzero(np.array(pairs["label"]) == 0)
    scorer = LengthScorer.fit(select(pairs, ~np.isin(np.arange(60), machine[:20])))
    assert scorer(of_lengths([7, 8], [1, 70])) == pytest.approx(0.75, abs=0.02)


def test_length_needs_both_classes():
    pairs = of_lengths([3] * 4, [2] * 4)
    with pytest.raises(BadInput, match="4 rows have 0. Give both classes"):
        LengthScorer.fit(select(pairs, np.array(pairs["label"]) == 0))


def test_constant_is_constant(human):
    assert ConstantScorer(0.25)(human).tolist() == [0.25] * len(human)
    assert is_human(ConstantScorer(), ConstantScorer()(human)).all()


def test_a_coin_is_fair_and_ignores_order(human, machine):
    coin, rows = CoinScorer(3), np.random.default_rng(0).permutation(len(human))
    tossed = coin(human)
    assert np.array_equal(coin(human.select(rows)), tossed[rows])
    assert coin(list(iterate(human))[5:6])[0] == tossed[5]
    assert abs((tossed >= 0.5).mean() - 0.5) < 3 * 0.5 / np.sqrt(len(human))
    assert abs(np.corrcoef(tossed, coin(machine))[0, 1]) < 0.2
    assert abs(np.corrcoef(tossed, CoinScorer(4)(human))[0, 1]) < 0.2


def test_response_only_gives_one_score_whatever_the_context():
    first, second, third = (
        Passage((Turn("A", context), Turn("B", "so")), response, id="x")
        for context, response in (("one", "yes"), ("two words", "yes"), ("one", "yes sir"))
    )
    blind = ResponseOnlyScorer(inner := Recorder())
    scores = blind([first, second, third])
    assert scores[0] == scores[1] != scores[2]
    assert [p.context for p in inner.seen] == [(Turn("B", NEUTRAL),)] * 3
    assert [p.response for p in inner.seen] == ["yes", "yes", "yes sir"]


def test_wrappers_keep_the_scale_of_what_they_wrap():
    for wrapper in (ResponseOnlyScorer(Recorder()), ShuffledContextScorer(Recorder(), 5)):
        assert wrapper.higher_is_human is False
        assert wrapper.decision == Decision(7.0)
        assert "rec" in wrapper.signature
        assert wrapper([]).shape == (0,)


def test_shuffling_moves_contexts_to_other_dialogues_and_nothing_else(human):
    shuffled = ShuffledContextScorer(inner := Recorder(), seed=1)
    scores = shuffled(human)
    before, after = list(iterate(human)), inner.seen
    assert len(scores) == len(before)
    for old, new in zip(before, after, strict=True):
        assert (old.response, old.id, old.dialogue_id) == (new.response, new.id, new.dialogue_id)
        number = old.dialogue_id.removeprefix("t")
        assert all(not turn.text.endswith(f" talk {number}") for turn in new.context)
    assert sorted(map(str, (p.context for p in before))) == sorted(
        map(str, (p.context for p in after))
    )


def test_shuffling_depends_on_the_seed_and_not_on_the_order(human):
    def contexts(seed, passages):
        ShuffledContextScorer(inner := Recorder(), seed)(passages)
        return {p.id: p.context for p in inner.seen}

    rows = np.random.default_rng(0).permutation(len(human))
    assert contexts(1, human) == contexts(1, human.select(rows))
    assert contexts(1, human) != contexts(2, human)


def test_one_dialogue_cannot_be_shuffled(human):
    ids = np.array(human["dialogue_id"])
    with pytest.raises(BadInput, match="Give more dialogues"):
        ShuffledContextScorer(Recorder(), 0)(select(human, ids == "t0"))


def test_saved_and_loaded_scores_are_equal(human, machine, tmp_path):
    length = LengthScorer.fit(Pairing()(human, machine))
    coin = CoinScorer(9, decision=Decision(0.4, "validation", 0.1, 50))
    scorers = [
        length,
        ConstantScorer(0.3),
        coin,
        ResponseOnlyScorer(length),
        ShuffledContextScorer(coin, 4),
        ShuffledContextScorer(ResponseOnlyScorer(length), 2),
    ]
    for number, scorer in enumerate(scorers):
        loaded = load_scorer(save_scorer(scorer, tmp_path / f"{number}"), device="cpu")
        assert type(loaded) is type(scorer)
        assert np.array_equal(loaded(human), scorer(human))
        assert (loaded.name, loaded.signature) == (scorer.name, scorer.signature)
        assert loaded.decision == scorer.decision
