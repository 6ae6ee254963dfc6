"""Results of an evaluation run, and of a run that measures only the reliability of evaluators."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.results import RunResults
from dialeval.registry import import_object

DISTINGUISHABLE = "distinguishable"
INDISTINGUISHABLE = "indistinguishable"
CONTEXT_INDEPENDENT = "context-independent"
TOO_WEAK = "evaluator too weak"
INCONCLUSIVE = "inconclusive"
VERDICTS = (DISTINGUISHABLE, INDISTINGUISHABLE, CONTEXT_INDEPENDENT, TOO_WEAK, INCONCLUSIVE)
"""Every name that [`Verdict.verdict`] can have."""


@dataclass(frozen=True)
class Verdict:
    """What the numbers of one evaluator show about one system.

    Args:
        system, evaluator (`str`):
            Which system, evaluated by which evaluator.
        verdict (`str`):
            One of `VERDICTS`.
        text (`str`):
            Sentences that explain it with its numbers.
    """

    system: str
    evaluator: str
    verdict: str
    text: str


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
            One per system and evaluator; those of the most reliable evaluator come first.
        curves (`tuple[CurvePoint, ...]`, *optional*):
            AdverSuc against the number of training pairs.
        examples (`Mapping[str, SystemExamples]`, *optional*):
            Responses of each system with extreme scores.

    The other fields are those of [`RunResults`].
    """

    protocol: ClassVar[str] = "evaluation"

    verdicts: tuple[Verdict, ...] = ()
    curves: tuple[CurvePoint, ...] = ()
    examples: Mapping[str, SystemExamples] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReliabilityResults(_EvaluationReport, RunResults):
    """Everything `dialeval ere` computed; what its `results.json` holds."""

    protocol: ClassVar[str] = "reliability"
