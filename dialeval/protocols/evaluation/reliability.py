"""Can an evaluator be trusted? Four scenarios in which the correct outcome is known.

(Li et al., 2017, sec. 4.2)
"""

import pyarrow as pa

from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.collector import ResultCollector
from dialeval.protocols.evaluation.tables import RELIABILITY, ScoreTables

RETRAINED, TRANSFER = "ere", "ere_transfer"
"""Metric of evaluators that are trained on each scenario, and of those that are applied as they
are; these are different quantities, so they have different names."""
DETAILS = ("scenarios", "random_guess", "noise_floor", "missing")
"""Details of a reliability error that are reported."""


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
            Whether scenarios are reported, without an error, where one of the four has no data.
    """
    if tables.missing:
        collector.warn(_missing_warning(tables.missing))
    if not system:
        collector.warn("ERE skipped: machine_machine needs a system. Name one: --system parrot")
    if (tables.missing or not system) and not partial:
        return
    parts = _scenario_tables(tables, evaluator, system)
    if not parts or (len(parts) < len(RELIABILITY) and not partial):
        return
    measure = measures.reliability_error(parts, tables.run.seed, tables.threshold(evaluator))
    fit = tables.fit_details(evaluator, system, *(len(table) for table in parts.values()))
    details = {name: measure.details[name] for name in DETAILS if name in measure.details}
    frozen = evaluator in tables.frozen
    details["ere_mode"] = "transfer" if frozen else "retrained"
    collector.add(TRANSFER if frozen else RETRAINED, system, evaluator, measure, fit, details)


def _missing_warning(missing: list[str]) -> str:
    if missing == ["human_next"]:
        return "ERE skipped: no next turns in the data (human_next)."
    return f"ERE skipped: not enough data for {', '.join(missing)}."


def _scenario_tables(tables: ScoreTables, evaluator: str, system: str) -> dict[str, pa.Table]:
    """The table of each scenario that has enough data."""
    parts = {}
    for name in RELIABILITY:
        if name in tables.missing or (name == "machine_machine" and not system):
            continue
        answers = system if name == "machine_machine" else ""
        table = tables.try_table(f"ERE, {name},", evaluator, answers, name)
        if table is not None:
            parts[name] = table
    return parts
