"""From the numbers of a run to one verdict per system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from dialeval.dialogues import Passages
from dialeval.metrics.evaluation_results import Verdict
from dialeval.metrics.training_variance import with_seed_variance
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.leak_check import LeakCheck, leak_flags
from dialeval.protocols.evaluation.measures import Measure
from dialeval.protocols.evaluation.planted import detectable_shares
from dialeval.protocols.evaluation.tables import ScoreTables
from dialeval.protocols.evaluation.twosample import TwoSampleTest
from dialeval.protocols.evaluation.verdict import ALPHA, Reading, Relevance, Trust, verdict
from dialeval.responders.base import cut_responses, cut_warning

SURFACE = (
    "stack", "stack+lm", "surface", "svm-unigram", "svm-response", "svm-features", "hierarchical",
    "concat", "attention", "rnn", "minilm", "transformer",
)  # fmt: skip
"""Evaluators that read the words of a response, so that they see its style."""


@dataclass(frozen=True)
class Control:
    """Human against random replies, for one evaluator."""

    measure: Measure
    test: TwoSampleTest


@dataclass(frozen=True)
class Comparison:
    """A system against humans, for one evaluator.

    Args:
        table (`pa.Table`):
            Scores of cross-fitting.
        test (`TwoSampleTest`):
            Test on a held-out half.
        seeds (`Sequence[float]`):
            AdverSuc with each seed.
        success (`Measure`):
            AdverSuc of the run's own seed, with its interval over dialogues alone.
    """

    table: pa.Table
    test: TwoSampleTest
    seeds: Sequence[float]
    success: Measure


@dataclass
class Findings:
    """What the phases of a run leave for the verdicts.

    Args:
        controls (`dict[str, Control]`, *optional*):
            By evaluator.
        comparisons (`dict[tuple[str, str], Comparison]`, *optional*):
            By system and evaluator, without baselines.
        relevances (`dict[tuple[str, str], Measure]`, *optional*):
            By system and evaluator.
        leak_check (`LeakCheck`, *optional*):
            Format leaks of every system.
    """

    controls: dict[str, Control] = field(default_factory=dict)
    comparisons: dict[tuple[str, str], Comparison] = field(default_factory=dict)
    relevances: dict[tuple[str, str], Measure] = field(default_factory=dict)
    leak_check: LeakCheck = field(default_factory=LeakCheck)

    def of(self, system: str) -> dict[str, Comparison]:
        """The comparisons of one system, by evaluator."""
        return {name: item for (row, name), item in self.comparisons.items() if row == system}

    def relevance_of(self, system: str) -> Measure | None:
        """The relevance of a system by the evaluator that reads contexts best, if there is one.

        That is the one which distinguishes human from random replies best, of those that measure
        relevance: evaluators that are not trained here may be better, and do not.
        """
        measured = {name: item for (row, name), item in self.relevances.items() if row == system}
        best = max(measured, key=lambda name: self.controls[name].measure.value, default=None)
        return None if best is None else measured[best]


def decide(tables: ScoreTables, findings: Findings) -> list[Verdict]:
    """One verdict per system.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        findings (`Findings`):
            Its numbers.

    Returns:
        `list[Verdict]`: In the order of the systems; without those that no evaluator could read.
    """
    systems = [name for name in tables.data.systems if findings.of(name)]
    readings = {name: _readings(tables, findings.of(name)) for name in systems}
    machine = _known_machine(readings)
    verdicts = []
    for system in systems:
        trust = _trust(tables, findings, system)
        other = machine if machine != system else None
        if _may_be_none(readings[system], tables.run.margin):
            shares = _planted(tables, list(readings[system]), other)
            trust = Trust(trust.control, trust.control_low, trust.families, shares, trust.leaks)
        verdicts.append(_verdict(tables, findings, system, list(readings[system].values()), trust))
    return verdicts


def _readings(tables: ScoreTables, comparisons: Mapping[str, Comparison]) -> dict[str, Reading]:
    """The numbers of each evaluator, with intervals that hold for all of them at once."""
    level = 1 - ALPHA / len(comparisons)
    readings = {}
    for evaluator, item in comparisons.items():
        accuracy = measures.accuracy(item.table)
        bounds = measures.accuracy_bounds(item.table, tables.run.seed, level)
        seeds = [1 - value for value in item.seeds]
        low, high = with_seed_variance(accuracy, *bounds, seeds, level)
        retrained = evaluator not in tables.frozen
        readings[evaluator] = Reading(evaluator, accuracy, low, high, item.test.p_value, retrained)
    return readings


def _known_machine(readings: Mapping[str, Mapping[str, Reading]]) -> str | None:
    """The system that is hardest to detect among those that are detected beyond doubt."""
    strongest = {
        system: max(items.values(), key=lambda item: item.accuracy)
        for system, items in readings.items()
    }
    detected = {
        system: item.accuracy
        for system, item in strongest.items()
        if item.p_value < ALPHA / len(readings[system]) and item.retrained
    }
    return min(detected, key=detected.__getitem__, default=None)


def _may_be_none(readings: Mapping[str, Reading], margin: float) -> bool:
    """Whether a verdict may come down to "no difference", so that the power of the run counts."""
    smallest = min(reading.p_value for reading in readings.values()) * len(readings)
    return smallest >= ALPHA and min(reading.low for reading in readings.values()) < margin


def _planted(
    tables: ScoreTables, evaluators: Sequence[str], machine: str | None
) -> dict[str, float | None]:
    trained = [name for name in evaluators if name not in tables.frozen]
    return detectable_shares(tables, trained, machine, ALPHA / len(evaluators)) if trained else {}


def _trust(tables: ScoreTables, findings: Findings, system: str) -> Trust:
    """What a "no" about a system would be based on, without the power of the test."""
    evaluators = list(findings.of(system))
    controls = [findings.controls[name].measure for name in evaluators if name in findings.controls]
    best = max(controls, key=lambda measure: measure.low, default=None)
    families = {"surface"} if any(name in SURFACE for name in evaluators) else set()
    if best is not None and best.low >= tables.run.margin:
        families.add("context")
    return Trust(
        control=None if best is None else best.value,
        control_low=None if best is None else best.low,
        families=frozenset(families),
        leaks=tuple(leak.name for leak in findings.leak_check.of(system)),
    )


def _verdict(
    tables: ScoreTables,
    findings: Findings,
    system: str,
    readings: Sequence[Reading],
    trust: Trust,
) -> Verdict:
    leaks = findings.leak_check.of(system)
    normalised = normalised_accuracy(tables, system, readings) if leaks else None
    measure = findings.relevance_of(system)
    relevance = Relevance(measure.value, measure.low, measure.high) if measure else None
    n = len(findings.of(system)[readings[0].evaluator].table) // 2
    flags = [*leak_flags(leaks, normalised), *_cut_flag(tables.data.systems[system])]
    return verdict(system, readings, trust, n, tables.run.margin, relevance, flags)


def _cut_flag(answers: Passages) -> list[str]:
    """That responses were cut, which may be all that an evaluator sees."""
    cut = cut_responses(answers)
    return [cut_warning(cut, len(answers))] if cut else []


def normalised_accuracy(
    tables: ScoreTables, system: str, readings: Sequence[Reading]
) -> float | None:
    """The highest accuracy of the trained evaluators after both sides were normalised.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        system (`str`):
            Name of the system.
        readings (`Sequence[Reading]`):
            The evaluators.

    Returns:
        `float` or `None`: `None` where nothing was normalised.
    """
    if system not in tables.data.normalisers:
        return None
    accuracies = []
    for reading in readings:
        if reading.retrained:
            what = "accuracy after normalising"
            name = (reading.evaluator, system, "human_machine")
            table = tables.try_table(what, *name, normalised=True)
            accuracies += [] if table is None else [measures.accuracy(table)]
    return max(accuracies, default=None)
