"""Adversarial training in other processes: killed and resumed, and shared by two."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training import adversarial_worker

WORKER = "tests.training.adversarial_worker"


def run(*command: str) -> None:
    root = str(Path(adversarial_worker.__file__).resolve().parents[2])
    changes = {"ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "PYTHONPATH": root}
    done = subprocess.run(
        [sys.executable, "-m", *command], env={**os.environ, **changes}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]


def test_training_killed_at_random_moments_ends_in_the_same_weights(tmp_path):
    run(WORKER, "broken", str(tmp_path))
    kills = [json.loads(line) for line in (tmp_path / "kills.jsonl").read_text().splitlines()]
    inside = {name for kill in kills for name in kill["inside"]}
    assert len(kills) > 5
    assert {"generator_step", "discriminator_step"} <= inside, inside  # where it spends its time
    whole, torn = (tmp_path / name / "result" for name in ("whole", "torn"))
    assert (whole / "records.json").read_text() == (torn / "records.json").read_text()
    for side in ("generator", "discriminator"):
        one, other = (load_file(path / f"{side}.safetensors") for path in (whole, torn))
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_two_processes_make_the_update_of_one(tmp_path):
    adversarial_worker.steps(tmp_path / "one")
    launcher = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    run(*launcher, "--main_process_port", "0", "-m", WORKER, "steps",
        str(tmp_path / "two"))  # fmt: skip
    assert (tmp_path / "two" / "processes").read_text() == "2"
    one = tmp_path / "one"
    files = sorted(path.relative_to(one) for path in one.rglob("*.safetensors"))
    assert len(files) == 9  # four generators, four discriminators, one critic
    for file in files:
        alone, shared = (load_file(tmp_path / name / file) for name in ("one", "two"))
        for name in alone:
            torch.testing.assert_close(
                alone[name], shared[name], rtol=0, atol=1e-5, msg=f"{file} {name}"
            )
    for objective in ("reinforce", "regs-mc", "regs-partial"):
        records = [
            json.loads((tmp_path / name / objective / "records.json").read_text())[-1]
            for name in ("one", "two")
        ]
        assert records[0]["reward"] == pytest.approx(records[1]["reward"], abs=1e-4)
        assert records[0]["most_frequent"] == records[1]["most_frequent"]
