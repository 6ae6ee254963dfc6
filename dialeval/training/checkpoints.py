"""Checkpoints without pickle: tensors as safetensors, the rest as JSON, whole or not at all."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dialeval.dialogues import BadInput

_FILES = ("model.safetensors", "optimizer.safetensors", "progress.json")


def save_checkpoint(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer, progress: dict[str, Any]
) -> None:
    """Replace a checkpoint in one step; the old one stays until the new one is complete."""
    partial, old = (folder.with_name(f".{folder.name}.{word}") for word in ("partial", "old"))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    save_file(_contiguous(model.state_dict()), partial / _FILES[0])
    state = optimizer.state_dict()
    tensors, numbers = {}, {}
    for parameter, values in state["state"].items():
        for name, value in values.items():
            is_tensor = isinstance(value, torch.Tensor)
            (tensors if is_tensor else numbers)[f"{parameter}.{name}"] = value
    save_file(_contiguous(tensors), partial / _FILES[1])
    told = {"progress": progress, "groups": state["param_groups"], "numbers": numbers}
    (partial / _FILES[2]).write_text(json.dumps(told), encoding="utf-8")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        os.replace(folder, old)
    os.replace(partial, folder)
    shutil.rmtree(old, ignore_errors=True)


def load_checkpoint(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Put a checkpoint back into a model and its optimiser; gives the progress that was saved."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        remedy = "Start again without --resume."
        raise BadInput(f"the checkpoint lacks {', '.join(missing)}.", folder, remedy=remedy)
    try:
        model.load_state_dict(load_file(folder / _FILES[0]))
    except RuntimeError as error:
        remedy = "Resume with the settings of the first run."
        raise BadInput(
            f"the checkpoint is of another model: {error}", folder, remedy=remedy
        ) from None
    told = json.loads((folder / _FILES[2]).read_text(encoding="utf-8"))
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**load_file(folder / _FILES[1]), **told["numbers"]}.items():
        parameter, name = key.split(".", 1)
        state.setdefault(int(parameter), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": told["groups"]})
    return told["progress"]


def _contiguous(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
