"""A study of the attack-defence game on an invented corpus: its tables, seeds, and resuming."""

import json
import os
import signal
import subprocess
import sys
import time
from copy import copy
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dialeval.dialogues import BadInput, Pairing, Passage, Turn, iterate, to_passages
from dialeval.files import last_complete
from dialeval.hub.kinds import recognise
from dialeval.hub.model_cards import card_of
from dialeval.metrics.game_results import GameResults
from dialeval.metrics.minimum import minimum_interval
from dialeval.metrics.share_intervals import wilson
from dialeval.protocols.att import (
    AttRun,
    AttStudy,
    build_players,
    external_attackers,
    game_config,
    play_att,
    players,
)
from dialeval.protocols.att.external import collect_responses
from dialeval.protocols.att.players import make_parts
from dialeval.protocols.att.tables import Matchups
from dialeval.responders.simple import ConstantResponder
from dialeval.scorers import load_scorer, save_scorer
from dialeval.training.defender import pairwise
from dialeval.training.game_settings import GameConfig

METHODS = ["SL", "SL+HvR", "GAN", "ND", "ATT"]
TURNS = 2


def write_corpus(folder: Path) -> Path:
    """Dialogues with clean, similar replies, unlike those of a model that is hardly trained."""
    things = ("tea", "rain", "work", "music", "sleep", "bread")
    lines = [
        " __eou__ ".join(
            f"do you like {things[(number + turn) % 6]} today my friend number {number} ?"
            if turn % 2 == 0
            else f"yes i really like {things[(number * 5 + turn) % 6]} a lot , thank you"
            for turn in range(4)
        )
        + " __eou__"
        for number in range(300)
    ]
    path = folder / "talk.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def settings(data: Path, output: Path, **changes) -> tuple[AttRun, GameConfig]:
    run = AttRun(
        data=[str(data)], methods=METHODS, hvr_kind="transformer", output_dir=str(output),
        generator_passages=80, generator_width=16, generator_layers=1, generator_vocabulary=60,
        game_contexts=60, sl_pairs=60, sl_epochs=6, sl_learning_rate=0.01, hvr_pairs=40,
        test_contexts=20, fresh_attackers=1,
    )  # fmt: skip
    config = GameConfig(
        hypotheses=2, attack_batch=4, defence_batch=8, attack_learning_rate=1e-3,
        defence_learning_rate=1e-3, max_new_tokens=6, attack_steps=3, defence_steps=3,
        c_high=0.999, max_turns=TURNS, samples=8, validation_contexts=12, validate_every=2,
        checkpoint_every=1,
    )  # fmt: skip
    of_run = {name: value for name, value in changes.items() if hasattr(run, name)}
    of_game = {name: value for name, value in changes.items() if name not in of_run}
    return replace(run, **of_run), replace(config, **of_game)


def comparable(results: GameResults) -> dict:
    content = results.to_dict()
    return {name: content[name] for name in content if name not in ("minutes", "memory")}


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """The folder of a study, its results, and the study after its games."""
    folder = tmp_path_factory.mktemp("att")
    run, config = settings(write_corpus(folder), folder / "run")
    study = AttStudy(run, config)
    results = study.play({"dull": ConstantResponder("i do not know", "dull")})
    return folder, results, study


def test_equal_replies_to_equal_contexts_all_make_pairs(tmp_path, monkeypatch):
    monkeypatch.setattr(players, "GeneratorResponder", lambda *_: ConstantResponder("Me too."))
    texts = ["Yes.", "No way.", "Hello you."]
    human = to_passages(
        [
            Passage((Turn("A", "Hi."),), text, id=f"d{at}#1", dialogue_id=f"d{at}", author="human")
            for at, text in enumerate(texts)
        ]
    )
    both = players._answers(AttRun(), None, human, -1, GameConfig(), tmp_path / "answers.jsonl")
    assert len(Pairing("human_machine")(*both)) == 6


