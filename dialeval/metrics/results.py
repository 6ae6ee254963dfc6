"""Published numbers: a value with its interval and signature, and the results of a whole run."""

import json
import math
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Union, get_args, get_origin, get_type_hints

from dialeval._version import __version__
from dialeval.errors import BadInput
from dialeval.files import atomic_write
from dialeval.saved import check_type, read_json

if TYPE_CHECKING:
    import pandas
    from typing_extensions import Self

REFERENCES = ("coin", "length")
"""Baseline evaluators in every table: a random guess, and response length alone."""
SECOND_HUMAN = "second human"
"""A second human's replies, evaluated like a system: what a perfect system would score."""
RESULTS = "results.json"
REPLIES = "replies.parquet"
"""Every reply in its context, next to `results.json` of an evaluation."""
SCHEMA_VERSION = 2
"""Version of `results.json`; 1 had `remarks`, `judge` keys and the verdict names of 0.1."""
_HINT = "Give the --output-dir of a finished run."
PILES = "unpaired"
"""The protocol of a run whose systems and humans do not answer the same contexts."""
PILES_HINT = (
    "That run compared two piles without shared contexts; this needs one in which the systems "
    "answer the contexts of the human file."
)
_ROW: dict[str, Any] = {
    **dict.fromkeys(("metric", "system", "evaluator", "signature"), str),
    **dict.fromkeys(("value", "low", "high"), (float, type(None))),
    "n": int,
    "details": (dict, type(None)),
}
"""Types of the keys of a result in JSON."""
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch", "transformers")


@dataclass(frozen=True)
class Result:
    """One number of one system by one evaluator, with its interval.

    Args:
        metric (`str`):
            Name of the metric.
        system, evaluator (`str`):
            Which system's responses, and which evaluator; empty where not applicable.
        value (`float`):
            The number, unrounded.
        low, high (`float`):
            Bounds of the interval; NaN when there is none.
        n (`int`):
            Number of responses behind the value.
        signature (`str`):
            How it was computed: see `signature`.
        details (`Mapping`, *optional*):
            Further numbers about the same quantity.

    Examples:
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
        """Values that JSON can hold: plain numbers, unrounded, and `None` for NaN."""
        return {item.name: plain(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Result":
        """A result from such a dictionary; unknown keys become details."""
        names = [item.name for item in fields(cls)]
        missing = [name for name in names[:-1] if name not in row]
        if missing:
            raise ValueError(
                f"A result needs {', '.join(names[:-1])}; {', '.join(missing)} missing."
            )
        for name, types in _ROW.items():
            check_type(name, row.get(name), types)
        values = {name: row[name] for name in names[:-1]}
        values |= {name: _number(row[name]) for name in ("value", "low", "high")}
        others = {name: value for name, value in row.items() if name not in names}
        return cls(**values, details={**(row.get("details") or {}), **others})


@dataclass(frozen=True, kw_only=True)
class RunResults:
    """Everything one run computed; what its `results.json` holds.

    Protocols return a subclass with their own fields (dataclasses, or tuples and dictionaries of
    them), and reports take it. `save` and `load` are exact inverses.

    Args:
        results (`tuple[Result, ...]`):
            Every number.
        warnings (`tuple[str, ...]`, *optional*):
            What a reader has to know before using the numbers.
        settings (`Mapping`, *optional*):
            Settings of the run.
        signature (`str`, *optional*):
            The settings that affect the numbers, in one line.
        versions (`Mapping`, *optional*):
            Versions of dialeval, Python and the libraries; of this process by default.
        schema_version (`int`, *optional*):
            Version of the file format.
    """

    protocol: ClassVar[str] = ""
    """Name of the experiment, written into the file, so that it is read as the right class."""

    results: tuple[Result, ...]
    warnings: tuple[str, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    signature: str = ""
    versions: Mapping[str, str] = field(default_factory=lambda: versions())
    schema_version: int = SCHEMA_VERSION

    def select(
        self,
        metric: str | None = None,
        system: str | None = None,
        evaluator: str | None = None,
    ) -> list[Result]:
        """Results with this metric, system and evaluator; `None` accepts any.

        Args:
            metric (`str`, *optional*):
                Name of the metric.
            system (`str`, *optional*):
                Name of the system.
            evaluator (`str`, *optional*):
                Name of the evaluator.

        Returns:
            `list[Result]`: In the order of the run.
        """
        wanted = {"metric": metric, "system": system, "evaluator": evaluator}
        conditions = {name: value for name, value in wanted.items() if value is not None}
        return [
            result
            for result in self.results
            if all(getattr(result, name) == value for name, value in conditions.items())
        ]

    def get(self, metric: str, system: str = "", evaluator: str = "") -> Result | None:
        """The first such result, or `None`.

        Args:
            metric (`str`):
                Name of the metric.
            system (`str`, *optional*, defaults to `""`):
                Name of the system.
            evaluator (`str`, *optional*, defaults to `""`):
                Name of the evaluator.

        Returns:
            `Result` or `None`: The number with its interval.
        """
        return next(iter(self.select(metric, system, evaluator)), None)

    def to_dict(self) -> dict[str, Any]:
        """The content of `results.json`."""
        return {
            "schema_version": self.schema_version,
            "protocol": self.protocol,
            **{item.name: to_plain(getattr(self, item.name)) for item in fields(self)},
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> "Self":
        """Results from such a dictionary.

        Raises:
            BadInput: It has another schema version or protocol, or lacks a field.
        """
        _check_schema(content, cls.protocol)
        hints = get_type_hints(cls, localns={"Result": Result})
        known = [item.name for item in fields(cls)]
        return cls(
            **{name: from_plain(hints[name], content[name]) for name in known if name in content}
        )

    def save(self, folder: Path | str) -> Path:
        """Write `results.json` into a folder, all or nothing; returns its path."""
        path = Path(folder) / RESULTS
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)
        with atomic_write(path) as file:
            file.write(text + "\n")
        return path

    @classmethod
    def load(cls, folder: Path | str) -> "Self":
        """Read what `save` wrote, from the folder or from the file itself.

        Raises:
            BadInput: There is no such file, or it holds something else; says what to do.
        """
        path = Path(folder)
        path = path if path.is_file() else path / RESULTS
        content = read_results(path)
        try:
            return cls.from_dict(content)
        except BadInput as error:
            raise BadInput(error.message, path, hint=error.hint) from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            message = f"expected the results of a run, but {error}"
            raise BadInput(message, path, hint=_HINT) from error

    def to_pandas(self) -> "pandas.DataFrame":
        """One row per metric, system and evaluator."""
        import pandas

        names = [item.name for item in fields(Result)]
        return pandas.DataFrame([result.to_dict() for result in self.results], columns=names)

    def _repr_html_(self) -> str:
        """The numbers as a table, for notebooks."""
        columns = ["metric", "system", "evaluator", "value", "low", "high", "n"]
        return self.to_pandas()[columns].to_html(index=False, float_format="%.3f", escape=True)


def read_results(path: Path) -> dict[str, Any]:
    """The content of a `results.json`, not yet typed.

    Raises:
        BadInput: There is no such file, or it holds no object.
    """
    if not path.is_file():
        raise BadInput("no such file.", path, hint=_HINT)
    content = read_json(path, _HINT)
    if not isinstance(content, dict):
        kind = type(content).__name__
        raise BadInput(f"expected an object with `results`, but found a {kind}.", path, hint=_HINT)
    return content


def to_plain(value: Any) -> Any:
    """A value that JSON can hold; dataclasses become dictionaries of their fields."""
    if isinstance(value, Result):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: to_plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    return plain(value)


def from_plain(hint: Any, value: Any) -> Any:
    """The inverse of [`to_plain`] for a type hint of dataclasses, tuples, mappings and floats.

    Examples:
        >>> from_plain(tuple[float, ...], [1, None])
        (1.0, nan)
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        if value is None and type(None) in arguments:
            return None
        return from_plain(next(item for item in arguments if item is not type(None)), value)
    if hint is Result:
        return Result.from_dict(value)
    if is_dataclass(hint):
        hints = get_type_hints(hint)
        names = [item.name for item in fields(hint) if item.name in value]
        return hint(**{name: from_plain(hints[name], value[name]) for name in names})  # type: ignore[operator]  # a class
    if origin in (tuple, list):
        items = [from_plain(arguments[0], item) for item in value]
        return tuple(items) if origin is tuple else items
    if origin is not None and isinstance(value, Mapping) and len(arguments) == 2:
        return {key: from_plain(arguments[1], item) for key, item in value.items()}
    return _number(value) if hint is float else value


