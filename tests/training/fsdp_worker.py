"""One FSDP2 step of a discriminator and of a generator on several CPU processes (gloo).

python tests/training/fsdp_worker.py FOLDER, under torchrun; the first process writes the weights.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from transformers import GPT2Config, GPT2LMHeadModel

from dialeval.models import TransformerDiscriminator, TransformerDiscriminatorConfig

SHAPE = {"vocab_size": 50, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 32}


def models() -> dict[str, torch.nn.Module]:
    """A discriminator and a generator with fixed weights and no dropout."""
    torch.manual_seed(0)
    plain = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    config = GPT2Config(**SHAPE, **plain, bos_token_id=1, eos_token_id=2)
    head = TransformerDiscriminatorConfig(config, pooling="last", causal=True)
    return {"discriminator": TransformerDiscriminator(head), "generator": GPT2LMHeadModel(config)}


def batch() -> dict[str, torch.Tensor]:
    """Four rows of tokens with labels of two classes."""
    rng = torch.Generator().manual_seed(1)
    ids = torch.randint(3, 50, (4, 8), generator=rng)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def step(name: str, model: torch.nn.Module, rows: slice) -> None:
    """One update on some of the rows, with the mean loss of each process."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    local = {key: value[rows] for key, value in batch().items()}
    labels = torch.tensor([0, 1, 1, 0])[rows] if name == "discriminator" else local["input_ids"]
    model(**local, labels=labels).loss.backward()
    optimizer.step()


def main(folder: str) -> None:
    """Shard, step, gather, write."""
    distributed.init_process_group("gloo")
    rank, count = distributed.get_rank(), distributed.get_world_size()
    mesh = init_device_mesh("cpu", (count,))
    for name, model in models().items():
        blocks = [module for key, module in model.named_modules() if key.split(".")[-2:-1] == ["h"]]
        for module in [*blocks, model]:
            fully_shard(module, mesh=mesh)
        size = 4 // count
        step(name, model, slice(rank * size, (rank + 1) * size))
        weights = {key: value.full_tensor().clone() for key, value in model.state_dict().items()
                   if hasattr(value, "full_tensor")}  # fmt: skip
        if rank == 0:
            save_file(weights, Path(folder) / f"{name}.safetensors")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
