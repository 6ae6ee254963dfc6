"""`dialeval robustness`, run as a user would."""

from zlib import crc32

import numpy as np
import pytest
import torch
import typer
from transformers import GPT2Config, GPT2LMHeadModel
from typer.testing import CliRunner

from dialeval.commands.robustness import robustness
from dialeval.dialogues import BadInput, Pairing, Passage, Turn, to_passages, write_passages
from dialeval.metrics.robustness_results import RobustnessResults
from dialeval.models import embedding
from dialeval.models.tokenizers import word_tokenizer
from dialeval.protocols.robustness.similarity import MeanEmbedding
from dialeval.scorers import save_scorer
from dialeval.scorers.baselines import LengthScorer

app = typer.Typer()
app.command()(robustness)
WORDS = "i think that the tea is cold now we bought you a bike and it"


class Counts:
    """Word counts in place of a sentence encoder."""

    name = "minilm"

    def __call__(self, texts):
        counts = np.zeros((len(texts), 32))
        for row, text in enumerate(texts):
            for word in text.lower().split():
                counts[row, crc32(word.encode()) % 32] += 1
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


@pytest.fixture(autouse=True)
def small_encoders(monkeypatch):
    monkeypatch.setattr(embedding, "MiniLm", Counts)
    tokenizer = word_tokenizer([WORDS])
    words = MeanEmbedding("tiny", tokenizer, torch.ones(len(tokenizer), 3))
    monkeypatch.setattr(MeanEmbedding, "minilm", classmethod(lambda cls: words))


def talk(n=60):
    return [
        Passage(
            (Turn("A", f"I think that the tea is cold now , number {row}"),
             Turn("B", "we bought you a bike and you like it")),
            f"that is right for {row}", id=f"p{row}", dialogue_id=f"d{row}", speaker="A",
        )
        for row in range(n)
    ]  # fmt: skip


@pytest.fixture
def data(tmp_path):
    return str(write_passages(to_passages(talk()), tmp_path / "talk.jsonl"))


@pytest.fixture
def model(tmp_path):
    tokenizer = word_tokenizer([WORDS])
    torch.manual_seed(0)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64, "initializer_range": 0.4}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    lm = GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer), **shape, **ids))
    lm.save_pretrained(tmp_path / "lm")
    tokenizer.save_pretrained(tmp_path / "lm")
    return str(tmp_path / "lm")


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments))
    if done.exception:
        raise done.exception
    return done.output


load = RobustnessResults.load


SHORT = ("--resamples", "300", "--limit", "14", "--max-new-tokens", "4")
PARROT = SHORT[:4]  # it has no number of tokens


def test_models_are_measured_and_reported(data, model, tmp_path):
    output = run("--model", model, "--model", "parrot", "--data", data, "-s", "random-swap", "-s",
                 "add-negation", *PARROT, "-o", "out")  # fmt: skip
    results = load(tmp_path / "out")
    assert [system.name for system in results.systems] == ["lm", "parrot"]
    assert len(results.verdicts) == 4 and results.settings["contexts"] == 14
    assert {result.evaluator for result in results.results} == {"", "embedding"}
    assert "(as Table 2 of Niu" in output and "(as Table 4 of Niu" in output
    page = (tmp_path / "out" / "report.html").read_text("utf-8")
    assert "Strategies by systems" in page and "<mark>" in page
    assert len((tmp_path / "out" / "responses.jsonl").read_text("utf-8").splitlines()) == 2 * 2 * 14


def test_the_same_command_again_generates_nothing(data, model, tmp_path, monkeypatch):
    command = ("--model", model, "--data", data, "-s", "antonym", *SHORT, "-o", "out",
               "--evaluator", "none")  # fmt: skip
    run(*command)
    first = load(tmp_path / "out").to_dict()
    journal = tmp_path / "out" / "systems" / "lm" / "normal.jsonl"
    before = journal.stat().st_mtime_ns
    run(*command)
    assert load(tmp_path / "out").to_dict() == first
    assert journal.stat().st_mtime_ns == before
    with pytest.raises(BadInput, match="another run wrote here"):
        run(*command, "--seed", "1")
    run(*command, "--seed", "1", "--overwrite")
    assert load(tmp_path / "out").settings["seed"] == 1


