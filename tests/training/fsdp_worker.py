"""The trainers with weights that FSDP2 divides between CPU processes (gloo).

accelerate launch --config_file recipes/accelerate/fsdp.yaml -m tests.training.fsdp_worker FOLDER

Accelerate takes FSDP on GPUs only: on a CPU it reports MULTI_CPU and ignores the launch config.
[`take_fsdp`] changes that one word of its state; everything else is Accelerate's own code.
"""

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator, PartialState
from accelerate.utils import DistributedType
from safetensors.torch import save_file

from dialeval.dialogues import Pairing, Passages, iterate, to_passages
from dialeval.training import (
    DiscriminatorConfig,
    DiscriminatorTrainer,
    GeneratorConfig,
    GeneratorTrainer,
)
from tests.training.game_worker import attacker, judge, talk

FAST = {"batch_size": 5, "optimizer": "adam", "learning_rate": 0.01, "checkpoint_every": 2}
MADE = {"discriminator": 6, "generator": 6}


def take_fsdp() -> None:
    """Let Accelerate divide weights between CPU processes as it does between GPUs."""
    PartialState(cpu=True)
    PartialState._shared_state["distributed_type"] = DistributedType.MULTI_GPU


def pairs(seed: int) -> Passages:
    """Labelled pairs of invented responses."""
    human = talk(16, seed)
    machine = to_passages(
        p.with_response(f"no {p.response.split()[0]} no", "bot") for p in iterate(human)
    )
    return Pairing("human_machine")(human, machine)


def make_trainer(kind: str, checkpoint: Path | None = None, **settings: Any) -> Any:
    """A trainer of an untrained model without dropout."""
    settings = {**FAST, "epochs": 3, **settings}
    if kind == "generator":
        return GeneratorTrainer(
            attacker(0, 0.0), talk(16), GeneratorConfig(**settings), checkpoint=checkpoint
        )
    scorer = judge(1, 0.0)
    config = DiscriminatorConfig(**settings)
    return DiscriminatorTrainer(
        scorer.model, scorer.tokenizer, scorer.input_format, config, checkpoint=checkpoint
    )


def progress_of(kind: str, trainer: Any) -> Any:
    """The progress of a training, from its start or its checkpoint."""
    data = (talk(6, seed=1),) if kind == "generator" else (pairs(0), pairs(1))
    return trainer.train(*data)


def train(kind: str, folder: Path, **settings: Any) -> None:
    """A whole training: its numbers, weights, and outputs."""
    trainer = make_trainer(kind, folder / "checkpoint", **settings)
    numbers = list(progress_of(kind, trainer))
    write(trainer, folder, numbers)


def write(trainer: Any, folder: Path, numbers: list[Any]) -> None:
    """What a training came to."""
    folder.mkdir(parents=True, exist_ok=True)
    if trainer.accelerator.is_main_process:
        save_file({k: v.clone() for k, v in trainer.plain.state_dict().items()}, folder / "weights.safetensors")
        (folder / "numbers.json").write_text(json.dumps(numbers), "utf-8")
    trainer.accelerator.wait_for_everyone()


def main(folder: Path) -> None:
    for kind in MADE:
        train(kind, folder / kind)
        trainer = make_trainer(kind, folder / "broken" / kind)
        print(kind, trainer.prepared.is_sharded, [type(p).__name__ for p in trainer.prepared.trainable][:2])
        begun = progress_of(kind, trainer)
        list(islice(begun, 6))
        again = make_trainer(kind, folder / "broken" / kind)
        write(again, folder / f"{kind}-resumed", list(progress_of(kind, again)))


if __name__ == "__main__":
    torch.set_num_threads(1)
    if sys.argv[2:] == ["fsdp"]:
        take_fsdp()
    main(Path(sys.argv[1]))
