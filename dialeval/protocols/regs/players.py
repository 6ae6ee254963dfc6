"""The players of a study: parts of the corpus, the generator, and the models for MMI."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator

from dialeval.dialogues import BadInput, Cut, Filters, Passages, ReadOptions, by_author, read, split
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import text_hash
from dialeval.files import last_complete
from dialeval.protocols.regs.settings import RegsRun
from dialeval.responders.generators import Generator, load_generator
from dialeval.settings.adversarial import AdversarialConfig
from dialeval.settings.training import GeneratorConfig, GeneratorRun
from dialeval.training.generator import train_generator, with_lora
from dialeval.training.output import is_trained

OnProgress = Callable[[dict[str, Any]], Any]
_PER_DIALOGUE = {"validation": 1, "test": 2}
_PARTS = {"train": 0.8, "validation": 0.08, "test": 0.12}


def make_parts(run: RegsRun, config: AdversarialConfig) -> dict[str, Passages]:
    """Human passages for training, validation and the table, which share no dialogue.

    Validation has one passage per dialogue, so that its passages are independent. Test has two,
    because the reliability error needs several (ERE, human_next); its intervals are by dialogue.
    """
    filters = Filters(
        min_response=run.min_response, max_response=run.max_response, max_context=run.max_context
    )
    passages, _ = read(run.data, ReadOptions(cut=Cut(run.context_turns), filters=filters))
    parts = split(by_author(passages, "human"), _PARTS, text_hash(["regs"]) % 2**31)
    limits = {
        "train": run.generator_passages,
        "validation": max(400, 2 * config.validation_contexts),
        "test": run.test_contexts,
    }
    for name, limit in limits.items():
        rows = np.random.default_rng(0).permutation(len(parts[name]))
        if name != "train":
            dialogues = row_hashes(parts[name], ["dialogue_id"])[rows]
            rows = rows[few_per_dialogue(dialogues, _PER_DIALOGUE[name])]
        parts[name] = parts[name].select(np.sort(rows[:limit] if limit > 0 else rows))
        if not len(parts[name]):
            hint = "Give more dialogues, or relax the limits on their length."
            raise BadInput(f"no dialogue is left for {name}.", run.data[0], hint=hint)
    return parts


def few_per_dialogue(dialogues: np.ndarray, most: int) -> np.ndarray:
    """Indices of the first rows of each dialogue, those of a dialogue side by side.

    Examples:
        >>> few_per_dialogue(np.array([5, 3, 5, 5, 3]), 2).tolist()
        [0, 2, 1, 4]
    """
    _, first, number = np.unique(dialogues, return_index=True, return_inverse=True)
    order = np.argsort(first[number], kind="stable")
    starts = np.flatnonzero(np.diff(first[number][order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    return order[rank < most]


class Players:
    """The pre-trained generator, and the models of p(s|t) and p(t); each is trained once.

    Args:
        run (`RegsRun`):
            Which generator, and its size.
        training (`GeneratorConfig`):
            Settings of the pre-training.
        config (`AdversarialConfig`):
            Length of responses, and a given backward model.
        parts (`dict[str, Passages]`):
            Passages of the study.
        folder (`Path`):
            Where they are saved.
        accelerator (`Accelerator`):
            Of the study.
        on_progress (`Callable`):
            Called with each stage, and with the numbers of each step.
    """

    def __init__(
        self,
        run: RegsRun,
        training: GeneratorConfig,
        config: AdversarialConfig,
        parts: dict[str, Passages],
        folder: Path,
        accelerator: Accelerator,
        on_progress: OnProgress,
    ):
        self.run, self.training, self.config = run, training, config
        self.parts, self.folder = parts, folder
        self.accelerator, self.on_progress = accelerator, on_progress

    def generator(self) -> Generator:
        """The generator that every method starts from."""
        if not self.run.generator:
            return load_generator(self._trained("forward", self.training), device="cpu")
        generator = load_generator(self.run.generator, device="cpu", dtype=torch.float32)
        if self.run.tune == "lora":
            torch.manual_seed(self.training.seed)  # adapters have random initial weights
            generator.model = with_lora(generator.model)
        return generator

    def backward(self) -> str | None:
        """Folder of the model of p(s|t)."""
        return self.config.backward or str(self._trained("backward", self._helper()))

    def language_model(self) -> Generator:
        """The model of p(t), in the generator's tokens."""
        return load_generator(self._trained("unconditional", self._helper()), device="cpu")

    def _helper(self) -> GeneratorConfig:
        return replace(self.training, epochs=self.run.helper_epochs, loss_on="response")

    def _trained(self, direction: str, training: GeneratorConfig) -> Path:
        """Folder of a small model, which is trained if it is not there."""
        folder = self.folder / {"forward": "generator"}.get(direction, direction)
        if is_trained(folder):
            return folder
        self.on_progress({"stage": f"Training the {direction} model by likelihood"})
        parts = dict(self.parts)
        if direction != "forward" and self.run.helper_passages > 0:
            count = min(self.run.helper_passages, len(parts["train"]))
            parts["train"] = parts["train"].select(range(count))
        train_generator(
            self._shape(direction, folder), training,
            lambda numbers: self.on_progress({"stage": direction, **numbers}), self.accelerator,
            parts,
        )  # fmt: skip
        return folder

    def _shape(self, direction: str, folder: Path) -> GeneratorRun:
        run = self.run
        tokenizer: str = run.generator_tokenizer
        if direction == "unconditional":  # MMI - p(t) subtracts logits token by token
            tokenizer = run.generator or str(self.folder / "generator")
        return GeneratorRun(
            data=run.data, model="gpt2" if direction == "unconditional" else run.generator_model,
            direction=direction, tokenizer=tokenizer, vocab_size=run.generator_vocabulary,
            hidden_size=run.generator_width, layers=run.generator_layers, heads=4,
            positions=2 * run.max_context + 2 * self.config.response_tokens,
            context_turns=run.context_turns, max_eval_passages=300, samples=2,
            output_dir=str(folder), resume=last_complete(folder / "checkpoint") is not None,
        )  # fmt: skip
