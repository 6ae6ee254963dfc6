"""Checkpoints without pickle: tensors as safetensors, the rest as JSON, whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dialeval.dialogues import BadInput
from dialeval.files import atomic_dir, last_complete

_BEST = "best.safetensors"
_PROGRESS = "progress.json"
_FILES = ("model.safetensors", "optimizer.safetensors", _PROGRESS)


def save_checkpoint(
    folder: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any],
    best: dict[str, torch.Tensor] | None = None,
) -> None:
    """Replace a checkpoint in one step; the old one stays until the new one is complete.

    Args:
        best (`dict[str, Tensor]`, *optional*):
            The weights that validated best so far.
    """
    with atomic_dir(folder) as partial:
        if best:
            save_file(_contiguous(best), partial / _BEST)
        write_state(partial, model.state_dict(), optimizer, progress)


def load_checkpoint(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Put a checkpoint back into a model and its optimiser; gives the progress that was saved."""
    weights, progress = read_state(folder, optimizer)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        hint = "Resume with the settings of the first run."
        raise BadInput(f"the checkpoint is of another model: {error}", folder, hint=hint) from None
    return progress


def write_state(
    folder: Path,
    weights: dict[str, torch.Tensor],
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any] | None = None,
) -> None:
    """Write weights and an optimiser's state, with what else is worth knowing."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_contiguous(weights), folder / _FILES[0])
    state = optimizer.state_dict()
    tensors, numbers = {}, {}
    for parameter, values in state["state"].items():
        for name, value in values.items():
            is_tensor = isinstance(value, torch.Tensor)
            (tensors if is_tensor else numbers)[f"{parameter}.{name}"] = value
    save_file(_contiguous(tensors), folder / _FILES[1])
    told = {"progress": progress or {}, "groups": state["param_groups"], "numbers": numbers}
    (folder / _PROGRESS).write_text(json.dumps(told), encoding="utf-8")


def read_state(
    folder: Path, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Weights and progress as [`write_state`] left them; the optimiser gets its state back."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        hint = "Start again without --resume."
        raise BadInput(f"the checkpoint lacks {', '.join(missing)}.", folder, hint=hint)
    told = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**load_file(folder / _FILES[1]), **told["numbers"]}.items():
        parameter, name = key.split(".", 1)
        state.setdefault(int(parameter), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": told["groups"]})
    return load_file(folder / _FILES[0]), told["progress"]


def save_weights(weights: Mapping[str, torch.Tensor], path: Path) -> None:
    """Write tensors to a file that appears under its name only when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    save_file(_contiguous(weights), partial)
    partial.replace(path)


def _contiguous(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}


class CheckpointManager:
    """Checkpoints of a run, and the weights with the lowest validation loss.

    Args:
        folder (`Path`, *optional*):
            Where checkpoints go and are resumed from; nowhere by default.
        model, optimizer:
            What is saved, without what Accelerate wrapped around them.
        writes (`bool`, *optional*, defaults to `True`):
            Whether this process writes; one of them does.
    """

    def __init__(
        self,
        folder: Path | None,
        model: torch.nn.Module,
        optimizer: torch.optim.Optimizer,
        writes: bool = True,
    ):
        self.folder, self.model, self.optimizer, self.writes = folder, model, optimizer, writes
        self.best: dict[str, torch.Tensor] = {}
        self.best_loss = float("inf")

    def keep_if_better(self, loss: float) -> bool:
        """Remember the weights if they are the best so far."""
        if loss >= self.best_loss:
            return False
        self.best_loss = loss
        state = self.model.state_dict()
        self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
        return True

    def restore_best(self) -> None:
        """Put the best weights back into the model."""
        if self.best:
            self.model.load_state_dict(self.best)

    def save(self, step: int, waited: int) -> None:
        """Write a checkpoint after so many steps, and epochs without a better loss."""
        if self.folder is None or not self.writes:
            return
        progress = {"step": step, "waited": waited, "best_loss": self.best_loss}
        save_checkpoint(self.folder, self.model, self.optimizer, progress, self.best)

    def resume(self) -> tuple[int, int]:
        """Steps and waited epochs of the last checkpoint, zeros where there is none."""
        found = None if self.folder is None else last_complete(self.folder)
        if found is None:
            return 0, 0
        progress = load_checkpoint(found, self.model, self.optimizer)
        self.best_loss = progress["best_loss"]
        best = found / _BEST
        self.best = load_file(best) if best.is_file() else {}
        return progress["step"], progress["waited"]
