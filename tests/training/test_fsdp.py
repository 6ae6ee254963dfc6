"""Launch configs of Accelerate, and FSDP2 steps on two CPU processes against one process.

Accelerate itself falls back to plain data parallelism on CPU, so FSDP2 is tried through torch.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from tests.training import fsdp_worker

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "recipes" / "accelerate").glob("*.yaml"))


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_accelerate_reads_the_launch_configs(path):
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(path))
    assert config.num_processes == 2
    expected = {"ddp": "MULTI_GPU", "fsdp": "FSDP"}[path.stem]
    assert config.distributed_type == expected
    if path.stem == "fsdp":
        assert config.fsdp_config["fsdp_version"] == 2


@pytest.mark.slow
def test_a_sharded_step_equals_that_of_one_process(tmp_path):
    worker = str(Path(fsdp_worker.__file__))
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
    ]
    done = subprocess.run([*command, worker, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    for name, model in fsdp_worker.models().items():
        before = {key: value.clone() for key, value in model.state_dict().items()}
        fsdp_worker.step(name, model, slice(0, 4))
        sharded = load_file(tmp_path / f"{name}.safetensors")
        assert len(sharded) > 10
        moved = 0.0
        for key, value in sharded.items():
            assert (value - model.state_dict()[key]).abs().max() < 1e-5, key
            moved = max(moved, (value - before[key]).abs().max().item())
        assert moved > 1e-3
