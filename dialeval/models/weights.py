"""Weights: a hash of them, and the device they run on."""

from hashlib import blake2b
from typing import Any

import torch


def fingerprint(model: torch.nn.Module) -> str:
    """A hash of a model's weights."""
    digest = blake2b(digest_size=8)
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def best_device(accelerator: Any = None) -> str:
    """The accelerator's device, or the best available one."""
    if accelerator is not None:
        return str(accelerator.device)
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
