"""The metric registry is the file system: one folder, one metric, one Space."""

from pathlib import Path
from typing import Any

from dialeval.registration import scripts


def available() -> list[str]:
    """Names of the metric folders of this installation."""
    return list(scripts())


def script(name: str) -> Path:
    """Path of a metric's module script."""
    found = scripts()
    if name not in found:
        choices = ", ".join(found) or "none: this version has no metric folder yet"
        raise ValueError(f"Unknown metric {name!r}. Choose one of {choices}.")
    return found[name]


def load(name: str, *args: Any, **kwargs: Any) -> Any:
    """This installation's metric as an `evaluate` module, without asking the Hub."""
    path = script(name.removeprefix("dialeval/"))
    import evaluate  # takes seconds, so only when a metric is really wanted

    return evaluate.load(str(path), *args, **kwargs)
