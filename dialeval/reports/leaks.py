"""The leak check for the terminal: a verdict, and tables of format and content."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from dialeval.metrics.leak_results import Leak, LeakReport
from dialeval.reports.format import format_p_value, format_share

_LONGEST = 60  # characters of an example


def leak_tables(report: LeakReport) -> list[RenderableType]:
    """A verdict, what was compared, and tables of format and of content, each with its rules."""
    style = "bold red" if _significant(report.format) else "bold"
    parts: list[RenderableType] = [
        Text(verdict(report), style=style),
        Text(_scope(report), style="dim"),
    ]
    for title, leaks in (("Format, fixable", report.format), ("Content, reported", report.content)):
        parts += [_table(title, leaks), *(Text.from_markup(line) for line in _rules(leaks))]
    return parts


def verdict(report: LeakReport) -> str:
    """The finding in one or two sentences."""
    format, content = _significant(report.format), _significant(report.content)
    if not format and not content:
        return (
            "No leak found: no trait distinguishes the two sides on "
            f"{report.test_dialogues:,} held-out dialogues (alpha = {report.alpha:g}, Holm)."
        )
    if not format:
        return f"No format leak. {_finding('content', content)}"
    return f"{_finding('format', format)} Run again with --normalise."


def _significant(leaks: Sequence[Leak]) -> list[Leak]:
    return [leak for leak in leaks if leak.significant]


def _finding(kind: str, leaks: list[Leak]) -> str:
    best = max(leaks, key=lambda leak: leak.accuracy)
    number = f"{len(leaks)} {kind} leak{'s' if len(leaks) > 1 else ''}"
    return f"{number}: the {best.name} alone gives an accuracy of {format_share(best.accuracy)}."


def _scope(report: LeakReport) -> str:
    if report.paired:
        left_out = report.human_left_out + report.system_left_out
        what = f"{report.human:,} pairs"
        what += (
            f" ({left_out:,} responses left out: without a partner, or from the other half)"
            if left_out
            else ""
        )
    else:
        what = (
            f"{report.human:,} human and {report.system:,} system responses, unpaired because no "
            "id and no context is shared"
        )
    halves = (
        f"{report.train_dialogues:,} dialogues for training, {report.test_dialogues:,} for the test"
    )
    return f"{what}; {halves}. {report.signature}"


def _table(title: str, leaks: Sequence[Leak]) -> Table:
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, title=title)
    table.title_justify, table.title_style = "left", "bold"
    table.add_column("trait")
    for name in ("human", "system", "accuracy", "95 %", "p", "Holm"):
        table.add_column(name, justify="right", no_wrap=True)
    for leak in leaks:
        table.add_row(*_row(leak), style="red" if leak.significant else "")
    return table


def _row(leak: Leak) -> list[str]:
    return [
        f"[bold]{escape(leak.name)}[/]" if leak.significant else escape(leak.name),
        _mean(leak.human),
        _mean(leak.system),
        format_share(leak.accuracy),
        f"{format_share(leak.low)}-{format_share(leak.high)}",
        format_p_value(leak.p_value),
        format_p_value(leak.p_holm),
    ]


def _rules(leaks: Sequence[Leak]) -> Iterator[str]:
    """The rule of each leak, examples, and how to remove it."""
    for leak in _significant(leaks):
        yield f"[bold red]{escape(leak.name)}[/]: {escape(leak.rule)}"
        for side, text in (("human", leak.human_example), ("system", leak.system_example)):
            if text is not None:
                yield f"  {side}: [italic]{escape(_excerpt(text))}[/]"
        if leak.hint:
            yield f"  fix: {escape(leak.hint)}"


def _mean(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def _excerpt(text: str) -> str:
    shown = repr(text)[1:-1]  # white space and control characters are often the leak
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