def _check_schema(content: Mapping[str, Any], protocol: str) -> None:
    schema = content.get("schema_version", 1)
    if schema != SCHEMA_VERSION:
        raise BadInput(
            f"these results have schema version {schema}, but this version of dialeval reads "
            f"version {SCHEMA_VERSION}.",
            hint="Run the command again into another --output-dir.",
        )
    if protocol and content.get("protocol") != protocol:
        raise BadInput(
            f"expected the results of {protocol}, but these are of {content.get('protocol')!r}.",
            hint=PILES_HINT if content.get("protocol") == PILES else _HINT,
        )
    if not isinstance(content.get("results"), list):
        raise BadInput("there is no list `results`.", hint=_HINT)


def signature(**parts: Any) -> str:
    r"""Facts in the given order as `key:value|key:value`; a `|` or `\` in a value is escaped.

    Examples:
        >>> signature(evaluator="hierarchical", folds=5, data="a|b")
        'evaluator:hierarchical|folds:5|data:a\\|b'
    """
    return "|".join(
        f"{key}:{str(value).replace(chr(92), chr(92) * 2).replace('|', chr(92) + '|')}"
        for key, value in parts.items()
    )


def results_to_json(results: Iterable[Result], **settings: Any) -> str:
    """Results as JSON text: a list `results`, then `settings` and `versions`.

    Examples:
        >>> coin = Result("ere", "", "coin", 0.25, 0.2, 0.3, 80, "seed:0")
        >>> json.loads(results_to_json([coin], seed=0))["results"][0]["value"]
        0.25
    """
    content = {
        "results": [result.to_dict() for result in results],
        "settings": plain(settings),
        "versions": versions(),
    }
    return json.dumps(content, ensure_ascii=False, indent=2, allow_nan=False)


def versions() -> dict[str, str]:
    """Versions of dialeval, Python, and of those libraries behind a number that are installed.

    Examples:
        >>> {"dialeval", "numpy", "python", "scikit-learn", "scipy"} <= versions().keys()
        True
    """
    return {"dialeval": __version__, "python": platform.python_version(), **_libraries()}


@cache
def _libraries() -> dict[str, str]:
    installed = {}
    for library in _LIBRARIES:
        with suppress(PackageNotFoundError):
            installed[library] = version(library)
    return installed


def plain(value: Any) -> Any:
    """A value that JSON can hold: arrays as lists, NaN and infinities as `None`.

    Examples:
        >>> plain({"low": float("nan"), "folds": (1, 2)})
        {'low': None, 'folds': [1, 2]}
    """
    if hasattr(value, "tolist"):  # numpy's arrays and scalars
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)


def _number(value: float | None) -> float:
    return float("nan") if value is None else float(value)
