"""Memory of training a GPT-2 by formula, against the bytes of the tensors it holds.

Weights, gradients and both moments of Adam in float32 are 16 bytes per parameter. Activations are
counted where autograd saves them; gradient checkpointing keeps one vector per layer instead.
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


SHAPES = (Shape(64, 2, 4, 1_000, 4, 32), Shape(256, 6, 8, 2_000, 2, 48))


def state_bytes(parameters: int) -> int:
    """Weights, gradients and Adam's moments in float32."""
    return 4 * BYTES * parameters


def activation_bytes(shape: Shape) -> int:
    """What autograd saves for one batch with dropout, without gradient checkpointing."""
    per_layer = 30 * shape.width + 3 * shape.heads * shape.length + 4
    per_token = shape.layers * per_layer + 3 * shape.width + shape.vocabulary
    return BYTES * shape.rows * shape.length * per_token


def measure(shape: Shape) -> tuple[int, int, int]:
    """Parameters, bytes of the states, and bytes of the activations of one update."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=shape.vocabulary, n_embd=shape.width, n_layer=shape.layers,
        n_head=shape.heads, n_positions=shape.length, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).train()
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


def main() -> dict[str, dict[str, float]]:
    """Print and return the measured bytes over those of the formula."""
    table = Table("model", "states MB", "ratio", "activations MB", "ratio", title="By formula")
    ratios = {}
    for shape in SHAPES:
        parameters, states, activations = measure(shape)
        expected = state_bytes(parameters), activation_bytes(shape)
        name = f"{parameters / 1e6:.1f} M parameters"
        ratios[name] = {
            "states, measured": states / expected[0],
            "activations, measured": activations / expected[1],
        }
        cells = [f"{expected[0] / 1e6:.1f}", f"{states / expected[0]:.3f}"]
        cells += [f"{expected[1] / 1e6:.1f}", f"{activations / expected[1]:.3f}"]
        table.add_row(name, *cells)
    Console().print(table)
    return ratios


if __name__ == "__main__":
    main()
