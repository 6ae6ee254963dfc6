"""Robustness in the terminal: verdicts, and tables in the layout of the paper's Tables 2 and 4.

(Niu and Bansal, 2018)
"""

from collections.abc import Callable, Iterable, Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from dialeval.metrics.robustness_results import NORMAL, RobustnessResults
from dialeval.reports.format import (
    NONE,
    detail,
    format_count,
    format_percent,
    format_share,
    one_line,
)
from dialeval.reports.robustness.rows import (
    SIMILARITY,
    TONES,
    describe_system,
    format_effect,
    format_quality,
    format_score_change,
    format_similarity,
    headline,
    notes,
    quality_columns,
    sorted_strategies,
    system_names,
)

_STYLES = {"should_not_change": "", "should_change": "italic"}
_COLOURS = {"good": "green", "noise": "red", "open": "yellow"}
Row = tuple[str, str, str]
"""Name in the first column, strategy, and style."""
FormatCell = Callable[[RobustnessResults, str, str, str], str]


def robustness_tables(results: RobustnessResults) -> list[Table]:
    """All tables: verdicts, Table 2, Table 4, and the evaluators."""
    tables = [verdict_table(results), table_two(results), table_four(results)]
    return tables + ([evaluator_table(results)] if results.evaluator_results else [])


def headlines(results: RobustnessResults) -> list[Text]:
    """Each system in a few sentences."""
    lines = []
    for system in results.systems:
        line = Text(f"{one_line(system.name)}: ", style="bold")
        line.append(one_line(headline(results, system.name)), style="bold")
        more = one_line(" ".join(describe_system(system)))
        lines.append(line.append(f" {more}", style="not bold"))
    return lines


def verdict_table(results: RobustnessResults) -> Table:
    """The effect of each strategy on each system, with its interval and verdict."""
    table = _table("Do replies change where they should, and only there?")
    table.padding = (0, 0)  # names of strategies fit into 80 columns
    for name in ("strategy", "system"):
        table.add_column(name, overflow="fold")
    for name in ("edited", "effect (95 %)", "same", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for strategy in sorted_strategies(results):
        for system in system_names(results):
            verdict = results.verdict(system, strategy.name)
            table.add_row(
                Text(one_line(strategy.name), style=_STYLES[strategy.kind]),
                Text(one_line(system)),
                format_percent(strategy.coverage),
                format_effect(verdict),
                format_percent(verdict.unchanged if verdict else None),
                format_count(verdict.n if verdict else None),
                _verdict(verdict.verdict if verdict else NONE),
            )
    same = "Same: replies unchanged word for word. In italics: should change the reply."
    table.caption = Text("\n".join([*notes(results), same]))
    return table


def _verdict(name: str) -> Text:
    return Text(one_line(name), style=_COLOURS.get(TONES.get(name, ""), ""))


def table_two(results: RobustnessResults) -> Table:
    """Quality of the replies against the reference, as Table 2: one row per strategy."""
    columns = quality_columns(results)
    rows = [("Normal Input", NORMAL, "bold"), *_rows(results)]
    table = _grid(
        "Against the reference (as Table 2 of Niu and Bansal, 2018)",
        results,
        list(columns.values()),
    )
    _fill(table, results, rows, columns, format_quality)
    table.caption = Text(
        "Normal contexts in the first row, perturbed ones below. Times 100, except log p (per "
        "token of the reference). Over all contexts, edited or not. * differs significantly from "
        "Normal Input on the edited ones (p < .05)."
    )
    return table


def table_four(results: RobustnessResults) -> Table:
    """Cosines of contexts and of replies, as Table 4: one row per strategy."""
    heads = [name.replace(" ", "\n") for name in SIMILARITY.values()]
    table = _grid("Similarity (as Table 4 of Niu and Bansal, 2018)", results, heads)
    _fill(table, results, _rows(results), SIMILARITY, format_similarity)
    vectors = ", ".join(f"{one_line(row.name)}: {one_line(row.words)}" for row in results.systems)
    encoder = one_line(results.settings.get("encoder"))
    table.caption = Text(f"Words: means of input embeddings ({vectors}). Sentence: {encoder}.")
    return table


def _grid(title: str, results: RobustnessResults, heads: Sequence[str]) -> Table:
    """An empty table: strategies, systems if there are several, then numbers."""
    table = _table(title)
    table.add_column("strategy", overflow="fold")
    if len(results.systems) > 1:
        table.add_column("system", overflow="fold")
    for head in heads:
        table.add_column(Text(head), justify="right", no_wrap=True)
    return table


def _fill(
    table: Table,
    results: RobustnessResults,
    rows: Sequence[Row],
    metrics: Iterable[str],
    format_cell: FormatCell,
) -> None:
    """Add a row for each strategy and system."""
    systems = system_names(results)
    for head, strategy, style in rows:
        for system in systems:
            names = [Text(one_line(head), style=style)]
            names += [Text(one_line(system))] if len(systems) > 1 else []
            cells = (format_cell(results, metric, system, strategy) for metric in metrics)
            table.add_row(*names, *cells)


def evaluator_table(results: RobustnessResults) -> Table:
    """What strategies do to the scores of the evaluators themselves."""
    changes = results.evaluator_results
    names = list(dict.fromkeys(one_line(change.evaluator) for change in changes))
    only = f" ({names[0]})" if len(names) == 1 else ""
    table = _table(f"The evaluators themselves{only}: human responses, one side perturbed")
    if not only:
        table.add_column("evaluator", overflow="fold")
    for name in ("strategy", "side"):
        table.add_column(name, no_wrap=True)
    for name in ("changed", "score (95 %)", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for change in changes:
        details = change.details
        table.add_row(
            *([] if only else [Text(one_line(change.evaluator))]),
            Text(one_line(details["strategy"]), style=_STYLES[details["kind"]]),
            one_line(details["side"]),
            format_share(detail(change, "decisions_changed")),
            format_score_change(change),
            format_count(change.n),
            _verdict(details["verdict"]),
        )
    table.caption = Text("Changed: share of decisions about the same human responses.")
    return table


def _rows(results: RobustnessResults) -> list[Row]:
    return [(row.name, row.name, _STYLES[row.kind]) for row in sorted_strategies(results)]


def _table(title: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title = Text(title, style="bold")
    table.title_justify = table.caption_justify = "left"
    return table
