"""Rows of the table of a study of adversarial training, and what it shows in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from dialeval.metrics.regs_results import RegsResults
from dialeval.metrics.results import REFERENCES, Result
from dialeval.reports.format import NONE, finite, format_interval, format_list, format_share

BASELINES = ("pre-trained", "more likelihood")
ONE_TRAINING = (
    "The intervals hold for the responses of this run: what another training or another draw of "
    "responses would change is not in them. Repeat the study with other seeds and compare them by "
    "--summarise."
)
"""What the intervals of one study do not contain."""
_SYSTEM_NUMBERS = {
    "perplexity": "perplexity", "distinct_1": "distinct-1", "distinct_2": "distinct-2",
    "tokens": "words",
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column of the table: a metric, by an evaluator if it has one."""

    metric: str
    evaluator: str
    title: str


def columns(results: RegsResults) -> list[Column]:
    """AdverSuc and machine-vs-random by each evaluator, ERE, and numbers of the responses."""
    judged = [name for name in results.evaluators if name not in REFERENCES]
    parts = [Column("adversuc", name, f"AdverSuc, {name}") for name in judged]
    parts += [Column("machine_vs_random", name, f"vs random, {name}") for name in judged]
    parts += [Column("ere", name, f"ERE, {name}") for name in judged]
    parts += [Column(metric, "", title) for metric, title in _SYSTEM_NUMBERS.items()]
    return [part for part in parts if results.select(part.metric, evaluator=part.evaluator)]


def cell(results: RegsResults, column: Column, system: str) -> Result | None:
    """The number of a system in a column.

    Args:
        results (`RegsResults`):
            The study.
        column (`Column`):
            Metric and evaluator.
        system (`str`):
            Row of the table.

    Returns:
        `Result` or `None`: With its interval.
    """
    return results.get(column.metric, system, column.evaluator)


def cell_text(column: Column, value: float | None) -> str:
    """A number as its column prints it."""
    number = finite(value)
    if number is None:
        return NONE
    is_count = column.metric in ("perplexity", "tokens")
    return f"{number:.1f}" if is_count else format_share(number)


def interval_text(result: Result | None) -> str:
    """The interval of a number, or nothing."""
    text = NONE if result is None else format_interval(result.low, result.high)
    return "" if text == NONE else text


def answer(results: RegsResults) -> str:
    """Which methods are harder to detect than both baselines by all evaluators, in a sentence."""
    judged = [name for name in results.evaluators if name not in REFERENCES]
    better = [name for name in results.methods if _beats_baselines(results, name, judged)]
    if better:
        verb = "is" if len(better) == 1 else "are"
        return f"Yes: {format_list(better)} {verb} harder to detect than both baselines."
    return "Not shown: no method is clearly harder to detect than both baselines."


def _beats_baselines(results: RegsResults, method: str, evaluators: Sequence[str]) -> bool:
    """Whether its AdverSuc is above that of both baselines by every evaluator."""
    rows = [[results.get("adversuc", name, evaluator) for name in (method, *BASELINES)]
            for evaluator in evaluators]  # fmt: skip
    return bool(rows) and all(
        row is not None and other is not None and row.low > other.high
        for row, *others in rows for other in others
    )  # fmt: skip


def sentences(results: RegsResults) -> list[str]:
    """Whether each method beats both baselines by the independent evaluators."""
    judged = [name for name in results.evaluators if name not in REFERENCES]
    verdicts = [
        _verdict(results, method, evaluator) for method in results.methods for evaluator in judged
    ]
    return [*verdicts, ONE_TRAINING] if verdicts else []


def _verdict(results: RegsResults, method: str, evaluator: str) -> str:
    success = results.get("adversuc", method, evaluator)
    others = {name: results.get("adversuc", name, evaluator) for name in BASELINES}
    if success is None:
        return f"{method}: not measured by {evaluator}."
    parts = [
        f"{_relation(success, other)} {name} ({format_share(other.value)})"
        for name, other in others.items()
        if other is not None
    ]
    text = f"{method}, {evaluator}: AdverSuc {format_share(success.value)}, {' and '.join(parts)}"
    random, before = (
        results.get("machine_vs_random", name, evaluator) for name in (method, BASELINES[0])
    )
    if random is not None and before is not None:
        text += (
            f"; machine-vs-random {format_share(random.value)} "
            f"({_relation(random, before)} {format_share(before.value)})"
        )
    return f"{text}."


def _relation(one: Result, other: Result) -> str:
    """Above or below where the intervals do not overlap; a careful statement otherwise."""
    if one.low > other.high:
        return "above"
    if one.high < other.low:
        return "below"
    return "not clearly different from"


@dataclass(frozen=True)
class Spread:
    """Mean and range of a number over runs."""

    mean: float
    low: float
    high: float
    n: int


def summarise_regs(folders: Sequence[str]) -> tuple[list[Column], dict[str, list[Spread | None]]]:
    """Columns, and for each system the mean and range over runs with several seeds.

    Raises:
        BadInput: A folder has no results.
    """
    runs = [RegsResults.load(Path(folder)) for folder in folders]
    table = columns(runs[0])
    systems = [name for name in runs[0].systems if all(name in run.systems for run in runs)]
    rows: dict[str, list[Spread | None]] = {}
    for system in systems:
        rows[system] = []
        for column in table:
            cells = [cell(run, column, system) for run in runs]
            values = [
                one.value for one in cells if one is not None and finite(one.value) is not None
            ]
            mean = sum(values) / len(values) if values else None
            spread = None if mean is None else Spread(mean, min(values), max(values), len(values))
            rows[system].append(spread)
    return table, rows
