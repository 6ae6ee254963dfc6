"""Reports of an evaluation: tables for the terminal, Markdown and LaTeX, and an HTML page."""

from dialeval.reports.evaluation.html import notebook_html, render_report, write_report
from dialeval.reports.evaluation.table import evaluation_table, to_text
from dialeval.reports.evaluation.terminal import headline_lines, unmentioned_warnings
from dialeval.reports.evaluation.text import to_latex, to_markdown

__all__ = [
    "evaluation_table",
    "headline_lines",
    "notebook_html",
    "render_report",
    "to_latex",
    "to_markdown",
    "to_text",
    "unmentioned_warnings",
    "write_report",
]
