"""The check of all settings, for commands, recipes and Python alike.

What a field accepts follows from its type, its default and its metadata:

- a whole number is at least 1; at least 0 if its default is 0 or its metadata has `least: 0`;
  `no_limit: True` also accepts -1, and 0 only with `least: 0`
- a number is finite and at least 0; above 0 with `above: 0`, below 1 with `share: True`
- a text is not empty, unless its default is; the same for a list
- `choices` are the only values
"""

import math
import re
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from dialeval.errors import BadInput

METADATA = ("least", "no_limit", "above", "share", "empty", "flags", "hidden", "needs")
"""Keys of a field's metadata that are no options of argparse."""
MOST = 10**12
MOST_SEED = 2**32 - 1
"""The largest seed of numpy."""


def check_settings(settings: Any) -> None:
    """Refuse settings of which one cannot be used.

    Raises:
        BadInput: Names the first one, what it accepts and what was given.
    """
    schema: Any = type(settings)
    for item, kind, is_optional in _fields(schema):
        value = getattr(settings, item.name)
        if value is None and is_optional:
            continue
        problem = _problem(item, kind, value)
        if problem:
            hint = item.metadata.get("help", "")
            raise BadInput(f"`{item.name}` {problem}, but got {value!r:.60}.", hint=hint)


@cache
def _fields(schema: Any) -> tuple[tuple[Field[Any], Any, bool], ...]:
    """The fields that are checked, with their type and whether they may be `None`."""
    hints = get_type_hints(schema)
    checked = []
    for item in fields(schema):
        kinds = _alternatives(hints[item.name])
        plain = [kind for kind in kinds if kind is not type(None)]
        if len(plain) == 1:
            checked.append((item, plain[0], type(None) in kinds))
    return tuple(checked)


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _problem(item: Field[Any], kind: Any, value: Any) -> str:
    """What the field accepts, if it does not accept a value."""
    choices = item.metadata.get("choices")
    if choices and value not in choices:
        return f"is one of {', '.join(map(str, choices))}"
    if get_origin(kind) in (list, tuple, Sequence):
        return _problem_of_list(item, get_args(kind)[0], value)
    if kind is bool:
        return "" if isinstance(value, bool) else "is true or false"
    if kind is int:
        return _problem_of_count(item, value)
    if kind is float:
        return _problem_of_number(item, value)
    if kind in (str, Path):
        return _problem_of_text(item, value)
    return ""


def _problem_of_list(item: Field[Any], kind: Any, value: Any) -> str:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        return "is a list"
    if not value and _default(item) and not item.metadata.get("empty"):
        return "has at least one value"
    if kind is str and not all(isinstance(text, str) and text.strip() for text in value):
        return "has texts that are not empty"
    if kind is float and not all(_is_number(number) for number in value):
        return "has finite numbers"
    return ""


def _problem_of_count(item: Field[Any], value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, Integral):
        return "is a whole number"
    if item.name == "seed":
        return "" if 0 <= int(value) <= MOST_SEED else f"is from 0 to {MOST_SEED}"
    if item.metadata.get("no_limit") and value == -1:
        return ""
    default = _default(item)
    usual = 0 if default == 0 else 1
    least = item.metadata.get("least", usual)
    if value < least:
        return f"is {least} or more"
    return "" if value <= MOST else f"is at most {MOST:,}"


def _problem_of_number(item: Field[Any], value: Any) -> str:
    if not _is_number(value):
        return "is a finite number"
    if "above" in item.metadata and not value > item.metadata["above"]:
        return f"is above {item.metadata['above']}"
    if item.metadata.get("share") and not 0 <= value < 1:
        return "is at least 0 and below 1"
    return "" if value >= 0 else "is 0 or more"


def _problem_of_text(item: Field[Any], value: Any) -> str:
    if not isinstance(value, str | Path):
        return "is a text"
    if "\0" in str(value):
        return "has no null character"
    if item.name == "device":
        return problem_of_device(str(value))
    may_be_empty = _default(item) == ""
    return "" if str(value).strip() or may_be_empty else "is not empty"


def problem_of_device(name: str) -> str:
    """What a device can be, if this is none.

    Examples:
        >>> problem_of_device("cuda:1"), problem_of_device("gpu")
        ('', 'is cpu, cuda, cuda:1, mps or xpu')
    """
    is_known = re.fullmatch(r"cpu|mps|(cuda|xpu)(:\d{1,3})?", name)
    return "" if is_known else "is cpu, cuda, cuda:1, mps or xpu"


def _is_number(value: Any) -> bool:
    is_real = isinstance(value, Real) and not isinstance(value, bool)
    return is_real and math.isfinite(float(value))


def _default(item: Field[Any]) -> Any:
    if item.default is not MISSING:
        return item.default
    return item.default_factory() if item.default_factory is not MISSING else None
