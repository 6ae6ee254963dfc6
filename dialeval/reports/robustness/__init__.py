"""Reports of a robustness run: terminal tables and one HTML page (Niu and Bansal, 2018)."""

from dialeval.reports.robustness.html import (
    load_robustness,
    render_report,
    write_robustness_report,
)
from dialeval.reports.robustness.table import headlines, robustness_tables

__all__ = [
    "headlines",
    "load_robustness",
    "render_report",
    "robustness_tables",
    "write_robustness_report",
]