def test_table_2_has_every_attacker_before_every_defender(played):
    _, results, _ = played
    cells = {(cell.system, cell.evaluator): cell for cell in results.results}
    for row in (
        "Parrot",
        "Parrot, one word less",
        "generator, greedy",
        "generator, sampling",
        "Adversarial G, worst",
        "dull",
    ):
        for method in METHODS:
            cell = cells[row, method]
            assert 0 <= cell.low <= cell.value <= cell.high <= 1
            assert cell.n == 20 and f"defender:{method}" in cell.signature
    assert ("Adversarial G, own worst", "SL") not in cells
    assert ("Adversarial G, own worst", "ATT") in cells
    fresh = results.select("held_out_accuracy")
    assert sorted(cell.evaluator for cell in fresh) == sorted(METHODS)


def test_the_worst_attacker_is_the_lowest_of_one_pool_for_all_defenders(played):
    _, results, _ = played
    assert len(results.pool) == 3 * TURNS + 1  # three games, and the attack on frozen SL
    for method in METHODS:
        worst = results.get("pairwise_accuracy", "Adversarial G, worst", method)
        assert worst.value == min(row[method] for row in results.pool.values())
        assert worst.details["pool"] == len(results.pool)


def test_the_interval_of_the_worst_is_that_of_the_minimum_over_the_pool(played):
    _, results, study = played
    matchups = Matchups(study, {})
    dialogues = [passage.dialogue_id for passage in matchups.human]
    for method in METHODS:
        human = matchups.scores[method]["human"][1]
        correct = np.column_stack(
            [pairwise(human, matchups.scores[method][name][1]) for name in study.attackers]
        )
        cell = results.get("pairwise_accuracy", "Adversarial G, worst", method)
        assert (cell.low, cell.high) == pytest.approx(minimum_interval(correct, dialogues))


def test_a_perfect_defender_is_not_certain_of_itself(played):
    *_, study = played
    matchups = Matchups(study, {})
    human, logits, scores = matchups.scores["SL"]["human"]
    matchups.scores["SL"]["fool"] = (human - 1, logits - 1, scores - 0.1)
    cell = matchups._cell("fool", "SL", ["fool"])
    assert cell.value == 1 and (cell.low, cell.high) == pytest.approx(wilson(20, 20))


def test_fresh_attackers_use_their_whole_budget_and_report_their_lowest(played):
    folder, results, study = played
    for method in METHODS:
        cell = results.get("held_out_accuracy", "fresh attacker 1", method)
        assert cell.details["steps"] == study.config.attack_steps == 3  # c_low did not stop it
        assert cell.details["step"] in (0, 2, 3)  # where it was validated
        checkpoint = folder / "run" / "fresh" / f"{method}_1" / "checkpoint"
        state = json.loads((last_complete(checkpoint) / "game.json").read_text())
        assert state["lowest"][0] == cell.details["step"]
        assert state["records"][0]["accuracy"] == state["lowest"][1] == cell.details["validation"]
        worst = results.get("held_out_worst", "fresh", method)
        assert (worst.value, worst.low, worst.high) == (cell.value, cell.low, cell.high)


def test_the_four_parts_share_no_dialogue(tmp_path):
    corpus = write_corpus(tmp_path)
    run, config = settings(
        corpus, tmp_path / "run", generator_passages=-1, game_contexts=-1, test_contexts=-1
    )
    parts = make_parts(run, config)
    assert set(parts) == {"generator", "train", "validation", "test"}
    dialogues = {
        name: {passage.dialogue_id for passage in iterate(part)} for name, part in parts.items()
    }
    for one, other in combinations(dialogues, 2):
        assert dialogues[one] and not dialogues[one] & dialogues[other]
    for name in ("generator", "train"):  # several passages of a dialogue stay together
        assert len(parts[name]) > 2 * len(dialogues[name])
    for name in ("validation", "test"):  # and these are independent
        assert len(parts[name]) == len(dialogues[name])


def test_a_part_of_a_study_has_the_same_dialogues_whatever_the_seed(tmp_path):
    corpus = write_corpus(tmp_path)
    run, config = settings(corpus, tmp_path / "run")
    first, second = (
        {passage.id for passage in iterate(make_parts(run, replace(config, seed=seed))["test"])}
        for seed in (0, 1)
    )
    assert first == second  # runs with several seeds are compared on the same contexts


