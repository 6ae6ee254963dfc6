"""Comparisons of systems for the terminal: tables of differences, and groups without any."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dialeval.metrics.comparison_results import Comparison, Pair
from dialeval.reports.format import NONE, finite, format_count, format_p_value, format_share


def comparison_tables(comparison: Comparison) -> list[RenderableType]:
    """For each evaluator a table of pairs and the groups; then explanations and notes."""
    parts: list[RenderableType] = []
    for evaluator, groups in comparison.groups.items():
        pairs = [pair for pair in comparison.pairs if pair.evaluator == evaluator]
        if not pairs:
            continue
        parts += [_table(evaluator, pairs), Text(groups_sentence(groups), style="bold"), Text("")]
    lines = [*_legend(comparison), *comparison.notes]
    return [*parts, *(Text(line, style="dim") for line in lines)]


def groups_sentence(groups: Sequence[Sequence[str]]) -> str:
    """Which systems do not differ significantly, groups separated by a bar.

    Examples:
        >>> groups_sentence([["A", "B"], ["C"]])
        'No significant difference in AdverSuc within: A, B | C'
        >>> groups_sentence([["A"], ["B"]])
        'All differences in AdverSuc are significant: A | B'
    """
    names = " | ".join(", ".join(group) for group in groups)
    if all(len(group) == 1 for group in groups):
        return f"All differences in AdverSuc are significant: {names}"
    if len(groups) == 1:
        return f"No difference in AdverSuc is significant: {names}"
    return f"No significant difference in AdverSuc within: {names}"


def _table(evaluator: str, pairs: Sequence[Pair]) -> Table:
    """Two lines per pair, so that it fits a terminal of 80 columns."""
    title = f"AdverSuc, evaluated by {escape(evaluator)}, on the same contexts"
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
        f"{format_share(pair.first_adversuc)}\n{format_share(pair.second_adversuc)}",
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
