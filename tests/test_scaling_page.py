"""The commands of docs/scaling.md for 8 GPUs: each is understood, and all of them run tiny."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.config import parse_config
from dialeval.models.tokenizers import bpe_tokenizer
from dialeval.protocols.att import AttRun
from dialeval.training import DiscriminatorConfig, GeneratorConfig
from dialeval.training.discriminator import DiscriminatorRun
from dialeval.training.game_settings import GameConfig
from dialeval.training.generator import GeneratorRun

ROOT = Path(__file__).resolve().parents[1]
SCHEMAS = {
    "recipes/generator.py": (GeneratorRun, GeneratorConfig),
    "recipes/discriminator.py": (DiscriminatorRun, DiscriminatorConfig),
    "recipes/att.py": (AttRun, GameConfig),
}
TINY = {
    "recipes/generator.py": "--model tiny --epochs 1 --samples 1 --min_response 1",
    "recipes/discriminator.py": "--backbone tiny --epochs 1",
    "recipes/att.py": (
        "--hvm runs/gpu/hvr --methods ATT --test_contexts 20 --fresh_attackers 0 --samples 32 "
        "--attack_steps 2 --defence_steps 2 --max_turns 1 --max_new_tokens 5 "
        "--validation_contexts 40 --validate_every 2"
    ),
    "dialeval": "",
}
"""Settings that replace those of a command, so that it takes seconds."""


def commands() -> list[list[str]]:
    text = (ROOT / "docs" / "scaling.md").read_text()
    section = text.split("## Train and harden a discriminator on 8 GPUs")[1]
    match = re.search(r"```bash\n(.*?)```", section, re.DOTALL)
    assert match is not None
    return [shlex.split(line) for line in match[1].splitlines()]


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_every_command_is_understood(command, monkeypatch):
    import typer
    from accelerate.commands.launch import launch_command_parser

    from dialeval.commands import app

    monkeypatch.chdir(ROOT)
    assert command[:2] == ["accelerate", "launch"]
    launched = launch_command_parser().parse_args(command[2:])
    assert Path(launched.config_file).is_file()
    assert launched.num_processes == 8
    if launched.module:
        assert launched.training_script == "dialeval"
        name, *arguments = launched.training_script_args
        parameters = typer.main.get_command(app).commands[name].params
        known = {option for parameter in parameters for option in parameter.opts}
        assert known.issuperset(word for word in arguments if word.startswith("--"))
        return
    run, config = parse_config(
        *SCHEMAS[launched.training_script], argv=launched.training_script_args
    )
    assert run.output_dir.startswith("runs/gpu/")
    assert config.precision == "bf16"


@pytest.fixture
def folder(tmp_path):
    """Dialogues, replies, and a tiny GPT-2."""
    lines = [
        " ".join(f"word{(number * 7 + turn) % 50} of talk {number} . __eou__" for turn in range(4))
        for number in range(300)
    ]
    (tmp_path / "dialogues.txt").write_text("\n".join(lines))
    (tmp_path / "replies.jsonl").write_text('{"context": ["hello ."], "response": "of talk ."}\n')
    tokenizer = bpe_tokenizer(lines, 200)
    torch.manual_seed(0)
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 96}
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = GPT2Config(vocab_size=len(tokenizer), **sizes, **ids)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "tiny")
    tokenizer.save_pretrained(tmp_path / "tiny")
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    return tmp_path


@pytest.mark.slow
def test_the_commands_run_one_after_the_other_on_two_processes(folder):
    launcher = [sys.executable, "-m", "accelerate.commands.launch", "--main_process_port", "0"]
    for command in commands():
        [name] = [word for word in command if word in TINY]
        shared = ["2" if word == "8" else word for word in command[2:]]
        done = subprocess.run(
            [*launcher, *shared, *TINY[name].split()],
            cwd=folder,
            env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, f"{name}\n{done.stderr[-3000:]}"
    assert (folder / "runs" / "gpu" / "att" / "defenders" / "ATT" / "scorer.json").is_file()
    assert (folder / "scored.jsonl").is_file()
