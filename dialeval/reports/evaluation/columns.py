"""The columns of the table of an evaluation, and how to read them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dialeval.metrics.results import SECOND_HUMAN, Result
from dialeval.reports.evaluation.rows import (
    SCENARIOS,
    UPPER_BOUND,
    Row,
    accuracy_bounds,
    bounds_of,
    error_above_blind,
    only_reliability,
    response_only_accuracy,
    scenarios_of,
    value_of,
)
from dialeval.reports.format import (
    NONE,
    detail,
    format_count,
    format_interval,
    format_p_value,
    format_percent,
    format_share,
    format_signed,
)

READING = (
    "Accuracy: how often the evaluator is right; 50 % is chance. AdverSuc: 1 − accuracy.",
    "Relevance: 0 as random replies, 1 as human ones. ERE (reliability error): 0 is perfect, "
    "{guess} a random guess.",
    "95 %: interval of this accuracy alone; a headline's holds for all evaluators at once.",
)
READING_ERE = (
    "Each scenario: AdverSuc and its deviation from the known value (.5, .5, 0, 0). ERE is the "
    "mean absolute deviation: 0 for a perfect evaluator, {guess} for a random guess. Intervals are "
    "conditional on the trained evaluators.",
)
_COLUMN_NOTES = {
    "context gain": "Response only, context gain: machine-vs-random by the same evaluator trained "
    "without the context, and what reading it adds.",
    "ERE above response only": "Above response: ERE above what next turns reveal without a "
    "context.",
    "noise floor": "The noise floor is the ERE of a perfect evaluator by chance on as many "
    "responses.",
}
_UNCERTAIN_P = (
    "p: one test on a held-out half of the dialogues; where it contradicts the interval, the other "
    "half was too little to learn from."
)
TRANSFER = (
    "By transfer: the evaluator is applied as it is, not retrained for each scenario. This is "
    "another quantity, not comparable with ERE."
)
THREE_SCENARIOS = (
    "ERE marked 3: over three scenarios, as the data have no next turns; a random guess is .167."
)
_ALPHA = 0.05
BY_HUMAN = f"{SECOND_HUMAN}: not a system, but the responses of another human, for comparison."


@dataclass(frozen=True)
class Column:
    """A column of the table.

    Args:
        name (`str`):
            Its full name.
        head (`str`):
            Its header in short lines.
        term (`str`):
            Its entry in the glossary.
        cell (`Callable[[Row], str]`):
            What a row has in it.
    """

    name: str
    head: str
    term: str
    cell: Callable[[Row], str]


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """The columns that these rows need; errors by transfer have their own."""
    modes = {row.by_transfer for row in rows if row.ere} or {False}
    errors = [column for mode, column in _ERE_COLUMNS.items() if mode in modes]
    if only_reliability(rows):
        return [*errors, *_RELIABILITY_COLUMNS]
    return [*_FIRST_COLUMNS, *errors, *_LAST_COLUMNS]


def notes_of(rows: Sequence[Row], columns: Sequence[Column] | None = None) -> list[str]:
    """How to read the table: only what these rows and columns need."""
    lines = READING_ERE if only_reliability(rows) else READING
    reading = [line.format(guess=ere_of_guess(rows)) for line in lines]
    shown = [column.name for column in (columns_of(rows) if columns is None else columns)]
    reading += [note for name, note in _COLUMN_NOTES.items() if name in shown]
    reading += [_UNCERTAIN_P] if any(map(_is_contradicted, rows)) else []
    bound = [f"≤: {UPPER_BOUND}."] if any(row.upper_bound for row in rows) else []
    transfer = [TRANSFER] if any(row.by_transfer for row in rows) else []
    transfer += [THREE_SCENARIOS] if any(row.three_scenarios for row in rows) else []
    human = [BY_HUMAN] if any(row.system == SECOND_HUMAN for row in rows) else []
    return [*reading, *bound, *transfer, *human]


def _is_contradicted(row: Row) -> bool:
    """Whether the p-value detects no difference, where the interval of the accuracy does."""
    low, _ = accuracy_bounds(row.adversuc)
    p_value = detail(row.adversuc, "p_value")
    return low is not None and p_value is not None and low > 0.5 and p_value > _ALPHA


def ere_of_guess(rows: Sequence[Row]) -> str:
    """The ERE of a random guess, by the scenarios that these rows have."""
    measured = [row for row in rows if row.ere is not None]
    all_three = bool(measured) and all(row.three_scenarios for row in measured)
    return ".167" if all_three else ".25"


def accuracy_interval(row: Row) -> str:
    """The interval of the accuracy in per cent."""
    low, high = accuracy_bounds(row.adversuc)
    return NONE if low is None or high is None else f"{100 * low:.0f}–{100 * high:.0f} %"


def _adversuc(row: Row) -> str:
    return ("≤ " if row.upper_bound else "") + format_share(value_of(row.adversuc))


def _accuracy(row: Row) -> str:
    value = value_of(row.adversuc)
    return NONE if value is None else format_percent(1 - value)


def _ere(row: Row, by_transfer: bool) -> str:
    if row.by_transfer != by_transfer:
        return NONE
    return format_share(value_of(row.ere)) + (" (3)" if row.three_scenarios else "")


def _count(result: Result | None) -> str:
    return NONE if result is None else format_count(result.n)


def _scenario_column(name: str) -> Column:
    def cell(row: Row) -> str:
        scenario = scenarios_of(row.ere)[name]
        if scenario.adversuc is None:
            return NONE
        return f"{format_share(scenario.adversuc)}\n{format_signed(scenario.deviation)}"

    return Column(*SCENARIOS[name], "ere", cell)


_FIRST_COLUMNS = (
    Column("accuracy", "accu-\nracy", "accuracy", _accuracy),
    Column("95 %", "95 %", "clustered-interval", accuracy_interval),
    Column("AdverSuc", "AdverSuc", "adversuc", _adversuc),
    Column("n", "n", "n", lambda row: _count(row.adversuc)),
    Column("machine-vs-random", "machine/\nrandom", "machine-vs-random",
           lambda row: format_share(value_of(row.machine))),
    Column("response only", "response\nonly", "response-only",
           lambda row: format_share(response_only_accuracy(row.machine))),
    Column("context gain", "context\ngain", "context-gain",
           lambda row: format_signed(detail(row.machine, "gap"))),
    Column("human-vs-random", "human/\nrandom", "human-vs-random",
           lambda row: format_share(value_of(row.control))),
    Column("relevance", "rele-\nvance", "relevance",
           lambda row: format_share(value_of(row.relevance), 2)),
)  # fmt: skip
_ERE_COLUMNS = {
    False: Column("ERE", "ERE", "ere", lambda row: _ere(row, False)),
    True: Column("ERE (transfer)", "ERE by\ntransfer", "ere-transfer", lambda row: _ere(row, True)),
}
_LAST_COLUMNS = (
    Column("AUROC", "AUROC", "auroc", lambda row: format_share(detail(row.adversuc, "auroc"))),
    Column("p-value", "p", "p-value",
           lambda row: format_p_value(detail(row.adversuc, "p_value"))),
)  # fmt: skip
_RELIABILITY_COLUMNS = (
    Column("95 %", "95 %", "clustered-interval", lambda row: format_interval(*bounds_of(row.ere))),
    Column("ERE above response only", "above\nresponse", "ere",
           lambda row: format_share(error_above_blind(row.ere))),
    Column("noise floor", "noise\nfloor", "noise-floor",
           lambda row: format_share(detail(row.ere, "noise_floor"))),
    Column("n", "n", "n", lambda row: _count(row.ere)),
    *map(_scenario_column, SCENARIOS),
)  # fmt: skip
