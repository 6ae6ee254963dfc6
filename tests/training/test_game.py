"""The attack-defence game: who learns when, from what, and when it ends."""

import logging
from collections import Counter

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, iterate
from dialeval.training.defender import Defender
from dialeval.training.game import AttackDefenceGame
from dialeval.training.game_settings import RELEASED, GameConfig
from dialeval.training.game_state import set_trainable
from tests.closeness import assert_close
from tests.training.game_worker import FAST, attacker, judge, talk, tiny_game, weights


def equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def watch(game, monkeypatch, method: str, before) -> None:
    """Call `before(game)` whenever a method of the game is called."""
    real = getattr(game, method)

    def call(*arguments, **settings):
        before(game)
        return real(*arguments, **settings)

    monkeypatch.setattr(game, method, call)


def attacker_states(game, monkeypatch) -> list[tuple[int, int, dict, int]]:
    """Turn, step, weights and optimiser's memory before each attack step."""
    seen = []
    watch(
        game, monkeypatch, "attack_step",
        lambda g: seen.append(
            (g.turn, g.step, weights(g.generator.model), len(g.attacker_optimizer.state))
        ),
    )  # fmt: skip
    return seen


def test_each_attack_begins_with_the_first_generator_and_a_fresh_optimiser(tmp_path, monkeypatch):
    game = tiny_game(tmp_path)
    seen, first = attacker_states(game, monkeypatch), weights(game.generator.model)
    list(game.play())
    starts = [(state, memory) for _, step, state, memory in seen if step == 0]
    later = [state for _, step, state, _ in seen if step > 0]
    assert len(starts) == 3 and len(later) == 6
    assert all(equal(state, first) and memory == 0 for state, memory in starts)
    assert not any(equal(state, first) for state in later)


def test_players_in_half_precision_are_trained_in_full(tmp_path):
    players = attacker(), judge(1)
    for player in players:
        player.model.bfloat16()
    parts = talk(20), talk(12, seed=1)
    AttackDefenceGame(GameConfig(**FAST), players[0], Defender(players[1]), *parts, tmp_path)
    for player in players:
        assert {value.dtype for value in player.model.parameters()} == {torch.float32}


def test_a_gan_goes_on_with_its_generator(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, reinitialise=False, ensemble=False)
    seen, first = attacker_states(game, monkeypatch), weights(game.generator.model)
    list(game.play())
    starts = [(state, memory) for _, step, state, memory in seen if step == 0]
    assert equal(starts[0][0], first)
    assert not any(equal(state, first) for state, _ in starts[1:])
    assert all(memory > 0 for _, memory in starts[1:])


def sets_read(game, monkeypatch, part: str) -> list[int]:
    seen = []
    for method in ("take", "all"):
        real = getattr(game.samples, method)

        def call(turn, which, *arguments, real=real):
            if which == part:
                seen.append(turn)
            return real(turn, which, *arguments)

        monkeypatch.setattr(game.samples, method, call)
    return seen


@pytest.mark.parametrize("ensemble", [True, False])
def test_a_defence_learns_from_all_sets_or_the_newest(tmp_path, monkeypatch, ensemble):
    game = tiny_game(tmp_path, ensemble=ensemble, defence_batch=16)
    seen, by_turn = sets_read(game, monkeypatch, "train"), {}
    for progress in game.play():
        if progress["phase"] == "defence":
            by_turn.setdefault(progress["turn"], set()).update(seen)
        seen.clear()
    wanted = {1: {0, 1}, 2: {0, 1, 2}, 3: {0, 1, 2, 3}} if ensemble else {1: {1}, 2: {2}, 3: {3}}
    assert by_turn == wanted


def scripted(game, monkeypatch, accuracies: dict[int, float]) -> None:
    """Let the accuracy on each set be what is given; that of others is 0.5."""

    def accuracy(samples):
        value = accuracies.get(game.turn, 0.5)
        return {"pairwise": value, "probability": value, "hvm": value, "by_temperature": {}}

    monkeypatch.setattr(game, "_accuracy_of", accuracy)


def test_the_game_ends_when_the_last_m_turns_held(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, patience_turns=2, max_turns=9, c_low=0.1, c_high=0.7)
    scripted(game, monkeypatch, {1: 0.8, 2: 0.6, 3: 0.8, 4: 0.8, 5: 0.8})
    list(game.play())
    assert [record["turn"] for record in game.records] == [1, 2, 3, 4]
    assert [record["watched"] for record in game.records] == [0.8, 0.6, 0.8, 0.8]
    assert [record["defence_steps"] for record in game.records] == [0, 4, 0, 0]


