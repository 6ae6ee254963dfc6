"""Robustness for people: verdicts, and tables laid out as the paper's Tables 2 and 4.

(Niu and Bansal, 2018)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from dialeval.reports.evaluation_rows import NONE, between, count, number, one_line, share, signed
from dialeval.reports.robustness_rows import (
    LIKENESS,
    NORMAL,
    Index,
    effect_words,
    floor_words,
    headline,
    near,
    notes,
    selectivity_words,
    worth,
)

_STYLES = {"should_not_change": "", "should_change": "italic"}
_COLOURS = {
    "holds still": "green", "moves as it must": "green", "moves too much": "red",
    "does not move": "red", "inconclusive": "yellow",
}  # fmt: skip


def robustness_tables(told: Mapping[str, Any]) -> list[Table]:
    """Everything for the terminal: verdicts, Table 2, Table 4, and the evaluators."""
    tables = [verdict_table(told), table_two(told), table_four(told)]
    return tables + ([judge_table(told)] if Index(told).judges else [])


def headlines(told: Mapping[str, Any]) -> list[Text]:
    """Each system in a few sentences."""
    index, lines = Index(told), []
    for system in told.get("systems") or ():
        line = Text(f"{one_line(system['name'])}: ", style="bold")
        line.append(one_line(headline(index, system["name"])), style="bold")
        more = " ".join(filter(None, (selectivity_words(system), floor_words(system))))
        lines.append(line.append(f" {one_line(more)}", style="not bold"))
    return lines


def verdict_table(told: Mapping[str, Any]) -> Table:
    """What each strategy does to each system, with its interval and what that means."""
    index = Index(told)
    table = _table("Does it hold still when it should, and move when it must?")
    for name in ("strategy", "system"):
        table.add_column(name, overflow="fold")
    for name in ("edited", "effect (95 %)", "same", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for each in index.strategies:
        for system in index.systems:
            said = index.verdict(system, each["name"])
            verdict = said.get("verdict") or NONE
            table.add_row(
                Text(one_line(each["name"]), style=_STYLES[each["kind"]]), Text(one_line(system)),
                _percent(each["coverage"]), effect_words(said), _percent(number(said, "unchanged")),
                count(number(said, "n")), Text(verdict, style=_COLOURS.get(verdict, "")),
            )  # fmt: skip
    table.caption = Text(
        "\n".join(
            [
                *notes(told),
                "Same: replies unchanged word for word. In italics: should change the reply.",
            ]
        )
    )
    return table


def table_two(told: Mapping[str, Any]) -> Table:
    """What replies are worth against the reference, as Table 2: a row a strategy."""
    index = Index(told)
    table = _grid("Against the reference (as Table 2)", index, list(index.quality.values()))
    rows = [("Normal Input", NORMAL, "bold"), *_rows(index)]
    _fill(table, index, rows, index.quality, worth)
    table.caption = Text(
        "N-test in the first row, A-test below. Times 100, but for log p (a token of the "
        "reference). Over all contexts, edited or not. * differs significantly from Normal Input "
        "on the edited ones (p < .05)."
    )
    return table


def table_four(told: Mapping[str, Any]) -> Table:
    """Cosines of contexts and of replies, as Table 4: a row a strategy."""
    index = Index(told)
    heads = [name.replace(" ", "\n") for name in LIKENESS.values()]
    table = _grid("Similarity (as Table 4)", index, heads)
    _fill(table, index, _rows(index), LIKENESS, near)
    vectors = {each["name"]: each.get("words") for each in told.get("systems") or ()}
    said = ", ".join(f"{one_line(name)}: {one_line(by)}" for name, by in vectors.items())
    encoder = one_line((told.get("settings") or {}).get("encoder"))
    table.caption = Text(f"Words: means of input embeddings ({said}). Sentence: {encoder}.")
    return table


def _grid(title: str, index: Index, heads: Sequence[str]) -> Table:
    """An empty table: strategies, systems where there are several, then numbers."""
    table = _table(title)
    table.add_column("strategy", overflow="fold")
    if len(index.systems) > 1:
        table.add_column("system", overflow="fold")
    for head in heads:
        table.add_column(Text(head), justify="right", no_wrap=True)
    return table


def _fill(
    table: Table,
    index: Index,
    rows: Sequence[tuple[str, str, str]],
    metrics: Iterable[str],
    cell: Callable[[Index, str, str, str], str],
) -> None:
    """A row for each strategy and system."""
    for head, strategy, style in rows:
        for system in index.systems:
            names = [Text(one_line(head), style=style)]
            names += [Text(one_line(system))] if len(index.systems) > 1 else []
            table.add_row(*names, *(cell(index, metric, system, strategy) for metric in metrics))


def judge_table(told: Mapping[str, Any]) -> Table:
    """What strategies do to the evaluators themselves."""
    judges = Index(told).judges
    names = list(dict.fromkeys(one_line(each["evaluator"]) for each in judges))
    only = f" ({names[0]})" if len(names) == 1 else ""
    table = _table(f"The evaluators themselves{only}: human responses, one side perturbed")
    if not only:
        table.add_column("evaluator", overflow="fold")
    for name in ("strategy", "side"):
        table.add_column(name, no_wrap=True)
    for name in ("changed", "score (95 %)", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for each in judges:
        details = each.get("details") or {}
        verdict = one_line(details.get("verdict"))
        table.add_row(
            *([] if only else [Text(one_line(each["evaluator"]))]),
            Text(one_line(details.get("strategy")), style=_STYLES.get(details.get("kind"), "")),
            one_line(details.get("side")), share(number(each, "decisions_changed")),
            score_words(each), count(number(each, "n")),
            Text(verdict, style=_COLOURS.get(verdict, "")),
        )  # fmt: skip
    table.caption = Text("Changed: share of decisions about the same human responses.")
    return table


def score_words(result: Mapping[str, Any]) -> str:
    """The mean change of a score with its interval."""
    ends = {end: number(result, f"score_change_{end}") for end in ("low", "high")}
    return f"{signed(number(result, 'score_change'))} ({between(ends)})"


def _rows(index: Index) -> list[tuple[str, str, str]]:
    return [(each["name"], each["name"], _STYLES[each["kind"]]) for each in index.strategies]


def _table(title: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title, table.title_justify, table.caption_justify = (
        Text(title, style="bold"),
        "left",
        "left",
    )
    return table


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.0f} %"
