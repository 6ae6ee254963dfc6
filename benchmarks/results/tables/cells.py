"""Cells of tables from typed results."""

from collections.abc import Iterable

from benchmarks.results.store import Cell, Number
from dialeval.metrics.results import Result

LONG = ["metric", "system", "evaluator", "value", "n"]
"""Columns of a table with one number per row."""


def number(result: Result | None) -> Number | None:
    """The value with its interval; nothing where there is no result."""
    if result is None:
        return None
    known = result.low == result.low and result.high == result.high  # not NaN
    bounds = (float(result.low), float(result.high)) if known else (None, None)
    return Number(float(result.value), *bounds, int(result.n))


def p_cell(value: float | None) -> Cell:
    """A p-value, which is never 0.

    Examples:
        >>> p_cell(0.00002), p_cell(0.25)
        ('< .001', '.250')
    """
    if value is None:
        return None
    return "< .001" if value < 0.001 else f"{value:.3f}".replace("0.", ".", 1)


def long_rows(results: Iterable[Result], metrics: Iterable[str] = ()) -> list[list[Cell]]:
    """One row per result whose metric is named; without names all of them."""
    wanted = set(metrics)
    return [
        [row.metric, row.system, row.evaluator, number(row), f"{row.n:,}"]
        for row in results
        if not wanted or row.metric in wanted
    ]
