"""Pages of HTML from templates: every value escaped, the same bytes for the same values."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from dialeval.reports.evaluation_rows import cleaned


def rendered(template: str, view: Mapping[str, Any]) -> str:
    """A template of this room with its values in place."""
    return _environment().get_template(template).render(view)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(name: str) -> str:
    return files("dialeval.reports").joinpath(name).read_text(encoding="utf-8")


def read_json_results(path: Path, of: str, hint: str) -> dict[str, Any]:
    """What a run wrote about itself, or a `ValueError` that says what to do."""
    if not path.is_file():
        raise ValueError(f"{path}: expected the results of {of}, found no file. {hint}")
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: expected JSON, found {error}. {hint}") from error
    if not isinstance(told, dict):
        raise ValueError(f"{path}: expected an object with `results`, found a list. {hint}")
    return told


def clean(value: Any) -> Any:
    """The same, with no control character in any text."""
    if isinstance(value, Mapping):
        return {cleaned(key): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    return cleaned(value) if isinstance(value, str) else value
