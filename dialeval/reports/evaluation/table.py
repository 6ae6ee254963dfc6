"""An evaluation on the terminal: the answer about each system, and the table."""

from collections.abc import Sequence
from io import StringIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dialeval.metrics.results import RunResults
from dialeval.reports.evaluation.columns import Column, columns_of, notes_of
from dialeval.reports.evaluation.rows import (
    Row,
    as_evaluation,
    only_reliability,
    rows_of,
)
from dialeval.reports.evaluation.terminal import headline_lines
from dialeval.reports.format import NONE, one_line

FULL_WIDTH = 112
"""Characters that all columns need; a narrower terminal shows fewer columns."""
_LEFT_OUT = {FULL_WIDTH: ("AUROC", "response only"), 100: ("n", "context gain")}
_LEFT_OUT_OF_RELIABILITY = {100: ("n", "noise floor")}
"""Below this width, these columns are left out."""


def evaluation_table(results: RunResults, width: int = 100) -> Table:
    """The evaluation for the terminal: one system after the other, reference rows dimmed.

    Args:
        results (`RunResults`):
            Results of an evaluation or of a reliability run.
        width (`int`, *optional*, defaults to 100):
            Width of the terminal; a narrow one gets fewer columns, but always names, accuracy and
            AdverSuc.

    Returns:
        `Table`: To be printed with rich.
    """
    results = as_evaluation(results)
    rows = rows_of(results)
    columns = _fitting_columns(rows, width)
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.title = "Reliability" if only_reliability(rows) else "Evaluation"
    table.title_justify = table.caption_justify = "left"
    table.add_column("system", overflow="fold", min_width=6)
    table.add_column("evaluator", overflow="fold", min_width=9)
    for column in columns:
        table.add_column(column.head, justify="right", no_wrap=True)
    _add_rows(table, rows, columns)
    table.caption = Text("\n".join(notes_of(rows, columns)))
    return table


def _fitting_columns(rows: Sequence[Row], width: int) -> list[Column]:
    columns = [
        column for column in columns_of(rows) if any(column.cell(row) != NONE for row in rows)
    ]
    limits = _LEFT_OUT_OF_RELIABILITY if only_reliability(rows) else _LEFT_OUT
    left_out = [name for limit, names in limits.items() if width < limit for name in names]
    return [column for column in columns if column.name not in left_out]


def _add_rows(table: Table, rows: Sequence[Row], columns: Sequence[Column]) -> None:
    """One row each, the name of a system only in its first, a line between systems."""
    previous = None
    for row in rows:
        if previous is not None and row.system != previous:
            table.add_section()
        system = Text(one_line(row.system) if row.system != previous else "", style="bold")
        cells = [column.cell(row).removesuffix(" %") if column.name == "95 %" else column.cell(row)
                 for column in columns]  # fmt: skip
        style = "dim" if row.reference else ""
        table.add_row(system, Text(one_line(row.label)), *cells, style=style)
        previous = row.system


def to_text(results: RunResults, width: int = 100) -> str:
    """The verdicts and the table as plain text: what `print(results)` shows."""
    page = StringIO()
    console = Console(file=page, width=width, color_system=None)
    print_evaluation(results, console)
    return page.getvalue().rstrip("\n")


def print_evaluation(results: RunResults, console: Console) -> None:
    """Print five lines per system, the table, and the signature once, in one line to copy."""
    for line in headline_lines(results, console.width):
        console.print(line, soft_wrap=True)
    console.print(evaluation_table(results, console.width))
    if results.signature:
        console.print(Text(one_line(results.signature), style="dim"), soft_wrap=True)
