"""Optimisers and step sizes by name, for every trainer."""

import math

import torch
from torch import Tensor

from dialeval.errors import BadInput
from dialeval.settings.training import TrainingConfig


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