def test_figure_2_has_a_record_for_every_turn_of_every_game(played):
    _, results, _ = played
    assert set(results.games) == {"GAN", "ND", "ATT"}
    for records in results.games.values():
        assert [record.turn for record in records] == [1, 2]
        for record in records:
            measured = [accuracy.pairwise for accuracy in record.measured.values()]
            assert len(measured) == record.turn + 1  # A(0) to A(t)
            assert record.low == min(measured) and record.high == max(measured)


def test_results_are_saved_and_loaded_as_they_are(played):
    folder, results, _ = played
    assert GameResults.load(folder / "run").to_dict() == results.to_dict()


def test_saved_defenders_score_as_they_did_in_the_study(played):
    folder, results, study = played
    example = results.examples[0]
    human = next(
        passage
        for passage in iterate(study.parts["test"])
        if passage.response == example.human
        and tuple(turn.text for turn in passage.context) == example.context
    )
    for method in METHODS:
        scorer = load_scorer(folder / "run" / "defenders" / method)
        assert scorer([human])[0] == pytest.approx(example.human_scores[method], abs=1e-5)


def test_another_seed_gives_other_samples_of_the_generator(played):
    *_, study = played
    other = copy(study)
    other.config = replace(study.config, seed=1)
    first, second = (Matchups(one, {}).responses for one in (study, other))
    assert first["generator, greedy"] == second["generator, greedy"]
    assert first["generator, sampling"] != second["generator, sampling"]


def test_another_seed_gives_other_samples_of_an_external_model(played, tmp_path):
    folder, *_, study = played
    path = folder / "run" / "components" / "generator"
    human = list(iterate(study.parts["test"]))
    responses = []
    for seed in (0, 0, 1):
        attacker = external_attackers([f"g={path}"], max_new_tokens=6, seed=seed)["g"]
        file = tmp_path / f"{len(responses)}.jsonl"
        answers = collect_responses(attacker, human, file)
        responses.append([answer.response for answer in answers])
    assert responses[0] == responses[1] != responses[2]


@pytest.mark.parametrize("method", METHODS)
def test_the_card_of_a_defender_names_its_data_and_its_attackers(played, method):
    folder, results, _ = played
    card = card_of(recognise(folder / "run" / "defenders" / method), f"me/{method}")
    assert "human responses: talk" in card
    assert ("trained against it" in card) == (method in ("GAN", "ND", "ATT"))
    assert "not recorded" not in card and str(folder) not in card
    for system in ("Parrot", "dull", "Adversarial G, worst"):
        cell = results.get("pairwise_accuracy", system, method)
        line = f"| {system} | pairwise_accuracy | {cell.value:.3f}"
        assert line in card.replace("\\", "")


def test_finished_stages_are_not_repeated(played):
    folder, results, _ = played
    run, config = settings(folder / "talk.txt", folder / "run")
    with pytest.raises(BadInput, match="resume"):
        AttStudy(run, config)
    steps = []
    again = play_att(
        replace(run, resume=True), config, steps.append,
        dull=ConstantResponder("i do not know", "dull"),
    )  # fmt: skip
    assert not [numbers for numbers in steps if "loss" in numbers]
    assert comparable(again) == comparable(results)


def test_a_folder_with_other_settings_is_refused_by_their_names(played):
    folder, *_ = played
    run, config = settings(folder / "talk.txt", folder / "run", resume=True, attack_steps=4)
    with pytest.raises(BadInput, match="attack_steps"):
        AttStudy(run, config)


def test_a_discriminator_at_chance_is_refused_with_a_hint(tmp_path):
    run, config = settings(write_corpus(tmp_path), tmp_path / "run")
    study = AttStudy(run, config)
    study._prepare()
    with torch.no_grad():
        study.hvm.model.score.weight.zero_()  # the same score for everything
    save_scorer(study.hvm, tmp_path / "constant")
    run, _ = settings(tmp_path / "talk.txt", tmp_path / "again", hvm=str(tmp_path / "constant"))
    with pytest.raises(BadInput, match=r"at chance before the game: 0\.500.*--sl_pairs"):
        play_att(run, config)


