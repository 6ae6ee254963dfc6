"""Comparisons of systems: ranked bars, groups without a difference, tables of differences."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dialeval.files import atomic_write_text
from dialeval.metrics.comparison_results import Comparison, Pair, SystemSummary
from dialeval.reports.format import (
    NONE,
    finite,
    flatten,
    format_count,
    format_interval,
    format_list,
    format_p_value,
    format_percent,
    format_share,
    of_hundred,
    one_line,
    plural,
)
from dialeval.reports.pages import render
from dialeval.reports.ranking import RankedBar, ranking
from dialeval.reports.sections import TableView

_BAR = 24  # characters of a bar on the terminal


def comparison_tables(comparison: Comparison) -> list[RenderableType]:
    """For each evaluator a table of pairs and the groups; then explanations and notes."""
    parts: list[RenderableType] = []
    for evaluator, groups in comparison.groups.items():
        pairs = [pair for pair in comparison.pairs if pair.evaluator == evaluator]
        if not pairs:
            continue
        title = f"How often {one_line(evaluator)} is right, with its 95 % interval; 50 % is chance"
        parts += [Text(title, style="bold"), _ranked_lines(ranked_systems(comparison, evaluator)),
                  Text(groups_sentence(groups), style="bold"), Text(""),
                  _table(evaluator, pairs), Text("")]  # fmt: skip
    lines = [*_legend(comparison), *comparison.notes, str(comparison.to_dict()["signature"])]
    return [*parts, *(Text(line, style="dim") for line in lines)]


def ranked_systems(comparison: Comparison, evaluator: str) -> list[SystemSummary]:
    """Systems with a result by an evaluator, the hardest to distinguish first."""
    rows = [row for row in comparison.systems if row.evaluator == evaluator]
    known = [row for row in rows if finite(row.adversuc) is not None]
    return sorted(known, key=lambda row: -float(row.adversuc or 0))


def _accuracy(row: SystemSummary) -> float:
    return 1 - float(row.adversuc or 0)


def _ranked_lines(rows: Sequence[SystemSummary]) -> Table:
    """A bar from 50 to 100 % for each system."""
    table = Table.grid(padding=(0, 1))
    for row in rows:
        filled = round(_BAR * min(max(2 * _accuracy(row) - 1, 0), 1))
        bar = Text("█" * filled + "░" * (_BAR - filled))
        low, high = _bounds(row)
        interval = "" if low is None or high is None else f"{100 * low:.0f}–{100 * high:.0f} %"
        table.add_row(
            escape(one_line(row.label)), format_percent(_accuracy(row)), interval, bar,
            f"AdverSuc {format_share(row.adversuc, 2)}", "format leak" if row.leak else "",
        )  # fmt: skip
    return table


def _bounds(row: SystemSummary) -> tuple[float | None, float | None]:
    """The interval of the accuracy."""
    low, high = finite(row.low), finite(row.high)
    return (None, None) if low is None or high is None else (1 - high, 1 - low)


def write_comparison(comparison: Comparison, path: Path) -> Path:
    """Write the comparison as one HTML page, ranked bars first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return atomic_write_text(path, render("comparison.html.jinja", _view(comparison)))


def _view(comparison: Comparison) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for number, (evaluator, groups) in enumerate(comparison.groups.items(), 1):
        pairs = [pair for pair in comparison.pairs if pair.evaluator == evaluator]
        bars = [_bar(row) for row in ranked_systems(comparison, evaluator)]
        ranks = ranking(bars, start=0.5, in_order=True)
        parts.append({
            "id": f"evaluator-{number}", "evaluator": evaluator, "ranks": ranks,
            "sentence": groups_sentence(groups), "table": _page_table(pairs),
        })  # fmt: skip
    systems = len({row.label for row in comparison.systems})
    content = comparison.to_dict()
    return {
        "parts_by_evaluator": [part for part in parts if part["table"].rows],
        "contents": [("answer", "Answer"), ("pairs", "Every two systems"), ("warnings", "Warnings"),
                     ("settings", "Settings and versions")],
        "systems": plural(systems, "system"),
        "notes": [*_legend(comparison), *comparison.notes],
        "warnings": comparison.warnings,
        "settings": [*flatten(comparison.settings)],
        "versions": [*flatten(content["versions"])],
        "signature": content["signature"],
    }  # fmt: skip


def _bar(row: SystemSummary) -> RankedBar:
    text = f"right in {of_hundred(_accuracy(row))} cases"
    low, high = _bounds(row)
    interval = "" if low is None or high is None else f"95 % {100 * low:.0f} to {100 * high:.0f}, "
    more = f"{interval}{plural(row.n, 'context')}; AdverSuc {format_share(row.adversuc)}"
    leak = _leak(row)
    return RankedBar(row.label, _accuracy(row), text, low, high, f"{more}{leak and '; '}{leak}")


