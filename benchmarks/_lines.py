"""Measurements as lines with a ratio, stored as JSON, and docs/performance.md made of them."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import yaml

from dialeval.files import atomic_write
from dialeval.metrics.results import versions

STORED = Path(__file__).parent / "performance"
TEXTS = Path(__file__).parent / "performance.yaml"
PAGE = Path("docs/performance.md")
HEAD = """# Performance

Every line is a ratio of two measurements of one run of one process on one machine: how many times
longer the named way takes than dialeval. `make bench` measures and writes this page; `python -m
benchmarks NAME` measures one section again. Most ratios are of CPU seconds, since a load above the
number of cores means that other work disturbed the run. The size grows in steps, to show how the
cost grows, and every section says what the limit is and why.
"""


@dataclass(frozen=True)
class Line:
    """One comparison.

    Args:
        size (`str`):
            How much work it was.
        way (`str`):
            The peer, or the plain way.
        ratio (`float`):
            Its cost divided by dialeval's.
    """

    size: str
    way: str
    ratio: float


@dataclass(frozen=True)
class Section:
    """The lines of one benchmark, and how they were measured."""

    name: str
    date: str
    load: float
    versions: dict[str, str]
    lines: list[Line]

    def save(self, folder: Path = STORED) -> None:
        """Write the JSON, all or nothing."""
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / f"{self.name}.json") as file:
            json.dump(asdict(self), file, ensure_ascii=False, indent=1)
            file.write("\n")

    @classmethod
    def load_from(cls, path: Path) -> "Section":
        """The inverse of `save`."""
        values = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**values, "lines": [Line(**line) for line in values["lines"]]})


def to_section(name: str, measured: Mapping[Any, Any]) -> Section:
    """A section from what a benchmark returns: ratios by way, or those by size."""
    today = datetime.now(timezone.utc).date().isoformat()
    lines = list(to_lines(measured))
    return Section(name, today, round(os.getloadavg()[0], 1), dict(versions()), lines)


def to_lines(measured: Mapping[Any, Any]) -> Iterable[Line]:
    """One line per ratio.

    Examples:
        >>> list(to_lines({100: {"scipy": 40.0}}))
        [Line(size='100', way='scipy', ratio=40.0)]
    """
    for key, value in measured.items():
        if isinstance(value, Mapping):
            size = f"{key:,}" if isinstance(key, int) else str(key)
            yield from (Line(size, way, float(ratio)) for way, ratio in value.items())
        else:
            yield Line("", str(key), float(value))


def write_page(path: Path = PAGE, folder: Path = STORED) -> None:
    """Write the page from the stored sections, in the order of the texts."""
    texts = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))
    parts = [HEAD]
    for name, text in texts.items():
        stored = folder / f"{name}.json"
        parts.append(f"## {text['title']}\n\n{text['about'].strip()}\n")
        if stored.is_file():
            parts.append(section_markdown(Section.load_from(stored)))
        else:
            parts.append(f"Not measured yet: `python -m benchmarks {name}`.\n")
        parts.append(f"**The limit.** {text['limit'].strip()}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write("\n".join(parts))


def section_markdown(section: Section) -> str:
    """The table of a section, and how it was measured."""
    sized = any(line.size for line in section.lines)
    heads = [*(["size"] if sized else []), "against", "times dialeval's cost"]
    rows = [
        [*([line.size] if sized else []), line.way.replace("|", "\\|"), f"{line.ratio:.2f}"]
        for line in section.lines
    ]
    table = "".join(f"| {' | '.join(row)} |\n" for row in (heads, ["---"] * len(heads), *rows))
    libraries = ", ".join(f"{name} {version}" for name, version in section.versions.items())
    how = (
        f"`python -m benchmarks {section.name}`, {section.date}, load {section.load}; {libraries}."
    )
    return f"{table}\n{how}\n"
