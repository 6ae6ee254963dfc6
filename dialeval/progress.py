"""Progress of long work on standard error: a bar on a terminal, elsewhere one line a minute."""

import logging
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from dialeval.terminal import printable

INTERVAL = 60.0
"""Seconds between two lines where there is no terminal."""

_BARS = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS", "TQDM_DISABLE")


class Bar(Protocol):
    """What counts steps: tqdm's bars, and [`MinuteLine`]."""

    def update(self, n: int = 1) -> Any:
        """Count so many more steps."""
        ...

    def close(self) -> Any:
        """Remove it."""
        ...


def is_quiet() -> bool:
    """Whether only results and errors are printed."""
    return bool(os.environ.get("DIALEVAL_QUIET"))


def prepare_libraries() -> None:
    """Switch off bars of libraries where nobody sees them, and with DIALEVAL_QUIET all messages.

    Libraries read these variables when they are imported, so this comes first.
    """
    logging.getLogger("huggingface_hub.utils._http").setLevel(logging.ERROR)  # each of 5 retries
    if is_quiet() or not sys.stderr.isatty():
        for name in _BARS:
            os.environ.setdefault(name, "1")
    if is_quiet():
        os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
        os.environ.setdefault("PYTHONWARNINGS", "ignore")
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)


def quiet_libraries() -> None:
    """Switch off the progress bars of datasets and transformers: there is one of ours."""
    import datasets
    from huggingface_hub.utils import disable_progress_bars

    datasets.disable_progress_bars()
    disable_progress_bars()  # transformers, where it is imported later, follows this
    if "transformers" in sys.modules:
        from transformers.utils import logging

        logging.disable_progress_bar()


def shows_bars() -> bool:
    """Whether somebody sees a bar: on a terminal or in a notebook, and not with DIALEVAL_QUIET."""
    return not is_quiet() and (sys.stderr.isatty() or "ipykernel" in sys.modules)


@contextmanager
def library_bars() -> Iterator[None]:
    """Bars of libraries inside are shown only where somebody sees them.

    Variables and switches of libraries do not reach all of them: transformers shows the conversion
    of GGUF files always, and all were imported before, when dialeval is used from Python.
    """
    if shows_bars():
        yield
        return
    from tqdm import tqdm

    shown = tqdm.__init__

    def hidden(self: Any, *args: Any, **options: Any) -> None:
        shown(self, *args, **{**options, "disable": True})

    tqdm.__init__ = hidden  # every bar, also in a notebook or of the Hub, is a subclass
    try:
        yield
    finally:
        tqdm.__init__ = shown


class MinuteLine:
    """Says where a run stands, at most once a minute for the whole process.

    Args:
        title (`str`):
            What is being done.
        total (`float`, *optional*):
            Number of steps.
        unit (`str`, *optional*):
            What a step is, such as `" contexts"`.
        clock (`Callable`, *optional*):
            Seconds so far; tests replace it.
    """

    last: float | None = None
    """When the process said something last, or when its first work began."""

    def __init__(
        self,
        title: str,
        total: float | None = None,
        unit: str = "",
        clock: Callable[[], float] = time.monotonic,
    ):
        self.title, self.total, self.unit, self.clock = title, total, unit, clock
        self.done, self.start = 0.0, clock()
        if MinuteLine.last is None:
            MinuteLine.last = self.start

    def update(self, n: int = 1) -> None:
        """Count so many more steps."""
        self.at(self.done + n, self.total, self.title)

    def at(self, done: float, total: float | None, description: str) -> None:
        """Say where the run stands, if a minute has passed.

        Args:
            done (`float`):
                Steps so far.
            total (`float`, *optional*):
                Number of steps.
            description (`str`):
                What is being done.
        """
        self.done, now = done, self.clock()
        if now - (MinuteLine.last or 0.0) < INTERVAL:
            return
        MinuteLine.last = now
        of = f" of {total:,.0f}" if total else ""
        minutes = f"{(now - self.start) / 60:.0f} min"
        line = f"{description}: {done:,.0f}{of}{self.unit}, {minutes}"
        print(printable(line), file=sys.stderr, flush=True)

    def close(self) -> None:
        """Nothing is left on the screen."""


def bar(title: str, total: int, unit: str, enabled: bool = True) -> Bar:
    """A bar on a terminal or in a notebook, lines elsewhere, and nothing with DIALEVAL_QUIET.

    Args:
        title (`str`):
            What is being done.
        total (`int`):
            Number of steps.
        unit (`str`):
            What a step is, such as `" contexts"`.
        enabled (`bool`, *optional*, defaults to `True`):
            Whether anything is shown.

    Returns:
        `Bar`: Call `update` after a step, and `close` at the end.
    """
    from tqdm.auto import tqdm

    if enabled and not is_quiet() and not shows_bars():
        return MinuteLine(title, total, unit)
    return tqdm(total=total, desc=title, unit=unit, disable=not (enabled and shows_bars()))
