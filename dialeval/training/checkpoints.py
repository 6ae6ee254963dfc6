"""Checkpoints without pickle: tensors as safetensors, the rest as JSON, all or nothing."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from dialeval.dialogues import BadInput
from dialeval.files import atomic_dir, last_complete
from dialeval.training.prepared import divided_like, full_tensors

_BEST = "best.safetensors"
_PROGRESS = "progress.json"
_FILES = ("model.safetensors", "optimizer.safetensors", _PROGRESS)


def save_checkpoint(
    folder: Path,
    model: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any],
    best: dict[str, torch.Tensor] | None = None,
    writes: bool = True,
) -> None:
    """Replace a checkpoint in one step; the old one stays until the new one is complete.

    Where weights are divided between processes, all of them call it together, and the checkpoint
    is the same as that of one process.

    Args:
        folder (`Path`):
            The checkpoint.
        model (`Module`):
            The model.
        optimizer (`Optimizer`):
            Its optimizer.
        progress (`dict`):
            Position of the run.
        best (`dict[str, Tensor]`, *optional*):
            Weights with the lowest validation loss so far.
        writes (`bool`, *optional*, defaults to `True`):
            Whether this process writes.
    """
    best = full_tensors(best or {}, writes)
    weights = full_tensors(model.state_dict(), writes)
    state = _split_state(optimizer, writes)
    if not writes:
        return
    with atomic_dir(folder) as partial:
        if best:
            save_file(_contiguous(best), partial / _BEST)
        _write(partial, weights, state, progress)


def load_checkpoint(
    folder: Path, model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Any]:
    """Restore a model and its optimizer from a checkpoint; returns the saved progress.

    Args:
        folder (`Path`):
            The checkpoint.
        model (`Module`):
            Gets the weights.
        optimizer (`Optimizer`):
            Gets its state.

    Returns:
        `dict`: Position of the run.
    """
    weights, progress = read_state(folder, optimizer)
    try:
        model.load_state_dict(divided_like(weights, model.state_dict()))
    except RuntimeError as error:
        hint = "Resume with the settings of the first run."
        raise BadInput(f"the checkpoint is of another model: {error}", folder, hint=hint) from None
    return progress


def write_state(
    folder: Path,
    weights: Mapping[str, torch.Tensor],
    optimizer: torch.optim.Optimizer,
    progress: dict[str, Any] | None = None,
) -> None:
    """Write weights, an optimizer's state and the progress.

    Args:
        folder (`Path`):
            Where the files go.
        weights (`dict[str, Tensor]`):
            Weights of the model.
        optimizer (`Optimizer`):
            Its optimizer.
        progress (`dict`, *optional*):
            Position of the run.
    """
    _write(folder, weights, _split_state(optimizer), progress)


def _split_state(
    optimizer: torch.optim.Optimizer, keep: bool = True
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """An optimizer's state as tensors, and as what JSON can hold."""
    state = optimizer.state_dict()
    tensors: dict[str, torch.Tensor] = {}
    numbers: dict[str, Any] = {}
    for parameter, values in state["state"].items():
        for name, value in values.items():
            kind = tensors if isinstance(value, torch.Tensor) else numbers
            kind[f"{parameter}.{name}"] = value
    return full_tensors(tensors, keep), {"groups": state["param_groups"], "numbers": numbers}


def _write(
    folder: Path,
    weights: Mapping[str, torch.Tensor],
    state: tuple[dict[str, torch.Tensor], dict[str, Any]],
    progress: dict[str, Any] | None,
) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    save_file(_contiguous(weights), folder / _FILES[0])
    save_file(_contiguous(state[0]), folder / _FILES[1])
    content = {"progress": progress or {}, **state[1]}
    (folder / _PROGRESS).write_text(json.dumps(content), encoding="utf-8")


def read_state(
    folder: Path, optimizer: torch.optim.Optimizer
) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Weights and progress as [`write_state`] wrote them; restores the optimizer's state."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        hint = "Start again without --resume."
        raise BadInput(f"the checkpoint lacks {', '.join(missing)}.", folder, hint=hint)
    content = json.loads((folder / _PROGRESS).read_text(encoding="utf-8"))
    tensors = load_file(folder / _FILES[1])
    parameters = [value for group in optimizer.param_groups for value in group["params"]]
    names = {key: int(key.split(".", 1)[0]) for key in tensors}
    known = {key: parameters[index] for key, index in names.items() if index < len(parameters)}
    state: dict[int, dict[str, Any]] = {}
    for key, value in {**divided_like(tensors, known), **content["numbers"]}.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict({"state": state, "param_groups": content["groups"]})
    return load_file(folder / _FILES[0]), content["progress"]


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
            Folder of the checkpoint; without one nothing is saved.
        model, optimizer:
            What is saved, without the wrappers of Accelerate; divided weights as they are.
        writes (`bool`, *optional*, defaults to `True`):
            Whether this process writes; one of them does, and all of them call the methods.
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
        self.history: list[Any] = []
        """Progress at each validation; saved too, since a resumed run reports all of them."""

    def keep_if_better(self, loss: float) -> bool:
        """Keep a copy of the weights if they are the best so far."""
        if loss >= self.best_loss:
            return False
        self.best_loss = loss
        state = self.model.state_dict()
        self.best = {name: tensor.detach().clone() for name, tensor in state.items()}
        return True

    def restore_best(self) -> None:
        """Load the best weights into the model."""
        if self.best:
            self.model.load_state_dict(self.best)

    def save(self, step: int, waited: int) -> None:
        """Write a checkpoint with the numbers of steps and of epochs without a better loss."""
        if self.folder is None:
            return
        progress = {
            "step": step, "waited": waited, "best_loss": self.best_loss, "history": self.history,
        }  # fmt: skip
        save_checkpoint(self.folder, self.model, self.optimizer, progress, self.best, self.writes)

    def resume(self) -> tuple[int, int]:
        """Steps, and epochs without a better loss, of the last checkpoint; zeros without one."""
        folder = None if self.folder is None else last_complete(self.folder)
        if folder is None:
            return 0, 0
        progress = load_checkpoint(folder, self.model, self.optimizer)
        self.best_loss, self.history = progress["best_loss"], progress.get("history", [])
        best = folder / _BEST
        weights = load_file(best) if best.is_file() else {}
        self.best = divided_like(weights, self.model.state_dict())
        return progress["step"], progress["waited"]
