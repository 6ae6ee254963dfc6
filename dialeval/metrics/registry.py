"""The metric registry is the file system: one folder, one metric, one Space."""

from pathlib import Path
from typing import Any

from dialeval.registration import scripts


def available() -> list[str]:
    """Names of the metric folders of this installation."""
    return list(scripts())


def script(name: str) -> Path:
    """Path of a metric's module script."""
    paths = scripts()
    if name not in paths:
        choices = ", ".join(paths) or "none: this version has no metric folder yet"
        raise ValueError(f"Unknown metric {name!r}. Choose one of {choices}.")
    return paths[name]


def load(name: str, *args: Any, **kwargs: Any) -> Any:
    """Load this installation's metric as an `evaluate` module, without a request to the Hub.

    Args:
        name (`str`):
            Name of the metric, such as `adversuc` or `dialeval/adversuc`.
        args, kwargs:
            What `evaluate.load` takes.

    Returns:
        `evaluate.EvaluationModule`: The loaded module.
    """
    path = script(name.removeprefix("dialeval/"))
    import evaluate  # takes seconds, so only when a metric is loaded

    return evaluate.load(str(path), *args, **kwargs)
