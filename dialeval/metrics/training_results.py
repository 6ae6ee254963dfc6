"""What training a discriminator or a generator computed, and the progress it reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

from dialeval.metrics.results import Result, RunResults


class Sample(TypedDict):
    """A context of the data with the human response and a generator's response."""

    context: str
    human: str
    generator: str


class StepProgress(TypedDict, total=False):
    """Progress of a training run, reported after each update and after each validation."""

    step: int
    epoch: int
    total: int
    loss: float
    accuracy: float
    learning_rate: float
    gradient_norm: float
    validation_loss: float
    validation_accuracy: float
    validation_pairwise_accuracy: float
    perplexity: float
    completion_rate: float
    margin_edited: float
    margin_active: float
    margin_loss: float
    reward: float
    greedy_reward: float
    samples: list[Sample]


class GameStep(TypedDict, total=False):
    """Progress of an attack-defence game, reported after each update and each phase."""

    game: str
    turn: int
    phase: str
    step: int
    total: int
    loss: float
    reward: float
    training: float
    accuracy: float
    record: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class TrainingResults(RunResults):
    """Everything that training a model computed; what its `results.json` holds.

    Args:
        training (`str`, *optional*):
            Data, scenario and seed of the training, in one line.
        calibration (`Mapping`, *optional*):
            Calibration of a discriminator, with its quality before and after.
        history (`tuple[StepProgress, ...]`, *optional*):
            Numbers of each validation.
        samples (`tuple[Sample, ...]`, *optional*):
            Responses of a generator to contexts of the test data.
        parameters (`int`, *optional*):
            Number of parameters of a generator.
    """

    protocol: ClassVar[str] = "training"

    training: str = ""
    calibration: Mapping[str, Any] = field(default_factory=dict)
    history: tuple[StepProgress, ...] = ()
    samples: tuple[Sample, ...] = ()
    parameters: int | None = None

    def accuracies(self) -> list[Result]:
        """Held-out accuracy of a discriminator and of its baselines, in all and per corpus."""
        return self.select("accuracy")


def corpus_of(result: Result) -> str:
    """The corpus that a held-out accuracy was measured on; empty for all of them together."""
    return str(result.details.get("corpus") or "")
