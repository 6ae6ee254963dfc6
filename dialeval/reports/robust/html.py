"""A study of training against perturbations as one HTML page, with Markdown and LaTeX beside it."""

from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.robust_results import RobustExample, RobustResults
from dialeval.reports.format import NONE, finite, flatten, format_count, format_percent
from dialeval.reports.grids import grids_latex, grids_markdown
from dialeval.reports.pages import render
from dialeval.reports.robust.rows import (
    COLUMNS,
    KINDS,
    NAMES,
    cell_keys,
    format_value,
    measured_groups,
    robust_grids,
    row_names,
    strategies_of,
    table_nine,
    table_two,
    target_grid,
    target_ranks,
    verdict_grid,
)

_TITLES = {
    "verdicts": "Verdicts",
    "map": "N-train and A-train",
    "table-2": "Quality",
    "table-9": "Words and pieces",
    "coverage": "Coverage",
    "targets": "Targets",
    "examples": "Examples",
    "warnings": "Warnings",
    "settings": "Settings and versions",
}
_ALWAYS = ("verdicts", "warnings", "settings")


def write_robust_report(folder: Path | str) -> Path:
    """Write `report.html`, `table.md` and `table.tex` from the `results.json` in a folder."""
    folder = Path(folder)
    results = RobustResults.load(folder)
    grids = robust_grids(results)
    atomic_write_text(folder / "table.md", grids_markdown(grids, results.signature))
    atomic_write_text(folder / "table.tex", grids_latex(grids, results.signature))
    page = render("robust/report.html.jinja", _view(results))
    return atomic_write_text(folder / "report.html", page)


def _view(results: RobustResults) -> dict[str, Any]:
    names = [row.name for row in results.targets]
    groups = measured_groups(results)
    nine = table_nine(results)
    sections = {
        "verdicts": verdict_grid(results),
        "map": [_heat_map(results, name) for name in names],
        "table-2": [table_two(results, name, group) for name in names for group in groups],
        "table-9": [nine] if nine else [],
        "coverage": [_coverage(row) for row in strategies_of(results)],
        "targets": target_grid(results),
        "examples": [_example(example) for example in results.examples],
        "warnings": results.warnings,
        "settings": [*flatten(results.settings)] if results.settings else [],
    }
    contents = [(key, title) for key, title in _TITLES.items() if sections[key] or key in _ALWAYS]
    return {
        "sections": sections,
        "contents": contents,
        "targets": names,
        "ranks": target_ranks(results),
        "columns": COLUMNS,
        "measure": NAMES.get(results.measure, results.measure),
        "n": format_count(results.settings.get("contexts")),
        "versions": [*flatten(results.versions)] if results.versions else [],
        "signature": results.signature,
    }


def _heat_map(results: RobustResults, target: str) -> dict[str, Any]:
    """Rows of one target, darker where the measure is higher."""
    rows = {name: [_result(results, target, key) for key in cell_keys(name)]
            for name in row_names(results)}  # fmt: skip
    values = [cell.value for cells in rows.values() for cell in cells if cell is not None]
    finites = [value for value in values if finite(value) is not None]
    low, high = (min(finites), max(finites)) if finites else (0.0, 1.0)
    shaded = [
        {"name": title, "cells": [_shade(cell, low, high) for cell in rows[name]]}
        for name, title in row_names(results).items()
    ]
    return {"target": target, "rows": shaded}


def _result(results: RobustResults, target: str, key: tuple[str, str] | None) -> Any:
    return None if key is None else results.cell(results.measure, target, *key)


def _shade(result: Any, low: float, high: float) -> dict[str, Any]:
    if result is None or finite(result.value) is None:
        return {"value": NONE, "below": [], "title": "", "shade": None, "best": False}
    width = (high - low) or 1.0
    return {
        "value": format_value(result),
        "below": [],
        "title": "",
        "shade": round(60 * (result.value - low) / width),
        "best": False,
    }


def _coverage(row: Any) -> dict[str, str]:
    return {
        "name": row.name,
        "kind": KINDS[row.kind],
        "signature": row.signature,
        "coverage": format_percent(row.coverage),
        "edited": format_count(row.edited),
        "n": format_count(row.n),
    }


def _example(example: RobustExample) -> dict[str, Any]:
    return {
        "title": f"{example.target}, {example.strategy}",
        "before": example.context,
        "after": example.perturbed_context,
        "reference": example.reference,
        "replies": [
            ("N-train, normal context", example.nn),
            ("N-train, perturbed context", example.na),
            ("A-train, perturbed context", example.aa),
            ("A-train, normal context", example.an),
        ],
    }
