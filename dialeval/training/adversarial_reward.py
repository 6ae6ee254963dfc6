"""The reward of adversarial training by name: a discriminator that is pre-trained, or another."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accelerate import Accelerator
from accelerate.utils import set_seed

from dialeval.dialogues import (
    BadInput,
    Pairing,
    Passages,
    ReadOptions,
    iterate,
    read,
    to_passages,
    write_passages,
)
from dialeval.dialogues.encoding import input_format
from dialeval.dialogues.splits import subsample
from dialeval.models.sharing import discriminator_on
from dialeval.registry import import_object, is_object_spec
from dialeval.responders.base import respond
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.folders import SETTINGS
from dialeval.scorers.neural import NeuralScorer
from dialeval.settings.adversarial import CONTROLS, AdversarialConfig
from dialeval.settings.training import DiscriminatorConfig, DiscriminatorRun, GeneratorConfig
from dialeval.training.discriminator_settings import evaluator_settings
from dialeval.training.networks import build_network
from dialeval.training.pairs import pair_accuracy
from dialeval.training.rewards import RewardSource
from dialeval.training.supervised import DiscriminatorTrainer

OnProgress = Callable[[dict[str, Any]], Any]
BACKBONE = "generator"
"""Name of a discriminator on a copy of the generator's backbone, which is causal."""


@dataclass(frozen=True)
class DiscriminatorQuality:
    """Share of validation pairs in which the human response scores higher, with its interval."""

    accuracy: float
    low: float
    high: float
    n: int
    folder: str = ""


