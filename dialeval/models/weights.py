"""Weights: where they run, and a name for what they are."""

from hashlib import blake2b
from typing import Any

import torch


def fingerprint(model: torch.nn.Module) -> str:
    """A hash of a model's weights."""
    found = blake2b(digest_size=8)
    for name, tensor in sorted(model.state_dict().items()):
        found.update(name.encode())
        found.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def best_device(accelerator: Any = None) -> str:
    """Where to run: the accelerator's device, or the best there is."""
    if accelerator is not None:
        return str(accelerator.device)
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"
