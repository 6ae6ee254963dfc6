"""The generators of the study: built, trained, trained against strategies, saved and loaded."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval.dialogues import BadInput, Passages
from dialeval.files import atomic_dir, remove_dir
from dialeval.metrics.robustness_results import NORMAL
from dialeval.metrics.training_results import StepProgress
from dialeval.protocols.robustness.cases import file_name
from dialeval.responders.generators import Generator, load_generator, save_generator
from dialeval.settings.against import AgainstConfig
from dialeval.settings.robust import TARGETS, RobustRun
from dialeval.settings.training import GeneratorConfig, GeneratorRun
from dialeval.training.against import make_trainer
from dialeval.training.generator import build, signature, with_lora
from dialeval.training.latent import collapse_warning, has_latent, latent_numbers
from dialeval.training.likelihood import Examples

OnProgress = Callable[[str, StepProgress | None], Any]
"""Called with the name of a training, and with its progress once it runs."""
RERANKING = "reranking-rl"


@dataclass
class ModelFactory:
    """Trains the generators of a study, or loads them where an earlier run saved them.

    Args:
        run (`RobustRun`):
            Shapes, data and epochs.
        config (`GeneratorConfig`):
            Settings of the first training.
        against (`AgainstConfig`):
            Margin, and the weight of the reward of `reranking-rl`.
        parts (`dict[str, Passages]`):
            Passages to train and to validate on.
        accelerator (`Accelerator`):
            Where and how to run.
        on_progress (`Callable`):
            What to call with each training's progress.
    """

    run: RobustRun
    config: GeneratorConfig
    against: AgainstConfig
    parts: dict[str, Passages]
    accelerator: Accelerator
    on_progress: OnProgress

    def base(self, target: str, seed: int) -> Path:
        """The folder of a generator that was trained on normal contexts (N-train)."""
        if not is_new(target):  # a pretrained one is trained on the data before it is compared
            return self._trained(target, NORMAL, seed, target, AgainstConfig(), self.config)
        if target != RERANKING:
            return self._trained(target, NORMAL, seed, None, AgainstConfig(), self.config)
        start = self._trained(target, "likelihood", seed, None, AgainstConfig(), self.config)
        reward = replace(self.against, against="")
        if not reward.rl_weight:
            hint = "Give --rl_weight, such as 0.5."
            raise BadInput("reranking-rl needs a weight of its reward.", hint=hint)
        return self._trained(target, NORMAL, seed, str(start), reward, self._continued(seed))

    def hardened(self, target: str, seed: int, name: str, strategies: str) -> Path:
        """The folder of a generator after training against strategies (A-train).

        Args:
            target (`str`):
                Name of the generator.
            seed (`int`):
                Seed of the training.
            name (`str`):
                Name of the training.
            strategies (`str`):
                Strategies with commas between them; none for the control.

        Returns:
            `Path`: The folder.
        """
        start = self.base(target, seed)
        weight = self.against.rl_weight if target == RERANKING else 0.0
        settings = replace(self.against, against=strategies, rl_weight=weight)
        return self._trained(target, name, seed, str(start), settings, self._continued(seed))

    def _continued(self, seed: int) -> GeneratorConfig:
        """Settings of a training that continues for K epochs."""
        return replace(
            self.config, seed=seed, epochs=self.run.against_epochs, kl_steps=0,
            learning_rate=self.run.against_rate, warmup_steps=0, loss_on="response",
        )  # fmt: skip

    def _trained(
        self,
        target: str,
        name: str,
        seed: int,
        start: str | None,
        against: AgainstConfig,
        config: GeneratorConfig,
    ) -> Path:
        """Train unless the folder is there; only complete models have their folder."""
        folder = Path(self.run.output_dir) / "models" / file_name(target) / str(seed)
        folder = folder / file_name(name)
        checkpoint = folder.with_name(f"{folder.name}.checkpoint")
        if folder.is_dir():
            if self.accelerator.is_main_process:
                remove_dir(checkpoint)
            return folder
        title = f"{target}, {name}" + (f", seed {seed}" if self.run.seeds > 1 else "")
        self.on_progress(title, None)
        config = replace(config, seed=seed)
        set_seed(seed)
        generator = self._generator(target, start)
        train = self.parts["train"]
        trainer = make_trainer(generator, train, config, against, self.accelerator, checkpoint)
        for progress in trainer.train(self.parts["validation"]):
            self.on_progress(title, progress)
        run = shape_of(self.run, target)
        made = signature(run, config, len(train), against)
        settings = {**asdict(run), **asdict(config), **asdict(against)}
        warnings = [*trainer.warnings, *(self._collapse(generator) if name == NORMAL else [])]
        generator.training = {"signature": made, "settings": settings, "warnings": warnings}
        if self.accelerator.is_main_process:
            _save(generator, folder)
            remove_dir(checkpoint)
        self.accelerator.wait_for_everyone()
        self.accelerator.free_memory()
        return folder

    def _collapse(self, generator: Generator) -> list[str]:
        """What to know about a latent variable that the generator does not use."""
        if not has_latent(generator.model):
            return []
        examples = Examples(generator, self.parts["validation"])
        numbers = latent_numbers(generator.model, examples)
        return list(filter(None, [collapse_warning(numbers, generator.model.config.latent_size)]))

    def _generator(self, target: str, start: str | None) -> Generator:
        """A new generator, or one to continue from, with adapters if the run says so."""
        if start is None:
            return build(shape_of(self.run, target), self.parts["train"])
        # Full precision: an update is often too small to change half-precision weights.
        generator = load_generator(start, device="cpu", dtype=torch.float32)
        if self.run.tune == "lora" and not is_new(target):
            generator.model = with_lora(generator.model)
        return generator


def is_new(target: str) -> bool:
    """Whether a target is trained from scratch."""
    return target in TARGETS


def shape_of(run: RobustRun, target: str) -> GeneratorRun:
    """The settings of one generator."""
    model = {"vhred-bpe": "vhred", RERANKING: "seq2seq"}.get(target, target)
    pieces = target in ("vhred-bpe", "gpt2")
    changes: dict[str, Any] = {"model": model, "tune": "full" if is_new(target) else run.tune}
    if is_new(target):
        changes["tokenizer"] = "bpe" if pieces else "words"
        changes["vocab_size"] = run.pieces if pieces else run.vocab_size
    if model == "seq2seq":
        changes |= {"attention": "bahdanau", "bidirectional": True}
    settings = {name: getattr(run, name) for name in GeneratorRun.__dataclass_fields__}
    return GeneratorRun(**{**settings, **changes})


def _save(generator: Generator, folder: Path) -> None:
    """Write a generator with its adapters merged, all or nothing."""
    adapted: Any = generator.model
    if hasattr(adapted, "merge_and_unload"):
        generator.model = adapted.merge_and_unload()
    with atomic_dir(folder) as partial:
        save_generator(generator, partial)
