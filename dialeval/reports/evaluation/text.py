"""An evaluation as text for documents: Markdown, and LaTeX with booktabs."""

import re
from typing import Any

from dialeval.metrics.results import RunResults
from dialeval.reports.evaluation.columns import Column, columns_of, notes_of
from dialeval.reports.evaluation.rows import (
    Row,
    as_evaluation,
    headline_verdicts,
    rows_of,
    verdict_phrase,
    verdict_sentences,
)
from dialeval.reports.format import NONE, one_line

_LATEX = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*"},  # `\\[` and `\\*` would be commands
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}"},
    **{"–": "--", "−": "$-$", "≤": r"$\le$", "…": r"\ldots{}", "-": "-{}"},
}


def to_markdown(results: RunResults) -> str:
    """The verdicts and the table in Markdown, with the signature as a footnote."""
    results = as_evaluation(results)
    rows = rows_of(results)
    columns = columns_of(rows)
    lines = [_markdown_verdict(verdict) for verdict in headline_verdicts(results).values()]
    heads = ["system", "evaluator", *(column.name for column in columns)]
    heads[2] += "[^signature]"
    table = [heads, ["---", "---", *("---:" for _ in columns)]]
    table += [_markdown_cells(row, columns) for row in rows]
    lines += ["", *(f"| {' | '.join(cells)} |" for cells in table), ""]
    lines += [" ".join(notes_of(rows)), "", f"[^signature]: {_code(results.signature)}"]
    return "\n".join(lines).lstrip("\n") + "\n"


def _markdown_verdict(verdict: Any) -> str:
    texts = (verdict.system, verdict_phrase(verdict.verdict), verdict_sentences(verdict))
    system, phrase, text = map(escape_markdown, texts)
    return f"- **{system}**: **{phrase}**. {text}".rstrip()


def _markdown_cells(row: Row, columns: list[Column]) -> list[str]:
    mark = "*" if row.reference else ""
    names = (f"{mark}{escape_markdown(name)}{mark}" for name in (row.system, row.label))
    return [*names, *(escape_markdown(column.cell(row)) for column in columns)]


def escape_markdown(text: Any) -> str:
    """A text in which nothing is read as Markdown or HTML."""
    escaped = re.sub(r"([\\`*_\[\]|~$])", r"\\\1", one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _code(text: Any) -> str:
    """A text as code, in a fence longer than any inside it."""
    line = one_line(text) or NONE
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"


def to_latex(results: RunResults) -> str:
    """The table in LaTeX for the package booktabs, with the signature as a note below it."""
    results = as_evaluation(results)
    rows = rows_of(results)
    columns = columns_of(rows)
    heads = ["system", "evaluator", *(_stacked(column.head) for column in columns)]
    signature = escape_latex(results.signature or NONE)
    signature = signature.replace(r"\textbar{}", r"\textbar{}\allowbreak{}")
    return "\n".join([
        r"\begin{table*}", r"\centering\small", rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}",
        r"\toprule", " & ".join(heads) + r" \\", r"\midrule", *_latex_rows(rows, columns),
        r"\bottomrule", r"\end{tabular}", r"\par\smallskip\raggedright\footnotesize",
        escape_latex(" ".join(notes_of(rows))), rf"\par Signature: \texttt{{{signature}}}",
        r"\end{table*}", "",
    ])  # fmt: skip


def _latex_rows(rows: list[Row], columns: list[Column]) -> list[str]:
    lines, previous = [], None
    for row in rows:
        if previous is not None and row.system != previous:
            lines.append(r"\addlinespace")
        names = [row.system if row.system != previous else "", row.label]
        form = r"\textit{%s}" if row.reference else "%s"
        cells = [form % escape_latex(name) if name else "" for name in names]
        cells += [escape_latex(column.cell(row)) for column in columns]
        lines.append(" & ".join(cells) + r" \\")
        previous = row.system
    return lines


def escape_latex(text: Any) -> str:
    r"""A text in which nothing is a command.

    Examples:
        >>> escape_latex("50 % & a_b"), escape_latex("[x]")
        ('50 \\% \\& a\\_b', '{[}x{]}')
    """
    signs = re.compile(r"-(?=-)|[^\w\s-]|_")  # of hyphens only those that would become a dash
    return signs.sub(lambda sign: _LATEX.get(sign[0], sign[0]), one_line(text))


def _stacked(head: str) -> str:
    lines = r"\\".join(escape_latex(line) for line in head.split("\n"))
    return rf"\shortstack[r]{{{lines}}}" if "\n" in head else lines
