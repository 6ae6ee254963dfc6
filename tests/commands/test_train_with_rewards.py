"""`dialeval train-generator --objective ...`: from a corpus to a generator trained with rewards."""

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from dialeval.commands import app
from dialeval.dialogues import BadInput
from dialeval.metrics.adversarial_results import AdversarialResults
from dialeval.protocols.evaluation.frozen import warn_if_trained_against
from dialeval.protocols.llm_judge import JudgeReward
from dialeval.responders.generators import load_generator
from dialeval.scorers import load_scorer, save_scorer
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import GeneratorConfig, GeneratorRun
from dialeval.training.adversarial_run import train_with_rewards
from tests.training.game_worker import judge

TINY = {
    "vocab_size": 300, "hidden_size": 32, "layers": 1, "heads": 2, "positions": 64,
    "max_passages": 200, "max_eval_passages": 60, "samples": 2, "context_turns": 1,
}  # fmt: skip
FAST = {
    "iterations": 2, "d_steps": 1, "adversarial_batch": 8, "critic_size": 8,
    "response_tokens": 8, "validate_every": 1, "validation_contexts": 16,
    "discriminator_pairs": 80, "discriminator_epochs": 4, "discriminator_learning_rate": 0.003,
}  # fmt: skip


def settings(corpus, folder, **changes):
    run = GeneratorRun(data=[str(corpus)], output_dir=str(folder), **{**TINY, **changes})
    return run, GeneratorConfig(batch_size=32, epochs=1, checkpoint_every=1)


def command(corpus, folder, *more):
    given = {**TINY, **FAST, "data": corpus, "output_dir": folder, "batch_size": 32, "epochs": 1}
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    return CliRunner().invoke(app, ["train-generator", "--config", "tiny", *options, *more])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    things = ("tea", "rain", "work", "music", "sleep", "bread")
    lines = [
        " ".join(
            f"yes i like {things[(number + turn) % 6]} a lot , thank you {number} . __eou__"
            for turn in range(4)
        )
        for number in range(300)
    ]
    corpus = folder / "chat.txt"
    corpus.write_text("\n".join(lines), "utf-8")
    done = command(corpus, folder / "run", "--objective", "regs-partial")
    assert done.exit_code == 0, done.output
    return corpus, folder / "run", done


def test_the_command_trains_saves_and_reports(trained):
    _, folder, done = trained
    assert "regs-partial with the reward hierarchical" in done.output
    results = AdversarialResults.load(folder)
    assert [record.iteration for record in results.records] == [0, 1, 2]
    assert results.stopped == "budget" and len(results.samples) == 2
    assert results.discriminator["accuracy"] > 0.6
    page = (folder / "report.html").read_text("utf-8")
    assert "<svg" in page and "discriminator accuracy" in page
    assert not (folder / "checkpoint").exists()
    assert load_generator(folder).training["signature"].startswith("regs-partial|")


def test_evaluating_it_by_its_own_reward_is_warned_of(trained, caplog):
    _, folder, _ = trained
    training = load_generator(folder).training
    for name in ("discriminator", "reward/discriminator_one"):
        assert warn_if_trained_against(training, load_scorer(folder / name))
    assert "trained against" in caplog.text


def test_a_finished_or_another_run_is_not_overwritten(trained):
    corpus, folder, _ = trained
    again = command(corpus, folder, "--objective", "regs-partial")
    assert again.exit_code != 0 and "was started here" in str(again.exception)
    other = command(corpus, folder, "--objective", "reinforce", "--resume")
    assert other.exit_code != 0 and "its settings differ in objective" in str(other.exception)


def test_a_trained_generator_is_continued_with_a_function_as_reward(trained, tmp_path):
    corpus, folder, _ = trained
    run, training = settings(corpus, tmp_path / "next", model=str(folder), tune="lora")
    config = AdversarialConfig(objective="reinforce", **{**FAST, "d_steps": 0})

    def words(passages):
        return np.array([len(text.split()) / 8 for text in passages["response"]])

    results = train_with_rewards(run, training, config, reward=words)
    assert results.reward == "words" and results.discriminator == {}
    assert load_generator(tmp_path / "next").training["discriminator_fingerprint"] == []


def test_a_discriminator_at_chance_is_refused(trained, tmp_path):
    corpus, folder, _ = trained
    run, training = settings(corpus, tmp_path / "chance", model=str(folder))
    undecided = judge(1)
    for value in undecided.model.parameters():
        torch.nn.init.zeros_(value)
    reward = str(save_scorer(undecided, tmp_path / "undecided"))
    config = AdversarialConfig(objective="reinforce", reward=reward, **FAST)
    with pytest.raises(BadInput, match=r"at chance before the game: 0\.500"):
        train_with_rewards(run, training, config)


@pytest.mark.parametrize("reward", ["constant", "length"])
def test_controls_need_no_discriminator(trained, tmp_path, reward):
    corpus, folder, _ = trained
    run, training = settings(corpus, tmp_path / reward, model=str(folder))
    config = AdversarialConfig(objective="regs-mc", reward=reward, **{**FAST, "iterations": 1})
    results = train_with_rewards(run, training, config)
    assert results.reward == reward
    assert not (tmp_path / reward / "reward").exists()


def test_an_llm_judge_is_a_reward():
    from types import SimpleNamespace

    from tests.conftest import talk

    human = talk(3)
    contests_seen = []

    def answer(contests):
        contests_seen.extend(contests)
        return [SimpleNamespace(failures=0, credit=float(len(c.machine) % 2)) for c in contests]

    answer.name = "llm:test"
    reward = JudgeReward(answer)
    from dialeval.dialogues import to_passages

    reward.bind({"train": to_passages(human)})
    machine = [
        passage.with_response("x" * (1 + row % 2), "bot") for row, passage in enumerate(human)
    ]
    np.testing.assert_array_equal(reward(machine), [row % 2 for row in range(len(human))])
    assert contests_seen[0].human == human[0].response
    with pytest.raises(BadInput, match="no human response"):
        JudgeReward(answer)(machine)


def test_help_lists_the_objectives():
    page = CliRunner().invoke(app, ["train-generator", "--help"], env={"COLUMNS": "200"}).output
    assert "regs-partial" in page and "--rollouts" in page
