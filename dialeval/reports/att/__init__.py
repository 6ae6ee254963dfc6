"""Reports of the attack-defence game: terminal tables, progress, one HTML page, several seeds."""

from dialeval.reports.att.html import load_game, render_report, write_att_report
from dialeval.reports.att.progress import GameProgress
from dialeval.reports.att.summary import GameSummary, load_summary, summarise, write_att_summary
from dialeval.reports.att.table import att_summary_table, att_table, held_out_table

__all__ = [
    "GameProgress",
    "GameSummary",
    "att_summary_table",
    "att_table",
    "held_out_table",
    "load_game",
    "load_summary",
    "render_report",
    "summarise",
    "write_att_report",
    "write_att_summary",
]
