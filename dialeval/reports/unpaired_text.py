"""An unpaired evaluation as text for documents: Markdown, and LaTeX with booktabs."""

from dialeval.metrics.unpaired_results import UnpairedResults
from dialeval.reports.evaluation.text import escape_latex, escape_markdown
from dialeval.reports.unpaired import METRICS, NOTE, measured, table_rows


def to_markdown(results: UnpairedResults) -> str:
    """Verdicts and all accuracies in Markdown, with the signature below."""
    metrics = measured(results)
    heads = ["system", "evaluator", *(METRICS[metric] for metric in metrics)]
    table = [heads, ["---", "---", *("---:" for _ in metrics)]]
    table += [[escape_markdown(cell) for cell in row] for row in table_rows(results, metrics)]
    verdicts = [
        f"- **{escape_markdown(verdict.system)}**: **{verdict.verdict}**. "
        f"{escape_markdown(verdict.text)}"
        for verdict in results.verdicts
    ]
    lines = [*verdicts, "", *(f"| {' | '.join(cells)} |" for cells in table), "", NOTE, ""]
    return "\n".join([*lines, f"Signature: {escape_markdown(results.signature)}"]) + "\n"


def to_latex(results: UnpairedResults) -> str:
    """All accuracies in LaTeX for the package booktabs, with the signature below."""
    metrics = measured(results)
    heads = ["system", "evaluator", *(METRICS[metric] for metric in metrics)]
    rows = [heads, *table_rows(results, metrics)]
    lines = [" & ".join(map(escape_latex, row)) + r" \\" for row in rows]
    return "\n".join([
        r"\begin{table*}", r"\centering\small", rf"\begin{{tabular}}{{ll{'r' * len(metrics)}}}",
        r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}",
        r"\par\smallskip\raggedright\footnotesize", escape_latex(NOTE),
        rf"\par Signature: \texttt{{{escape_latex(results.signature)}}}", r"\end{table*}", "",
    ])  # fmt: skip