def test_just_at_the_threshold_is_not_above_it(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, patience_turns=1, max_turns=2, c_low=0.1, c_high=0.7)
    scripted(game, monkeypatch, {1: 0.7, 2: 0.7})
    list(game.play())
    assert [record["defence_steps"] for record in game.records] == [4, 4]


def test_turns_run_out(tmp_path):
    game = tiny_game(tmp_path, max_turns=2)
    steps = list(game.play())
    assert [record["turn"] for record in game.records] == [1, 2]
    assert [step["phase"] for step in steps if "record" in step] == ["attacked", "defended"] * 2
    assert game.over and not list(game.play())


def test_an_attack_stops_when_the_defender_is_fooled(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, attack_steps=7, c_low=0.4, c_high=0.9, max_turns=2)
    scripted(game, monkeypatch, {1: 0.3, 2: 0.4})
    list(game.play())
    assert [record["attack_steps"] for record in game.records] == [2, 7]  # validated every 2 steps
    assert [record["stopped"] for record in game.records] == ["fooled", "budget"]


def test_a_defence_stops_when_every_set_is_held(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, defence_steps=9, c_low=0.1, c_high=0.7, max_turns=1)

    def accuracy(samples):
        value = 0.8 if game.step >= 4 and game.phase == "defence" else 0.6
        return {"pairwise": value, "probability": 0.0, "hvm": 0.0, "by_temperature": {}}

    monkeypatch.setattr(game, "_accuracy_of", accuracy)
    list(game.play())
    assert game.records[0]["defence_steps"] == 4
    assert (game.records[0]["watched"], game.records[0]["defended"]) == (0.6, 0.8)


def test_thresholds_may_look_at_the_probability(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, accuracy="probability", c_low=0.4, c_high=0.9, max_turns=1)
    both = {"pairwise": 0.9, "probability": 0.3, "hvm": 0.8, "by_temperature": {}}
    monkeypatch.setattr(game, "_accuracy_of", lambda _: both)
    list(game.play())
    record = game.records[0]
    assert (record["attack_steps"], record["stopped"], record["watched"]) == (2, "fooled", 0.3)
    assert (record["accuracy"], record["probability"], record["hvm"]) == (0.9, 0.3, 0.8)


