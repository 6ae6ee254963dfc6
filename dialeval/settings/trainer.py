"""Settings that every trainer has."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dialeval.errors import BadInput
from dialeval.settings.checks import check_settings

OPTIMIZERS = ("adam", "adamw", "sgd")
PRECISIONS = ("no", "bf16")
SCHEDULES = ("constant", "linear", "cosine", "halve")


@dataclass
class TrainingConfig:
    """Settings that every trainer has."""

    max_steps: int = field(
        default=-1, metadata={"no_limit": True, "help": "Maximum updates; -1 is no limit."}
    )
    learning_rate: float = field(
        default=1e-3, metadata={"above": 0, "help": "Initial learning rate."}
    )
    weight_decay: float = field(
        default=0.0, metadata={"help": "Weight decay of adamw.", "needs": {"optimizer": ("adamw",)}}
    )
    warmup_steps: int = field(default=0, metadata={"help": "Updates of linear warm-up."})
    halve_after: int = field(
        default=6,
        metadata={
            "least": 0,
            "help": "Epochs before `halve` starts.",
            "needs": {"schedule": ("halve",)},
        },
    )
    max_grad_norm: float = field(
        default=5.0, metadata={"help": "Maximum gradient norm; 0 does not clip."}
    )
    patience: int = field(
        default=2,
        metadata={
            "least": 0,
            "help": "Epochs in a row without a better validation loss that do not stop it yet.",
        },
    )
    checkpoint_every: int = field(default=500, metadata={"help": "Updates between checkpoints."})
    gradient_accumulation_steps: int = field(
        default=1,
        metadata={"help": "Parts that a batch is computed in; same update, less memory."},
    )
    precision: str = field(
        default="no",
        metadata={"help": "bf16: mixed precision; no: float32.", "choices": PRECISIONS},
    )
    gradient_checkpointing: bool = field(
        default=False, metadata={"help": "Compute activations twice, to save memory."}
    )
    seed: int = field(default=0, metadata={"help": "Random seed."})
    optimizer: str = field(default="adam", metadata={"help": "Optimiser.", "choices": OPTIMIZERS})
    schedule: str = field(
        default="constant",
        metadata={
            "help": "Learning rate schedule; halve: each epoch after halve_after.",
            "choices": SCHEDULES,
        },
    )

    def __post_init__(self) -> None:
        check_settings(self)


def check_choices(config: Any, **choices: Sequence[str]) -> None:
    """Refuse a setting that is none of its choices."""
    for name, known in choices.items():
        if getattr(config, name) not in known:
            raise BadInput(f"`{name}` is {', '.join(known)}, but got {getattr(config, name)!r}.")


def check_memory(config: Any) -> None:
    """Refuse a precision or a number of parts that no trainer has."""
    check_choices(config, precision=PRECISIONS)
    parts = config.gradient_accumulation_steps
    if parts < 1:
        raise BadInput(f"`gradient_accumulation_steps` is 1 or more, but got {parts}.")
