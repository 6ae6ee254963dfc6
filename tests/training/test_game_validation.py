"""What an attack is measured on, and which of its attackers is kept."""

import numpy as np
import pytest

from dialeval.dialogues import BadInput, iterate
from dialeval.training.game_settings import RELEASED, GameConfig
from dialeval.training.game_state import set_trainable
from tests.training.game_worker import attacker, tiny_game, weights
from tests.training.test_game import equal

HOT = {"temperatures": [0.3, 1.0, 10.0, 100.0]}


def test_thresholds_look_at_temperature_1_in_every_game(tmp_path):
    att, nd = (
        tiny_game(tmp_path / name, temperatures=temperatures)
        for name, temperatures in (("att", [0.3, 1.0, 10.0, 100.0]), ("nd", [1.0]))
    )
    for game in (att, nd):
        game._collect(0)
    first, second = (game.samples.all(0, "validation") for game in (att, nd))
    assert set(first["temperature"]) == {1.0}
    assert first == second  # the same generator is measured on the same replies
    assert att._accuracy_of(first) == nd._accuracy_of(second)
    assert len(set(att.samples.all(0, "train")["temperature"])) > 1  # the defence has all of them


def test_thresholds_of_the_paper_look_at_the_mixture(tmp_path):
    game = tiny_game(tmp_path, **HOT, validation_temperature="mixture")
    game._collect(0)
    assert len(set(game.samples.all(0, "validation")["temperature"])) > 1
    assert GameConfig(**RELEASED).validation_temperature == "mixture"


def test_the_lowest_accuracy_over_plausible_temperatures_by_hand(tmp_path):
    game = tiny_game(
        tmp_path, **HOT, validation_temperature="lowest", plausible_temperatures=[0.3, 1.0, 2.0]
    )
    game._collect(0)
    samples = game.samples.all(0, "validation")
    rows, temperatures = np.array(samples["row"]), np.array(samples["temperature"])
    human, by_temperature = list(iterate(game.human["validation"])), {}
    first, second = game.defender.hvm, game.defender.hvr
    for value in (0.3, 1.0, 2.0):
        chosen = np.flatnonzero(temperatures == value)
        assert sorted(rows[chosen]) == game._watched.tolist()  # every context at every temperature
        people = [human[row] for row in rows[chosen]]
        replies = [samples["response"][index] for index in chosen]
        machine = [p.with_response(text, "") for p, text in zip(people, replies, strict=True)]
        scores = [first(passages) * second(passages) for passages in (people, machine)]
        by_temperature[f"{value:g}"] = (scores[0] > scores[1]).mean()
    accuracy = game._accuracy_of(samples)
    assert accuracy["by_temperature"] == by_temperature
    assert accuracy["pairwise"] == min(by_temperature.values())
    assert len(set(by_temperature.values())) > 1  # or a mean would do as well


def by_step(game, monkeypatch, accuracies: dict[int, float]) -> dict[int, dict]:
    """Let the accuracy at each step of an attack be what is given; the attacker's weights there."""
    seen = {}

    def accuracy(samples):
        seen.setdefault(game.step, weights(game.generator.model))
        value = accuracies[game.step]
        return {"pairwise": value, "probability": value, "hvm": value, "by_temperature": {}}

    monkeypatch.setattr(game, "_accuracy_of", accuracy)
    return seen


BUDGET = {"attack_until": "budget", "attack_steps": 7, "c_low": 0.5, "c_high": 0.9}


def test_an_attack_may_use_its_whole_budget_and_keep_its_lowest(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, **BUDGET)
    seen = by_step(game, monkeypatch, {0: 0.6, 2: 0.45, 4: 0.2, 6: 0.4, 7: 0.5})
    steps = [progress["step"] for progress in game.attack_once() if progress["phase"] == "attack"]
    assert steps == [1, 2, 3, 4, 5, 6, 7]  # not stopped below c_low
    record = game.records[0]
    assert (record["attack_steps"], record["kept_step"]) == (7, 4)
    assert record["stopped"] == "budget"
    model = attacker(5).model
    set_trainable(model, game.attacker_path(1))
    assert equal(weights(model), seen[4]) and not equal(seen[4], seen[7])
    assert equal(weights(game.generator.model), seen[4])
    monkeypatch.undo()
    saved, drawn = game.samples.all(1, "validation"), game._sample(1, "validation", game._watched)
    assert saved["response"] == drawn["response"]  # A(1) is what the kept attacker says


def test_an_attack_that_only_gets_worse_keeps_the_generator(tmp_path, monkeypatch):
    game = tiny_game(tmp_path, **BUDGET)
    first = weights(game.generator.model)
    by_step(game, monkeypatch, {0: 0.3, 2: 0.6, 4: 0.7, 6: 0.7, 7: 0.7})
    list(game.attack_once())
    assert game.records[0]["kept_step"] == 0
    assert equal(weights(game.generator.model), first)


@pytest.mark.parametrize("broken_after", [1, 3, 5, 7])
def test_an_attack_with_a_budget_resumes_to_the_same_attacker(tmp_path, broken_after):
    whole = tiny_game(tmp_path / "whole", **BUDGET)
    list(whole.attack_once())
    broken = tiny_game(tmp_path / "broken", **BUDGET)
    for progress in broken.attack_once():
        if progress["step"] == broken_after:
            break
    again = tiny_game(tmp_path / "broken", **BUDGET)
    list(again.attack_once())
    assert again.records == whole.records
    assert equal(weights(again.generator.model), weights(whole.generator.model))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"validation_temperature": "2"}, "1, lowest, mixture"),
        ({"attack_until": "never"}, "fooled, budget"),
        ({"validation_temperature": "lowest", "plausible_temperatures": []}, "at least one value"),
    ],
)
def test_unknown_validations_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        GameConfig(**settings)
