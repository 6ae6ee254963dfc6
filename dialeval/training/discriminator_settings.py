"""Settings of a discriminator's training, and how an evaluator's registry entry changes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from dialeval.scorers.registry import EVALUATORS
from dialeval.training.supervised import DiscriminatorConfig

Settings = TypeVar("Settings")


@dataclass
class DiscriminatorRun:
    """What is trained, on what data, and where it is saved."""

    data: list[str] = field(
        default_factory=lambda: ["chitchat"],
        metadata={"help": "Corpus files; several are trained on together, reported apart."},
    )
    scenario: str = field(
        default="human_random", metadata={"help": "Which two classes; see `dialeval data pair`."}
    )
    machine: str | None = field(
        default=None, metadata={"help": "File with the system's responses, if separate."}
    )
    system: str | None = field(
        default=None, metadata={"help": "Name of the system, in a file with several authors."}
    )
    model: str = field(
        default="transformer",
        metadata={
            "help": "An evaluator by name, such as hierarchical or svm-unigram "
            "(`dialeval list evaluators`), or package.module:Class."
        },
    )
    backbone: str | None = field(
        default=None, metadata={"help": "Of transformer: minilm, a folder, or a name on the Hub."}
    )
    tune: str = field(default="full", metadata={"help": "Of transformer: full, lora or head."})
    tokenizer: str = field(
        default="words", metadata={"help": "words, bpe, or a folder or name on the Hub."}
    )
    vocab_size: int = field(default=25_000, metadata={"help": "Words, or merges of bpe."})
    input_format: str | None = field(
        default=None, metadata={"help": "words, dialogrpt, att, encoder or chat."}
    )
    max_length: int | None = field(
        default=None, metadata={"help": "Number of tokens read at most; the oldest context is cut."}
    )
    calibration: str = field(
        default="temperature", metadata={"help": "temperature, isotonic or none, on validation."}
    )
    forward: str | None = field(
        default=None, metadata={"help": "Model of p(t|s), for svm-features and zero-shot."}
    )
    backward: str | None = field(
        default=None, metadata={"help": "Model of p(s|t), for svm-features."}
    )
    measure: str = field(
        default="fast-detectgpt",
        metadata={"help": "Of zero-shot: log-probability, log-rank, entropy, fast-detectgpt."},
    )
    hidden_size: int = field(default=128, metadata={"help": "Width of recurrent models."})
    dropout: float = field(default=0.2, metadata={"help": "Of recurrent models."})
    context_turns: int = field(default=2, metadata={"help": "Turns of context."})
    filter: str = field(default="none", metadata={"help": "none, li or bruni."})
    max_pairs: int = field(default=1_500, metadata={"help": "Training pairs at most; -1 is all."})
    max_eval_pairs: int = field(
        default=2_000, metadata={"help": "Validation and test pairs at most; -1 is all."}
    )
    output_dir: str = field(default="runs/discriminator", metadata={"help": "Output folder."})
    resume: bool = field(default=False, metadata={"help": "Continue from the last checkpoint."})
    log_with: str | None = field(
        default=None, metadata={"help": "Tracker of Accelerate: tensorboard, wandb, trackio, all."}
    )


def apply_settings(config: Settings, settings: Mapping[str, Any]) -> Settings:
    """A copy of a dataclass with those of the settings that it has."""
    names = {item.name for item in fields(config)}  # type: ignore[arg-type]  # any dataclass
    changes = {name: value for name, value in settings.items() if name in names}
    return replace(config, **changes)  # type: ignore[type-var]  # any dataclass


def evaluator_settings(
    name: str, run: DiscriminatorRun, config: DiscriminatorConfig
) -> tuple[DiscriminatorRun, DiscriminatorConfig]:
    """Settings of a run with those that the registry has for an evaluator.

    Args:
        name (`str`):
            Registered name, or `package.module:object`.
        run (`DiscriminatorRun`):
            What is trained, on what.
        config (`DiscriminatorConfig`):
            Settings of the trainer.

    Returns:
        `tuple[DiscriminatorRun, DiscriminatorConfig]`: Copies of both.
    """
    options = EVALUATORS.find(name).options
    return apply_settings(run, {"model": name, **options}), apply_settings(config, options)
