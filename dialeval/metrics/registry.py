"""The metric registry is the file system: one folder, one metric, one Space."""

from importlib.resources import files
from pathlib import Path
from typing import Any

_PACKAGE = Path(str(files("dialeval")))


def available() -> list[str]:
    """Names of the metric folders of this installation."""
    return sorted(
        path.parent.name for path in _PACKAGE.glob("*/*.py") if path.stem == path.parent.name
    )


def script(name: str) -> Path:
    """Path of a metric's module script."""
    if name not in available():
        choices = ", ".join(available()) or "none: this version has no metric folder yet"
        raise ValueError(f"Unknown metric {name!r}. Choose one of {choices}.")
    return _PACKAGE / name / f"{name}.py"


def load(name: str, *args: Any, **kwargs: Any) -> Any:
    """This installation's metric as an `evaluate` module, without asking the Hub."""
    path = script(name)
    import evaluate  # takes seconds, so only when a metric is really wanted

    return evaluate.load(str(path), *args, **kwargs)
