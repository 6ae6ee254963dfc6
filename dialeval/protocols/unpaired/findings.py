"""From tables of scores to the numbers about one system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from dialeval.dialogues import BadInput, iterate
from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    Example,
    FormatLeak,
    SystemExamples,
)
from dialeval.metrics.results import Result
from dialeval.metrics.training_variance import with_seed_variance
from dialeval.metrics.unpaired_results import MatchedComparison, PileVerdict, TurnPoint
from dialeval.protocols.evaluation.leak_check import leak_flags
from dialeval.protocols.unpaired.dialogues import (
    SPOTTED,
    PooledDialogues,
    turn_curve,
    turns_until,
)
from dialeval.protocols.unpaired.matching import Matches, within_matches
from dialeval.protocols.unpaired.piles import PilePair
from dialeval.protocols.unpaired.scoring import (
    Accuracy,
    accuracy_of,
    difference_of_accuracies,
)
from dialeval.protocols.unpaired.tables import PileTables
from dialeval.protocols.unpaired.verdict import Piled, PileReading, pile_verdict
from dialeval.protocols.unpaired.views import PARTNER, RESPONSE

EXAMPLES = 5
"""Responses with the highest and with the lowest scores in the report."""


@dataclass(frozen=True)
class SystemFindings:
    """All numbers about one system that its verdict needs.

    Args:
        piles (`PilePair`):
            Both piles.
        tables (`PileTables`):
            Their scores.
        readings (`list[PileReading]`):
            One per evaluator.
        leaks (`list[FormatLeak]`):
            Significant format leaks.
    """

    piles: PilePair
    tables: PileTables
    readings: list[PileReading]
    leaks: list[FormatLeak]

    def sizes(self) -> tuple[int, int]:
        """Number of dialogues of each pile."""
        human, system = (
            len(set(side["dialogue_id"][:])) for side in (self.piles.human, self.piles.system)
        )
        return human, system

    def piled(self, detected: Sequence[str]) -> Piled:
        """What bears on the verdict beside the readings."""
        names = tuple(leak.name for leak in self.leaks)
        flags = tuple(leak_flags(self.leaks, None))
        return Piled(*self.sizes(), detected=tuple(detected), flags=flags, leaks=names)


def response_reading(
    evaluator: str, main: pa.Table, seeds: Sequence[pa.Table], seed: int, level: float
) -> PileReading:
    """The accuracy on responses without contexts, its interval widened by other seeds.

    Args:
        evaluator (`str`):
            Name of the evaluator.
        main (`pa.Table`):
            Its scores.
        seeds (`Sequence[pa.Table]`):
            Its scores with other folds.
        seed (`int`):
            Seed of the bootstrap.
        level (`float`):
            Confidence level.

    Returns:
        `PileReading`: Without a p-value yet.
    """
    measure = accuracy_of(main, seed, level)
    values = [measure.value, *(accuracy_of(table, seed).value for table in seeds)]
    low, high = with_seed_variance(measure.value, measure.low, measure.high, values, level)
    return PileReading(evaluator, replace(measure, low=low, high=high), 1.0)


def with_control(
    reading: PileReading, main: pa.Table, control: pa.Table, seed: int, level: float
) -> PileReading:
    """The reading with its topic control.

    Args:
        reading (`PileReading`):
            Numbers on responses.
        main, control (`pa.Table`):
            Scores of responses, and of the partners' turns.
        seed (`int`):
            Seed of the bootstrap.
        level (`float`):
            Confidence level.

    Returns:
        `PileReading`: With `control` and `excess`.
    """
    return replace(
        reading,
        control=accuracy_of(control, seed, level),
        excess=difference_of_accuracies(main, control, seed, level),
    )


def matched_comparison(
    tables: PileTables, matches: Matches, system: str, evaluator: str, seed: int
) -> MatchedComparison | None:
    """The comparison within matched dialogues; `None` where an evaluator cannot be fitted.

    Args:
        tables (`PileTables`):
            Scores of the system's pile.
        matches (`Matches`):
            Matched dialogues.
        system, evaluator (`str`):
            Which system, by which evaluator.
        seed (`int`):
            Seed of evaluator and bootstrap.

    Returns:
        `MatchedComparison` or `None`: With the control within matches.
    """
    try:
        control = tables.matched_control(evaluator, matches, seed)
        p_value = tables.matched_p(evaluator, matches, seed)
    except BadInput:
        return None
    main = within_matches(tables.table(evaluator, RESPONSE, seed), matches)
    measures = (
        accuracy_of(main, seed),
        accuracy_of(control, seed),
        difference_of_accuracies(main, control, seed),
    )
    response, partner, gain = measures
    return MatchedComparison(
        system, evaluator, len(matches), matches.share, response.value, response.low,
        response.high, partner.value, partner.low, partner.high, gain.value, gain.low, gain.high,
        p_value,
    )  # fmt: skip


def result(
    metric: str,
    system: str,
    evaluator: str,
    measure: Accuracy,
    signature: str,
    details: Mapping[str, Any] | None = None,
) -> Result:
    """A published number.

    Args:
        metric, system, evaluator (`str`):
            What it is about.
        measure (`Accuracy`):
            The number with its interval.
        signature (`str`):
            How it was computed.
        details (`Mapping`, *optional*):
            Further numbers.

    Returns:
        `Result`: For `results.json`.
    """
    more = {} if measure.auroc is None else {"auroc": measure.auroc}
    return Result(
        metric, system, evaluator, measure.value, measure.low, measure.high, measure.n, signature,
        {**more, **(details or {})},
    )  # fmt: skip


def accuracy_results(
    system: str, evaluator: str, measure: Accuracy, signature: str, details: Mapping[str, Any]
) -> list[Result]:
    """The accuracy on single responses, and AdverSuc, which is one minus it.

    Args:
        system, evaluator (`str`):
            Which system, by which evaluator.
        measure (`Accuracy`):
            The accuracy.
        signature (`str`):
            How it was computed.
        details (`Mapping`):
            Further numbers.

    Returns:
        `list[Result]`: Two results.
    """
    success = replace(measure, value=1 - measure.value, low=1 - measure.high, high=1 - measure.low)
    return [
        result("accuracy", system, evaluator, measure, signature, details),
        result("adversuc", system, evaluator, success, signature, details),
    ]


def reading_results(system: str, reading: PileReading, signature: str) -> list[Result]:
    """The numbers of one evaluator about single turns.

    Args:
        system (`str`):
            Name of the system.
        reading (`PileReading`):
            The numbers.
        signature (`str`):
            How they were computed.

    Returns:
        `list[Result]`: Accuracy, AdverSuc, topic control, excess, accuracy with contexts.
    """
    name = reading.evaluator
    rows = accuracy_results(system, name, reading.response, signature, {"p_value": reading.p_value})
    others: tuple[tuple[str, Accuracy | None, dict[str, Any]], ...] = (
        ("topic_control", reading.control, {"p_value": reading.control_p}),
        ("excess", reading.excess, {}),
        ("accuracy_in_context", reading.context, {"p_value": reading.context_p}),
    )
    for metric, measure, details in others:
        if measure is not None:
            rows.append(result(metric, system, name, measure, signature, details))
    return rows


def matched_results(matched: MatchedComparison, signature: str) -> list[Result]:
    """The numbers within matched dialogues, as results."""
    details: dict[str, Any] = {"pairs": matched.pairs, "share": matched.share}
    tested = {**details, "p_value": matched.p_value}
    names = (matched.system, matched.evaluator)
    accuracy = (matched.accuracy, matched.low, matched.high)
    control = (matched.control, matched.control_low, matched.control_high)
    return [
        Result("matched_accuracy", *names, *accuracy, matched.pairs, signature, tested),
        Result("matched_control", *names, *control, matched.pairs, signature, details),
    ]


def dialogue_results(
    tables: PileTables, system: str, evaluator: str, seed: int, signature: str, curve: bool
) -> tuple[list[Result], list[TurnPoint]]:
    """Accuracy on whole dialogues, by responses and by the partners' turns.

    Args:
        tables (`PileTables`):
            Scores of the system's pile.
        system, evaluator (`str`):
            Which system, by which evaluator.
        seed (`int`):
            Seed of the bootstrap.
        signature (`str`):
            How they were computed.
        curve (`bool`):
            Whether to compute accuracy against the number of turns too.

    Returns:
        `tuple[list[Result], list[TurnPoint]]`: Results, and points of the curves.
    """
    rows, points = [], []
    for metric, view in (("dialogue_accuracy", RESPONSE), ("dialogue_topic_control", PARTNER)):
        if not tables.has(view):
            continue
        dialogues = PooledDialogues.from_table(tables.table(evaluator, view, seed))
        details: dict[str, Any] = {"calibration_error": dialogues.calibration_error()}
        if curve:
            line = turn_curve(dialogues, (system, evaluator, view), seed)
            details["turns_until_spotted"] = turns_until(line)
            details["spotted"] = SPOTTED
            points += line
        measure = dialogues.accuracy(seed)
        rows.append(result(metric, system, evaluator, measure, signature, details))
    return rows, points


def extreme_responses(findings: SystemFindings, evaluator: str, seed: int) -> SystemExamples:
    """The system's responses that look most and least human to an evaluator.

    Args:
        findings (`SystemFindings`):
            Numbers about the system.
        evaluator (`str`):
            Whose scores count.
        seed (`int`):
            Seed of its scores.

    Returns:
        `SystemExamples`: With their contexts, one per distinct response.
    """
    table = findings.tables.table(evaluator, RESPONSE, seed)
    scores = dict(zip(table["id"].to_pylist(), table["score"].to_pylist(), strict=True))
    examples: dict[str, Example] = {}
    for passage in iterate(findings.piles.system):
        if passage.response.strip():
            context = tuple(turn.text for turn in passage.context)
            score = float(scores[passage.id])
            examples.setdefault(
                passage.response, Example(context, passage.response, "", score, evaluator)
            )
    ranked = sorted(examples.values(), key=lambda item: item.score)
    return SystemExamples(tuple(ranked[::-1][:EXAMPLES]), tuple(ranked[:EXAMPLES]))


def pile_verdicts(findings: Mapping[str, SystemFindings], margin: float) -> list[PileVerdict]:
    """The verdict on each system; those that are distinguishable are positive controls.

    A system that differs in its topic is none: it does not show that the run would have noticed
    a machine on the humans' topic.

    Args:
        findings (`Mapping[str, SystemFindings]`):
            Numbers by system.
        margin (`float`):
            Accuracy up to which a difference is negligible.

    Returns:
        `list[PileVerdict]`: In the order of the systems.
    """
    sizes = {name: item.sizes()[1] for name, item in findings.items()}
    detected = [
        name
        for name, item in findings.items()
        if max(reading.response.low for reading in item.readings) >= margin
        and pile_verdict(name, item.readings, item.piled(()), margin).verdict == DISTINGUISHABLE
    ]
    verdicts = []
    for name, item in findings.items():
        known = [key for key in detected if key != name and sizes[key] <= sizes[name]]
        verdicts.append(pile_verdict(name, item.readings, item.piled(known), margin))
    return verdicts
