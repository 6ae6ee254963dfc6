"""A published number: its value, its interval, and a signature that says how it was made."""

import json
import math
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dialeval._version import __version__

REFERENCES = ("coin", "length")
"""Evaluators that stand in every table, to show what is to be had for nothing."""
SECOND_HUMAN = "second human"
"""The system that is none: another human's replies, to show what a perfect system would get."""
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers")


@dataclass(frozen=True)
class Result:
    """One number of one system before one evaluator, with its interval.

    Args:
        system, evaluator (`str`):
            Whose responses, and who judged them; empty where that has no meaning.
        low, high (`float`):
            Ends of the interval; NaN when there is none.
        n (`int`):
            How many responses it rests on.
        signature (`str`):
            How it was made: see `signature`.
        details (`Mapping`, *optional*):
            What stands beside it.

    Example:
        >>> Result("adversuc", "parrot", "svm-unigram", 0.25, 0.2, 0.3, 400, "folds:5").value
        0.25
    """

    metric: str
    system: str
    evaluator: str
    value: float
    low: float
    high: float
    n: int
    signature: str
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON knows it: plain numbers, unrounded, and `None` for what is none."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Result":
        """A result from such a dictionary; keys that it does not know become details."""
        names = [each.name for each in fields(cls)]
        missing = [name for name in names[:-1] if name not in row]
        if missing:
            raise ValueError(
                f"A result needs {', '.join(names[:-1])}; {', '.join(missing)} missing."
            )
        known = {name: row[name] for name in names[:-1]}
        known |= {name: _number(row[name]) for name in ("value", "low", "high")}
        others = {name: each for name, each in row.items() if name not in names}
        return cls(**known, details={**(row.get("details") or {}), **others})


def signature(**parts: Any) -> str:
    r"""Facts in the given order as `key:value|key:value`; a `|` or `\` in a value is escaped.

    Example:
        >>> signature(evaluator="hierarchical", folds=5, data="a|b")
        'evaluator:hierarchical|folds:5|data:a\\|b'
    """
    return "|".join(
        f"{key}:{str(value).replace(chr(92), chr(92) * 2).replace('|', chr(92) + '|')}"
        for key, value in parts.items()
    )


def results_to_json(results: Iterable[Result], **settings: Any) -> str:
    """Results as JSON text: a list `results`, then `settings` and `versions`.

    Example:
        >>> coin = Result("ere", "", "coin", 0.25, 0.2, 0.3, 80, "seed:0")
        >>> json.loads(results_to_json([coin], seed=0))["results"][0]["value"]
        0.25
    """
    told = {
        "results": [each.to_dict() for each in results],
        "settings": plain(settings),
        "versions": versions(),
    }
    return json.dumps(told, ensure_ascii=False, indent=2, allow_nan=False)


def versions() -> dict[str, str]:
    """Versions of dialeval, Python, and of those libraries behind a number that are installed.

    Example:
        >>> {"dialeval", "numpy", "python", "scikit-learn", "scipy"} <= versions().keys()
        True
    """
    return {"dialeval": __version__, "python": platform.python_version(), **_libraries()}


@cache
def _libraries() -> dict[str, str]:
    found = {}
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def plain(value: Any) -> Any:
    """A value that JSON can hold: arrays as lists, NaN and infinities as `None`.

    Example:
        >>> plain({"low": float("nan"), "folds": (1, 2)})
        {'low': None, 'folds': [1, 2]}
    """
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each) for each in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
