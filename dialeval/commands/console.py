"""Output of commands: results go to standard output, everything else to standard error."""

import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.markup import escape

from dialeval.progress import MinuteLine, is_quiet
from dialeval.terminal import SafeConsole

out = SafeConsole()
err = SafeConsole(stderr=True)


def say(message: str) -> None:
    """Print a message in addition to the result, unless DIALEVAL_QUIET is set."""
    if not is_quiet():
        err.print(message, soft_wrap=True)  # a path that is broken in two cannot be copied


def say_warnings(warnings: Iterable[str]) -> None:
    """Print warnings, one per line."""
    for warning in warnings:
        say(f"[yellow]{escape(warning)}[/]")


def command_line() -> str:
    """The command as it was typed; empty where dialeval runs inside another program.

    What is printed, and whether files are replaced, is no part of it.
    """
    program, *arguments = sys.argv
    if Path(program).name not in ("dialeval", "__main__.py"):
        return ""
    kept: list[str] = []
    for word, before in zip(arguments, ["", *arguments], strict=False):
        if before != "--format" and not word.startswith(("--format", "--overwrite")):
            kept.append(word)
    return shlex.join(["dialeval", *kept])


def say_error(message: str) -> None:
    """Print an error."""
    err.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True)


@contextmanager
def counting(title: str) -> Iterator[Callable[[int], None]]:
    """A progress line with the number of passages; gives what to call with it."""
    if not err.is_terminal:
        line = MinuteLine(title, unit=" passages")
        yield lambda n: None if is_quiet() else line.at(n, None, title)
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True, disable=is_quiet()) as progress:
        task = progress.add_task(title)
        yield lambda n: progress.update(task, description=f"{title}: {n:,} passages")


@contextmanager
def progress_bar(title: str = "evaluating") -> Iterator[Callable[[float, float, str], None]]:
    """A bar with the remaining time; gives what to call with done, total and a description."""
    if not err.is_terminal:
        line = MinuteLine(title)
        yield lambda done, total, text: None if is_quiet() else line.at(done, total, text)
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=is_quiet()) as progress:
        task = progress.add_task(title, total=None)
        yield lambda done, total, description: progress.update(
            task, completed=done, total=total, description=description
        )
