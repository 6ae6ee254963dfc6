"""Results of a table: parts that are written as soon as they are finished."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write


@dataclass(frozen=True)
class Number:
    """A value, with its interval and the number of cases behind it where they exist."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None


Cell = str | Number | None


@dataclass(frozen=True)
class TableParts:
    """A table before it is computed.

    Args:
        columns (`list[str]`):
            Headings.
        parts (`dict[str, Callable]`):
            By name, what computes the rows of a part.
    """

    columns: list[str]
    parts: dict[str, Callable[[], list[list[Cell]]]]


@dataclass(frozen=True)
class PartResult:
    """Rows of one part, and how they were made."""

    rows: list[list[Cell]]
    date: str
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TableResult:
    """What a table's JSON holds.

    Args:
        name (`str`):
            Name of the config.
        command (`str`):
            What makes it again.
        settings (`dict`):
            Settings, with the seeds.
        columns (`list[str]`):
            Headings.
        expected (`list[str]`):
            Names of all parts.
        parts (`dict[str, PartResult]`):
            Finished parts.
    """

    name: str
    command: str
    settings: dict[str, Any]
    columns: list[str]
    expected: list[str]
    parts: dict[str, PartResult] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Parts that are not finished."""
        return [name for name in self.expected if name not in self.parts]

    def save(self, path: Path) -> None:
        """Write the JSON, all or nothing."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            json.dump(asdict(self), file, ensure_ascii=False, indent=1)
            file.write("\n")

    @classmethod
    def load(cls, path: Path) -> "TableResult":
        """The inverse of `save`."""
        values = json.loads(path.read_text(encoding="utf-8"))
        values["parts"] = {name: _part(part) for name, part in values["parts"].items()}
        return cls(**values)


def _part(values: Mapping[str, Any]) -> PartResult:
    rows = [[_cell(cell) for cell in row] for row in values["rows"]]
    return PartResult(**{**values, "rows": rows})


def _cell(value: Any) -> Cell:
    return Number(**value) if isinstance(value, dict) else value
