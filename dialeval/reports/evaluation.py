"""An evaluation for people: its table for the terminal, in Markdown and in LaTeX."""

import re
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from dialeval.reports.evaluation_rows import (
    NONE,
    columns,
    headlines,
    notes,
    one_line,
    only_reliability,
    rows,
)

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*"},  # `\\[` and `\\*` would be commands
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}"},
    **{"–": "--", "−": "$-$", "≤": r"$\le$", "…": r"\ldots{}", "-": "-{}"},
}


NARROW = 100
"""Characters below which a terminal has no room for everything."""
_SPARED = ("response only", "AUROC", "n")


def evaluation_table(told: Mapping[str, Any], width: int = NARROW) -> Table:
    """The evaluation for the terminal: systems one after the other, reference rows dimmed.

    Args:
        width (`int`, *optional*, defaults to 100):
            Of the terminal; a narrow one is spared some columns, but never names or AdverSuc.
    """
    found = rows(told)
    shown = columns(found)
    if width < NARROW and not only_reliability(found):
        shown = [column for column in shown if column.name not in _SPARED]
    table = Table(box=box.SIMPLE_HEAD, padding=0, show_edge=False)
    table.title = "Reliability" if only_reliability(found) else "Evaluation"
    table.title_justify = table.caption_justify = "left"
    table.add_column("system", overflow="fold", min_width=6)
    table.add_column("evaluator", overflow="fold", min_width=9)
    for column in shown:
        table.add_column(column.head, justify="right", no_wrap=True)
    last = None
    for row in found:
        if last is not None and row.system != last:
            table.add_section()
        system = Text(one_line(row.system) if row.system != last else "", style="bold")
        cells = [column.cell(row) for column in shown]
        style = "dim" if row.reference else ""
        table.add_row(system, Text(one_line(row.evaluator)), *cells, style=style)
        last = row.system
    told_by = [*notes(found), one_line(told.get("signature"))]
    table.caption = Text("\n".join(each for each in told_by if each))
    return table


def verdict_lines(told: Mapping[str, Any]) -> list[Text]:
    """The headline of each system for the terminal."""
    lines = []
    for each in headlines(told).values():
        line = Text(one_line(each.get("system")), style="bold")
        line.append(f": {one_line(each.get('verdict'))}. ", style="bold")
        lines.append(line.append(one_line(each.get("text")), style="not bold"))
    return lines


def to_markdown(told: Mapping[str, Any]) -> str:
    """The verdicts and the table in Markdown, the signature as its footnote."""
    found = rows(told)
    shown = columns(found)
    lines = [
        f"- **{_markdown(each.get('system'))}: {_markdown(each.get('verdict'))}**"
        f" ({_markdown(each.get('evaluator'))}). {_markdown(each.get('text'))}".rstrip()
        for each in headlines(told).values()
    ]
    heads = ["system", "evaluator", *(column.name for column in shown)]
    heads[2] += "[^signature]"
    table = [heads, ["---", "---", *("---:" for _ in shown)]]
    for row in found:
        names = [_markdown(row.system), _markdown(row.evaluator)]
        mark = "*" if row.reference else ""
        table.append(
            [*(f"{mark}{name}{mark}" for name in names), *(_markdown(c.cell(row)) for c in shown)]
        )
    lines += ["", *(f"| {' | '.join(cells)} |" for cells in table), "", " ".join(notes(found)), ""]
    lines.append(f"[^signature]: {_code(told.get('signature'))}")
    return "\n".join(lines).lstrip("\n") + "\n"


def _markdown(text: Any) -> str:
    """A text in which nothing is Markdown or HTML."""
    escaped = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: Any) -> str:
    """A text as code, in a fence longer than any within."""
    line = one_line(text) or NONE
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"


def to_latex(told: Mapping[str, Any]) -> str:
    """The table in LaTeX for the package booktabs, the signature as a note below it."""
    found = rows(told)
    shown = columns(found)
    body, last = [], None
    for row in found:
        if last is not None and row.system != last:
            body.append(r"\addlinespace")
        names = [row.system if row.system != last else "", row.evaluator]
        form = r"\textit{%s}" if row.reference else "%s"
        cells = [form % latex(name) if name else "" for name in names]
        body.append(" & ".join([*cells, *(latex(column.cell(row)) for column in shown)]) + r" \\")
        last = row.system
    heads = ["system", "evaluator", *(_stacked(column.head) for column in shown)]
    signature = latex(told.get("signature") or NONE).replace(
        r"\textbar{}", r"\textbar{}\allowbreak{}"
    )
    return "\n".join([
        r"\begin{table*}", r"\centering\small", rf"\begin{{tabular}}{{ll{'r' * len(shown)}}}",
        r"\toprule", " & ".join(heads) + r" \\", r"\midrule", *body, r"\bottomrule",
        r"\end{tabular}", r"\par\smallskip\raggedright\footnotesize",
        latex(" ".join(notes(found))), rf"\par Signature: \texttt{{{signature}}}",
        r"\end{table*}", "",
    ])  # fmt: skip


def latex(text: Any) -> str:
    r"""A text in which nothing is a command.

    Example:
        >>> latex("50 % & a_b"), latex("[x]")
        ('50 \\% \\& a\\_b', '{[}x{]}')
    """
    signs = re.compile(r"-(?=-)|[^\w\s-]|_")  # of hyphens only those that would become a dash
    return signs.sub(lambda sign: _LATEX.get(sign[0], sign[0]), one_line(text))


def _stacked(head: str) -> str:
    lines = r"\\".join(latex(line) for line in head.split("\n"))
    return rf"\shortstack[r]{{{lines}}}" if "\n" in head else lines
