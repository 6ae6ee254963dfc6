"""Can an evaluator be trusted? Four scenarios in which the correct outcome is known.

(Li et al., 2017, sec. 4.2)
"""

from typing import Any

import pyarrow as pa

from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.collector import ResultCollector
from dialeval.protocols.evaluation.measures import RESPONSE_ONLY, Measure
from dialeval.protocols.evaluation.tables import FOLLOWED, NEXT_MATCHED, RELIABILITY, ScoreTables
from dialeval.protocols.evaluation.verdict import percent

RETRAINED, TRANSFER = "ere", "ere_transfer"
"""Metric of evaluators that are trained on each scenario, and of those that are applied as they
are; these are different quantities, so they have different names."""
THREE = "_three"
"""Added to the metric where there is no next turn: a mean over three scenarios."""
DETAILS = ("scenarios", "random_guess", "noise_floor", "missing")
"""Details of a reliability error that are reported."""
LEAKING = 0.05
"""Accuracy above .5 of the response-only twin in `human_next` from which there is a warning."""


def add_reliability(
    tables: ScoreTables,
    collector: ResultCollector,
    evaluator: str,
    system: str,
    partial: bool = False,
) -> None:
    """Add the reliability error of an evaluator.

    Args:
        tables (`ScoreTables`):
            Tables of the run.
        collector (`ResultCollector`):
            Gets the result.
        evaluator (`str`):
            Name of the evaluator.
        system (`str`):
            System whose responses make up the scenario `machine_machine`; `""` if there is none.
        partial (`bool`, *optional*, defaults to `False`):
            Whether scenarios are reported, without an error, where others than `human_next` have
            no data.
    """
    _warn_of_missing(tables, collector, system)
    parts = _scenario_tables(tables, evaluator, system)
    lacking = [name for name in RELIABILITY if name not in parts]
    if not parts or (lacking not in ([], ["human_next"]) and not partial):
        return
    measure = measures.reliability_error(parts, tables.run.seed, tables.threshold(evaluator))
    fit = tables.fit_details(evaluator, system, *(len(table) for table in parts.values()))
    details = {name: measure.details[name] for name in DETAILS if name in measure.details}
    frozen = evaluator in tables.frozen
    details["ere_mode"] = "transfer" if frozen else "retrained"
    if "human_next" in parts:
        details["next_turns"] = tables.next_turns.source
        if not lacking and not frozen:
            details["above_blind"] = _above_blind(tables, collector, evaluator, measure)
    collector.add(metric_name(frozen, measure), system, evaluator, measure, fit, details)


def metric_name(transfer: bool, error: Measure) -> str:
    """The metric of a reliability error: evaluators applied as they are, and a mean over three
    scenarios, are other quantities with other names."""
    three = error.details.get("missing") == ["human_next"]
    return (TRANSFER if transfer else RETRAINED) + (THREE if three else "")


def _above_blind(
    tables: ScoreTables, collector: ResultCollector, evaluator: str, error: Measure
) -> dict[str, Any] | None:
    """ERE above the response-only twin; positions are matched where enough pairs remain."""
    name, table = NEXT_MATCHED, None
    if tables.next_turns.source == "following":
        table = tables.try_table("", evaluator, "", NEXT_MATCHED)
    if table is None or not _has_twin(table) or len(table) < 2 * FOLLOWED * tables.folds:
        name, table = "human_next", tables.table(evaluator, "", "human_next")
    if not _has_twin(table):
        return None
    details = measures.above_blind(error, table)
    if details["blind"] >= 0.5 + LEAKING:
        collector.warn(
            f"{evaluator} recognises next turns without a context in {percent(details['blind'])} "
            "of cases, by position or speaker: quote the ERE above that baseline."
        )
    return {**details, "position_matched": name == NEXT_MATCHED}


def _has_twin(table: pa.Table) -> bool:
    return table[RESPONSE_ONLY].null_count < len(table)


def _warn_of_missing(tables: ScoreTables, collector: ResultCollector, system: str) -> None:
    if "human_next" in tables.missing:
        collector.warn(
            "ERE rests on three scenarios: no next turns in the data, and no contexts of two turns "
            "to take them from. It is called ere_three, and a random guess is .167 off in it."
        )
    if tables.next_turns.source == "context":
        collector.warn(
            "ERE takes next turns from inside the contexts, because the data have none: in "
            "human_next the last turn answers the one before it, and the response is the turn "
            "after it."
        )
    if not system:
        collector.warn("ERE skipped: machine_machine needs a system. Name one: --system parrot")


def _scenario_tables(tables: ScoreTables, evaluator: str, system: str) -> dict[str, pa.Table]:
    """The table of each scenario that has enough data."""
    parts = {}
    for name in RELIABILITY:
        if name in tables.missing or (name == "machine_machine" and not system):
            continue
        answers = system if name == "machine_machine" else ""
        table = tables.try_table(f"ERE scenario {name}", evaluator, answers, name)
        if table is not None:
            parts[name] = table
    return parts