def test_methods_are_switches_of_one_game():
    config = GameConfig()
    assert game_config(config, "ATT") == config
    gan = game_config(config, "GAN")
    assert (gan.reinitialise, gan.ensemble) == (False, False)
    assert game_config(config, "ND").temperatures == [1.0]
    released = game_config(config, "ATT", "released")
    assert released.temperatures == [0.3, 1.0, 3.0] and released.reward == "logit"
    assert game_config(config, "ND", "released").temperatures == [1.0]
    with pytest.raises(BadInput, match="GAN"):
        AttRun(methods=["WGAN"])


def test_adapters_share_one_backbone_and_learn_separately(tmp_path):
    run, config = settings(
        write_corpus(tmp_path),
        tmp_path / "run",
        tune="lora",
        methods=["SL+HvR", "ATT"],
        max_turns=1,
    )
    study = AttStudy(run, config)
    results = study.play({})
    generator, hvm = study.generator.model, study.hvm.model
    frozen, frozen_hvm = (
        {weight.data_ptr() for weight in model.parameters() if not weight.requires_grad}
        for model in (generator, hvm)
    )
    assert len(frozen & frozen_hvm) > 0.8 * len(frozen)  # all but the heads
    learning = {name for name, weight in generator.named_parameters() if weight.requires_grad}
    assert learning and all("lora_" in name for name in learning)
    saved = load_file(tmp_path / "run" / "games" / "ATT" / "attackers" / "turn_0001.safetensors")
    assert saved.keys() == learning  # an attacker on disk is its adapter
    assert any("lora_B" in name and value.abs().sum() > 0 for name, value in saved.items())
    assert results.memory.trainable < results.memory.parameters / 2
    example = results.examples[0]
    passages = iterate(study.parts["test"])
    human = next(passage for passage in passages if passage.response == example.human)
    scorer = load_scorer(tmp_path / "run" / "defenders" / "ATT")
    assert scorer([human])[0] == pytest.approx(example.human_scores["ATT"], abs=1e-5)


def test_players_start_equal_and_a_full_discriminator_is_a_copy(tmp_path):
    run, config = settings(write_corpus(tmp_path), tmp_path / "run")
    study = AttStudy(run, config)
    study._prepare()
    generator, model = build_players(study.generator, "full")
    weights = dict(generator.model.transformer.named_parameters())
    for name, weight in model.backbone.named_parameters():
        assert torch.equal(weight, weights[name])
        assert weight.data_ptr() != weights[name].data_ptr()


WORKER = """
import sys
sys.path.insert(0, {tests!r})
from test_att import *
run, config = settings(Path({data!r}), Path({output!r}), resume=True, methods=["SL+HvR", "ATT"])
play_att(run, config)
"""


def test_hvr_starts_from_the_same_head_whatever_was_drawn_before(tmp_path):
    run, config = settings(write_corpus(tmp_path), tmp_path / "run", sl_epochs=1)
    parts = make_parts(run, config)
    folder = tmp_path / "generator"
    generator, _ = players.make_generator(run, config, parts["generator"], folder, lambda _: None)
    heads = []
    for seed in (1, 2):  # a study that was resumed has drawn less
        torch.manual_seed(seed)
        scorer = players._train_hvr(run, config, parts, generator)
        heads.append(scorer.model.score.weight.detach().clone())
    assert torch.equal(*heads)


def test_a_study_killed_at_any_moment_resumes_to_the_same_numbers(tmp_path):
    data = write_corpus(tmp_path)
    run, config = settings(data, tmp_path / "whole", methods=["SL+HvR", "ATT"])
    whole = play_att(run, config)
    program = WORKER.format(
        tests=str(Path(__file__).parent), data=str(data), output=str(tmp_path / "broken")
    )
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    rng = np.random.default_rng(3)
    for _ in range(2):
        worker = subprocess.Popen([sys.executable, "-c", program], env=env)
        deadline = time.monotonic() + 120
        begun = tmp_path / "broken" / "games" / "ATT" / "samples"
        while not begun.exists() and worker.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(float(rng.uniform(0, 1.5)))
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    subprocess.run([sys.executable, "-c", program], env=env, check=True, timeout=300)
    assert comparable(GameResults.load(tmp_path / "broken")) == comparable(whole)
