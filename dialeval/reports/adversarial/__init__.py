"""Reports of training with rewards: progress, tables, curves and HTML pages."""

from dialeval.reports.adversarial.html import (
    render_study,
    render_training,
    write_adversarial_report,
    write_regs_report,
)
from dialeval.reports.adversarial.progress import AdversarialProgress
from dialeval.reports.adversarial.table import adversarial_table, regs_summary_table, regs_table

__all__ = [
    "AdversarialProgress",
    "adversarial_table",
    "regs_summary_table",
    "regs_table",
    "render_study",
    "render_training",
    "write_adversarial_report",
    "write_regs_report",
]
