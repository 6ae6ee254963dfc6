"""Optimizers and learning rates by name, for every trainer."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from dialeval.errors import BadInput
from dialeval.settings.trainer import TrainingConfig


def optimizer_for(parameters: Sequence[Tensor], config: TrainingConfig) -> torch.optim.Optimizer:
    """A new optimizer, as the settings name it."""
    if config.optimizer == "sgd":
        return torch.optim.SGD(parameters, lr=config.learning_rate)
    if config.optimizer == "adamw":
        return torch.optim.AdamW(
            parameters, lr=config.learning_rate, weight_decay=config.weight_decay
        )
    return torch.optim.Adam(parameters, lr=config.learning_rate)


def learning_rate(config: TrainingConfig, step: int, total: int, epoch: int) -> float:
    """The learning rate of a step; it depends on the step alone, so that resuming needs no state.

    Args:
        config (`TrainingConfig`):
            Rate, warm-up and schedule.
        step, total (`int`):
            Number of the step, and of all steps.
        epoch (`int`):
            Number of the epoch.

    Returns:
        `float`: The learning rate.
    """
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
    """The loss, if it is a finite number; raises `BadInput` otherwise."""
    if not math.isfinite(loss):
        hint = "Train with a smaller learning rate."
        raise BadInput(f"the loss is not a number at {where}.", hint=hint)
    return loss
