"""Optimisers and step sizes by name, for every trainer."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from dialeval.dialogues import BadInput

OPTIMIZERS = ("adam", "adamw", "sgd")
SCHEDULES = ("constant", "linear", "cosine", "halve")


@dataclass
class TrainingConfig:
    """Settings that every trainer has."""

    max_steps: int = field(default=-1, metadata={"help": "Updates at most; -1 is no limit."})
    learning_rate: float = field(default=1e-3, metadata={"help": "Step size at the start."})
    weight_decay: float = field(default=0.0, metadata={"help": "Of adamw."})
    warmup_steps: int = field(default=0, metadata={"help": "Updates of rising step size."})
    halve_after: int = field(default=6, metadata={"help": "Epochs before `halve` begins."})
    max_grad_norm: float = field(default=5.0, metadata={"help": "Norm that gradients may reach."})
    patience: int = field(
        default=2, metadata={"help": "Epochs without a better validation loss before stopping."}
    )
    checkpoint_every: int = field(default=500, metadata={"help": "Updates between checkpoints."})
    seed: int = field(default=0, metadata={"help": "Seed of order, dropout and everything drawn."})
    optimizer: str = field(default="adam", metadata={"help": "adam, adamw or sgd."})
    schedule: str = field(
        default="constant",
        metadata={"help": "constant, linear, cosine, or halve (each epoch after halve_after)."},
    )


def check_choices(config: Any, **choices: Sequence[str]) -> None:
    """Refuse a setting that is none of its choices."""
    for name, known in choices.items():
        if getattr(config, name) not in known:
            raise BadInput(f"`{name}` is {', '.join(known)}, but got {getattr(config, name)!r}.")


def optimizer_for(parameters: list[Tensor], config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimiser that the settings name."""
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=config.learning_rate)
    if config.optimizer == "adamw":
        return torch.optim.AdamW(
            parameters, lr=config.learning_rate, weight_decay=config.weight_decay
        )
    return torch.optim.Adam(parameters, lr=config.learning_rate)


def learning_rate(config: TrainingConfig, step: int, total: int, epoch: int) -> float:
    """The step size of an update, from its number alone: resuming needs no state."""
    rate = config.learning_rate
    if config.warmup_steps and step < config.warmup_steps:
        return rate * (step + 1) / config.warmup_steps
    done = (step - config.warmup_steps) / max(1, total - config.warmup_steps)
    if config.schedule == "linear":
        return rate * (1 - done)
    if config.schedule == "cosine":
        return rate * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)  # to a tenth
    if config.schedule == "halve":
        return rate * 0.5 ** max(0, epoch + 1 - config.halve_after)
    return rate


def finite_loss(loss: float, where: str) -> float:
    """The loss itself, if it is a number."""
    if not math.isfinite(loss):
        hint = "Train with a smaller learning rate."
        raise BadInput(f"the loss is not a number at {where}.", hint=hint)
    return loss
