"""Launch configs of Accelerate, and the trainers with weights divided by FSDP2, on two processes.

The processes run on a CPU, see `fsdp_worker`.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from accelerate.utils import DistributedType
from safetensors.torch import load_file

from dialeval.dialogues import BadInput
from dialeval.responders.generators import load_generator
from dialeval.scorers import load_scorer
from dialeval.settings.against import AgainstConfig
from dialeval.training import GeneratorConfig
from dialeval.training.against import make_trainer
from dialeval.training.prepared import is_sharded, refuse_sharding
from tests.closeness import tolerance
from tests.training import fsdp_worker
from tests.training.game_worker import attacker, talk
from tests.training.update_worker import CHANGES, discriminator_update, generator_update, pairs

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "recipes" / "accelerate").glob("*.yaml"))
RUNS = list(fsdp_worker.RUNS)
ADAM = [name for name in RUNS if name.startswith("adam")]


def launch(*arguments: str) -> None:
    launcher = ["-m", "accelerate.commands.launch", "--main_process_port", "0", "--config_file"]
    config = ROOT / "recipes" / "accelerate" / "fsdp.yaml"
    done = subprocess.run(
        [sys.executable, *launcher, str(config), "-m", fsdp_worker.__name__, *arguments],
        cwd=ROOT,
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,  # processes that wait for each other never end
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    """What the worker wrote with weights divided between two processes."""
    folder = tmp_path_factory.mktemp("divided")
    launch(str(folder))
    return folder


def numbers(folder: Path) -> dict:
    return json.loads((folder / "numbers.json").read_text())


def assert_same_progress(actual: list[dict], expected: list[dict], size: float = 1.0) -> None:
    assert len(actual) == len(expected) > 0
    for one, other in zip(actual, expected, strict=True):
        for progress in (one, other):
            for name in ("share of weights", "share of optimizer"):
                progress.pop(name, None)
        samples = [progress.pop("samples", None) for progress in (one, other)]
        assert samples[0] == samples[1]
        bound = tolerance(size * max(map(abs, other.values())))
        assert one == pytest.approx(other, abs=bound)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_accelerate_reads_the_launch_configs(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == 2
    expected = {"ddp": "MULTI_GPU", "fsdp": "FSDP"}[path.stem]
    assert config.distributed_type == expected
    if path.stem == "fsdp":
        assert config.fsdp_config["fsdp_version"] == 2


def assert_same_training(name: str, divided: Path, folder: Path) -> None:
    """Fail where two processes did not train a model as one process does."""
    fsdp_worker.write_run(name, folder)
    alone, shared = numbers(folder), numbers(divided / name)
    assert (alone["sharded"], shared["sharded"]) == (False, True)
    assert_same_progress(shared["progress"], alone["progress"])
    one, other = (load_file(path / "weights.safetensors") for path in (folder, divided / name))
    assert one.keys() == other.keys()
    for key, value in one.items():
        torch.testing.assert_close(other[key], value, rtol=0, atol=tolerance(), msg=key)


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ADAM])
def test_divided_weights_train_as_those_of_one_process(name, divided, tmp_path):
    assert_same_training(name, divided, tmp_path)


@pytest.mark.slow
def test_other_models_train_divided_as_in_one_process(tmp_path):
    launch(str(tmp_path / "divided"), "kinds")
    for name in fsdp_worker.KINDS:
        assert_same_training(name, tmp_path / "divided", tmp_path / name)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["discriminator", "generator"])
def test_a_whole_recipe_runs_divided(recipe, tmp_path):
    config = ROOT / "recipes" / "configs" / f"{recipe}_tiny.yaml"
    script = ROOT / "recipes" / f"{recipe}.py"
    launch(str(script), "--config", str(config), "--output_dir", str(tmp_path / "run"))
    files = {path.name for path in (tmp_path / "run").iterdir()}
    assert files >= {"results.json", "model.safetensors"}
    assert "checkpoint" not in files
    load = load_scorer if recipe == "discriminator" else load_generator
    load(tmp_path / "run")


@pytest.mark.slow
def test_a_game_refuses_to_be_divided(tmp_path):
    config = ROOT / "recipes" / "configs" / "att_tiny.yaml"
    script = ROOT / "recipes" / "att.py"
    with pytest.raises(AssertionError, match="the game does not divide weights"):
        launch(str(script), "--config", str(config), "--output_dir", str(tmp_path / "run"))


@pytest.mark.parametrize("name", ADAM)
def test_a_process_has_half_of_the_weights_and_of_the_optimizer(name, divided):
    for progress in numbers(divided / name)["progress"]:
        assert progress["share of weights"] == pytest.approx(0.5, abs=0.01)
        assert progress["share of optimizer"] == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize("name", ADAM)
def test_a_divided_training_that_was_interrupted_ends_as_the_whole_one(name, divided):
    whole, resumed = divided / name, divided / f"{name}-resumed"
    rest = numbers(resumed)["progress"]
    assert numbers(whole)["progress"][-len(rest) :] == rest
    assert len(rest) < len(numbers(whole)["progress"])
    one, other = (load_file(path / "weights.safetensors") for path in (whole, resumed))
    assert all(torch.equal(one[key], other[key]) for key in one)


@pytest.mark.parametrize("name", ADAM)
def test_one_process_resumes_what_two_began(name, divided, tmp_path):
    shutil.copytree(divided / "left" / name, tmp_path / "checkpoint")
    files = {path.suffix for path in (tmp_path / "checkpoint").iterdir()}
    assert files == {".safetensors", ".json"}
    fsdp_worker.write_run(name, tmp_path, tmp_path / "checkpoint")
    rest = numbers(tmp_path)["progress"]
    # Adam's steps carry rounding of the gradient on to the next ones.
    assert_same_progress(rest, numbers(divided / name)["progress"][-len(rest) :], 10)


@pytest.mark.parametrize("name", ["discriminator", "hierarchical"])
def test_a_discriminator_saved_after_it_was_divided_scores_the_same(name, divided):
    scores = load_scorer(divided / name / "model")(pairs(8, seed=1))
    assert scores == pytest.approx(numbers(divided / name)["scores"], abs=tolerance())


def test_a_generator_saved_after_it_was_divided_is_whole(divided):
    model = load_generator(divided / "generator" / "model", device="cpu").model
    weights = load_file(divided / "generator" / "weights.safetensors")
    state = model.state_dict()
    assert state.keys() == weights.keys()
    assert all(torch.equal(state[key], value) for key, value in weights.items())


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("update", [generator_update, discriminator_update])
def test_divided_weights_are_updated_as_those_of_one_process(update, change, divided):
    made = load_file(divided / "updates.safetensors")
    assert made["processes"] == 2
    actual = made[f"{update.__name__.removesuffix('_update')} {change}"]
    expected = update(**CHANGES[change])
    if change == "bf16":
        assert torch.nn.functional.cosine_similarity(actual, expected, dim=0) > 0.999
    else:
        torch.testing.assert_close(actual, expected, rtol=0, atol=1e-5)


def test_the_first_fsdp_and_trainings_on_own_responses_are_refused():
    launched = SimpleNamespace(distributed_type=DistributedType.FSDP, is_fsdp2=False)
    with pytest.raises(BadInput, match="FSDP2 only"):
        is_sharded(launched)
    with pytest.raises(BadInput, match="the game does not divide weights"):
        refuse_sharding(launched, "the game")
    against = AgainstConfig(rl_weight=0.5)
    with pytest.raises(BadInput, match="own responses does not divide weights"):
        make_trainer(attacker(0), talk(8), GeneratorConfig(), against, launched)
