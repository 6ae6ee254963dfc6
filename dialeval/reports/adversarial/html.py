"""A training with rewards as one self-contained HTML page."""

from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.adversarial_results import AdversarialResults
from dialeval.metrics.regs_results import RegsResults
from dialeval.reports.adversarial.plots import curve_plots
from dialeval.reports.adversarial.ranks import RANK_CAPTION, system_ranks
from dialeval.reports.adversarial.study_rows import (
    Column,
    answer,
    cell,
    cell_text,
    columns,
    interval_text,
    sentences,
)
from dialeval.reports.adversarial.table import COLUMNS, record_cells
from dialeval.reports.drawing import line_classes
from dialeval.reports.format import flatten, format_interval, format_share
from dialeval.reports.pages import render


def write_adversarial_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    page = render_training(AdversarialResults.load(folder))
    return atomic_write_text(Path(folder) / "report.html", page)


def render_training(results: AdversarialResults) -> str:
    """The page, the same for the same results; texts of users and models are escaped."""
    return render("adversarial/training.html.jinja", _view(results))


def _view(results: AdversarialResults) -> dict[str, Any]:
    name = results.objective or "training"
    kinds = line_classes([name])
    sections = {"summary": "Summary", "curves": "Curves", "samples": "Responses",
                "warnings": "Warnings", "settings": "Settings and versions"}  # fmt: skip
    return {
        "contents": [item for item in sections.items() if results.samples or item[0] != "samples"],
        "objective": name,
        "reward": results.reward,
        "plots": curve_plots({name: results.records}, kinds),
        "columns": COLUMNS,
        "rows": [(f"{record.iteration:,}", record_cells(record)) for record in results.records],
        "samples": results.samples,
        "perplexity": _perplexity(results),
        "discriminator": _discriminator(results),
        "stopped": results.stopped,
        "warnings": results.warnings,
        "settings": [*flatten(results.settings)] if results.settings else [],
        "versions": [*flatten(results.versions)] if results.versions else [],
        "signature": results.signature,
    }


def write_regs_report(folder: Path | str) -> Path:
    """Write `report.html` of a study from the `results.json` in a folder."""
    page = render_study(RegsResults.load(folder))
    return atomic_write_text(Path(folder) / "report.html", page)


def render_study(results: RegsResults) -> str:
    """The page of a study; texts of users and models are escaped."""
    return render("adversarial/study.html.jinja", _study_view(results))


def _study_view(results: RegsResults) -> dict[str, Any]:
    heads, kinds = columns(results), line_classes(results.methods)
    sections = {
        "summary": "Summary", "table-3": "All systems", "curves": "Curves of the training",
        "table-1": "Responses side by side", "cost": "Cost and discriminators",
        "warnings": "Warnings", "settings": "Settings and versions",
    }  # fmt: skip
    return {
        "contents": list(sections.items()),
        "systems": results.systems,
        "methods": [(name, kinds[name]) for name in results.methods],
        "answer": answer(results),
        "sentences": sentences(results),
        "ranks": system_ranks(results),
        "rank_caption": RANK_CAPTION,
        "columns": [head.title for head in heads],
        "rows": [
            (system, [_cell(results, head, system) for head in heads]) for system in results.systems
        ],
        "plots": curve_plots(results.records, kinds),
        "examples": results.examples,
        "facts": _facts(results),
        "likelihood_steps": results.likelihood_steps,
        "warnings": results.warnings,
        "settings": [*flatten(results.settings)] if results.settings else [],
        "versions": [*flatten(results.versions)] if results.versions else [],
        "signature": results.signature,
    }


def _cell(results: RegsResults, head: Column, system: str) -> tuple[str, str]:
    one = cell(results, head, system)
    return cell_text(head, None if one is None else one.value), interval_text(one)


def _facts(results: RegsResults) -> list[tuple[str, str]]:
    """Minutes of each stage since the last start, and the discriminators before the game."""
    facts = [
        (f"{name}, minutes since the last start", f"{value:.1f}")
        for name, value in results.minutes.items()
    ]
    for name, quality in results.discriminators.items():
        if quality:
            bounds = format_interval(quality.get("low"), quality.get("high"))
            accuracy = format_share(quality.get("accuracy"))
            facts.append((f"{name}, discriminator before", f"{accuracy} [{bounds}]"))
    facts += [(f"{name}, stopped by", text) for name, text in results.stopped.items()]
    return facts


def _perplexity(results: AdversarialResults) -> str:
    test = results.get("perplexity")
    return "" if test is None else f"{test.value:.1f} on {test.n:,} test responses"


def _discriminator(results: AdversarialResults) -> str:
    quality = results.discriminator
    if not quality:
        return ""
    bounds = format_interval(quality.get("low"), quality.get("high"))
    return f"{format_share(quality.get('accuracy'))} [{bounds}] of {quality.get('n')} pairs"
