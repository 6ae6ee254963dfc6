"""The leak check for people: a verdict, and a table each for format and content."""

from collections.abc import Iterator, Sequence
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

_LONGEST = 60  # characters of an example


def leak_tables(report: Any) -> list[RenderableType]:
    """A verdict, what was compared, and tables of format and of content, each with its rules."""
    style = "bold red" if _leaks(report.format) else "bold"
    parts = [Text(verdict(report), style=style), Text(_compared(report), style="dim")]
    for title, leaks in (("Format, fixable", report.format), ("Content, reported", report.content)):
        parts += [_table(title, leaks), *(Text.from_markup(line) for line in _rules(leaks))]
    return parts


def verdict(report: Any) -> str:
    """The finding in one or two sentences."""
    format, content = _leaks(report.format), _leaks(report.content)
    if not format and not content:
        return (
            f"No leak found: no trait tells the sides apart on {report.test_dialogues:,} held-out "
            f"dialogues (alpha = {report.alpha:g}, Holm)."
        )
    if not format:
        return f"No format leak. {_finding('content', content)}"
    return f"{_finding('format', format)} Run again with --normalise."


def _leaks(leaks: Sequence[Any]) -> list[Any]:
    return [leak for leak in leaks if leak.significant]


def _finding(kind: str, leaks: list[Any]) -> str:
    best = max(leaks, key=lambda leak: leak.accuracy)
    number = f"{len(leaks)} {kind} leak{'s' if len(leaks) > 1 else ''}"
    return f"{number}: a judge reaches {_share(best.accuracy)} by the {best.name} alone."


def _compared(report: Any) -> str:
    if report.paired:
        left_out = report.human_left_out + report.system_left_out
        what = f"{report.human:,} pairs"
        what += (
            f" ({left_out:,} responses left out: alone, or borrowed across halves)"
            if left_out
            else ""
        )
    else:
        what = (
            f"{report.human:,} human and {report.system:,} system responses, unpaired because no "
            "id and no context is shared"
        )
    halves = f"{report.train_dialogues:,} dialogues to learn, {report.test_dialogues:,} to test"
    return f"{what}; {halves}. {report.signature}"


def _table(title: str, leaks: Sequence[Any]) -> Table:
    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False, title=title)
    table.title_justify, table.title_style = "left", "bold"
    table.add_column("trait")
    for name in ("human", "system", "accuracy", "95 %", "p", "Holm"):
        table.add_column(name, justify="right", no_wrap=True)
    for leak in leaks:
        table.add_row(*_row(leak), style="red" if leak.significant else "")
    return table


def _row(leak: Any) -> list[str]:
    return [
        f"[bold]{escape(leak.name)}[/]" if leak.significant else escape(leak.name),
        _mean(leak.human),
        _mean(leak.system),
        _share(leak.accuracy),
        f"{_share(leak.low)}-{_share(leak.high)}",
        _p(leak.p_value),
        _p(leak.p_holm),
    ]


def _rules(leaks: Sequence[Any]) -> Iterator[str]:
    """What each leak's rule is, what it catches, and what to do."""
    for leak in _leaks(leaks):
        yield f"[bold red]{escape(leak.name)}[/]: {escape(leak.rule)}"
        for side, text in (("human", leak.human_example), ("system", leak.system_example)):
            if text is not None:
                yield f"  {side}: [italic]{escape(_shortened(text))}[/]"
        if leak.hint:
            yield f"  remedy: {escape(leak.hint)}"


def _mean(value: float) -> str:
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3f}"


def _share(value: float) -> str:
    """A share without its leading zero.

    Example:
        >>> _share(0.998), _share(1.0)
        ('.998', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def _p(value: float) -> str:
    """A p-value, to the precision that matters.

    Example:
        >>> _p(0.0312), _p(1e-9)
        ('.031', '<.001')
    """
    return "<.001" if value < 0.001 else _share(value)


def _shortened(text: str) -> str:
    shown = repr(text)[1:-1]  # white space and control characters are often the finding
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
