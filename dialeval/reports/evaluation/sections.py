"""The content of each section of the page, ready for the template."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialeval.metrics.evaluation_results import (
    CurvePoint,
    EvaluationResults,
    Example,
)
from dialeval.metrics.results import REFERENCES, SECOND_HUMAN, Result
from dialeval.reports.drawing import deviation_bar, interval_bar
from dialeval.reports.evaluation import plots
from dialeval.reports.evaluation.columns import (
    Column,
    accuracy_interval,
    columns_of,
    notes_of,
)
from dialeval.reports.evaluation.headline import complement, headlines, ranked
from dialeval.reports.evaluation.plots import Scores
from dialeval.reports.evaluation.rows import (
    SCENARIOS,
    Row,
    accuracy_bounds,
    bounds_of,
    error_above_blind,
    only_reliability,
    response_only_accuracy,
    saturation,
    scenarios_of,
    shuffled_context_accuracy,
    value_of,
)
from dialeval.reports.format import (
    NONE,
    detail,
    finite,
    format_count,
    format_interval,
    format_share,
    format_signed,
    shorten,
)

View = dict[str, Any]
"""What a template prints."""

_MEASURES = {  # details of AdverSuc: name in the table and term of the glossary
    "machines_predicted_human": ("false negative rate", "false-negative-rate"),
    "humans_predicted_machine": ("false positive rate", "false-positive-rate"),
    "tpr_at_5_fpr": ("true positive rate at 5 % FPR", "true-positive-rate"),
    "tpr_at_1_fpr": ("true positive rate at 1 % FPR", "true-positive-rate"),
    "auroc": ("AUROC", "auroc"),
    "pairwise_accuracy": ("pairwise accuracy", "pairwise-accuracy"),
    "held_out_pairwise_accuracy": ("pairwise accuracy, held out", "pairwise-accuracy"),
    "response_only": ("accuracy, response only", "response-only"),
    "shuffled_context": ("accuracy, shuffled context", "shuffled-context"),
    "length_stratified_accuracy": ("accuracy, length-matched", "length-matched"),
    "minimum_detectable_accuracy": ("minimum detectable accuracy", "minimum-detectable-accuracy"),
    "seed_spread": ("seed spread", "seed-spread"),
}
_ELSEWHERE = ("95 %", "AUROC")  # below the numbers, and among the further measures
_TURNS, _EXAMPLES = 6, 10  # turns of a context, examples of a kind


def system_numbers(results: EvaluationResults, rows: Sequence[Row]) -> dict[str, int]:
    """The number that each system has in plots: its rank; a second human has the last one."""
    names = [item.system for item in ranked(headlines(results))]
    names += [row.system for row in rows]
    names += [verdict.system for verdict in results.verdicts]
    names += [point.system for point in results.curves]
    names = [name for name in dict.fromkeys([*names, *results.examples]) if name]
    names.sort(key=SECOND_HUMAN.__eq__)
    return {name: number for number, name in enumerate(names, 1)}


def _count(result: Result | None) -> str:
    return NONE if result is None else format_count(result.n)


def _by_system(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for system in dict.fromkeys(row.system for row in rows):
        yield system, [row for row in rows if row.system == system]


def main_table(rows: Sequence[Row]) -> View:
    """The main table: a group of rows per system, intervals below their numbers."""
    rows = () if only_reliability(rows) else rows
    columns = [column for column in columns_of(rows) if column.name not in _ELSEWHERE]
    groups = [
        (system, [_table_row(row, columns) for row in group]) for system, group in _by_system(rows)
    ]
    heads = [(column.name, column.term) for column in columns]
    return {"heads": heads, "notes": notes_of(rows), "groups": groups}


def _table_row(row: Row, columns: Sequence[Column]) -> View:
    results = {
        "machine-vs-random": row.machine,
        "human-vs-random": row.control,
        "ERE": row.ere,
        "ERE (transfer)": row.ere,
    }
    cells = []
    for column in columns:
        text, bounds = column.cell(row), format_interval(*bounds_of(results.get(column.name)))
        bounds = accuracy_interval(row) if column.name == "accuracy" else bounds
        cells.append((text, bounds if NONE not in (text, bounds) else ""))
    return {
        "evaluator": row.label,
        "reference": row.reference,
        "bar": interval_bar(complement(value_of(row.adversuc)), *accuracy_bounds(row.adversuc)),
        "cells": cells,
    }


def measure_table(rows: Sequence[Row]) -> View:
    """Further measures of each evaluator and system, without empty columns."""
    shown = [name for name in _MEASURES if any(_measure(row, name) is not None for row in rows)]
    heads = [_MEASURES[name] for name in shown]
    matched = any(row.length_matched for row in rows)
    groups = []
    for system, group in _by_system(rows):
        lines = []
        for row in group:
            cells = [(format_share(_measure(row, name)), "") for name in shown]
            cells += [_with_bounds(row.length_matched)] if matched else []
            lines.append((row, cells))
        groups.append((system, lines))
    heads += [("accuracy, lengths matched in training", "length-matched")] if matched else []
    return {"heads": heads, "groups": groups}


def _measure(row: Row, name: str) -> float | None:
    accuracies = {"response_only": response_only_accuracy,
                  "shuffled_context": shuffled_context_accuracy}  # fmt: skip
    if name in accuracies:
        return accuracies[name](row.adversuc)
    return detail(row.adversuc, name)


def _with_bounds(result: Result | None) -> tuple[str, str]:
    """The accuracy of a result of AdverSuc, and its interval for the line below."""
    bounds = format_interval(*accuracy_bounds(result))
    return format_share(complement(value_of(result))), bounds if bounds != NONE else ""


def diversity_table(results: EvaluationResults) -> View:
    """Measures that need no evaluator, such as distinct-1, one row per system."""
    diversity = [item for item in results.results if item.system and not item.evaluator]
    metrics = list(dict.fromkeys(item.metric for item in diversity))
    values = {(item.system, item.metric): finite(item.value) for item in diversity}
    rows = [
        (name, [_diversity(metric, values.get((name, metric))) for metric in metrics])
        for name in dict.fromkeys(item.system for item in diversity)
    ]
    return {"heads": [metric.replace("_", " ") for metric in metrics], "rows": rows}


def _diversity(metric: str, value: float | None) -> str:
    return f"{value:.1f}" if metric == "tokens" and value is not None else format_share(value)


def reliability_tables(rows: Sequence[Row]) -> list[View]:
    """The four scenarios: one table of retrained evaluators, one of those that were not."""
    tables = []
    unique = {(row.ere.system, row.evaluator): row for row in rows if row.ere}
    for by_transfer in (False, True):
        part = [row for row in unique.values() if row.by_transfer == by_transfer]
        groups = [
            (label, [_reliability_row(row) for row in part if row.label == label])
            for label in dict.fromkeys(row.label for row in part)
        ]
        if groups:
            tables.append({"transfer": by_transfer, "groups": groups})
    return tables


def _reliability_row(row: Row) -> View:
    scenarios = scenarios_of(row.ere)
    cells = [
        {
            "adversuc": format_share(scenarios[name].adversuc),
            "deviation": format_signed(scenarios[name].deviation),
            "bar": "" if scenarios[name].deviation is None
            else deviation_bar(scenarios[name].deviation),
        }
        for name in SCENARIOS
    ]  # fmt: skip
    return {
        "system": row.ere.system if row.ere else "",
        "reference": row.reference,
        "cells": cells,
        "ere": format_share(value_of(row.ere)),
        "interval": format_interval(*bounds_of(row.ere)),
        "above": format_share(error_above_blind(row.ere)),
        "noise": format_share(detail(row.ere, "noise_floor")),
    }


def score_plots(
    scores: Mapping[tuple[str, str], Scores],
    systems: Mapping[str, int],
    classes: Mapping[str, str],
    rows: Sequence[Row],
) -> list[View]:
    """ROC curves, histograms, and score against length of each system.

    Args:
        scores (`Mapping[tuple[str, str], Scores]`):
            Scores by system and evaluator.
        systems (`Mapping[str, int]`):
            The number of each system.
        classes (`Mapping[str, str]`):
            CSS class of each evaluator's line.
        rows (`Sequence[Row]`):
            Rows of the run.

    Returns:
        `list[View]`: One per system that has scores.
    """
    areas = {(row.system, row.evaluator): detail(row.adversuc, "auroc") for row in rows}
    shown = []
    for system, number in systems.items():
        parts = {
            evaluator: part
            for (name, evaluator), part in scores.items()
            if name == system and evaluator != "coin"
        }
        if not parts:
            continue
        legend = [
            (name, classes.get(name, "c0"), format_share(areas.get((system, name))))
            for name in parts
        ]
        trained = {name: part for name, part in parts.items() if name not in REFERENCES} or parts
        lines = {name: line for name, line, _ in legend}
        shown.append({
            "system": system, "number": number, "legend": legend,
            "roc": plots.roc_plot(parts, lines, f"ROC curves of the evaluators of {system}"),
            "panels": [_score_panel(system, name, part) for name, part in trained.items()],
        })  # fmt: skip
    return shown


def _score_panel(system: str, evaluator: str, scores: Scores) -> View:
    histogram = f"Histogram of the scores by {evaluator} of human responses and of {system}"
    length = f"Mean score by {evaluator} against length, for human responses and {system}"
    return {
        "evaluator": evaluator,
        "histogram": plots.histogram_plot(scores, histogram),
        "length": plots.length_plot(scores, length),
    }


def corner_section(rows: Sequence[Row], systems: Mapping[str, int]) -> View:
    """Plots of AdverSuc against machine-vs-random, and the corner of each system."""
    rows = [row for row in rows if plots.corner(row) and row.evaluator not in REFERENCES]
    alt = "AdverSuc against machine-vs-random accuracy by {}; the table below has the numbers"
    panels = []
    for evaluator in dict.fromkeys(row.evaluator for row in rows):
        part = [row for row in rows if row.evaluator == evaluator]
        plot = plots.corner_plot(part, systems, alt.format(evaluator))
        panels.append({"evaluator": evaluator, "plot": plot})
    points = [
        {
            "number": systems[row.system], "system": row.system, "evaluator": row.evaluator,
            "adversuc": format_share(value_of(row.adversuc)),
            "machine": format_share(value_of(row.machine)),
            "gain": format_signed(detail(row.machine, "gap")),
            "corner": plots.CORNERS[plots.corner(row) or ""],
        }
        for row in rows
    ]  # fmt: skip
    return {"panels": panels, "points": points}


def learning_curves(
    curves: Sequence[CurvePoint], systems: Mapping[str, int], classes: Mapping[str, str]
) -> list[View]:
    """The learning curves of each system, and what each of them shows.

    Args:
        curves (`Sequence[CurvePoint]`):
            Points of all curves.
        systems (`Mapping[str, int]`):
            The number of each system.
        classes (`Mapping[str, str]`):
            CSS class of each evaluator's line.

    Returns:
        `list[View]`: One per system that has a curve.
    """
    states, shown = saturation(curves), []
    for system, number in systems.items():
        points: dict[str, list[CurvePoint]] = {}
        for point in curves:
            if point.system == system and point.evaluator not in REFERENCES:
                points.setdefault(point.evaluator, []).append(point)
        if points:
            lines = {name: classes.get(name, "c0") for name in points}
            alt = f"Learning curve: accuracy on {system} by the number of training examples"
            legend = [(name, lines[name], states[system, name]) for name in points]
            plot = plots.learning_plot(points, lines, alt)
            shown.append({"system": system, "number": number, "plot": plot, "legend": legend})
    return shown


def example_section(results: EvaluationResults) -> list[View]:
    """The most human-like responses of each system and those that are easiest to detect."""
    shown = []
    for system, examples in results.examples.items():
        if examples.most_human_like or examples.easiest_to_detect:
            lists = [
                ("Most human-like", [*map(_example, examples.most_human_like[:_EXAMPLES])]),
                ("Easiest to detect", [*map(_example, examples.easiest_to_detect[:_EXAMPLES])]),
            ]
            shown.append({"system": system, "lists": lists})
    return shown


def _example(example: Example) -> View:
    return {
        "earlier": max(0, len(example.context) - _TURNS),
        "context": [shorten(turn) for turn in example.context[-_TURNS:]],
        "response": shorten(example.response),
        "human": shorten(example.human),
        "score": format_share(example.score),
        "evaluator": example.evaluator,
    }
