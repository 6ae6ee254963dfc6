"""Each recipe's tiny config runs under `accelerate launch`, on one process and on two."""

import json
import os
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
    told = launch("discriminator.py", *output, processes=processes, cwd=tmp_path)
    assert told.count("Held-out accuracy") == 1
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    names = [row["evaluator"] for row in results["results"]]
    assert names == ["hierarchical", "response only", "shuffled context", "length only"]
    assert all(0 <= row["low"] <= row["value"] <= row["high"] <= 1 for row in results["results"])
    assert (tmp_path / "run" / "scorer.json").is_file()
    assert not (tmp_path / "run" / "checkpoint").exists()


def test_the_command_and_the_default_config_agree():
    import yaml

    from dialeval.commands.train import DEFAULTS
    from dialeval.config import parse_config
    from dialeval.protocols.discriminator import DiscriminatorRun
    from dialeval.training import DiscriminatorConfig

    path = ROOT / "recipes" / "configs" / "discriminator_default.yaml"
    argv = [word for name, value in DEFAULTS.items() for word in (f"--{name}", str(value))]
    one = parse_config(DiscriminatorRun, DiscriminatorConfig, argv=argv)
    two = parse_config(DiscriminatorRun, DiscriminatorConfig, argv=["--config", str(path)])
    one[0].backbone = yaml.safe_load(path.read_text())["backbone"]  # the default, by its name
    assert one == two


@pytest.mark.parametrize("path", sorted((ROOT / "recipes" / "configs").glob("*.yaml")), ids=str)
def test_every_config_is_understood(path):
    from dialeval.config import parse_config
    from dialeval.protocols.discriminator import DiscriminatorRun
    from dialeval.training import DiscriminatorConfig

    parse_config(DiscriminatorRun, DiscriminatorConfig, argv=["--config", str(path)])
