"""Each recipe's tiny config runs under `accelerate launch`, on one process and on two."""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def launch(script: str, *arguments: str, processes: int = 1, cwd: Path) -> str:
    launcher = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--num_processes",
        str(processes),
    ]
    launcher += ["--multi_gpu"] if processes > 1 else ["--cpu"]  # gloo, with ACCELERATE_USE_CPU
    done = subprocess.run(
        [*launcher, "--main_process_port", "0", str(ROOT / "recipes" / script), *arguments],
        cwd=cwd,
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.fixture
def corpus(write):
    lines = [
        " ".join(f"word{(number * 7 + turn) % 50} of talk {number} . __eou__" for turn in range(4))
        for number in range(200)
    ]
    return write("talk.txt", "\n".join(lines))


@pytest.mark.parametrize("processes", [1, 2])
def test_the_discriminator_recipe(processes, corpus, tmp_path):
    config = str(ROOT / "recipes" / "configs" / "discriminator_tiny.yaml")
    output = ["--config", config, "--data", str(corpus), "--output_dir", "run", "--filter", "none"]
    output_text = launch("discriminator.py", *output, processes=processes, cwd=tmp_path)
    assert output_text.count("Held-out accuracy") == 1
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    names = [row["evaluator"] for row in results["results"]]
    assert names == ["hierarchical", "response only", "shuffled context", "length only"]
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in results["results"])
    assert (tmp_path / "run" / "scorer.json").is_file()
    assert not (tmp_path / "run" / "checkpoint").exists()


@pytest.mark.parametrize("command", ["train", "train-generator"])
def test_the_help_of_a_command_lists_every_setting_with_the_default_that_is_used(command):
    import typer
    import yaml

    from dialeval.commands import app

    name = {"train": "discriminator", "train-generator": "generator"}[command]
    parameters = {item.name: item for item in typer.main.get_command(app).commands[command].params}
    path = ROOT / "recipes" / "configs" / f"{name}_default.yaml"
    for key, value in yaml.safe_load(path.read_text()).items():
        expected = ", ".join(value) if isinstance(value, list) else str(value)
        assert parameters[key].show_default == expected, key


