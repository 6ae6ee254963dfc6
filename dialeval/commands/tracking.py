"""Log the numbers of a run with an experiment tracker, if one is asked for."""

import atexit
import io
import os
import sys
from contextlib import ExitStack, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from dialeval.commands.console import say
from dialeval.progress import is_quiet
from dialeval.settings.tracking import TrackingSettings


def track(results: Any, tracking: TrackingSettings, output_dir: Path) -> None:
    """Log every number of a run; trackers print, but standard output is for results.

    Args:
        results (`RunResults`):
            The results.
        tracking (`TrackingSettings`):
            Which tracker, if any.
        output_dir (`Path`):
            Folder of the run.
    """
    if tracking.log_with is None:
        return
    from rich.markup import escape

    from dialeval.reports.tracking import log_results

    with ExitStack() as stack:
        if is_quiet():
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            stack.enter_context(redirect_stderr(nowhere))
            stack.enter_context(redirect_stdout(nowhere))
        else:
            stack.enter_context(redirect_stdout(sys.stderr))
        count = log_results(results, tracking.log_with, tracking.project, output_dir)
        atexit.register(_end_results)  # runs before what the tracker registered for the exit
    say(f"Logged {count:,} numbers with {tracking.log_with}, project {escape(tracking.project)}")


def _end_results() -> None:
    """Keep what trackers print when the process ends (trackio) out of standard output."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    sys.stdout = io.StringIO() if is_quiet() else sys.stderr
