"""Tables of the attack-defence game for the terminal."""

from collections.abc import Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from dialeval.metrics.game_results import GameResults
from dialeval.metrics.results import Result
from dialeval.reports.att.rows import (
    LOWEST,
    MEAN,
    Grid,
    held_out,
    over_attackers,
    table_two,
    verdict_sentences,
)
from dialeval.reports.att.summary import GameSummary, Spread
from dialeval.reports.format import NONE, format_interval, format_share, one_line

Cell = tuple[float | None, str]  # a number and the text below it


def att_table(results: GameResults) -> Table:
    """Table 2: the accuracy of each defender on each attacker, with its interval."""
    grid = table_two(results)
    table = _table(
        "Accuracy of the defenders (Table 2 of Gao et al., 2021)", grid.defenders, _rows(grid)
    )
    table.caption = Text("\n".join(map(one_line, verdict_sentences(results))))
    return table


def held_out_table(results: GameResults) -> Table:
    """The accuracy of each frozen defender on attackers that were trained after the games."""
    grid = held_out(results)
    rows, over = _rows(grid), over_attackers(results)
    if rows:
        rows += [(name, [_cell(over[name].get(defender)) for defender in grid.defenders])
                 for name in (LOWEST, MEAN)]  # fmt: skip
    return _table("Fresh attackers on frozen defenders", grid.defenders, rows, last=2)


def att_summary_table(summary: GameSummary) -> Table:
    """Table 2 and held-out accuracy over several runs: the mean, and the range below it."""
    rows = [
        (name, [_spread(spreads.get(defender)) for defender in summary.defenders])
        for part in (summary.table, summary.held_out)
        for name, spreads in part.items()
    ]
    title = f"Accuracy of the defenders, mean and range of {summary.runs} runs"
    table = _table(title, summary.defenders, rows, last=len(summary.held_out))
    table.caption = Text("\n".join(one_line(sentence) for sentence in summary.verdict))
    return table


def _rows(grid: Grid) -> list[tuple[str, list[Cell]]]:
    return [
        (name, [_cell(grid.cell(name, defender)) for defender in grid.defenders])
        for name in grid.attackers
    ]


def _cell(result: Result | None) -> Cell:
    if result is None:
        return None, ""
    return result.value, format_interval(result.low, result.high).strip(NONE)


def _spread(spread: Spread | None) -> Cell:
    if spread is None:
        return None, ""
    return spread.mean, format_interval(spread.low, spread.high)


def _table(
    title: str, heads: Sequence[str], rows: Iterable[tuple[str, list[Cell]]], last: int = 0
) -> Table:
    """Attackers by defenders, the best of a row bold; a line separates the last rows."""
    rows = list(rows)
    table = Table(box=box.SIMPLE_HEAD, title=title, show_edge=False)
    table.title_justify = table.caption_justify = "left"
    table.add_column("attacker", overflow="fold", min_width=11)  # keeps "Adversarial" whole
    for head in heads:
        table.add_column(Text(one_line(head)), justify="right", no_wrap=True)
    for index, (name, cells) in enumerate(rows):
        if last and index == len(rows) - last:
            table.add_section()
        best = max((value for value, _ in cells if value is not None), default=None)
        texts = (_text(value, below, value == best) for value, below in cells)
        table.add_row(Text(one_line(name)), *texts)
    return table


def _text(value: float | None, below: str, best: bool) -> Text:
    text = Text(format_share(value), style="bold" if value is not None and best else "")
    return text.append(f"\n{below}", style="not bold dim") if below else text
