"""An analysis of a discriminator for the terminal."""

from dataclasses import replace

from rich.console import RenderableType
from rich.text import Text

from dialeval.metrics.analysis_results import AnalysisResults
from dialeval.reports.analysis import rows
from dialeval.reports.people.table import as_table

MOST_FEATURES = 12


def analysis_tables(results: AnalysisResults) -> list[RenderableType]:
    """The numbers, where it errs, and what distinguishes the sides; the rest is in the page."""
    views = [rows.numbers_view(results), rows.cosine_view(results), rows.attention_view(results)]
    views += [view for view in rows.bin_views(results) if "length" in view.caption]
    for view in rows.feature_views(results):
        short = [row[:-1] for row in view.rows[:MOST_FEATURES]]
        views.append(replace(view, rows=short, heads=view.heads[:-1], text=(1, 2)))
    views.append(rows.ranking_view(results))
    parts: list[RenderableType] = []
    for view in views:
        if view.rows:
            parts += [as_table(view), Text("")]
    return parts
