"""A robustness run as one self-contained HTML page."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.results import RESULTS, Result
from dialeval.metrics.robustness_results import (
    INCONCLUSIVE,
    NORMAL,
    OVER_SENSITIVE,
    OVER_STABLE,
    RobustnessExample,
    RobustnessResults,
    RobustnessVerdict,
    StrategyCoverage,
    SystemRow,
)
from dialeval.reports.evaluation.advice import Caution, is_about
from dialeval.reports.format import (
    NONE,
    finite,
    flatten,
    format_count,
    format_interval,
    format_result,
    format_share,
    format_signed,
)
from dialeval.reports.pages import render
from dialeval.reports.robustness.ranks import scale_end, strategy_ranks, system_ranks, title_of
from dialeval.reports.robustness.rows import (
    KINDS,
    SIMILARITY,
    TONES,
    describe_system,
    format_effect,
    format_quality,
    format_score_change,
    format_similarity,
    headline,
    notes,
    quality_columns,
    sorted_strategies,
    system_names,
)

_HINT = "Run `dialeval robustness` with this folder as its --output-dir."
_TITLES = {
    "verdicts": "Verdicts",
    "map": "Strategies by systems",
    "table-2": "Against the reference",
    "table-4": "Similarity",
    "coverage": "Coverage",
    "evaluators": "The evaluators themselves",
    "examples": "Worst examples",
    "warnings": "Warnings",
    "settings": "Settings and versions",
}
_ALWAYS = ("verdicts", "warnings", "settings")


def load_robustness(folder: Path | str) -> RobustnessResults:
    """The results of a robustness run in a folder.

    Raises:
        ValueError: There are none; says what to do.
    """
    path = Path(folder) / RESULTS
    try:
        return RobustnessResults.load(path)
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).removeprefix(f'{path}: ')} {_HINT}") from error


def write_robustness_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    page = render_report(load_robustness(folder))
    return atomic_write_text(Path(folder) / "report.html", page)


def render_report(results: RobustnessResults) -> str:
    """The page, the same for the same results; texts of users and models are escaped."""
    return render("robustness/report.html.jinja", _view(results))


def _view(results: RobustnessResults) -> dict[str, Any]:
    """What the template lays out; a section without content is left out."""
    strategies, quality = sorted_strategies(results), quality_columns(results)
    sections = {
        "verdicts": [_card(results, system) for system in results.systems],
        "map": [_heat_row(results, strategy) for strategy in strategies],
        "table-2": _quality_rows(results) if quality else [],
        "table-4": _similarity_rows(results),
        "coverage": [_coverage(strategy) for strategy in strategies],
        "evaluators": [_evaluator(result) for result in results.evaluator_results],
        "examples": [*_examples(results)],
        "warnings": results.warnings,
        "settings": [*flatten(results.settings)] if results.settings else [],
    }
    return {
        "sections": sections,
        "contents": [
            (name, title) for name, title in _TITLES.items() if sections[name] or name in _ALWAYS
        ],
        "systems": system_names(results),
        "ranks": system_ranks(results),
        "scale_end": f"{scale_end(results):g}".removeprefix("0"),
        "quality": list(quality.values()),
        "similarity": list(SIMILARITY.values()),
        "notes": notes(results),
        "n": format_count(results.settings.get("contexts")),
        "versions": [*flatten(results.versions)] if results.versions else [],
        "signature": results.signature,
    }


def _card(results: RobustnessResults, system: SystemRow) -> dict[str, Any]:
    """A system: its sentences, and a row for each strategy."""
    rows = []
    for strategy in sorted_strategies(results):
        verdict = results.verdict(system.name, strategy.name)
        name = verdict.verdict if verdict else "nothing edited"
        rows.append({
            "strategy": strategy.name,
            "kind": KINDS[strategy.kind],
            "verdict": name,
            "tone": TONES.get(name, "open"),
            "effect": format_effect(verdict),
            "margin": format_share(verdict.margin if verdict else None),
            "unchanged": format_share(verdict.unchanged if verdict else None),
            "n": format_count(verdict.n if verdict else None),
        })  # fmt: skip
    return {
        "name": system.name,
        "title": title_of(results, system.name),
        "headline": headline(results, system.name),
        "ranks": strategy_ranks(results, system.name),
        "more": describe_system(system),
        "cautions": [
            Caution.of(text)
            for text in results.warnings
            if is_about(text, system.name, system_names(results))
        ],
        "step": _next_step([row["verdict"] for row in rows]),
        "rows": rows,
    }


def _next_step(verdicts: Sequence[str]) -> str:
    """What to do next about a system, by the worst of its verdicts."""
    if OVER_SENSITIVE in verdicts or OVER_STABLE in verdicts:
        return (
            "read the worst examples below, and train the system against these perturbations "
            "(accelerate launch recipes/robust.py)."
        )
    if INCONCLUSIVE in verdicts or not verdicts:
        return "measure more contexts (--limit) where a verdict is inconclusive."
    return "try further strategies (dialeval list perturbations)."


def _heat_row(results: RobustnessResults, strategy: StrategyCoverage) -> dict[str, Any]:
    cells = [_heat(results.verdict(name, strategy.name)) for name in system_names(results)]
    return {"name": strategy.name, "kind": KINDS[strategy.kind], "cells": cells}


def _heat(verdict: RobustnessVerdict | None) -> dict[str, Any]:
    """A cell: the darker, the further replies move."""
    if verdict is None or finite(verdict.effect) is None:
        return {"value": NONE, "below": [], "title": "not measured", "shade": None, "best": False}
    return {
        "value": format_signed(verdict.effect),
        "below": [format_interval(verdict.low, verdict.high), verdict.verdict],
        "title": "",
        "shade": round(60 * min(max(verdict.effect, 0), 1)),
        "best": False,
    }


def _quality_rows(results: RobustnessResults) -> list[tuple[str, list[str]]]:
    names = [(strategy.name, strategy.name) for strategy in sorted_strategies(results)]
    return [
        (head, [format_quality(results, metric, system, name)
                for system in system_names(results) for metric in quality_columns(results)])
        for head, name in [("Normal Input", NORMAL), *names]
    ]  # fmt: skip


def _similarity_rows(results: RobustnessResults) -> list[tuple[str, list[str]]]:
    return [
        (strategy.name, [format_similarity(results, metric, system, strategy.name)
                         for system in system_names(results) for metric in SIMILARITY])
        for strategy in sorted_strategies(results)
    ]  # fmt: skip


def _coverage(strategy: StrategyCoverage) -> dict[str, str]:
    return {
        "name": strategy.name,
        "kind": KINDS[strategy.kind],
        "signature": strategy.signature,
        "coverage": format_share(strategy.coverage),
        "edited": format_count(strategy.edited),
        "n": format_count(strategy.n),
        "foreign": format_count(strategy.foreign),
    }


def _evaluator(result: Result) -> dict[str, str]:
    return {
        "evaluator": result.evaluator,
        "strategy": result.details["strategy"],
        "side": result.details["side"],
        "metric": result.metric.replace("_", "-"),
        "value": format_result(result),
        "score": format_score_change(result),
        "n": format_count(result.n),
        "verdict": result.details["verdict"],
    }


def _examples(results: RobustnessResults) -> Iterator[dict[str, Any]]:
    """The worst replies of each system and strategy."""
    groups: dict[tuple[str, str, str], list[RobustnessExample]] = {}
    for example in results.examples:
        key = (example.system, example.strategy, example.kind)
        groups.setdefault(key, []).append(example)
    for (system, strategy, kind), examples in groups.items():
        what = "changed most" if kind == "should_not_change" else "changed least"
        title = f"{system}, {strategy}: replies that {what}"
        yield {"title": title, "cards": [_example(example) for example in examples]}


def _example(example: RobustnessExample) -> dict[str, Any]:
    turns = list(zip(example.context, example.edits, strict=False))
    return {
        "before": [[*mark_edits(text, log, "before")] for text, log in turns],
        "after": [[*mark_edits(text, log, "after")] for text, log in turns],
        "normal": example.response,
        "perturbed": example.perturbed_response,
        "reference": example.reference,
        "movement": format_share(example.movement),
    }


def mark_edits(text: str, log: Sequence[Sequence[Any]], side: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text before or after its edits, and which of them are edits.

    Args:
        text (`str`):
            The text before the edits.
        log (`Sequence`):
            Edits: position, old text, new text.
        side (`str`):
            `"before"` or `"after"`.

    Returns:
        `Iterator[tuple[str, bool]]`: Pieces, and whether each is an edit.

    Examples:
        >>> list(mark_edits("I like tea", [[2, "like", "hate"]], "after"))
        [('I ', False), ('hate', True), (' tea', False)]
    """
    end = 0
    for start, before, after in log:
        yield text[end:start], False
        yield (before if side == "before" else after), True
        end = start + len(before)
    yield text[end:], False
