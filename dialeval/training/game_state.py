"""The state of an attack-defence game: players, seeds, updates, and the checkpoint."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object
from safetensors.torch import load_file

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.types import text_hash
from dialeval.files import atomic_dir, last_complete
from dialeval.metrics.training_results import GameStep
from dialeval.responders.generators import Generator
from dialeval.training.checkpoints import read_state, save_weights, write_state
from dialeval.training.defender import Defender
from dialeval.training.game_settings import GameConfig
from dialeval.training.prepared import refuse_sharding
from dialeval.training.samples import AttackerSamples
from dialeval.training.updates import autocast, enable_checkpointing, reduced_step

ATTACK, DEFENCE, TRAIN, VALIDATION, CHECKED = range(5)  # streams of independent draws
_POSITION = ("turn", "phase", "step", "records", "lowest")


class GameState:
    """Players, settings and position of a game, and how they are saved and resumed."""

    def __init__(
        self,
        config: GameConfig,
        generator: Generator,
        defender: Defender,
        train: Passages,
        validation: Passages,
        folder: Path,
        accelerator: Accelerator | None = None,
        name: str = "ATT",
    ):
        self.config, self.generator, self.defender, self.name = config, generator, defender, name
        self.accelerator = accelerator or Accelerator()
        refuse_sharding(self.accelerator, "the game")
        self.rank, self.ranks = self.accelerator.process_index, self.accelerator.num_processes
        self.human = {"train": train, "validation": validation}
        self._check_sizes()
        self.folder = Path(folder)
        self.samples = AttackerSamples(self.folder / "samples")
        device = self.accelerator.device
        for model in (generator.model, defender.hvm.model):
            model.to(device, torch.float32)  # small updates do not change half-precision weights
            if config.gradient_checkpointing:
                enable_checkpointing(model)
        defender.hvm.device = device
        self.initial = {k: v.detach().clone() for k, v in trainable(generator.model).items()}
        self.attacker_optimizer = self._adam(generator.model, config.attack_learning_rate)
        self.defender_optimizer = self._adam(defender.hvm.model, config.defence_learning_rate)
        self.turn, self.phase, self.step = 1, "attack", 0
        self.records: list[dict[str, Any]] = []
        self.lowest: list[Any] = []  # step and accuracy of the attack's lowest validation, if kept
        self.last_accuracy: dict[int, float] = {}
        self._watched = self._validation_rows()

    # Seeds, processes and updates

    def _seed(self, numbers: Sequence[int]) -> int:
        return text_hash(map(str, [self.config.seed, *numbers]))

    def _numbers(self, stream: int) -> list[int]:
        return [self.config.seed, stream, self.turn, self.step]

    def _draw_rows(self, stream: int, total: int, size: int) -> np.ndarray:
        rng = np.random.default_rng(self._numbers(stream))
        return rng.choice(total, min(size, total), replace=False)

    def _validation_rows(self) -> np.ndarray:
        """The validation contexts of this game, the same in every turn."""
        rng = np.random.default_rng([self.config.seed, VALIDATION])
        total = len(self.human["validation"])
        return np.sort(rng.choice(total, min(self.config.validation_contexts, total), False))

    def _shared(
        self, score: Callable[[list[Passage]], np.ndarray], passages: list[Passage]
    ) -> np.ndarray:
        """Scores of passages; every process scores its share."""
        if self.ranks == 1:
            return np.asarray(score(passages))
        indices = range(self.rank, len(passages), self.ranks)
        scores = map(float, score(passages[self.rank :: self.ranks]))
        local = list(zip(indices, scores, strict=True))
        return np.array([value for _, value in sorted(gather_object(local))])

    def _mean(self, numbers: Sequence[float], weight: float) -> list[float]:
        """Means over all processes, weighted by their numbers of examples."""
        sums = torch.tensor([*(weight * number for number in numbers), weight], dtype=torch.float64)
        sums = sums.float().to(self.accelerator.device) if self.ranks > 1 else sums
        *totals, weights = self.accelerator.reduce(sums, "sum").tolist()
        return [total / weights for total in totals]

    def _update(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """One step with the sum of the gradients of all processes."""
        parameters = trainable(model).values()
        reduced_step(self.accelerator, parameters, optimizer, self.config.max_grad_norm)

    def _autocast(self) -> AbstractContextManager[Any]:
        both = ExitStack()  # the setting, or what the launcher was given
        both.enter_context(self.accelerator.autocast())
        both.enter_context(autocast(self.config.precision, self.accelerator.device))
        return both

    def _adam(self, model: torch.nn.Module, rate: float) -> torch.optim.Adam:
        return torch.optim.Adam(trainable(model).values(), lr=rate)

    def reset_attacker(self) -> None:
        """Restore the generator from before the game, with a new optimizer."""
        set_trainable(self.generator.model, self.initial)
        self.attacker_optimizer = self._adam(self.generator.model, self.config.attack_learning_rate)

    # On disk

    def attacker_path(self, turn: int) -> Path:
        """File of the trainable weights of a turn's attacker; with LoRA these are the adapters."""
        return self.folder / "attackers" / f"turn_{turn:04d}.safetensors"

    def _save_attacker(self) -> None:
        if self.accelerator.is_main_process:
            save_weights(trainable(self.generator.model), self.attacker_path(self.turn))

    def _save_if_due(self) -> None:
        if self.step % self.config.checkpoint_every == 0:
            self.save()

    def save(self) -> None:
        """Write the checkpoint, all or nothing."""
        if self.accelerator.is_main_process:
            with atomic_dir(self.folder / "checkpoint") as folder:
                attacker, defender = self.generator.model, self.defender.hvm.model
                write_state(folder / "attacker", trainable(attacker), self.attacker_optimizer)
                write_state(folder / "defender", trainable(defender), self.defender_optimizer)
                state = {name: getattr(self, name) for name in _POSITION}
                state |= {"last_accuracy": self.last_accuracy, "config": asdict(self.config)}
                (folder / "game.json").write_text(json.dumps(state), encoding="utf-8")
        self.accelerator.wait_for_everyone()

    def _resume(self) -> bool:
        """Restore the checkpoint, if there is one."""
        folder = last_complete(self.folder / "checkpoint")
        if folder is None:
            return False
        state = json.loads((folder / "game.json").read_text(encoding="utf-8"))
        config = asdict(self.config)
        if state["config"] != config:
            other = sorted(name for name in config if state["config"].get(name) != config[name])
            raise BadInput(
                f"the game in this folder has other settings: {', '.join(other)}.",
                self.folder,
                hint="Resume with the settings of the first run, or choose another folder.",
            )
        for name in _POSITION:
            setattr(self, name, state[name])
        self.last_accuracy = {int(turn): value for turn, value in state["last_accuracy"].items()}
        sides = (
            ("attacker", self.generator.model, self.attacker_optimizer),
            ("defender", self.defender.hvm.model, self.defender_optimizer),
        )
        for side, model, optimizer in sides:
            set_trainable(model, read_state(folder / side, optimizer)[0])
        return True

    def _progress(self, numbers: dict[str, float], total: int) -> GameStep:
        """Position of the game with the numbers of a step."""
        position = {"game": self.name, "turn": self.turn, "phase": self.phase, "step": self.step}
        return cast(GameStep, {**position, "total": total, **numbers})

    def _check_sizes(self) -> None:
        """Refuse a corpus that cannot fill a batch."""
        needs = {
            "train": max(self.config.attack_batch, self.config.defence_batch, self.ranks),
            "validation": max(10, self.ranks),
        }
        for part, least in needs.items():
            if len(self.human[part]) < least:
                raise BadInput(
                    f"the {part} part has {len(self.human[part])} contexts, but the game needs "
                    f"{least}.",
                    hint="Give more dialogues, or lower --attack_batch and --defence_batch.",
                )


def trainable(model: torch.nn.Module) -> dict[str, torch.nn.Parameter]:
    """The trainable parameters of a model, by name."""
    return {name: value for name, value in model.named_parameters() if value.requires_grad}


@torch.no_grad()
def set_trainable(model: torch.nn.Module, weights: dict[str, torch.Tensor] | Path) -> None:
    """Copy weights, or those in a file, into the trainable parameters of a model."""
    weights = load_file(weights) if isinstance(weights, Path) else weights
    parameters = trainable(model)
    if parameters.keys() != weights.keys():
        hint = "Resume with the settings of the first run."
        raise BadInput("these are the weights of another model.", hint=hint)
    for name, parameter in parameters.items():
        parameter.copy_(weights[name])
