"""HTML pages from templates: every value is escaped, and the same values give the same bytes."""

from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from dialeval.reports.format import clean_text
from dialeval.reports.glossary import glossary_link, linked_entries


def render(template: str, view: Mapping[str, Any]) -> str:
    """A template of this package filled with values, such as `att/report.html.jinja`.

    Values are escaped, and control characters in them are replaced.
    """
    return _environment().get_template(template).render(view)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_without_control_characters,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        glossary_link=glossary_link, linked_entries=linked_entries, script_hash=script_hash
    )
    return environment


def script_hash(script: str) -> str:
    """The hash by which a content-security policy allows a script, and no other."""
    return b64encode(sha256(str(script).encode("utf-8")).digest()).decode("ascii")


def _source(name: str) -> str:
    return files("dialeval.reports").joinpath(*name.split("/")).read_text(encoding="utf-8")


def _without_control_characters(value: Any) -> Any:
    return clean_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value
