"""The first screen of a study of adversarial training: systems by how often they are detected."""

from typing import Any

from dialeval.metrics.regs_results import RegsResults
from dialeval.metrics.results import REFERENCES, Result
from dialeval.reports.adversarial.study_rows import BASELINES
from dialeval.reports.evaluation.advice import SAME_RESPONSE
from dialeval.reports.format import finite, format_share, of_hundred
from dialeval.reports.ranking import RankedBar, ranking

RANK_CAPTION = (
    "How often the strongest independent evaluator is right about human and system, from chance "
    "(50 %) to always (100 %), with its 95 % interval; the most human-like system first."
)


def system_ranks(results: RegsResults) -> list[dict[str, Any]]:
    """Systems by the accuracy of the evaluator that detects them best, the lowest first."""
    bars = [_bar(results, system) for system in results.systems]
    bars.sort(key=lambda bar: 2.0 if bar.value is None else bar.value)
    return ranking(bars, start=0.5, in_order=True)


def _bar(results: RegsResults, system: str) -> RankedBar:
    rows = [
        row for name in results.evaluators if name not in REFERENCES
        if (row := results.get("adversuc", system, name)) and finite(row.value) is not None
    ]  # fmt: skip
    if not rows:
        return RankedBar(system, None, "not measured", tone="open")
    row = min(rows, key=lambda item: item.value)
    more = [f"AdverSuc {format_share(row.value, 2)} by {row.evaluator}", *_relevance(results, row)]
    if any(text.startswith(f"{system} {SAME_RESPONSE}") for text in results.warnings):
        more.append(f"{SAME_RESPONSE} to every context")
    return RankedBar(
        system, 1 - row.value, f"an evaluator is right in {of_hundred(1 - row.value)} cases",
        1 - row.high, 1 - row.low, "; ".join(more), "open" if system in BASELINES else "noise",
    )  # fmt: skip


def _relevance(results: RegsResults, row: Result) -> list[str]:
    machine = results.get("machine_vs_random", row.system, row.evaluator)
    return [] if machine is None else [f"machine-vs-random {format_share(machine.value, 2)}"]
