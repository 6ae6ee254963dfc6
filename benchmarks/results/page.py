"""docs/results.md from the stored results."""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from textwrap import fill

from benchmarks.results.config import TableConfig
from benchmarks.results.store import Cell, Number, PartResult, TableResult
from benchmarks.results.values import filled, is_complete
from dialeval.files import atomic_write

PAGE = Path("docs/results.md")
SUMMARY = Path(__file__).parent / "summary.md"
WIDTH = 118
HEAD = """# Results

The measures on real data and in a world where the truth is known. `make results` computes what is
missing and writes this page; `make results-quick` runs every table at a small size in minutes.
Corpora are read from `../shared/data` (`DIALEVAL_SHARED_DATA`), and a table without its corpus is
skipped. Numbers in brackets are intervals of 95 %; those of parts computed before 2026-11-19 are
bootstrap percentiles, and differ from today's by less than .002 with 1,000 contexts, except where
their width is 0. A table says which of its parts have not been computed yet.
"""


def write_page(
    configs: Iterable[TableConfig], results: Mapping[str, TableResult], path: Path
) -> None:
    """Write the page.

    Args:
        configs (`Iterable[TableConfig]`):
            The tables in their order.
        results (`Mapping[str, TableResult]`):
            Stored results by name.
        path (`Path`):
            The file.
    """
    sections = [section(config, results.get(config.name), results) for config in configs]
    points = summary(results)
    if points:
        sections.insert(0, f"## In short\n\n{points}\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write("\n".join([HEAD, *sections]))


def summary(results: Mapping[str, TableResult]) -> str:
    """What the tables show in points, with their numbers; without what is not computed yet."""
    points = SUMMARY.read_text(encoding="utf-8").strip().removeprefix("- ").split("\n- ")
    known = [filled(point, results).split() for point in points if is_complete(point, results)]
    lines = (fill(f"- {' '.join(words)}", WIDTH, subsequent_indent="  ") for words in known)
    return "\n".join(lines)


def section(
    config: TableConfig,
    result: TableResult | None,
    results: Mapping[str, TableResult] | None = None,
) -> str:
    """Heading, text, table, and how it was made.

    Args:
        config (`TableConfig`):
            The table.
        result (`TableResult`, *optional*):
            Its stored result.
        results (`Mapping[str, TableResult]`, *optional*):
            Stored results by name, for the numbers in its text.

    Returns:
        `str`: Markdown.
    """
    parts = [f"## {config.title}\n", config.about.strip() + "\n"]
    if config.paper:
        head, *rows = config.paper
        parts += ["The paper:\n", markdown_table([str(cell) for cell in head], rows)]
    if result is None or not result.parts:
        parts.append(f"Not computed yet: `python -m benchmarks.results {config.name}`.\n")
        return "\n".join(parts)
    rows = [
        row for name in result.expected if name in result.parts for row in result.parts[name].rows
    ]
    parts += ["Here:\n"] if config.paper else []
    parts.append(markdown_table(result.columns, rows))
    if config.differences and is_complete(config.differences, results or {}):
        parts.append(filled(config.differences.strip(), results or {}) + "\n")
    parts.append(provenance(result))
    return "\n".join(parts)


def markdown_table(columns: list[str], rows: Iterable[list[Cell]]) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns)]
    lines += [[format_cell(cell) for cell in row] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def format_cell(cell: Cell) -> str:
    """Text as it is, escaped; numbers with their interval.

    Examples:
        >>> format_cell(Number(0.5, 0.25, 0.75)), format_cell(Number(120.0)), format_cell("a|b")
        ('.500 [.250, .750]', '120', 'a\\\\|b')
    """
    if cell is None:
        return ""
    if not isinstance(cell, Number):
        escaped = str(cell).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
        return " ".join(escaped.split())
    if cell.low is None or cell.high is None:
        return format_number(cell.value)
    bounds = f"[{format_number(cell.low)}, {format_number(cell.high)}]"
    return f"{format_number(cell.value)} {bounds}"


def format_number(value: float) -> str:
    """Three decimals below 10 in size, without the leading zero.

    Examples:
        >>> format_number(-0.12345), format_number(3.0), format_number(1234.5)
        ('-.123', '3.00', '1,234')
    """
    if not math.isfinite(value):
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) >= 1:
        return f"{value:.2f}" if abs(value) > 1 or value != round(value) else f"{value:.3f}"
    return f"{value:.3f}".replace("0.", ".", 1)


def provenance(result: TableResult) -> str:
    """Command, settings, dates, time, versions, and what is missing."""
    dates = sorted({part.date for part in result.parts.values()})
    seconds = sum(part.seconds for part in result.parts.values())
    versions = dict.fromkeys(_versions(part) for part in result.parts.values())
    settings = ", ".join(f"{name} {_plain(value)}" for name, value in result.settings.items())
    lines = [
        f"`{result.command}`; {settings}.",
        f"Computed {' to '.join(dict.fromkeys([dates[0], dates[-1]]))} in {_duration(seconds)};",
        "; other parts: ".join(versions) + ".",
    ]
    if result.missing:
        lines.append(f"**Not computed yet:** {', '.join(result.missing)}.")
    return "\n".join(lines) + "\n"


def _versions(part: PartResult) -> str:
    return ", ".join(f"{name} {version}" for name, version in part.versions.items())


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
