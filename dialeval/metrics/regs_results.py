"""Results of a study of adversarial training: the table, the curves, and responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from dialeval.metrics.adversarial_results import PolicyRecord
from dialeval.metrics.results import RunResults


@dataclass(frozen=True)
class SystemReply:
    """A system's response to a test context."""

    system: str
    response: str


@dataclass(frozen=True)
class RegsExample:
    """A test context with the human response and those of all systems (Li et al., Table 1).

    Args:
        context (`tuple[str, ...]`):
            Turns before the response.
        human (`str`):
            The human response.
        responses (`tuple[SystemReply, ...]`, *optional*):
            The systems' responses.
    """

    context: tuple[str, ...]
    human: str
    responses: tuple[SystemReply, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RegsResults(RunResults):
    """Everything a study of adversarial training computed; what its `results.json` holds.

    Args:
        systems (`tuple[str, ...]`, *optional*):
            Rows of the table, in order: the two baselines, the methods, controls and decodings.
        methods (`tuple[str, ...]`, *optional*):
            Those of them that were trained with rewards.
        evaluators (`tuple[str, ...]`, *optional*):
            Evaluators of the table, which share no parameters with a reward.
        records (`Mapping[str, tuple[PolicyRecord, ...]]`, *optional*):
            Validations of each method.
        stopped (`Mapping[str, str]`, *optional*):
            Why each method ended.
        discriminators (`Mapping`, *optional*):
            Accuracy of each method's discriminator before the game.
        examples (`tuple[RegsExample, ...]`, *optional*):
            Responses side by side.
        likelihood_steps (`int`, *optional*):
            Updates of the baseline that was trained on by likelihood.
        minutes (`Mapping[str, float]`, *optional*):
            Duration of each stage since the run was last started or resumed.
    """

    protocol: ClassVar[str] = "regs"

    systems: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    evaluators: tuple[str, ...] = ()
    records: Mapping[str, tuple[PolicyRecord, ...]] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)
    discriminators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    examples: tuple[RegsExample, ...] = ()
    likelihood_steps: int | None = None
    minutes: Mapping[str, float] = field(default_factory=dict)
