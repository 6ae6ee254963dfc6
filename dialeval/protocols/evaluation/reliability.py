"""Can a judge be trusted? Four scenarios in which the right answer is known.

(Li et al., 2017, sec. 4.2)
"""

import pyarrow as pa

from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.collector import ResultCollector
from dialeval.protocols.evaluation.tables import RELIABILITY, ScoreTables

RETRAINED, TRANSFER = "ere", "ere_transfer"
"""The error of judges that learn each scenario, and of those that are applied as they are: another
quantity under a name of its own."""


def note_reliability(
    tables: ScoreTables,
    collector: ResultCollector,
    evaluator: str,
    system: str,
    partly: bool = False,
) -> None:
    """Note the error of a judge; the system gives the scenario `machine_machine`.

    Args:
        partly (`bool`, *optional*, defaults to `False`):
            Whether scenarios are noted, without an error, where one of the four has no data.
    """
    if tables.missing:
        collector.warn(f"No ERE: the data have too little for {', '.join(tables.missing)}.")
    if not system:
        collector.warn("No ERE: machine_machine needs a system. Name one: --system parrot")
    if (tables.missing or not system) and not partly:
        return
    parts = _parts(tables, evaluator, system)
    if not parts or (len(parts) < len(RELIABILITY) and not partly):
        return
    found = measures.reliability_error(parts, tables.run.seed, tables.threshold(evaluator))
    how = tables.how(evaluator, system, *(len(table) for table in parts.values()))
    names = ("scenarios", "random_guess", "noise_floor", "missing")
    details = {key: found[key] for key in names if key in found}
    frozen = evaluator in tables.frozen
    details["ere_mode"] = "transfer" if frozen else "retrained"
    metric = TRANSFER if frozen else RETRAINED
    collector.add(metric, system, evaluator, found["ere"], found, how, details)


def _parts(tables: ScoreTables, evaluator: str, system: str) -> dict[str, pa.Table]:
    """The table of each scenario that the data have enough for."""
    parts = {}
    for name in RELIABILITY:
        whose = system if name == "machine_machine" else ""
        if name in tables.missing or (name == "machine_machine" and not system):
            continue
        table = tables.tried(f"ERE, {name},", evaluator, whose, name)
        if table is not None:
            parts[name] = table
    return parts