class RewardFactory:
    """Makes the reward of a training, once: what was trained for it is saved and loaded again.

    Args:
        generator (`Generator`):
            The pre-trained generator, whose responses are the negatives.
        parts (`dict[str, Passages]`):
            Human passages of `train` and `validation`.
        config (`AdversarialConfig`):
            Which reward, and how its discriminator is pre-trained.
        training (`GeneratorConfig`):
            Seed and precision.
        folder (`Path`):
            Folder of the responses and the discriminator.
        on_progress (`Callable`, *optional*):
            Called with each stage, and with the numbers of each step.
    """

    def __init__(
        self,
        generator: Generator,
        parts: dict[str, Passages],
        config: AdversarialConfig,
        training: GeneratorConfig,
        folder: Path,
        on_progress: OnProgress = lambda _: None,
    ):
        self.generator, self.parts, self.config = generator, parts, config
        self.training, self.folder, self.on_progress = training, folder, on_progress
        self.accelerator = Accelerator()

    def __call__(self) -> tuple[RewardSource, DiscriminatorQuality | None]:
        """The reward, and the quality of its discriminator before the game if it has one.

        Raises:
            BadInput: The discriminator is at chance, so that nothing could be learned from it.
        """
        spec = self.config.reward
        if spec in ("constant", "length"):
            return RewardSource(None, spec), None
        if spec in ("discriminator", "shuffled"):
            source = RewardSource(self._discriminator(), spec if spec in CONTROLS else "")
        else:
            source = RewardSource(load_reward(spec))
        quality = self._quality(source) if source.discriminator is not None else None
        if quality is not None and self.config.d_steps and quality.low <= 0.5:
            raise BadInput(
                f"the discriminator is at chance before the game: {quality.accuracy:.3f} "
                f"[{quality.low:.3f}, {quality.high:.3f}] of {quality.n} validation pairs.",
                self.folder,
                hint="Train it on more pairs (--discriminator_pairs, --discriminator_epochs), or "
                "give a better one with --reward.",
            )
        return source, quality

    def _discriminator(self) -> NeuralScorer:
        """Pre-trained with half beam-search and half sampled negatives (Li et al., sec. 3.3)."""
        folder = self.folder / self._name
        if not (folder / SETTINGS).is_file():
            self.on_progress({"stage": "Pre-training the discriminator"})
            scorer = self._train(self._pairs("train"), self._pairs("validation"))
            if self.accelerator.is_main_process:
                save_scorer(scorer, folder)
        self.accelerator.wait_for_everyone()
        return load_scorer(folder, device=str(self.accelerator.device))

    @property
    def _name(self) -> str:
        """Discriminators for partial sequences are trained on other examples."""
        if self.config.objective != "regs-partial":
            return "discriminator"
        return f"discriminator_{self.config.partial}"

    def _train(self, pairs: Passages, validation: Passages) -> NeuralScorer:
        run, settings = self._settings()
        set_seed(self.training.seed)
        if self.config.discriminator == BACKBONE:
            if self.generator.is_encoder_decoder:
                hint = "Choose another --discriminator, such as hierarchical."
                raise BadInput("the generator's backbone is not causal.", hint=hint)
            network: tuple[Any, Any, Any] = (
                discriminator_on(self.generator.model), self.generator.tokenizer,
                replace(input_format("att"), max_response=None),
            )  # fmt: skip
        else:
            network = build_network(run, pairs)
        trainer = DiscriminatorTrainer(*network, settings, self.accelerator)
        for numbers in trainer.train(pairs, validation):
            self.on_progress({"stage": "discriminator", **numbers})
        scorer = trainer.scorer
        scorer.accelerator, scorer.name = None, self.config.discriminator
        partial = self.config.objective == "regs-partial"
        scorer.training = {"signature": f"human_machine|seed:{settings.seed}", "prefixes": partial}
        return scorer

    def _settings(self) -> tuple[DiscriminatorRun, DiscriminatorConfig]:
        name = (
            "hierarchical" if self.config.discriminator == BACKBONE else self.config.discriminator
        )
        run, settings = evaluator_settings(name, DiscriminatorRun(), DiscriminatorConfig())
        partial = self.config.objective == "regs-partial"
        return run, replace(
            settings, epochs=self.config.discriminator_epochs, seed=self.training.seed, patience=1,
            learning_rate=self.config.discriminator_learning_rate, prefixes=partial,
            all_prefixes=partial and self.config.partial == "all",
            precision=self.training.precision,
        )  # fmt: skip

    def _pairs(self, part: str) -> Passages:
        count = self.config.discriminator_pairs
        limit = count if part == "train" else min(400, max(200, count // 4))
        human = subsample(self.parts[part], limit, [self.training.seed, 23])
        half = len(human) // 2
        sides = {
            "beam": human.select(range(half)),
            "sampling": human.select(range(half, len(human))),
        }
        machine = [
            passage for name, rows in sides.items()
            for passage in self._responses(name, part, rows)
        ]  # fmt: skip
        return Pairing("human_machine")(human, to_passages(machine))

    def _responses(self, kind: str, part: str, human: Passages) -> list[Any]:
        """The generator's responses, computed once; beam search is reranked by MMI."""
        path = self.folder / "negatives" / f"{part}_{kind}.jsonl"
        if self.accelerator.is_main_process and not path.is_file():
            self.on_progress({"stage": f"Negative examples for {part}: {kind}"})
            helpers: dict[str, Any] = {}
            name = kind
            if kind == "beam" and self.config.backward:
                helpers["backward"] = load_generator(self.config.backward)
                name = "mmi-backward"
            responder = GeneratorResponder(
                self.generator, DECODINGS[name], 1, self.config.response_tokens,
                self.training.seed, "generator", **helpers,
            )  # fmt: skip
            write_passages(to_passages(respond(responder, list(iterate(human)))), path)
        self.accelerator.wait_for_everyone()
        return list(iterate(read(path, ReadOptions(keep_duplicates=True, allow_empty=True))[0]))

    def _quality(self, source: RewardSource) -> DiscriminatorQuality:
        """Accuracy on validation pairs, half of them beam search and half sampled."""
        pairs = self._pairs("validation")
        return DiscriminatorQuality(*pair_accuracy(source(list(iterate(pairs))), pairs))


def load_reward(spec: str) -> Any:
    """A scorer by its folder or name on the Hub, or a function `package.module:function`.

    Raises:
        BadInput: It is neither.
    """
    if not is_object_spec(spec):
        return load_scorer(spec)
    target = import_object(spec)
    scorer = target() if isinstance(target, type) else target
    if not callable(scorer):
        hint = "Name a function from passages to one number each, or a class of scorers."
        raise BadInput(f"{spec} cannot be called.", hint=hint)
    return scorer
