"""The state of adversarial training: players, seeds, updates, and the checkpoint."""

import copy
import json
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.dialogues.types import text_hash
from dialeval.files import atomic_dir, last_complete
from dialeval.responders.decoding import TemperatureMixture
from dialeval.responders.generators import Generator
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import GeneratorConfig
from dialeval.training.baselines import (
    Baseline,
    CriticBaseline,
    GroupBaseline,
    MeanBaseline,
    NoBaseline,
)
from dialeval.training.checkpoints import read_state, write_state
from dialeval.training.game_state import set_trainable, trainable
from dialeval.training.policy import BATCH_TOKENS, Drawn, draw_responses
from dialeval.training.prepared import refuse_sharding
from dialeval.training.rewards import RewardSource
from dialeval.training.schedule import optimizer_for
from dialeval.training.updates import autocast, enable_checkpointing, reduced_step

logger = logging.getLogger(__name__)

GENERATOR, DISCRIMINATOR, VALIDATION, DROPOUT, ROLLOUT = range(5)  # streams of independent draws
PLAIN = TemperatureMixture((1.0,))
CHECKPOINT = "checkpoint"
_COUNTERS = ("iteration", "records", "stopped", "constant", "updates", "skipped", "invalid")
_IGNORED = ("max_steps", "checkpoint_every")  # settings that do not change the weights of a step


