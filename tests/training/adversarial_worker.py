"""A tiny adversarial training, and what tests do with it in other processes.

python adversarial_worker.py broken FOLDER   train it whole, and killed and resumed many times
python adversarial_worker.py steps FOLDER    one round of each objective; with several processes
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from dialeval.responders.generators import Generator
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import GeneratorConfig
from dialeval.training.adversarial import AdversarialTrainer
from dialeval.training.rewards import RewardSource
from tests.training.game_worker import Killer, attacker, judge, talk, weights

FAST = {
    "objective": "reinforce", "adversarial_batch": 4, "response_tokens": 4, "d_steps": 2,
    "iterations": 6, "validate_every": 3, "validation_contexts": 8, "rollouts": 2,
    "critic_size": 8, "policy_learning_rate": 1e-3, "max_perplexity": 0.0,
}  # fmt: skip


def tiny_trainer(
    folder: Path | None = None,
    generator: Generator | None = None,
    scorer: Any = None,
    dropout: float = 0.1,
    training: dict[str, Any] | None = None,
    control: str = "",
    **settings: Any,
) -> AdversarialTrainer:
    """A trainer of untrained players."""
    config = AdversarialConfig(**{**FAST, **settings})
    plain = {"optimizer": "adam", "checkpoint_every": 2, **(training or {})}
    return AdversarialTrainer(
        generator or attacker(0, dropout),
        RewardSource(judge(1, dropout) if scorer is None else scorer, control),
        talk(20),
        talk(12, seed=1),
        config,
        GeneratorConfig(**plain),
        folder,
    )


def write_result(trainer: AdversarialTrainer, folder: Path) -> None:
    """The weights of all players, and the records."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (model, _) in trainer._players().items():
        save_file(weights(model), folder / f"{name}.safetensors")
    (folder / "records.json").write_text(json.dumps(trainer.records), "utf-8")


def run_in_fork(folder: Path, after: int | None, log: Path, **settings: Any) -> int:
    """Train in a process of its own; its status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        trainer: Any = tiny_trainer(folder, **settings)
        trainer.phase = "training"
        if after is not None:
            sys.setprofile(Killer(after, trainer, log))
        for _ in trainer.train():
            pass
        sys.setprofile(None)
        write_result(trainer, folder / "result")
        os._exit(0)
    finally:
        os._exit(1)


def broken(folder: Path) -> None:
    """The same training unbroken, and killed at random moments until it ends."""
    log = folder / "kills.jsonl"
    settings = {"objective": "regs-mc", "baseline": "mean", "kl_weight": 0.1, "whiten": True}
    assert run_in_fork(folder / "whole", None, log, **settings) == 0
    rng = np.random.default_rng(0)
    for _ in range(200):
        after = int(rng.integers(50, 800))
        if run_in_fork(folder / "torn", after, log, **settings) == 0:
            return
    raise SystemExit("the training did not end")


def steps(folder: Path) -> None:
    """One round with each objective, as plain gradient steps (see the game's)."""
    choices = {
        "reinforce": {"whiten": True, "teacher_forcing": "reward", "baseline": "critic"},
        "regs-mc": {"baseline": "leave-one-out", "responses": 2, "kl_weight": 0.1},
        "regs-partial": {"baseline": "mean", "critic_reads": "state"},
        "all-prefixes": {"baseline": "none", "partial": "all", "objective": "regs-partial"},
    }
    for objective, settings in choices.items():
        settings = {"objective": objective, **settings}
        given = {"adversarial_batch": 5, "iterations": 1, "d_steps": 1}
        trainer = tiny_trainer(None, dropout=0.0, training={"optimizer": "sgd"},
                               **given, policy_learning_rate=1.0, **settings)  # fmt: skip
        for name, (model, _) in trainer._players().items():
            plain = torch.optim.SGD(model.parameters(), lr=1.0)
            side = trainer.baseline if name == "critic" else trainer
            setattr(
                side, "discriminator_optimizer" if name == "discriminator" else "optimizer", plain
            )
        list(trainer.train())
        if trainer.accelerator.is_main_process:
            write_result(trainer, folder / objective)
            (folder / "processes").write_text(str(trainer.ranks))


if __name__ == "__main__":
    torch.set_num_threads(1)
    {"broken": broken, "steps": steps}[sys.argv[1]](Path(sys.argv[2]))