def test_any_registered_or_saved_evaluator_can_be_perturbed(data, tmp_path):
    command = ("--model", "parrot", "--data", data, "-s", "antonym", *PARROT)
    run(*command, "-o", "out", "--evaluator", "svm-unigram", "--evaluator", "length")
    assert {*load(tmp_path / "out").settings["evaluators"]} == {"svm-unigram", "length"}
    pairs = Pairing("human_random")(to_passages(talk()))
    save_scorer(LengthScorer.fit(pairs), tmp_path / "saved")
    run(*command, "-o", "other", "--evaluator", f"mine={tmp_path / 'saved'}")
    results = load(tmp_path / "other")
    assert {row.evaluator for row in results.evaluator_results} == {"mine"}


def test_a_sampling_system_has_a_self_movement(data, model, tmp_path):
    run("--model", model, "--data", data, "-s", "random-swap", *SHORT, "-o", "out", "-d",
        "sampling", "--evaluator", "none", "--no-likelihood")  # fmt: skip
    results = load(tmp_path / "out")
    assert results.systems[0].samples and results.systems[0].self_movement.value > 0
    assert not results.select("likelihood")


def test_settings_and_presets_reach_the_strategies(data, tmp_path):
    run("--model", "parrot", "--data", data, "-s", "random-swap", "-s", "stopword-dropout",
        "--set", "random-swap.words_per_swap=2", "--preset", "released", *PARROT, "-o", "out",
        "--evaluator", "none", "--actent", "--skip", "released", "--measure", "changed",
        "--turns", "last")  # fmt: skip
    settings = load(tmp_path / "out").settings
    assert "words_per_swap=2" in settings["strategies"]["random-swap"]
    assert "most=None" in settings["strategies"]["stopword-dropout"]
    assert (settings["actent"], settings["skip"], settings["turns"]) == (
        "embedded", "released", "last",
    )  # fmt: skip


def stored(tmp_path, change):
    passages = talk(12)
    normal = [passage.with_response("we like it", "bot") for passage in passages]
    after = [
        passage.with_context(f"not {turn.text}" for turn in passage.context)
        .with_response("we do not like it" if change else "we like it", "bot")
        for passage in passages
    ]  # fmt: skip
    for name, rows in (("normal", normal), ("negated", after)):
        write_passages(to_passages(rows), tmp_path / f"{name}.jsonl")
    return ("--stored", "normal=normal.jsonl", "--stored", "add-negation=negated.jsonl")


def test_stored_replies_are_enough(data, tmp_path):
    output = run(*stored(tmp_path, True), "--name", "bot", "--data", data, "-o", "out",
                 "--resamples", "300")  # fmt: skip
    results = load(tmp_path / "out")
    assert results.systems[0].name == "bot" and "Without an evaluator" in output
    verdict = results.verdicts[0]
    assert verdict.strategy == "add-negation" and verdict.unchanged == 0
    assert results.select("chrf")


def test_options_that_do_not_fit_are_refused(data, tmp_path):
    files = stored(tmp_path, False)
    with pytest.raises(BadInput, match="have their own system"):
        run(*files, "--model", "parrot")
    with pytest.raises(BadInput, match="expected NAME=FILE, but got 'normal'"):
        run("--stored", "normal")
    with pytest.raises(BadInput, match="unknown strategy 'sing'"):
        run("--model", "parrot", "--data", data, "-s", "sing")
    with pytest.raises(BadInput, match="--limit must be at least 1"):
        run("--model", "parrot", "--data", data, "--limit", "0")
    with pytest.raises(BadInput, match="too few to fit an evaluator"):
        run("--model", "parrot", "--data", data, "--limit", "40", "--evaluator", "embedding")
    with pytest.raises(BadInput, match="no human responses"):
        run("--model", "parrot", "--data", "normal.jsonl")
