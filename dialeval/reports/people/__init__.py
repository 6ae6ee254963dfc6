"""Human judgements for people to read: tables for the terminal, and a page."""

from dialeval.reports.people.html import render_judgements, write_judgement_report
from dialeval.reports.people.table import judgement_tables

__all__ = ["judgement_tables", "render_judgements", "write_judgement_report"]