def test_a_validation_reads_a_bounded_number_of_sets(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, max_turns=6, max_validated=3, attack_steps=1, defence_steps=1)
    counts, real = [], game._measure
    monkeypatch.setattr(game, "_measure", lambda: counts.append(real()) or counts[-1])
    list(game.play())
    assert [len(rows) for rows in counts] == [2, 2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3]
    for number, rows in enumerate(counts):
        assert {0, number // 2 + 1} <= set(rows)
    assert set(game.last_accuracy) == set(range(7))


def test_sets_that_are_weak_are_validated_more_often(tmp_path):
    game = tiny_game(tmp_path, max_validated=3)
    game.turn, game.last_accuracy = 5, {1: 0.9, 2: 0.9, 3: 0.1, 4: 0.9}
    counts = Counter()
    for game.step in range(300):
        counts.update(game._validated())
    assert counts[0] == counts[5] == 300
    np.testing.assert_allclose([counts[turn] / 300 for turn in (1, 2, 3, 4)],
                               [1 / 12, 1 / 12, 0.75, 1 / 12], atol=0.08)  # fmt: skip


@pytest.mark.parametrize(
    ("corpora", "shares"), [("uniform", [1 / 3] * 3), ("accuracy", [0.1, 0.1, 0.8])]
)
def test_sets_are_drawn_as_the_settings_say(tmp_path, monkeypatch, corpora, shares):
    game = tiny_game(tmp_path, corpora=corpora, defence_batch=16)
    for turn in range(3):
        game._collect(turn)
    game.turn, game.last_accuracy = 2, {0: 0.9, 1: 0.9, 2: 0.2}
    counts, real = Counter(), game.samples.take

    def take(turn, part, rows):
        counts[turn] += len(rows)
        return real(turn, part, rows)

    monkeypatch.setattr(game.samples, "take", take)
    for game.step in range(60):
        game._pairs(16)
    expected = 960 * np.array(shares)
    drawn = np.array([counts[turn] for turn in range(3)])
    assert ((drawn - expected) ** 2 / expected).sum() < 13.8  # chi-square, 2 degrees, p = 0.001


def test_pairs_answer_the_same_contexts(tmp_path):
    game = tiny_game(tmp_path)
    for turn in range(2):
        game._collect(turn)
    samples = {turn: game.samples.all(turn, "train") for turn in range(2)}
    known = {
        (row, text)
        for columns in samples.values()
        for row, text in zip(columns["row"], columns["response"], strict=True)
    }
    corpus = list(iterate(game.human["train"]))
    human, machine = game._pairs(12)
    for one, other in zip(human, machine, strict=True):
        row = int(one.id.split("-")[1])
        assert one == corpus[row]
        assert other.context == one.context
        assert (row, other.response) in known


def test_only_the_side_whose_turn_it_is_learns(tmp_path):
    game = tiny_game(tmp_path)
    sides = {
        "attack": game.generator.model,
        "defence": game.defender.hvm.model,
        "frozen": game.defender.hvr.model,
    }
    before = {name: weights(model) for name, model in sides.items()}
    for progress in game.play():
        phase = progress["phase"]
        now = {name: weights(model) for name, model in sides.items()}
        if phase in ("attack", "defence"):
            assert not equal(before[phase], now[phase])
            kept = sides.keys() - {phase}
            assert all(equal(before[name], now[name]) for name in kept if progress["step"] > 1)
        assert equal(before["frozen"], now["frozen"])
        assert all(value.grad is None for model in sides.values() for value in model.parameters())
        assert not any(model.training for model in sides.values())
        before = now


def test_gradients_of_an_attack_never_reach_the_judges(tmp_path, monkeypatch):
    game, seen = tiny_game(tmp_path), []
    watch(
        game, monkeypatch, "_update",
        lambda g: seen.extend(
            value.grad is None
            for judge in (g.defender.hvm, g.defender.hvr)
            for value in judge.model.parameters()
        ),
    )  # fmt: skip
    game.attack_step()
    assert seen and all(seen)


def test_rewards_by_hand(tmp_path):
    game = tiny_game(tmp_path, empty_penalty=0.5, unfinished_penalty=0.25)
    drawn = game._draw(1, "train", [0, 1, 2], 2, [0, 0])
    texts = ("tea", "", "rain", "the cat sings", "no", "yes")
    drawn.passages = [p.with_response(t, "") for p, t in zip(drawn.passages, texts, strict=True)]
    drawn.finished = np.array([True, True, False, True, False, True])
    hvm, hvr = game.defender.hvm(drawn.passages), game.defender.hvr(drawn.passages)
    expected = np.sqrt(hvm * hvr) - [0, 0.5, 0.25, 0, 0.25, 0]
    assert_close(game.rewards(drawn), expected)


def test_accuracies_by_hand(tmp_path):
    game = tiny_game(tmp_path)
    game._collect(0)
    samples = game.samples.all(0, "validation")
    human = [list(iterate(game.human["validation"]))[row] for row in samples["row"]]
    machine = [
        one.with_response(text, "") for one, text in zip(human, samples["response"], strict=True)
    ]
    first, second = game.defender.hvm, game.defender.hvr
    human_scores, machine_scores = (
        np.sqrt(first(passages) * second(passages)) for passages in (human, machine)
    )
    accuracy = game._accuracy_of(samples)
    assert accuracy["pairwise"] == (human_scores > machine_scores).mean()
    assert accuracy["hvm"] == (first(human) > first(machine)).mean()
    odds = [scores / (1 - scores) for scores in (human_scores, machine_scores)]
    assert_close(accuracy["probability"], (odds[0] / (odds[0] + odds[1])).mean())


def test_samples_and_attackers_are_kept(tmp_path):
    game = tiny_game(tmp_path, max_turns=2)
    list(game.play())
    assert sorted(path.name for path in (tmp_path / "samples").iterdir()) == [
        f"turn_000{turn}.{part}.arrow" for turn in range(3) for part in ("train", "validation")
    ]
    model = attacker(5).model
    set_trainable(model, game.attacker_path(2))
    assert equal(weights(model), weights(game.generator.model))
    assert len(game.samples.all(2, "train")["row"]) == FAST["samples"]
    assert sorted(game.samples.all(2, "validation")["row"]) == game._watched.tolist()


def test_one_attack_leaves_the_defender_as_it_was(tmp_path):
    game = tiny_game(tmp_path)
    before = weights(game.defender.hvm.model)
    list(game.attack_once())
    assert equal(weights(game.defender.hvm.model), before)
    assert len(game.records) == 1 and "defence_steps" not in game.records[0]
    assert not list(game.attack_once())


def test_samples_left_by_other_settings_are_not_used(tmp_path):
    tiny_game(tmp_path / "one", seed=7)._collect(0)  # and the process ended before a checkpoint
    for name in ("one", "two"):
        list(tiny_game(tmp_path / name, max_turns=1).play())
    one, two = (tiny_game(tmp_path / name).samples.all(0, "train") for name in ("one", "two"))
    assert one["row"] == two["row"] and one["response"] == two["response"]


def test_a_seed_is_a_game(tmp_path):
    games = [tiny_game(tmp_path / str(n), max_turns=1, seed=n // 2) for n in range(3)]
    for game in games:
        list(game.play())
    one, again, other = (weights(game.defender.hvm.model) for game in games)
    assert equal(one, again) and not equal(one, other)
    assert games[0].records == games[1].records


def test_dropout_differs_from_turn_to_turn(tmp_path):
    game = tiny_game(tmp_path, dropout=0.5)
    seeds = set()
    for game.turn in (1, 2):
        for game.step in (0, 1):
            game._collect(game.turn) if game.step == 0 else None
            game._collect(0)
            game.defence_step()
            seeds.add(torch.initial_seed())
    assert len(seeds) == 4


def test_a_resume_with_other_settings_names_them(tmp_path):
    game = tiny_game(tmp_path)
    next(game.play())
    other = tiny_game(tmp_path, seed=3, hypotheses=4)
    with pytest.raises(BadInput, match="other settings: hypotheses, seed"):
        next(other.play())


def test_thresholds_that_cross_are_refused():
    for low, high in ((0.7, 0.7), (0.8, 0.3), (-0.1, 0.5), (0.5, 1.1)):
        with pytest.raises(BadInput, match="c_low"):
            GameConfig(c_low=low, c_high=high)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hypotheses": 1}, "mean over 1 response"),
        ({"max_validated": 1}, r"reads A\(0\) and the newest"),
        ({"attack_batch": 0}, "`attack_batch` is 1 or more, but got 0"),
        ({"reward": "rank"}, "`reward` is score, logit, but got 'rank'"),
        ({"temperatures": [1.0, 0.0]}, "temperatures above 0"),
    ],
)
def test_settings_that_make_no_game_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        GameConfig(**settings)


def test_the_released_settings_are_settings():
    config = GameConfig(**RELEASED)
    assert config.decoding.temperatures == (0.3, 1.0, 3.0)
    assert config.decoding.distinct_first


def test_a_corpus_smaller_than_a_batch_is_refused(tmp_path):
    with pytest.raises(BadInput, match="train part has 20 contexts, but the game needs 21"):
        tiny_game(tmp_path, attack_batch=21)
    parts = talk(20), talk(9, seed=1)
    defender = Defender(judge(1))
    with pytest.raises(BadInput, match="validation part has 9 contexts, but the game needs 10"):
        AttackDefenceGame(GameConfig(**FAST), attacker(), defender, *parts, tmp_path)


def test_an_attacker_that_collapsed_is_told_with_its_share(tmp_path, caplog):
    game = tiny_game(tmp_path, max_turns=1, temperatures=[0.3], max_new_tokens=2)
    wanted = game.generator.tokenizer.convert_tokens_to_ids("blue")

    def force(head, inputs, logits):
        return logits.index_fill(-1, torch.tensor([wanted]), 1e4)

    game.generator.model.lm_head.register_forward_hook(force)
    with caplog.at_level(logging.WARNING):
        list(game.play())
    assert "turn 1: the attacker collapsed; 10 of 10 responses are 'blue blue'" in caplog.text
    assert game.records[0]["most_frequent"] == {"response": "blue blue", "share": 1.0}
    assert game.records[0]["unfinished"] == 1


def test_an_attacker_that_varies_is_not_called_collapsed(tmp_path, caplog):
    game = tiny_game(tmp_path, max_turns=1, temperatures=[1.0])
    with caplog.at_level(logging.WARNING):
        list(game.play())
    assert "collapsed" not in caplog.text
    assert game.records[0]["most_frequent"]["share"] <= 0.5
