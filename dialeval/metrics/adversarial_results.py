"""Results of training a generator with rewards: the curves of the run, and samples."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypedDict

from dialeval.metrics.results import RunResults
from dialeval.metrics.training_results import Sample

_NAN = float("nan")


class AdversarialStep(TypedDict, total=False):
    """Progress of adversarial training, reported after each round and each validation."""

    objective: str
    step: int
    total: int
    loss: float
    reward: float
    gradient_norm: float
    discriminator_loss: float
    teacher_loss: float
    critic_loss: float
    baseline: float
    record: dict[str, Any]


@dataclass(frozen=True)
class PolicyRecord:
    """What a validation measured on held-out contexts, sampled at temperature 1.

    Args:
        iteration (`int`):
            Rounds so far; 0 is the generator before.
        reward, human_reward (`float`):
            Mean reward of the generator's responses, and of the human ones.
        accuracy (`float`, *optional*):
            Share of contexts where the human response has the higher reward.
        length (`float`, *optional*):
            Mean number of tokens of a response.
        entropy (`float`, *optional*):
            Estimated entropy of a token, in nats.
        kl (`float`, *optional*):
            Estimated divergence of a response from the generator before training, in nats.
        distinct_1, distinct_2 (`float`, *optional*):
            Distinct words and pairs of words over the number of words.
        perplexity (`float`, *optional*):
            Of human responses.
        most_frequent (`str`, *optional*):
            The most frequent response.
        most_frequent_share, empty, unfinished (`float`, *optional*):
            Shares of that response, of responses without words, and of those without an end.
        constant_share (`float`, *optional*):
            Share of batches so far in which no reward differed.
        skipped (`int`, *optional*):
            Updates that were left out because a gradient was not a number.
        invalid (`int`, *optional*):
            Responses without a reward so far, because it was not a number.
    """

    iteration: int
    reward: float
    human_reward: float = _NAN
    accuracy: float = _NAN
    length: float = _NAN
    entropy: float = _NAN
    kl: float = _NAN
    distinct_1: float = _NAN
    distinct_2: float = _NAN
    perplexity: float = _NAN
    most_frequent: str = ""
    most_frequent_share: float = _NAN
    empty: float = _NAN
    unfinished: float = _NAN
    constant_share: float = 0.0
    skipped: int = 0
    invalid: int = 0

    @property
    def collapsed(self) -> bool:
        """Whether more than half of the responses are the same."""
        return self.most_frequent_share > 0.5


CURVES = (
    "reward", "accuracy", "perplexity", "kl", "entropy", "length", "distinct_1", "distinct_2",
)  # fmt: skip
"""Numbers of a record that are plotted."""


@dataclass(frozen=True, kw_only=True)
class AdversarialResults(RunResults):
    """Everything that training a generator with rewards computed.

    Args:
        objective, reward (`str`, *optional*):
            What was optimised, and by whose scores.
        records (`tuple[PolicyRecord, ...]`, *optional*):
            One per validation.
        stopped (`str`, *optional*):
            Why it ended: `"budget"` or `"perplexity"`.
        samples (`tuple[Sample, ...]`, *optional*):
            Responses to contexts of the test data.
        discriminator (`Mapping`, *optional*):
            Accuracy of the discriminator before, and how it was made.
        parameters (`int`, *optional*):
            Number of parameters of the generator.
    """

    protocol: ClassVar[str] = "adversarial-training"

    objective: str = ""
    reward: str = ""
    records: tuple[PolicyRecord, ...] = ()
    stopped: str = "budget"
    samples: tuple[Sample, ...] = ()
    discriminator: Mapping[str, Any] = field(default_factory=dict)
    parameters: int | None = None
