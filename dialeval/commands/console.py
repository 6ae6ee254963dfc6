"""Where commands talk: results to standard output, everything else to standard error."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(message: str) -> None:
    """Tell the user something beside the result, unless told to be quiet."""
    if not os.environ.get("DIALEVAL_QUIET"):
        err.print(message, soft_wrap=True)  # a path that is broken in two cannot be copied


def say_error(message: str) -> None:
    """Tell the user what went wrong."""
    err.print(f"[bold red]Error:[/] {escape(message)}", soft_wrap=True)


@contextmanager
def counting(what: str) -> Iterator[Callable[[int], None]]:
    """A progress line that counts passages."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    quiet = bool(os.environ.get("DIALEVAL_QUIET")) or not err.is_terminal
    with Progress(*columns, console=err, transient=True, disable=quiet) as progress:
        task = progress.add_task(what)
        yield lambda n: progress.update(task, description=f"{what}: {n:,} passages")
