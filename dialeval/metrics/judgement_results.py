"""Results of a study of human judgements."""

from dataclasses import dataclass, field
from typing import ClassVar

from dialeval.metrics.results import RunResults

PEOPLE = "people"
"""Evaluator of results that are about annotators."""
MAJORITY = "majority"
"""Evaluator of the answer that most annotators gave."""


@dataclass(frozen=True)
class AnnotatorRow:
    """The quality of one annotator: see `dialeval.judgements.AnnotatorQuality`.

    Args:
        annotator (`str`):
            Name, or its hash.
        n, n_test, n_common (`int`):
            Answers, test questions, and items that others judged too.
        test_accuracy, seconds, agreement (`float`, *optional*):
            Accuracy on test questions, median time, and agreement with the rest.
        passed (`bool`):
            Whether the judgements count.
        flags (`tuple[str, ...]`):
            What to look at.
    """

    annotator: str
    n: int
    test_accuracy: float | None
    n_test: int
    seconds: float | None
    agreement: float | None
    n_common: int
    passed: bool
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """How many items would settle a question.

    Args:
        question (`str`):
            What is compared, as a sentence.
        items (`int`):
            Items judged so far.
        needed (`int`, *optional*):
            Items at which a difference as large as the observed one is significant with a power
            of .8; `None` where there is no difference at all.
        settled (`bool`):
            Whether it is significant already.
    """

    question: str
    items: int
    needed: int | None
    settled: bool


@dataclass(frozen=True, kw_only=True)
class JudgementResults(RunResults):
    """What people answered, and how it compares with discriminators and metrics.

    Args:
        annotators (`tuple[AnnotatorRow, ...]`):
            Their quality.
        plans (`tuple[Plan, ...]`):
            How many more judgements would settle each question.
        n_judgements, n_items (`int`):
            Judgements that count, and items that they are about.
    """

    protocol: ClassVar[str] = "judgements"

    annotators: tuple[AnnotatorRow, ...] = ()
    plans: tuple[Plan, ...] = field(default=())
    n_judgements: int = 0
    n_items: int = 0