CONFIGS = sorted((ROOT / "recipes" / "configs").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_config_is_understood(path):
    from dialeval.config import parse_config
    from dialeval.protocols.att import AttRun
    from dialeval.protocols.regs import RegsRun
    from dialeval.settings.adversarial import AdversarialConfig
    from dialeval.training import DiscriminatorConfig, GeneratorConfig
    from dialeval.training.discriminator import DiscriminatorRun
    from dialeval.training.game_settings import GameConfig
    from dialeval.training.generator import GeneratorRun

    schemas = {
        "att": (AttRun, GameConfig),
        "discriminator": (DiscriminatorRun, DiscriminatorConfig),
        "generator": (GeneratorRun, GeneratorConfig),
        "regs": (RegsRun, GeneratorConfig, AdversarialConfig),
    }
    recipe = path.stem.split("_")[0]
    run, *_ = parse_config(*schemas[recipe], argv=["--config", str(path)])
    default = recipe if path.stem.endswith("_default") else path.stem
    assert run.output_dir == f"runs/{default}"


def test_the_generator_recipe_learns_the_same_on_two_processes(
    corpus, tmp_path, monkeypatch, capsys
):
    config = str(ROOT / "recipes" / "configs" / "generator_tiny.yaml")
    given = ["--config", config, "--data", str(corpus), "--dropout", "0.0"]
    given += ["--learning_rate", "0.01", "--output_dir"]
    output_text = launch("generator.py", *given, "two", processes=2, cwd=tmp_path)
    assert output_text.count("Perplexity") == 1
    recipe = str(ROOT / "recipes" / "generator.py")
    monkeypatch.setattr(sys, "argv", [recipe, *given, "one"])
    runpy.run_path(recipe, run_name="__main__")  # one process is this one: it need not be launched
    assert capsys.readouterr().out.count("Perplexity") == 1
    one, two = (
        json.loads((tmp_path / name / "results.json").read_text()) for name in ("one", "two")
    )
    assert one["history"][0]["step"] == two["history"][0]["step"] == 12
    assert one["results"][0]["value"] < 100  # of more than 500 pieces
    for alone, shared in zip(one["results"], two["results"], strict=True):
        assert shared["value"] == pytest.approx(alone["value"], rel=1e-3)
        assert (shared["metric"], shared["n"]) == (alone["metric"], alone["n"])
    assert (tmp_path / "two" / "generator.json").is_file()
    assert not (tmp_path / "two" / "checkpoint").exists()


@pytest.fixture
def chat(write):
    """Clean and alike: what a hardly trained generator says is neither, so a judge can tell."""
    things = ("tea", "rain", "work", "music", "sleep", "bread")
    lines = [
        " ".join(
            f"yes i like {things[(number + turn) % 6]} a lot , thank you {number} . __eou__"
            for turn in range(4)
        )
        for number in range(300)
    ]
    return write("chat.txt", "\n".join(lines))


@pytest.mark.parametrize("processes", [1, 2])
def test_the_att_recipe(processes, chat, tmp_path):
    config = str(ROOT / "recipes" / "configs" / "att_tiny.yaml")
    given = ["--config", config, "--data", str(chat), "--output_dir", "run", "--max_turns", "1"]
    given += ["--generator_passages", "100", "--hvr_kind", "transformer"]
    given += ["--methods", "SL+HvR", "ATT"] if processes > 1 else []
    output_text = launch("att.py", *given, processes=processes, cwd=tmp_path)
    assert "Adversarial" in output_text and output_text.count("Report:") == 1
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["games"]["ATT"][0]["turn"] == 1
    assert (tmp_path / "run" / "report.html").is_file()
    assert (tmp_path / "run" / "defenders" / "ATT" / "scorer.json").is_file()


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_regs_recipe(processes, chat, tmp_path, monkeypatch):
    monkeypatch.setenv("DIALEVAL_THREADS", "1")  # two threads for tiny models mostly wait
    config = str(ROOT / "recipes" / "configs" / "regs_tiny.yaml")
    given = [
        "--config",
        config,
        "--data",
        str(chat),
        "--output_dir",
        "run",
        "--max_perplexity",
        "0",
    ]
    given += ["--methods", "REGS-MC"] if processes > 1 else ["--controls", "constant"]
    output_text = launch("regs.py", *given, processes=processes, cwd=tmp_path)
    assert "AdverSuc" in output_text and output_text.count("Report:") == 1
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    methods = ["REGS-MC"] if processes > 1 else ["REINFORCE", "REGS-MC", "REGS-partial"]
    assert results["systems"][: 2 + len(methods)] == ["pre-trained", "more likelihood", *methods]
    assert results["likelihood_steps"] == 4
    metrics = {row["metric"] for row in results["results"] if row["system"] == "REGS-MC"}
    assert {"adversuc", "machine_vs_random", "perplexity", "distinct_2"} <= metrics
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "more likelihood" in page and page.count("<svg") >= 7


def test_the_shapes_of_the_papers_regs_fit_together(tmp_path):
    """The networks of `regs_paper.yaml`, on one short batch."""
    import torch

    from dialeval.config import parse_config
    from dialeval.models import Seq2SeqConfig, Seq2SeqGenerator
    from dialeval.models.configuration_recurrent import HierarchicalConfig
    from dialeval.models.modeling_critic import HierarchicalCritic
    from dialeval.protocols.regs import RegsRun
    from dialeval.settings.adversarial import AdversarialConfig
    from dialeval.training import GeneratorConfig

    path = str(ROOT / "recipes" / "configs" / "regs_paper.yaml")
    run, training, config = parse_config(
        RegsRun, GeneratorConfig, AdversarialConfig, argv=["--config", path]
    )
    assert (config.d_steps, config.g_steps, config.rollouts) == (5, 1, 5)
    assert (config.baseline, config.critic_reads) == ("critic", "prefix")
    assert training.weighting == "tf-idf"
    shape = {"vocab_size": run.generator_vocabulary, "hidden_size": run.generator_width}
    generator = Seq2SeqGenerator(Seq2SeqConfig(num_layers=run.generator_layers, **shape))
    ids = torch.ones(2, 4, dtype=torch.long)
    logits = generator(input_ids=ids, decoder_input_ids=ids).logits
    assert logits.shape == (2, 4, run.generator_vocabulary)
    critic = HierarchicalCritic(HierarchicalConfig(
        vocab_size=run.generator_vocabulary, hidden_size=config.critic_size,
        id2label={0: "value"}, label2id={"value": 0}))  # fmt: skip
    sizes = torch.tensor([4, 2])
    values = critic.values(ids, sizes, ids, sizes)
    assert values.shape == (2, 5) and (values == 0).all()
