"""Updates that are the same on any number of processes, in any precision and number of parts."""

import math
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from dialeval.errors import BadInput


def reduced_step(
    accelerator: Accelerator,
    parameters: Iterable[torch.nn.Parameter],
    optimizer: torch.optim.Optimizer,
    max_norm: float = 0.0,
) -> float:
    """One step with the sum of the gradients of all processes; returns the norm of that sum.

    Where the norm is not a number, the step is left out: one bad batch does not ruin the weights.

    Args:
        accelerator (`Accelerator`):
            The processes.
        parameters (`Iterable[Parameter]`):
            What the optimizer updates.
        optimizer (`Optimizer`):
            Its gradients are zero afterwards.
        max_norm (`float`, *optional*, defaults to 0.0):
            Largest norm; 0 does not clip.

    Returns:
        `float`: The norm before clipping.
    """
    values = list(parameters)
    for value in values:  # Adam skips a missing gradient, but not one that is 0
        value.grad = torch.zeros_like(value) if value.grad is None else value.grad
    if accelerator.num_processes > 1:
        _sum_over_processes(accelerator, [value.grad for value in values if value.grad is not None])
    norm = torch.nn.utils.clip_grad_norm_(values, max_norm or float("inf")).item()
    if math.isfinite(norm):
        optimizer.step()
    optimizer.zero_grad()
    return norm


def clip(
    accelerator: Accelerator, parameters: Sequence[torch.nn.Parameter], max_norm: float
) -> torch.Tensor:
    """Limit the norm of gradients; returns the norm before.

    Args:
        accelerator (`Accelerator`):
            The processes.
        parameters (`Sequence[Parameter]`):
            Whose gradients.
        max_norm (`float`):
            Largest norm; 0 does not clip.

    Returns:
        `Tensor`: The norm before clipping.
    """
    norm: Any = accelerator.clip_grad_norm_(parameters, max_norm or math.inf)
    return norm.full_tensor() if hasattr(norm, "full_tensor") else norm  # of divided gradients


def _sum_over_processes(accelerator: Accelerator, gradients: Sequence[torch.Tensor]) -> None:
    """Replace each gradient by its sum over all processes, with one message for each data type.

    The sum is Accelerate's `reduce`, called once per update. DistributedDataParallel, in which
    `Accelerator.prepare` would wrap a model, reduces in hooks of a backward pass instead, and waits
    until every process makes that pass. In these updates a process makes as many passes as its
    responses with a gradient need, and none where all of them are rewarded alike. Also, players
    with adapters share one backbone, of which first some and then other parameters are trained,
    whereas the wrapper reduces those that were trainable when it was made.
    """
    for dtype in dict.fromkeys(gradient.dtype for gradient in gradients):
        alike = [gradient for gradient in gradients if gradient.dtype == dtype]
        total = accelerator.reduce(torch.cat([gradient.reshape(-1) for gradient in alike]), "sum")
        parts = total.split([gradient.numel() for gradient in alike])
        for gradient, part in zip(alike, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


def autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    """The context of forward passes: float32 as they are, or bfloat16 where that is safe.

    Args:
        precision (`str`):
            `"no"` or `"bf16"`.
        device (`torch.device`):
            Where the model runs.
    """
    if precision == "no":
        return nullcontext()
    return torch.autocast(device.type, dtype=torch.bfloat16)


def enable_checkpointing(model: Any) -> None:
    """Let a model compute activations again in the backward pass, which saves memory."""
    if not getattr(model, "supports_gradient_checkpointing", False):
        kind = getattr(getattr(model, "config", None), "model_type", type(model).__name__)
        raise BadInput(
            f"models of type {kind!r} do not support gradient checkpointing.",
            hint="Leave out --gradient-checkpointing, or lower the batch size.",
        )
    model.gradient_checkpointing_enable({"use_reentrant": False})


def parts_of(rows: np.ndarray, count: int) -> list[np.ndarray]:
    """Rows of a batch in at most `count` parts of similar size, none of them empty.

    Examples:
        >>> [part.tolist() for part in parts_of(np.arange(5), 2)]
        [[0, 1, 2], [3, 4]]
    """
    return np.array_split(rows, max(1, min(count, len(rows))))


def local_parts(accelerator: Accelerator, size: int, count: int) -> list[np.ndarray]:
    """This process's rows of a batch, in as many parts as those of every other process.

    Processes with divided weights or averaged gradients wait for each other in every pass.

    Args:
        accelerator (`Accelerator`):
            The processes.
        size (`int`):
            Rows of the batch.
        count (`int`):
            Number of parts at most.

    Returns:
        `list[np.ndarray]`: Rows of each part.
    """
    rank, ranks = accelerator.process_index, accelerator.num_processes
    return parts_of(np.arange(size)[rank::ranks], min(count, size // ranks))


def check_shares(size: int, ranks: int) -> None:
    """Refuse batches that leave a process without a row."""
    if size < ranks:
        raise BadInput(
            f"{ranks} processes cannot share batches of {size} passage(s).",
            hint="Raise --batch_size, give more dialogues, or start fewer processes.",
        )
