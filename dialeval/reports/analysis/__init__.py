"""An analysis of a discriminator for people to read: tables for the terminal, and a page."""

from dialeval.reports.analysis.html import render_analysis, write_analysis_report
from dialeval.reports.analysis.table import analysis_tables

__all__ = ["analysis_tables", "render_analysis", "write_analysis_report"]
