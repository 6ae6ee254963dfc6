"""Results of an evaluation run, and of a run that measures only the reliability of evaluators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.cue_results import Cue
from dialeval.metrics.results import RunResults
from dialeval.registry import import_object

DISTINGUISHABLE = "distinguishable"
NEGLIGIBLE = "negligible difference"
INDISTINGUISHABLE = "indistinguishable"
INCONCLUSIVE = "inconclusive"
VERDICTS = (DISTINGUISHABLE, NEGLIGIBLE, INDISTINGUISHABLE, INCONCLUSIVE)
"""Every name that [`Verdict.verdict`] can have."""
IGNORES_CONTEXT = "looks human but ignores the context"
"""Flag of a system that is hardly detected and hardly relevant."""


@dataclass(frozen=True)
class Verdict:
    """What all evaluators of a run together show about one system.

    Args:
        system (`str`):
            Name of the system.
        verdict (`str`):
            One of `VERDICTS`.
        text (`str`):
            Sentences that explain it with its numbers.
        evaluator (`str`, *optional*):
            The strongest evaluator: the one with the highest accuracy.
        accuracy, low, high (`float`, *optional*):
            Its accuracy. The interval holds for all evaluators at once, so that choosing the
            strongest one does not make it too narrow.
        p_value (`float`, *optional*):
            Smallest p-value of the held-out tests, adjusted for the number of evaluators (Holm).
        margin (`float`, *optional*):
            Accuracy up to which a difference counts as negligible.
        n (`int`, *optional*):
            Number of contexts.
        relevance (`float`, *optional*):
            How closely the replies follow their contexts: 0 as random replies, 1 as human ones.
        detectable (`Mapping[str, float | None]`, *optional*):
            By the source of planted replies, the smallest share of them that this run would have
            detected; `None` where it would not have detected any that was tried. Empty if the
            check was not needed.
        reservations (`tuple[str, ...]`, *optional*):
            Why this run cannot show that there is no difference; empty if it can.
        flags (`tuple[str, ...]`, *optional*):
            What a reader has to know beside the verdict, such as a format leak.
        relevance_high (`float`, *optional*):
            Upper bound of the relevance.
    """

    system: str
    verdict: str
    text: str
    evaluator: str = ""
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    margin: float | None = None
    n: int | None = None
    relevance: float | None = None
    detectable: Mapping[str, float | None] = field(default_factory=dict)
    reservations: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    relevance_high: float | None = None


@dataclass(frozen=True)
class FormatLeak:
    """A trait of the format that distinguishes a system from humans by one simple rule.

    Args:
        system (`str`):
            Name of the system.
        name (`str`):
            Name of the trait.
        rule (`str`):
            The rule in words.
        accuracy, low, high (`float`):
            Its accuracy on held-out dialogues.
        hint (`str`, *optional*):
            How to remove the leak.
        human_example, system_example (`str`, *optional*):
            Responses that the rule classifies correctly.
    """

    system: str
    name: str
    rule: str
    accuracy: float
    low: float
    high: float
    hint: str = ""
    human_example: str = ""
    system_example: str = ""


@dataclass(frozen=True)
class CurvePoint:
    """AdverSuc of an evaluator that was trained on a share of the training pairs.

    Args:
        system, evaluator (`str`):
            Which system, evaluated by which evaluator.
        share (`float`):
            Share of the training pairs, in (0, 1].
        n_train (`int`):
            Number of pairs that the evaluator was trained on in a fold.
        adversuc, low, high (`float`):
            Adversarial success with its interval.
    """

    system: str
    evaluator: str
    share: float
    n_train: int
    adversuc: float
    low: float
    high: float


@dataclass(frozen=True)
class Example:
    """A response of a system in its context, with the score that an evaluator gave it.

    Args:
        context (`tuple[str, ...]`):
            Turns before the response.
        response (`str`):
            The system's response.
        human (`str`):
            What a human responded in the same context; empty if not known.
        score (`float`):
            The evaluator's score; higher is more human-like.
        evaluator (`str`):
            Which evaluator.
    """

    context: tuple[str, ...]
    response: str
    human: str
    score: float
    evaluator: str


@dataclass(frozen=True)
class SystemExamples:
    """Responses of one system with the highest and the lowest scores.

    Args:
        most_human_like (`tuple[Example, ...]`):
            Highest scores first.
        easiest_to_detect (`tuple[Example, ...]`):
            Lowest scores first.
    """

    most_human_like: tuple[Example, ...] = ()
    easiest_to_detect: tuple[Example, ...] = ()


class _EvaluationReport:
    """Prints as the table of the terminal, and shows as HTML in a notebook.

    Metrics do not depend on reports, so these are imported when they are used.
    """

    def __str__(self) -> str:
        return str(import_object("dialeval.reports.evaluation:to_text", "dialeval")(self))

    def _repr_html_(self) -> str:
        return str(import_object("dialeval.reports.evaluation:notebook_html", "dialeval")(self))


@dataclass(frozen=True, kw_only=True)
class EvaluationResults(_EvaluationReport, RunResults):
    """Everything `dialeval evaluate` computed; what its `results.json` holds.

    Args:
        verdicts (`tuple[Verdict, ...]`, *optional*):
            One per system.
        leaks (`tuple[FormatLeak, ...]`, *optional*):
            Significant format leaks of every system.
        cues (`tuple[Cue, ...]`, *optional*):
            What gives every system away, the most telling of each first.
        curves (`tuple[CurvePoint, ...]`, *optional*):
            AdverSuc against the number of training pairs.
        examples (`Mapping[str, SystemExamples]`, *optional*):
            Responses of each system with extreme scores.

    The other fields are those of [`RunResults`].
    """

    protocol: ClassVar[str] = "evaluation"

    verdicts: tuple[Verdict, ...] = ()
    leaks: tuple[FormatLeak, ...] = ()
    cues: tuple[Cue, ...] = ()
    curves: tuple[CurvePoint, ...] = ()
    examples: Mapping[str, SystemExamples] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReliabilityResults(_EvaluationReport, RunResults):
    """Everything `dialeval ere` computed; what its `results.json` holds."""

    protocol: ClassVar[str] = "reliability"
