"""Memory of training a GPT-2 by formula, against the bytes of the tensors it holds.

Weights, gradients and both moments of Adam in float32 are 16 bytes per parameter. Activations are
counted where autograd saves them; gradient checkpointing keeps one vector per layer instead. The
peak of a forward and backward pass also has what exists for a moment.
"""

from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table
from transformers import GPT2Config, GPT2LMHeadModel

BYTES = 4  # of a float32


@dataclass(frozen=True)
class Shape:
    """A GPT-2 and its batch."""

    width: int
    layers: int
    heads: int
    vocabulary: int
    rows: int
    length: int


SHAPES = (Shape(64, 2, 4, 1_000, 4, 32), Shape(256, 6, 8, 2_000, 4, 64))


def state_bytes(parameters: int) -> int:
    """Weights, gradients and Adam's moments in float32."""
    return 4 * BYTES * parameters


def activation_bytes(shape: Shape) -> int:
    """What autograd saves for one batch with dropout, without gradient checkpointing."""
    per_token = shape.layers * _layer(shape) + 3 * shape.width + shape.vocabulary
    return _per_batch(shape, per_token)


def peak_bytes(shape: Shape) -> int:
    """The same with the logits and their gradient, which exist for a moment."""
    return activation_bytes(shape) + _per_batch(shape, 2 * shape.vocabulary)


def checkpointed_bytes(shape: Shape) -> int:
    """The peak with gradient checkpointing: a vector per layer, and the head or one layer."""
    head = 3 * shape.width + 3 * shape.vocabulary
    layer = _layer(shape) + 16 * shape.width  # with the gradients of its activations
    return _per_batch(shape, shape.layers * shape.width + max(head, layer))


def _layer(shape: Shape) -> int:
    """Numbers that autograd saves per token of a layer."""
    return 30 * shape.width + 3 * shape.heads * shape.length + 4


def _per_batch(shape: Shape, per_token: int) -> int:
    return BYTES * shape.rows * shape.length * per_token


def gpt2(shape: Shape) -> GPT2LMHeadModel:
    """A model of this shape, in training mode."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=shape.vocabulary, n_embd=shape.width, n_layer=shape.layers, use_cache=False,
        n_head=shape.heads, n_positions=shape.length, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    return GPT2LMHeadModel(config).train()


def measure(shape: Shape) -> tuple[int, int, int]:
    """Parameters, bytes of the states, and bytes of the activations of one update."""
    model = gpt2(shape)
    optimizer = torch.optim.Adam(model.parameters())
    weights = {value.untyped_storage().data_ptr() for value in model.parameters()}
    saved: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    ids = torch.randint(0, shape.vocabulary, (shape.rows, shape.length))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    parameters = list(model.parameters())
    states = sum(value.nbytes + value.grad.nbytes for value in parameters)
    states += sum(tensor.nbytes for state in optimizer.state.values() for tensor in state.values())
    return sum(value.numel() for value in parameters), states, sum(saved.values())


def measure_peak(shape: Shape, checkpointing: bool) -> int:
    """Largest number of bytes beside weights and gradients in one forward and backward pass."""
    from torch.distributed._tools.mem_tracker import MemTracker

    model = gpt2(shape)
    if checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    for value in model.parameters():
        value.grad = torch.zeros_like(value)
    ids = torch.randint(0, shape.vocabulary, (shape.rows, shape.length))
    tracker = MemTracker()
    tracker.track_external(model)
    with tracker:
        model(input_ids=ids, labels=ids).loss.backward()
    [peak] = tracker.get_tracker_snapshot("peak").values()
    return sum(size for kind, size in peak.items() if getattr(kind, "name", "") in ("ACT", "TEMP"))


def main() -> dict[str, dict[str, float]]:
    """Print and return the measured bytes over those of the formula."""
    table = Table("model", "what", "MB by formula", "measured / formula", title="By formula")
    ratios: dict[str, dict[str, float]] = {}
    for shape in SHAPES:
        parameters, states, activations = measure(shape)
        name = f"{parameters / 1e6:.1f} M parameters"
        pairs = {
            "states": (states, state_bytes(parameters)),
            "activations": (activations, activation_bytes(shape)),
            "peak of a pass": (measure_peak(shape, False), peak_bytes(shape)),
            "peak with checkpointing": (measure_peak(shape, True), checkpointed_bytes(shape)),
        }
        for what, (measured, expected) in pairs.items():
            table.add_row(name, what, f"{expected / 1e6:.1f}", f"{measured / expected:.3f}")
        ratios[name] = {
            f"{what}, measured": measured / expected for what, (measured, expected) in pairs.items()
        }
    Console().print(table)
    return ratios


if __name__ == "__main__":
    main()
