"""Accumulation, mixed precision and checkpointing: settings of every trainer, same updates."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from dialeval.dialogues import BadInput
from dialeval.training import DiscriminatorConfig, GeneratorConfig
from dialeval.training.updates import enable_checkpointing, parts_of
from tests.training.game_worker import attacker
from tests.training.update_worker import CHANGES, all_updates, write_updates

TRAINERS = [*all_updates(Path())]


def assert_same_update(change: str, actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Fail where two updates differ by more than rounding."""
    assert expected.abs().max() > 1e-3
    if change == "bf16":  # which has 8 bits of precision
        assert torch.nn.functional.cosine_similarity(actual, expected, dim=0) > 0.999
        return
    torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5)


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    write_updates(all_updates(folder / "game"), folder / "updates.safetensors")
    return load_file(folder / "updates.safetensors")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The same by two processes."""
    folder = tmp_path_factory.mktemp("shared")
    launcher = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    worker = ["--main_process_port", "0", "-m", "tests.training.update_worker", str(folder)]
    done = subprocess.run(
        [sys.executable, *launcher, *worker],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,  # processes that wait for each other never end
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return load_file(folder / "updates.safetensors")


@pytest.mark.parametrize("change", list(CHANGES)[1:])
@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_setting_that_saves_memory_makes_the_same_update(trainer, change, alone):
    plain, changed = alone[f"{trainer} plain"], alone[f"{trainer} {change}"]
    assert_same_update(change, changed, plain)
    if change == "bf16":
        assert not torch.equal(plain, changed)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("trainer", TRAINERS)
def test_two_processes_make_the_update_of_one(trainer, change, alone, shared):
    assert (alone["processes"], shared["processes"]) == (1, 2)
    name = f"{trainer} {change}"
    assert_same_update(change, shared[name], alone[name])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"precision": "fp8"}, "`precision` is one of no, bf16"),
        ({"gradient_accumulation_steps": 0}, "`gradient_accumulation_steps` is 1 or more"),
    ],
)
@pytest.mark.parametrize("config", [GeneratorConfig, DiscriminatorConfig])
def test_bad_settings_are_refused(config, settings, message):
    with pytest.raises(BadInput, match=message):
        config(**settings)


def test_all_prefixes_do_not_form_pairs():
    with pytest.raises(BadInput, match="do not form pairs"):
        DiscriminatorConfig(all_prefixes=True, loss="pairwise")


def test_activations_are_computed_again_without_dropout():
    """Layers whose activations are recomputed are in training mode, their dropout is not."""
    from dialeval.training.policy import policy_backward
    from tests.training.test_policy import given, gradients

    generator = attacker(0, 0.5)
    drawn, advantages = given()
    policy_backward(generator, drawn, advantages, 5)
    plain = gradients(generator)
    enable_checkpointing(generator.model)
    policy_backward(generator, drawn, advantages, 5)
    for name, gradient in gradients(generator).items():
        torch.testing.assert_close(gradient, plain[name], rtol=0, atol=1e-5)
    assert not any(module.training for module in generator.model.modules())


def test_parts_are_never_empty():
    assert [len(part) for part in parts_of(np.arange(2), 5)] == [1, 1]
