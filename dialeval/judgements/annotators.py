"""Quality of annotators: test questions, speed, and agreement with the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from dialeval.judgements.agreement import majority_answers
from dialeval.judgements.correlation import pearson
from dialeval.judgements.tables import Judgement

MIN_COMMON = 5
"""Items in common below which agreement with the rest is not computed."""


@dataclass(frozen=True)
class AnnotatorQuality:
    """One annotator.

    Args:
        annotator (`str`):
            Their name, or its hash.
        n (`int`):
            Answers, without test questions.
        test_accuracy (`float`, *optional*):
            Share of test questions answered correctly.
        n_test (`int`):
            Test questions answered.
        seconds (`float`, *optional*):
            Median time of an answer.
        agreement (`float`, *optional*):
            Share of answers equal to the majority of the others; for ratings Pearson's correlation
            with their mean.
        n_common (`int`):
            Items behind that number.
        passed (`bool`):
            Whether the test accuracy is high enough.
        flags (`tuple[str, ...]`):
            What to look at: `failed test questions`, `fast`, `disagrees`, `one answer only`.
    """

    annotator: str
    n: int
    test_accuracy: float | None
    n_test: int
    seconds: float | None
    agreement: float | None
    n_common: int
    passed: bool
    flags: tuple[str, ...]


def annotator_quality(
    judgements: Iterable[Judgement], *, required: float = 0.9, fast: float = 1 / 3
) -> list[AnnotatorQuality]:
    """The quality of every annotator, those with most answers first.

    Args:
        judgements (`Iterable[Judgement]`):
            All answers.
        required (`float`, *optional*, defaults to 0.9):
            Accuracy on test questions that is needed (Bruni and Fernández, 2017, footnote 2).
        fast (`float`, *optional*, defaults to 1/3):
            Share of the median annotator's time below which one is flagged as fast.

    Returns:
        `list[AnnotatorQuality]`: One row per annotator.
    """
    rows = [row for row in judgements if row.is_given]
    by_annotator: dict[str, list[Judgement]] = {}
    for row in rows:
        by_annotator.setdefault(row.annotator, []).append(row)
    typical = [time for answers in by_annotator.values() if (time := _median_seconds(answers))]
    limit = fast * median(typical) if typical else 0.0
    units = _by_unit(rows)
    qualities = [
        _quality(name, answers, units, required, limit) for name, answers in by_annotator.items()
    ]
    return sorted(qualities, key=lambda row: (-row.n, row.annotator))


def passing(judgements: Sequence[Judgement], required: float = 0.9) -> list[Judgement]:
    """Judgements without test questions, of annotators whose test accuracy is high enough."""
    failed = {
        row.annotator for row in annotator_quality(judgements, required=required) if not row.passed
    }
    return [row for row in judgements if not row.test and row.annotator not in failed]


def _quality(
    name: str,
    rows: list[Judgement],
    units: dict[tuple[str, ...], list[Judgement]],
    required: float,
    limit: float,
) -> AnnotatorQuality:
    tests = [row for row in rows if row.test and row.truth]
    work = [row for row in rows if not row.test]
    accuracy = sum(map(_is_right, tests)) / len(tests) if tests else None
    passed = accuracy is None or accuracy >= required
    seconds = _median_seconds(rows)
    value, common, low = _agreement_with_rest(name, work, units)
    flags = {
        "failed test questions": not passed,
        "fast": seconds is not None and seconds < limit,
        "disagrees": value is not None and value < low,
        "one answer only": len(work) >= 10 and len({row.answer for row in work}) == 1,
    }
    chosen = tuple(flag for flag, holds in flags.items() if holds)
    return AnnotatorQuality(
        name, len(work), accuracy, len(tests), seconds, value, common, passed, chosen
    )


def _is_right(row: Judgement) -> bool:
    """Whether the answer to a test question is its truth; numbers are compared as numbers."""
    if isinstance(row.answer, str):
        return row.answer == row.truth
    try:
        return row.answer == float(row.truth)
    except ValueError:
        return False


def _agreement_with_rest(
    name: str, rows: list[Judgement], units: dict[tuple[str, ...], list[Judgement]]
) -> tuple[float | None, int, float]:
    """Agreement with the others, items behind it, and the value below which it is flagged."""
    others = {
        row.unit: [other for other in units[row.unit] if other.annotator != name] for row in rows
    }
    if all(isinstance(row.answer, float) for row in rows):
        pairs = [
            (row.answer, float(np.mean([float(other.answer) for other in others[row.unit]])))
            for row in rows
            if others[row.unit]
        ]
        if len(pairs) < MIN_COMMON:
            return None, len(pairs), 0.0
        first, second = np.array(pairs, dtype=float).T
        value = pearson(first, second)
        return (None if np.isnan(value) else value), len(pairs), 0.0
    decided = [(row.answer, _majority(others[row.unit])) for row in rows if others[row.unit]]
    equal = [answer == majority for answer, majority in decided if majority is not None]
    if len(equal) < MIN_COMMON:
        return None, len(equal), 0.0
    choices = {row.answer for group in units.values() for row in group}
    return sum(equal) / len(equal), len(equal), 1 / max(2, len(choices))


def _majority(rows: list[Judgement]) -> str | float | None:
    return majority_answers([row.answer for row in rows], [0] * len(rows))[0]  # type: ignore[return-value]  # an answer


def _by_unit(rows: list[Judgement]) -> dict[tuple[str, ...], list[Judgement]]:
    units: dict[tuple[str, ...], list[Judgement]] = {}
    for row in rows:
        units.setdefault(row.unit, []).append(row)
    return units


def _median_seconds(rows: list[Judgement]) -> float | None:
    times = [row.seconds for row in rows if row.seconds is not None]
    return median(times) if times else None
