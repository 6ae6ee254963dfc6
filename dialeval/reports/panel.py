"""Agreement of a panel of evaluators, for the terminal."""

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from dialeval.metrics.panel_results import Agreement, Panel, PanelCell
from dialeval.metrics.results import Result
from dialeval.reports.evaluation.rows import EVALUATOR_LABELS
from dialeval.reports.format import (
    NONE,
    format_interval,
    format_percent,
    format_share,
    format_signed,
    one_line,
)


def panel_tables(panel: Panel) -> list[RenderableType]:
    """AdverSuc by system and evaluator, the evaluators' agreement, and what all agree on."""
    parts: list[RenderableType] = [_adversuc_table(panel), Text("")]
    if panel.agreements:
        parts += [_agreement_table(panel), Text("")]
    parts += [Text(line, style="bold") for line in agreement_sentences(panel)]
    parts += [_llm_line(result) for result in panel.results]
    return [*parts, *(Text(one_line(line), style="yellow") for line in panel.warnings)]


SUPPORT = 0.9
"""Share of resamples in which an order must be the same to be called agreed on."""


def _adversuc_table(panel: Panel) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.title, table.title_justify = Text("AdverSuc by evaluator", style="bold"), "left"
    table.add_column("system", overflow="fold")
    names = [*panel.evaluators, *panel.references]
    for name in names:
        pairwise = any("pairwise" in cell.metric for cell in panel.table[name].values())
        style = "dim" if name in panel.references else ""
        head = f"{_label(name)}{' *' if pairwise else ''}"
        table.add_column(Text(head), justify="right", overflow="fold", style=style)
    systems = dict.fromkeys(system for name in names for system in panel.table[name])
    for system in systems:
        cells = [panel.table[name].get(system) for name in names]
        table.add_row(Text(one_line(system), style="bold"), *map(_adversuc_cell, cells))
    note = "* 1 − pairwise accuracy: only the order is comparable." if panel.results else None
    table.caption, table.caption_justify = note, "left"
    return table


def _label(evaluator: str) -> str:
    return EVALUATOR_LABELS.get(evaluator, one_line(evaluator))


def _adversuc_cell(cell: PanelCell | None) -> Text:
    if cell is None:
        return Text(NONE)
    return Text(format_share(cell.value)).append(
        f"\n{format_interval(cell.low, cell.high)}", style="dim"
    )


def _agreement_table(panel: Panel) -> Table:
    """Kendall's tau of every two evaluators, those with a reference dimmed."""
    table = Table("evaluator", "evaluator", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.show_edge = False
    title = Text("Do they rank the systems alike?", style="bold")
    table.title, table.title_justify = title, "left"
    for name in ("Kendall's τ", "95 %"):
        table.add_column(name, justify="right", no_wrap=True)
    for agreement in panel.agreements:
        names = Text(_label(agreement.first)), Text(_label(agreement.second))
        style = "dim" if agreement.reference else ""
        table.add_row(*names, *_tau_cells(agreement), style=style)
    if panel.mean is not None:
        table.add_section()
        table.add_row("mean", "", *_tau_cells(panel.mean), style="bold")
    return table


def _tau_cells(agreement: Agreement) -> tuple[str, str]:
    tau, low, high = map(format_signed, (agreement.tau, agreement.low, agreement.high))
    return tau, NONE if NONE in (low, high) else f"{low} to {high}"


def agreement_sentences(panel: Panel) -> list[str]:
    """Which order all evaluators of the panel agree on, and where they do not."""
    size = len(panel.ranking)
    if size < 2:
        return []
    subject = "Both evaluators" if size == 2 else f"All {size} evaluators"
    sure = [row for row in panel.orders if row.support is None or row.support >= SUPPORT]
    orders = [
        f"{one_line(order.above)} over {one_line(order.below)}"
        + ("" if order.support is None else f" ({100 * order.support:.0f} % of resamples)")
        for order in sure
    ]
    agreed = f"{subject} agree that these are harder to detect: {', '.join(orders)}."
    if not orders:
        agreed = f"{subject} agree on the order of no two systems."
    pairs = [f"{one_line(first)} and {one_line(second)}" for first, second in panel.disputed]
    unsure = [
        f"{one_line(order.above)} and {one_line(order.below)}"
        for order in panel.orders
        if order not in sure
    ]
    differ = [f"They disagree on {', '.join(pairs)}."] if pairs else []
    undecided = (
        f"They order {', '.join(unsure)} alike too, but in less than {100 * SUPPORT:.0f} % of the "
        "resamples."
    )
    return [agreed, *differ, *([undecided] if unsure else [])]


def _llm_line(result: Result) -> Text:
    """Accuracy of an LLM judge on one system, and how consistent its answers are."""
    details = result.details
    line = (
        f"{one_line(result.evaluator)} on {one_line(result.system)}: identifies the human in "
        f"{format_share(result.value)} ({format_interval(result.low, result.high)}) of "
        f"{result.n:,} pairs; {details['contradictions']:,} answers change with the order of the "
        f"replies; {format_percent(details['position_bias'])} of answers name the reply shown "
        f"first; {details['parse_failures']:,} of {details['n_answers']:,} answers could not be "
        f"read, {details['refusals']:,} of them refusals."
    )
    if details["unbiased_accuracy"] is not None:
        accuracy = format_share(details["unbiased_accuracy"])
        line += f" From the probabilities of both orders: {accuracy}."
    return Text(line)
