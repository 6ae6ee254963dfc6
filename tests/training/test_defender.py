"""The judge of the game: equations by hand, and what is saved."""

import math

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, iterate
from dialeval.scorers import load_scorer, save_scorer
from dialeval.training.defender import Defender, pairwise, pairwise_probability
from tests.closeness import assert_close
from tests.training.game_worker import judge, talk


def sigmoid(value: float) -> float:
    return 1 / (1 + math.exp(-value))


class Likes:
    """A judge that is no network: P(human) by the first letter."""

    name, signature, higher_is_human = "likes", "likes", True

    def __call__(self, passages):
        return np.array([0.9 if passage.response[:1] < "m" else 0.2 for passage in passages])


def test_equation_2_without_a_second_judge():
    defender = Defender(judge(1))
    margins, relevance = np.array([-3.0, 0.0, 1.5]), np.ones(3)
    scores = defender.scores(margins, relevance)
    np.testing.assert_allclose(scores, [sigmoid(-3), 0.5, sigmoid(1.5)])
    np.testing.assert_array_equal(defender.logits(margins, relevance), margins)
    np.testing.assert_array_equal(defender.relevance(list(iterate(talk(4)))), np.ones(4))


def test_equation_6_by_hand():
    defender = Defender(judge(1), judge(2))
    scores = defender.scores(np.array([4.0, -4.0, 0.0]), np.array([sigmoid(2), sigmoid(2), 0.0]))
    np.testing.assert_allclose(scores, [0.930, 0.126, 0.0], atol=5e-4)
    np.testing.assert_allclose(scores[0], math.sqrt(sigmoid(4) * sigmoid(2)))
    logits = defender.logits(np.array([4.0]), np.array([sigmoid(2)]))
    np.testing.assert_allclose(logits, math.log(scores[0] / (1 - scores[0])))


def test_the_soft_minimum_of_the_released_code():
    defender = Defender(judge(1), judge(2), "softmin")
    margins, relevance = np.array([4.0, -4.0]), np.full(2, sigmoid(2))
    scores = defender.scores(margins, relevance)
    np.testing.assert_allclose(scores, [0.734, 0.019], atol=5e-4)
    np.testing.assert_allclose(1 / (1 + np.exp(-defender.logits(margins, relevance))), scores)


def test_saturated_scores_have_finite_logits():
    defender = Defender(judge(1), judge(2))
    logits = defender.logits(np.array([800.0, -800.0]), np.array([1.0, 0.0]))
    assert np.isfinite(logits).all() and logits[0] > 0 > logits[1]


def test_ties_count_half():
    wins = pairwise(np.array([2.0, 1.0, 1.0]), np.array([1.0, 1.0, 2.0]))
    assert wins.tolist() == [1.0, 0.5, 0.0]


def test_the_probability_of_equation_1_never_overflows():
    human, machine = np.array([1.0, 2.0, 2000.0]), np.array([2.0, 2.0, -2000.0])
    expected = [math.exp(1) / (math.exp(1) + math.exp(2)), 0.5, 1.0]
    np.testing.assert_allclose(pairwise_probability(human, machine), expected)


def test_judges_read_shared_contexts_as_single_passages():
    defender = Defender(judge(1), judge(2))
    passages = [
        passage.with_response(text, "bot")
        for passage in iterate(talk(5))
        for text in ("yes", "the cat sings", "", "old rain likes a very red house")
    ]
    margins = [defender.hvm.margins([passage])[0] for passage in passages]
    relevance = [defender.hvr([passage])[0] for passage in passages]
    assert_close(defender.margins(passages), margins)
    assert_close(defender.relevance(passages), relevance)
    assert np.std(margins) > 0.01


@pytest.mark.parametrize("combine", ["geometric", "softmin"])
def test_a_saved_defender_gives_equal_scores(tmp_path, combine):
    defender, passages = Defender(judge(1), judge(2), combine), list(iterate(talk(8)))
    save_scorer(defender.scorer("ATT"), tmp_path / "att")
    loaded = load_scorer(tmp_path / "att", device="cpu")
    scores = defender.scores(defender.margins(passages), defender.relevance(passages))
    assert_close(loaded(passages), scores)
    assert loaded.name == "ATT"


def test_a_judge_alone_is_saved_as_it_plays(tmp_path):
    hvm, passages = judge(1), list(iterate(talk(8)))
    hvm.temperature = 3.0  # of weights that the game changes
    before = hvm.fingerprint
    defender = Defender(hvm)
    with torch.no_grad():
        hvm.model.score.weight += 1
    save_scorer(defender.scorer("GAN"), tmp_path / "gan")
    loaded = load_scorer(tmp_path / "gan", device="cpu")
    scores = defender.scores(defender.margins(passages), np.ones(8))
    assert_close(loaded(passages), scores)
    assert loaded.fingerprint == hvm.fingerprint != before


def test_scores_follow_weights_even_where_a_cache_was_set(tmp_path):
    passages = list(iterate(talk(8)))
    hvm = type(judge(1))(judge(1).model, judge(1).tokenizer, judge(1).input_format,
                         device="cpu", cache=tmp_path / "scores.sqlite")  # fmt: skip
    defender = Defender(hvm)
    before = defender.margins(passages)
    with torch.no_grad():
        hvm.model.score.weight.neg_()
    assert_close(defender.margins(passages), -before)


def test_a_second_judge_need_not_be_a_network():
    passages = [passage.with_response(text, "bot") for passage in iterate(talk(2)) for text in "az"]
    relevance = Defender(judge(1), Likes()).relevance(passages)
    assert relevance.tolist() == [0.9, 0.2, 0.9, 0.2]


def test_unknown_ways_to_join_are_refused():
    with pytest.raises(BadInput, match="geometric or softmin, but got 'mean'"):
        Defender(judge(1), judge(2), "mean")