class AdversarialState:
    """Players, settings and position of adversarial training, and how they are saved and resumed.

    Args:
        generator (`Generator`):
            Pre-trained; it is trained in place.
        reward (`RewardSource`):
            Its discriminator, if it has one, is trained in place.
        train, validation (`Passages`):
            Human passages that share no dialogue.
        config (`AdversarialConfig`):
            Objective, reward, baseline and sizes.
        training (`GeneratorConfig`, *optional*):
            Optimizer, clipping, precision, seed and checkpoints.
        folder (`Path`, *optional*):
            Folder of the checkpoint, from which training resumes; without one nothing is saved.
        accelerator (`Accelerator`, *optional*):
            Where and how to run.
    """

    def __init__(
        self,
        generator: Generator,
        reward: RewardSource,
        train: Passages,
        validation: Passages,
        config: AdversarialConfig,
        training: GeneratorConfig | None = None,
        folder: Path | None = None,
        accelerator: Accelerator | None = None,
    ):
        self.config, self.training = config.resolved(), training or GeneratorConfig()
        self.generator, self.reward, self.folder = generator, reward, folder
        self.accelerator = accelerator or Accelerator()
        refuse_sharding(self.accelerator, "adversarial training")
        self.rank, self.ranks = self.accelerator.process_index, self.accelerator.num_processes
        self.human = {"train": train, "validation": validation}
        self._check_sizes()
        torch.manual_seed(self._seed(["critic"]) % 2**63)
        generator.model.to(self.accelerator.device)
        if self.training.gradient_checkpointing:
            enable_checkpointing(generator.model)
        self.optimizer = self._optimizer(generator.model, config.policy_learning_rate)
        self.before = _frozen_copy(generator)
        self.discriminator = reward.discriminator if config.d_steps else None
        self._prepare_discriminator()
        self.baseline = self._baseline()
        self.iteration, self.stopped = 0, ""
        self.records: list[dict[str, Any]] = []
        self.constant = self.updates = self.skipped = self.invalid = 0
        self._seconds_before, self._start = 0.0, compute_seconds(self.accelerator.device)

    @property
    def seconds(self) -> float:
        """Seconds of compute so far, with those of earlier processes that were interrupted."""
        return self._seconds_before + compute_seconds(self.accelerator.device) - self._start

    def _prepare_discriminator(self) -> None:
        if self.discriminator is None:
            return
        scorer = self.discriminator
        scorer.device = self.accelerator.device
        scorer.model.to(scorer.device, torch.float32)  # half-precision weights hardly change
        scorer.temperature, scorer.curve = 1.0, None  # its calibration was of other weights
        rate = self.config.discriminator_learning_rate
        self.discriminator_optimizer = torch.optim.Adam(trainable(scorer.model).values(), lr=rate)

    def _optimizer(self, model: torch.nn.Module, rate: float) -> torch.optim.Optimizer:
        settings = replace(self.training, learning_rate=rate)
        return optimizer_for(list(trainable(model).values()), settings)

    def _baseline(self) -> Baseline:
        config = self.config
        if config.baseline == "critic":
            norm = self.training.max_grad_norm
            return CriticBaseline(self.generator, config, self.accelerator, norm)
        if config.baseline == "mean":
            positions = 0 if config.objective == "reinforce" else config.response_tokens
            return MeanBaseline(positions, self._add)
        if config.baseline == "none":
            return NoBaseline()
        return GroupBaseline(config.baseline == "leave-one-out")

    # Seeds, processes and updates

    def _seed(self, numbers: Sequence[Any]) -> int:
        return text_hash(map(str, ["adversarial", self.training.seed, *numbers]))

    def _rows(self, stream: int, step: int) -> np.ndarray:
        """Training contexts of a step."""
        total = len(self.human["train"])
        rng = np.random.default_rng([self.training.seed, stream, self.iteration, step])
        return rng.choice(total, self.config.adversarial_batch, replace=False)

    def _passages(self, part: str, rows: np.ndarray) -> list[Passage]:
        return list(iterate(self.human[part].select(rows, keep_in_memory=True)))

    def _draw(self, part: str, rows: np.ndarray, numbers: Sequence[int], n: int = 1) -> Drawn:
        """Responses to some contexts; the numbers and the row seed each of them."""
        return self._draw_seeded(part, rows, [self._seed([*numbers, r]) for r in rows.tolist()], n)

    def _draw_seeded(self, part: str, rows: np.ndarray, seeds: Sequence[int], n: int = 1) -> Drawn:
        return draw_responses(
            self.generator,
            self._passages(part, rows),
            seeds,
            PLAIN,
            n,
            self.config.response_tokens,
            author=self.generator.name,
        )

    def _add(self, values: np.ndarray) -> np.ndarray:
        """The sum of an array over all processes."""
        if self.ranks == 1:
            return values
        return np.sum(gather_object([np.asarray(values, dtype=float)]), axis=0)

    def _update(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, what: str) -> float:
        """One step with the gradients of all processes; the norm of their sum."""
        parameters = trainable(model).values()
        norm = reduced_step(self.accelerator, parameters, optimizer, self.training.max_grad_norm)
        if not np.isfinite(norm):
            self.skipped += 1
            logger.warning(
                "Round %d: the gradient of the %s is not a number; this update was left out.",
                self.iteration, what,
            )  # fmt: skip
        return norm

    def _autocast(self) -> AbstractContextManager[Any]:
        both = ExitStack()  # the setting, or what the launcher was given
        both.enter_context(self.accelerator.autocast())
        both.enter_context(autocast(self.training.precision, self.accelerator.device))
        return both

    @property
    def _batch_tokens(self) -> int:
        """Tokens of a part of a batch."""
        return max(1, BATCH_TOKENS // self.training.gradient_accumulation_steps)

    # On disk

    def save(self) -> None:
        """Write the checkpoint, all or nothing."""
        if self.folder is not None and self.accelerator.is_main_process:
            with atomic_dir(self.folder / CHECKPOINT) as folder:
                for name, (model, optimizer) in self._players().items():
                    write_state(folder / name, trainable(model), optimizer)
                state = {name: getattr(self, name) for name in _COUNTERS}
                state["seconds"] = self.seconds
                if isinstance(self.baseline, MeanBaseline):
                    mean = self.baseline.mean
                    state["mean"] = [None if np.isnan(value) else value for value in mean.tolist()]
                state["settings"] = self.settings()
                (folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
        self.accelerator.wait_for_everyone()

    def _players(self) -> dict[str, tuple[Any, torch.optim.Optimizer]]:
        """The networks that are trained, with their optimizers."""
        players: dict[str, tuple[Any, torch.optim.Optimizer]] = {
            "generator": (self.generator.model, self.optimizer)
        }
        if self.discriminator is not None:
            players["discriminator"] = self.discriminator.model, self.discriminator_optimizer
        if isinstance(self.baseline, CriticBaseline):
            players["critic"] = self.baseline.model, self.baseline.optimizer
        return players

    def settings(self) -> dict[str, Any]:
        """The settings that the weights depend on."""
        settings = {**asdict(self.training), **asdict(self.config)}
        return {name: value for name, value in settings.items() if name not in _IGNORED}

    def resume(self) -> bool:
        """Restore the checkpoint, if there is one."""
        folder = None if self.folder is None else last_complete(self.folder / CHECKPOINT)
        if folder is None or not (folder / "state.json").is_file():
            return False
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        self._check_settings(state["settings"])
        for name in _COUNTERS:
            setattr(self, name, state[name])
        self._seconds_before = state["seconds"]
        if isinstance(self.baseline, MeanBaseline):
            self.baseline.mean = np.array(state["mean"], dtype=float)
        for name, (model, optimizer) in self._players().items():
            set_trainable(model, read_state(folder / name, optimizer)[0])
        return True

    def _check_settings(self, previous: Mapping[str, Any]) -> None:
        settings = json.loads(json.dumps(self.settings()))
        names = sorted({*previous, *settings})
        other = [name for name in names if previous.get(name) != settings.get(name)]
        if other:
            raise BadInput(
                f"the training in this folder has other settings: {', '.join(other)}.",
                self.folder or "",
                hint="Resume with the settings of the first run, or choose another folder.",
            )

    def _check_sizes(self) -> None:
        """Refuse a corpus that cannot fill a batch."""
        needs = {"train": max(self.config.adversarial_batch, self.ranks), "validation": self.ranks}
        for part, least in needs.items():
            if len(self.human[part]) < least:
                raise BadInput(
                    f"the {part} part has {len(self.human[part])} contexts, but a batch needs "
                    f"{least}.",
                    hint="Give more dialogues, or lower --adversarial_batch.",
                )
        if self.config.adversarial_batch < self.ranks:
            raise BadInput(
                f"{self.ranks} processes cannot share a batch of {self.config.adversarial_batch}.",
                hint="Raise --adversarial_batch, or start fewer processes.",
            )


def compute_seconds(device: torch.device) -> float:
    """A clock of compute: other work on the machine must not change what a method has used."""
    return time.process_time() if device.type == "cpu" else time.perf_counter()


def _frozen_copy(generator: Generator) -> Generator:
    """The generator as it is now; with adapters it is the model without them, not a copy."""
    if hasattr(generator.model, "disable_adapter"):
        return generator
    other = copy.copy(generator)
    other.model = copy.deepcopy(generator.model).eval().requires_grad_(False)
    return other


def without_adapters(generator: Generator) -> AbstractContextManager[Any]:
    """A context in which adapters are off, if the model has any."""
    adapted: Any = generator.model
    return adapted.disable_adapter() if hasattr(adapted, "disable_adapter") else nullcontext()
