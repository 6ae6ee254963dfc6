"""Compared systems for people: tables of differences, and who cannot be told apart."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text


def comparison_tables(found: Any) -> list[RenderableType]:
    """For each evaluator a table of pairs and the groups; then what a reader must know."""
    parts: list[RenderableType] = []
    for evaluator, groups in found.groups.items():
        pairs = [pair for pair in found.pairs if pair.evaluator == evaluator]
        if not pairs:
            continue
        parts += [_table(evaluator, pairs), Text(groups_sentence(groups), style="bold"), Text("")]
    lines = [*_legend(found), *found.notes]
    return [*parts, *(Text(line, style="dim") for line in lines)]


def groups_sentence(groups: Sequence[Sequence[str]]) -> str:
    """Who cannot be told from whom, groups set apart by a bar.

    Example:
        >>> groups_sentence([["A", "B"], ["C"]])
        'Cannot be told apart in AdverSuc: A, B | C'
        >>> groups_sentence([["A"], ["B"]])
        'All are told apart in AdverSuc: A | B'
    """
    told = " | ".join(", ".join(group) for group in groups)
    if all(len(group) == 1 for group in groups):
        return f"All are told apart in AdverSuc: {told}"
    if len(groups) == 1:
        return f"None can be told from another in AdverSuc: {told}"
    return f"Cannot be told apart in AdverSuc: {told}"


def _table(evaluator: str, pairs: Sequence[Any]) -> Table:
    """Two lines a pair, so that it fits a terminal of 80 columns."""
    title = f"AdverSuc before {escape(evaluator)}, on the same contexts"
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), show_edge=False, title=title)
    table.title_justify, table.title_style = "left", "bold"
    table.add_column("systems", overflow="fold")
    for name in ("AdverSuc", "diff.", "95 %", "p", "Holm", "machines", "n", "least"):
        table.add_column(name, justify="right", no_wrap=True)
    for pair in pairs:
        table.add_row(*_row(pair), style="" if pair.told_apart else "dim", end_section=True)
    return table


def _row(pair: Any) -> list[str]:
    mark = "*" if pair.judges_differ else ""
    known = pair.low == pair.low  # NaN where one dialogue is all there is
    return [
        f"{escape(pair.first)}\n{escape(pair.second)}{mark}",
        f"{_share(pair.first_adversuc)}\n{_share(pair.second_adversuc)}",
        _share(pair.difference),
        f"{_share(pair.low)} {_share(pair.high)}" if known else "-",
        _p(pair.p),
        _p(pair.p_holm),
        _share(pair.machine_side) + (f"\np {_p(pair.mcnemar['p'])}" if pair.mcnemar else ""),
        f"{pair.n:,}",
        _share(pair.detectable) if pair.detectable is not None else "none",
    ]


def _legend(found: Any) -> Iterator[str]:
    yield (
        "p: approximate randomisation by dialogue; Holm: over the pairs of the evaluator. "
        "machines: what the machine responses add to the difference, and McNemar's p on them. "
        "least: smallest true difference found with 80 % power. All for the judges as trained."
    )
    changed = [pair for pair in found.pairs if pair.human_changed]
    if changed:
        most = max(pair.human_changed / pair.n for pair in changed)
        yield (
            "Each system was judged by a judge of its own, and these disagree on human responses "
            f"too (up to {most:.0%} of the contexts): differences include that."
        )
    if any(pair.judges_differ for pair in found.pairs):
        yield "* judges that are not set up alike; the warnings name what differs."


def _share(value: float) -> str:
    """A share without its leading zero.

    Example:
        >>> _share(0.25), _share(-0.25), _share(1.0)
        ('.250', '-.250', '1.000')
    """
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 0.9995 else f"{value:.3f}"


def _p(value: float) -> str:
    """A p-value, to the precision that matters.

    Example:
        >>> _p(0.0312), _p(1e-9)
        ('.031', '<.001')
    """
    return "<.001" if value < 0.001 else _share(value)
