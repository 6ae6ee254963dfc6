"""Tables of training with rewards for the terminal."""

from collections.abc import Callable, Iterator, Sequence

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from dialeval.metrics.adversarial_results import AdversarialResults, PolicyRecord
from dialeval.metrics.regs_results import RegsResults
from dialeval.reports.adversarial.study_rows import (
    Column,
    cell,
    cell_text,
    columns,
    interval_text,
    sentences,
    summarise_regs,
)
from dialeval.reports.format import finite, format_share, one_line

COLUMNS = ("reward", "D accuracy", "perplexity", "KL", "entropy", "tokens", "distinct-1",
           "distinct-2")  # fmt: skip


def adversarial_table(results: AdversarialResults) -> Table:
    """The first and the last validations, and the test perplexity in the caption."""
    title = f"{results.objective} with the reward {results.reward}"
    table = Table(box=box.SIMPLE_HEAD, title=Text(one_line(title)), show_edge=False)
    table.title_justify = table.caption_justify = "left"
    table.add_column("round", justify="right")
    for name in COLUMNS:
        table.add_column(name, justify="right")
    for record in shown_records(results):
        table.add_row(f"{record.iteration:,}", *record_cells(record))
    test = results.get("perplexity")
    lines = [] if test is None else [f"Perplexity of {test.n:,} test responses: {test.value:.1f}."]
    if results.stopped == "perplexity":
        lines.append("Stopped because perplexity rose; these are the last weights below the limit.")
    lines += [*results.warnings, results.signature]
    table.caption = Text("\n".join(one_line(line) for line in lines if line))
    return table


def shown_records(results: AdversarialResults, most: int = 8) -> list[PolicyRecord]:
    """Validations at similar distances, the first and the last among them."""
    records = list(results.records)
    if len(records) <= most:
        return records
    step = (len(records) - 1) / (most - 1)
    return [records[round(number * step)] for number in range(most)]


def record_cells(record: PolicyRecord) -> list[str]:
    """The numbers of a validation, in the order of the columns."""
    numbers = (record.perplexity, record.kl, record.entropy, record.length)
    texts = ["–" if finite(value) is None else f"{value:.2f}" for value in numbers]
    return [
        format_share(record.reward),
        format_share(record.accuracy),
        *texts,
        format_share(record.distinct_1),
        format_share(record.distinct_2),
    ]


def regs_table(results: RegsResults) -> Group:
    """Every system by every evaluator, numbers of its responses, and what that shows."""

    def text(system: str, head: Column) -> Text:
        result = cell(results, head, system)
        return _text(cell_text(head, result.value if result else None), interval_text(result))

    title = "Adversarial training (Li et al., 2017, Table 3)"
    lines = [one_line(line) for line in (*sentences(results), results.signature) if line]
    tables = _tables(title, columns(results), results.systems, text)
    return Group(*tables, *map(Text, lines))


def regs_summary_table(folders: Sequence[str]) -> Group:
    """The same over runs with several seeds: the mean, and the range below it."""
    heads, rows = summarise_regs(folders)
    spreads = {system: dict(zip(heads, row, strict=True)) for system, row in rows.items()}

    def text(system: str, head: Column) -> Text:
        spread = spreads[system][head]
        values = (spread.mean, spread.low, spread.high) if spread else (None, None, None)
        mean, low, high = (cell_text(head, value) for value in values)
        return _text(mean, f"{low}–{high}" if spread else "")

    title = f"Adversarial training, mean and range of {len(folders)} runs"
    return Group(*_tables(title, heads, list(rows), text))


def _tables(
    title: str,
    heads: Sequence[Column],
    systems: Sequence[str],
    text: Callable[[str, Column], Text],
) -> Iterator[Table]:
    """One table of what evaluators say and one of the responses: each fits into a terminal."""
    of_responses = [head for head in heads if not head.evaluator]
    by_evaluators = [head for head in heads if head.evaluator]
    for caption, part in ((title, by_evaluators), ("Their responses", of_responses)):
        table = Table(box=box.SIMPLE_HEAD, title=caption, show_edge=False)
        table.title_justify = "left"
        table.add_column("system", overflow="fold", min_width=12)
        for head in part:
            table.add_column(Text(head.title), justify="right", min_width=9)
        for system in systems:
            table.add_row(Text(one_line(system)), *(text(system, head) for head in part))
        if part:
            yield table


def _text(value: str, below: str) -> Text:
    text = Text(value)
    return text.append(f"\n{below}", style="dim") if below else text