def _leak(row: SystemSummary) -> str:
    """What the format alone gives away, and what is left without it; empty without a leak."""
    if row.leak is None:
        return ""
    text = f"format leak: one rule alone is right in {100 * row.leak.accuracy:.0f}"
    normalised = finite(row.normalised)
    if normalised is None:
        return text
    return f"{text}, the evaluator in {100 - 100 * normalised:.0f} after normalising"


def _both(pair: Pair) -> tuple[float, float]:
    return pair.first_adversuc, pair.second_adversuc


def _page_table(pairs: Sequence[Pair]) -> TableView:
    rows = [
        (
            f"{pair.first} and {pair.second}{'*' if pair.evaluators_differ else ''}",
            ", ".join(format_percent(1 - value) for value in _both(pair)),
            ", ".join(map(format_share, _both(pair))),
            format_share(pair.difference), format_interval(pair.low, pair.high),
            format_p_value(pair.p), format_p_value(pair.p_holm), format_share(pair.machine_side),
            format_count(pair.n), format_share(pair.detectable),
            "yes" if pair.significant else "no",
        )
        for pair in pairs
    ]  # fmt: skip
    heads = ("systems", "accuracy", "AdverSuc", "difference", "95 %", "p", "Holm", "machines", "n",
             "least", "significant")  # fmt: skip
    return TableView("Differences in AdverSuc, the largest first", heads, rows)


def groups_sentence(groups: Sequence[Sequence[str]]) -> str:
    """Which systems are hardest to distinguish, and which do not differ significantly.

    Examples:
        >>> groups_sentence([["A", "B"], ["C"]])
        'A and B are the hardest to distinguish; not significantly different: A and B'
        >>> groups_sentence([["A"], ["B"]])
        'A is the hardest to distinguish; all differences are significant'
        >>> groups_sentence([["A", "B"]])
        'No difference is significant: A and B'
    """
    names = "; ".join(format_list(group) for group in groups if len(group) > 1)
    if len(groups) == 1:
        return f"No difference is significant: {names}"
    first = f"{format_list(groups[0])} {'is' if len(groups[0]) == 1 else 'are'} the hardest"
    if all(len(group) == 1 for group in groups):
        return f"{first} to distinguish; all differences are significant"
    return f"{first} to distinguish; not significantly different: {names}"


def _table(evaluator: str, pairs: Sequence[Pair]) -> Table:
    """Two lines per pair, so that it fits a terminal of 80 columns."""
    title = f"Differences, evaluated by {escape(evaluator)}, on the same contexts"
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), show_edge=False, title=title)
    table.title_justify, table.title_style = "left", "bold"
    table.add_column("systems", overflow="fold")
    for name in ("AdverSuc", "diff.", "95 %", "p", "Holm", "machines", "n", "least"):
        table.add_column(name, justify="right", no_wrap=True)
    for pair in pairs:
        table.add_row(*_row(pair), style="" if pair.significant else "dim", end_section=True)
    return table


def _row(pair: Pair) -> list[str]:
    mark = "*" if pair.evaluators_differ else ""
    bounds = f"{format_share(pair.low)} {format_share(pair.high)}"
    machines = format_share(pair.machine_side)
    if pair.mcnemar:
        machines += f"\np {format_p_value(pair.mcnemar['p'])}"
    return [
        f"{escape(pair.first)}\n{escape(pair.second)}{mark}",
        "\n".join(map(format_share, _both(pair))),
        format_share(pair.difference),
        bounds if finite(pair.low) is not None else NONE,  # a single dialogue has no interval
        format_p_value(pair.p),
        format_p_value(pair.p_holm),
        machines,
        format_count(pair.n),
        format_share(pair.detectable) if pair.detectable is not None else "none",
    ]


def _legend(comparison: Comparison) -> Iterator[str]:
    yield (
        "p: p-value of approximate randomisation by dialogue; Holm: corrected for the pairs of "
        "the evaluator. machines: what the machine responses contribute to the difference, and "
        "McNemar's p-value on them. least: smallest true difference that is detected with 80 % "
        "power. All are conditional on the trained evaluators."
    )
    changed = [pair for pair in comparison.pairs if pair.human_changed]
    if changed:
        most = max(pair.human_changed / pair.n for pair in changed)
        yield (
            "An evaluator is trained for each system, and these disagree on human responses too "
            f"(on up to {most:.0%} of the contexts): differences include that."
        )
    if any(pair.evaluators_differ for pair in comparison.pairs):
        yield "* evaluators with different settings; the warnings say which."
