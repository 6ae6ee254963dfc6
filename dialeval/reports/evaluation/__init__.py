"""Reports of an evaluation: tables for the terminal, Markdown and LaTeX, and an HTML page."""

from dialeval.reports.evaluation.html import notebook_html, render_report, write_report
from dialeval.reports.evaluation.table import evaluation_table, print_evaluation, to_text
from dialeval.reports.evaluation.terminal import headline_lines, warning_lines
from dialeval.reports.evaluation.text import to_latex, to_markdown

__all__ = [
    "evaluation_table",
    "headline_lines",
    "notebook_html",
    "print_evaluation",
    "render_report",
    "to_latex",
    "to_markdown",
    "to_text",
    "warning_lines",
    "write_report",
]
