"""Single updates of every trainer, with each setting that saves memory; alone or shared.

python -m tests.training.update_worker FOLDER   writes them; under `accelerate launch` as well
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import PartialState
from safetensors.torch import save_file

from dialeval.dialogues import Pairing, Passages, iterate, to_passages
from dialeval.training import (
    DiscriminatorConfig,
    DiscriminatorTrainer,
    GeneratorConfig,
    GeneratorTrainer,
)
from dialeval.training.game_state import ATTACK
from dialeval.training.policy import Drawn
from tests.training.adversarial_worker import tiny_trainer
from tests.training.game_worker import attacker, judge, talk, tiny_game

CHANGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "accumulation": {"gradient_accumulation_steps": 3},
    "checkpointing": {"gradient_checkpointing": True},
    "bf16": {"precision": "bf16"},
}
BATCH = 7
"""Rows of a batch, which two processes share unequally."""
PLAIN = {"batch_size": BATCH, "optimizer": "sgd", "learning_rate": 1.0}


def flat(*models: torch.nn.Module) -> torch.Tensor:
    """All parameters in one vector."""
    return torch.cat([v.detach().flatten() for model in models for v in model.parameters()]).clone()


def plain_steps(*models: torch.nn.Module) -> list[torch.optim.Optimizer]:
    """Optimizers whose steps are the gradients.

    Adam makes whole steps of rounding errors, where a gradient is 0 but for them.
    """
    return [torch.optim.SGD(model.parameters(), lr=1.0) for model in models]


def pairs(count: int = 16, seed: int = 0) -> Passages:
    """Labelled pairs of invented responses."""
    human = talk(count, seed)
    machine = to_passages(
        p.with_response(f"no {p.response.split()[0]}", "bot") for p in iterate(human)
    )
    return Pairing("human_machine")(human, machine)


def generator_update(**settings: Any) -> torch.Tensor:
    """One update by likelihood."""
    generator = attacker(0, 0.0)
    start = flat(generator.model)
    config = GeneratorConfig(**PLAIN, schedule="constant", **settings)
    trainer = GeneratorTrainer(generator, talk(16), config)
    return _after(trainer, trainer.train(talk(6, seed=1))) - start


def discriminator_update(**settings: Any) -> torch.Tensor:
    """One update on pairs."""
    scorer = judge(1, 0.0)
    start = flat(scorer.model)
    config = DiscriminatorConfig(**PLAIN, **settings)
    trainer = DiscriminatorTrainer(scorer.model, scorer.tokenizer, scorer.input_format, config)
    return _after(trainer, trainer.train(pairs(), pairs())) - start


def prefix_update(**settings: Any) -> torch.Tensor:
    """One update on random prefixes."""
    return discriminator_update(prefixes=True, **settings)


def all_prefixes_update(**settings: Any) -> torch.Tensor:
    """One update on all prefixes, whose number differs between responses."""
    return discriminator_update(all_prefixes=True, **settings)


def _after(trainer: Any, progress: Any) -> torch.Tensor:
    list(islice(progress, 1))
    trainer.prepared.gather()
    return flat(trainer.plain)


def game_update(folder: Path, **settings: Any) -> torch.Tensor:
    """One update of each side of the game, whose samples are in a folder."""
    game = tiny_game(folder, 0.0, attack_batch=BATCH, defence_batch=BATCH, **settings)
    sides = game.generator.model, game.defender.hvm.model
    start = flat(*sides)
    game.attacker_optimizer, game.defender_optimizer = plain_steps(*sides)
    game._collect(0)
    game.attack_step()
    game._collect(1)
    game.defence_step()
    return flat(*sides) - start


def uneven_update(folder: Path, **settings: Any) -> torch.Tensor:
    """One update of the attacker, where only every second context has a gradient.

    The others' responses are rewarded alike, so that the second of two processes, which has them,
    makes no backward pass.
    """
    game = tiny_game(folder / "uneven", 0.0, attack_batch=BATCH, **settings)
    model, rewards = game.generator.model, game.rewards
    start = flat(model)
    [game.attacker_optimizer] = plain_steps(model)
    rows = game._draw_rows(ATTACK, len(game.human["train"]), BATCH)
    rewarded = {passage.id for passage in game._passages("train", rows[::2])}

    def uneven(drawn: Drawn) -> np.ndarray:
        kept = rewards(drawn) * [passage.id in rewarded for passage in drawn.passages]
        assert game.rank == 0 or not kept.any()
        return kept

    game.rewards = uneven  # type: ignore[method-assign]
    game.attack_step()
    return flat(model) - start


def reinforce_update(**settings: Any) -> torch.Tensor:
    """One update of the discriminator and two of the generator."""
    trainer = tiny_trainer(
        None, dropout=0.0, training=settings, adversarial_batch=BATCH, iterations=1, d_steps=1
    )
    discriminator = trainer.discriminator
    assert discriminator is not None
    sides = trainer.generator.model, discriminator.model
    start = flat(*sides)
    trainer.optimizer, trainer.discriminator_optimizer = plain_steps(*sides)
    list(trainer.train())
    return flat(*sides) - start


SUPERVISED = {
    "generator": generator_update, "discriminator": discriminator_update,
    "prefixes": prefix_update, "all_prefixes": all_prefixes_update,
}  # fmt: skip


def all_updates(folder: Path) -> dict[str, Callable[..., torch.Tensor]]:
    """The update of each trainer, by name."""
    game = {"game": partial(game_update, folder), "uneven": partial(uneven_update, folder)}
    return {**SUPERVISED, **game, "reinforce": reinforce_update}


def write_updates(updates: Mapping[str, Callable[..., torch.Tensor]], path: Path) -> None:
    """Every update with every setting."""
    made = {
        f"{name} {change}": update(**settings)
        for name, update in updates.items()
        for change, settings in CHANGES.items()
    }
    state = PartialState()
    if state.is_main_process:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({**made, "processes": torch.tensor(state.num_processes)}, path)


if __name__ == "__main__":
    torch.set_num_threads(1)
    target = Path(sys.argv[1])
    write_updates(all_updates(target / "game"), target / "updates.safetensors")
