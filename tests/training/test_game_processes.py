"""The game in other processes: killed and resumed, and shared by two."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.closeness import tolerance
from tests.training import game_worker

WORKER = str(Path(game_worker.__file__))


def run(*command: str) -> None:
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_game_killed_at_random_moments_ends_as_the_unbroken_one(tmp_path):
    run(WORKER, "broken", str(tmp_path))
    kills = [json.loads(line) for line in (tmp_path / "kills.jsonl").read_text().splitlines()]
    inside = {name for kill in kills for name in kill["inside"]}
    assert {kill["phase"] for kill in kills} == {"attack", "defence"}
    assert {"_collect", "attack_step", "defence_step", "save"} <= inside
    whole, torn = (tmp_path / name / "result" for name in ("whole", "torn"))
    assert json.loads((whole / "records.json").read_text()) == json.loads(
        (torn / "records.json").read_text()
    )
    for side in ("defender", "attacker"):
        one, other = (load_file(path / f"{side}.safetensors") for path in (whole, torn))
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_two_processes_do_the_steps_of_one(tmp_path):
    game_worker.steps(tmp_path / "one")
    launcher = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    run(*launcher, "--main_process_port", "0", WORKER, "steps", str(tmp_path / "two"))
    one, two = (
        json.loads((tmp_path / name / "numbers.json").read_text()) for name in ("one", "two")
    )
    assert (one["processes"], two["processes"]) == (1, 2)
    for phase in ("attack", "defence"):
        assert one[phase] == pytest.approx(two[phase], abs=tolerance())
    for name in ("accuracy", "probability", "hvm", "low", "high", "watched", "defended"):
        # Adam's steps carry rounding of the gradient on to the next ones.
        assert one["record"][name] == pytest.approx(two["record"][name], abs=tolerance(10))
    start = {"attacker": game_worker.attacker().model, "defender": game_worker.judge(1).model}
    for side, model in start.items():
        file = f"result/{side}.safetensors"
        alone, shared = (load_file(tmp_path / name / file) for name in ("one", "two"))
        moved = max((alone[name] - value).abs().max() for name, value in model.named_parameters())
        assert moved > 10 * tolerance()
        size = max(value.abs().max().item() for value in alone.values())
        torch.testing.assert_close(alone, shared, atol=tolerance(size), rtol=0)
