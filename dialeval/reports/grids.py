"""A table of texts in the terminal, in Markdown, and in LaTeX with booktabs."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich import box
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from dialeval.reports.evaluation.text import escape_latex, escape_markdown
from dialeval.reports.format import one_line

_FEW, _WORD = 6, 16
"""Columns up to which they stand apart; the longest word that is never broken."""


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first column has names, the others numbers.

    Args:
        title (`str`):
            Its title.
        heads (`tuple[str, ...]`):
            Heads of the columns.
        rows (`tuple[tuple[str, ...], ...]`):
            Cells of the rows.
        caption (`str`, *optional*):
            How to read it.
    """

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


def rich_table(grid: Grid) -> Table:
    """The table for a terminal."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title, table.caption = Text(grid.title, style="bold"), Text(grid.caption)
    table.title_justify = table.caption_justify = "left"
    if len(grid.heads) > _FEW:
        table.padding = (0, 0)
    for number, head in enumerate(grid.heads):
        words = " ".join([head, *(row[number] for row in grid.rows)]).split()
        least = min(max(map(len, words), default=0), _WORD)  # no shorter word is broken
        justify: JustifyMethod = "right" if number else "left"
        table.add_column(head, justify=justify, overflow="fold", min_width=least)
    for row in grid.rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


def grids_markdown(grids: Sequence[Grid], signature: str = "") -> str:
    """Tables in Markdown, one after the other, and the signature."""
    lines: list[str] = []
    for grid in grids:
        marks = ("---", *("---:" for _ in grid.heads[1:]))
        heads = tuple(map(escape_markdown, grid.heads))
        rows = [tuple(map(escape_markdown, row)) for row in grid.rows]
        lines += [f"**{escape_markdown(grid.title)}**", ""]
        lines += [f"| {' | '.join(cells)} |" for cells in (heads, marks, *rows)]
        lines += ["", *([escape_markdown(grid.caption), ""] if grid.caption else [])]
    lines += [f"Signature: {escape_markdown(signature)}", ""] if signature else []
    return "\n".join(lines)


def grids_latex(grids: Sequence[Grid], signature: str = "") -> str:
    """Tables in LaTeX for the package booktabs, and the signature as a comment."""
    parts = [_latex(grid) for grid in grids]
    return "\n".join([*parts, f"% {one_line(signature)}" if signature else "", ""])


def _latex(grid: Grid) -> str:
    lines = [" & ".join(map(escape_latex, row)) + r" \\" for row in grid.rows]
    return "\n".join([
        r"\begin{table*}", r"\centering\small",
        rf"\begin{{tabular}}{{l{'r' * (len(grid.heads) - 1)}}}", r"\toprule",
        " & ".join(map(escape_latex, grid.heads)) + r" \\", r"\midrule", *lines,
        r"\bottomrule", r"\end{tabular}",
        rf"\caption{{{escape_latex(grid.title)}. {escape_latex(grid.caption)}}}",
        r"\end{table*}",
    ])  # fmt: skip
