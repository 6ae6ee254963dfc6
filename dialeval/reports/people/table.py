"""Human judgements for the terminal."""

from collections.abc import Iterator

from rich import box
from rich.cells import cell_len
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.metrics.judgement_results import JudgementResults
from dialeval.reports.format import plural
from dialeval.reports.people import rows
from dialeval.reports.sections import TableView

MOST_ANNOTATORS = 12
MOST_GAPS = 12
_MANY = 9
"""Columns that stand closer to each other."""
_WORD = 16
"""Longest word that makes its column wider."""


def judgement_tables(results: JudgementResults) -> list[RenderableType]:
    """Every table of a study, the main ones first."""
    lead = (
        f"{plural(results.n_judgements, 'judgement')} about {plural(results.n_items, 'item')} by "
        f"{plural(len(results.annotators), 'annotator')}"
    )
    parts: list[RenderableType] = [Text(lead), Text(rows.answer_title(results), style="bold")]
    parts += map(Text, rows.answer_lines(results))
    for view in _views(results):
        if view.rows:
            parts += [Text(""), as_table(view)]
    return parts


def _views(results: JudgementResults) -> Iterator[TableView]:
    yield rows.agreement_view(results)
    yield from rows.detection_views(results)
    yield rows.pairs_view(results)
    yield rows.preference_view(results)
    yield from rows.ranking_views(results)
    yield from rows.correlation_views(results)
    for view in rows.gap_views(results):
        if len(view.rows) <= MOST_GAPS:
            yield view
    yield rows.annotator_view(results, MOST_ANNOTATORS)
    yield rows.plan_view(results.plans)


def as_table(view: TableView) -> Table:
    """A table of a page for the terminal."""
    gap = 1 if len(view.heads) < _MANY else 0
    table = Table(box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0), show_edge=False)
    table.title, table.title_justify = Text(view.caption, style="bold"), "left"
    for index, head in enumerate(view.heads):
        name = head if isinstance(head, str) else head[0]
        right = index > 0 and index not in view.text
        words = [word for text in (name, *(str(row[index]) for row in view.rows))
                 for word in text.split()]  # fmt: skip
        least = max(map(cell_len, words), default=0)  # no word of it is broken
        table.add_column(
            Text(name), justify="right" if right else "left", overflow="fold",
            min_width=min(least, _WORD),
        )  # fmt: skip
    for row in view.rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    return table
