"""The collaborative task for people: Table 8 with intervals, and one HTML page."""

from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.cocoa_results import (
    ENTITIES_ONLY,
    MARGIN,
    READS_WORDS,
    SELDOM,
    SELECTIONS,
    UNDECIDED,
    CocoaResults,
    CocoaVerdict,
)
from dialeval.metrics.results import Result
from dialeval.reports.format import (
    NONE,
    finite,
    flatten,
    format_count,
    format_p_value,
    format_share,
)
from dialeval.reports.grids import Grid, grids_latex, grids_markdown
from dialeval.reports.pages import render
from dialeval.reports.ranking import RankedBar, ranking

CHANNELS = {
    "normal": "Normal inputs",
    "random-inputs": "Random inputs",
    "random-inputs-kept-entities": "Random inputs with kept entities",
    "confusing-entity": "Confusing entity",
}
_LIMIT = format_share(MARGIN, 2)
_MEANINGS = {
    ENTITIES_ONLY: "random inputs change the completion rate; random words around entities do not "
    f"lower it by more than {_LIMIT}",
    READS_WORDS: "random words around entities already change the completion rate",
    SELECTIONS: f"not even random inputs lower the completion rate by more than {_LIMIT}",
    SELDOM: "with so low a rate on normal inputs nothing can be said about what it reads",
}
_TITLES = {
    "verdicts": "What agents read",
    "table-8": "Completion rates",
    "map": "Completion by agent and channel",
    "examples": "Dialogues",
    "settings": "Settings and versions",
}


def table_eight(results: CocoaResults, agent: str) -> Grid:
    """One agent in the layout of the paper's Table 8, with intervals and p-values."""
    rows = []
    for channel in results.channels:
        rate, turns, selections = (
            results.cell(metric, agent, channel)
            for metric in ("completion_rate", "turns", "selections")
        )
        rows.append((
            CHANNELS.get(channel, channel), _with_interval(rate, share=True),
            format_p_value(_p(rate)), _with_interval(turns), _with_interval(selections),
            format_count(rate.n if rate else None),
        ))  # fmt: skip
    heads = ("strategy", "completion rate", "p", "turns", "selections", "n")
    caption = "95 % intervals; p: paired bootstrap against normal inputs, by scenario."
    return Grid(f"{agent} (as Table 8 of Niu and Bansal, 2018)", heads, tuple(rows), caption)


def _p(result: Result | None) -> float | None:
    return None if result is None else finite(result.details.get("p"))


def _with_interval(result: Result | None, share: bool = False) -> str:
    if result is None:
        return NONE
    values = (result.value, result.low, result.high)
    value, low, high = (format_share(x, 2) if share else f"{x:.2f}" for x in values)
    return f"{value} ({low}–{high})"


def cocoa_grids(results: CocoaResults) -> list[Grid]:
    """A table for each agent."""
    return [table_eight(results, agent) for agent in results.agents]


def describe_verdict(verdict: CocoaVerdict) -> str:
    """A verdict in a sentence."""
    meaning = _MEANINGS.get(verdict.verdict, "more scenarios are needed to say what it reads")
    ps = [f"p {format_p_value(p)}" for p in (verdict.kept_p, verdict.random_p)]
    verb = "is " if verdict.verdict == UNDECIDED else ""
    return f"{verb}{verdict.verdict}: {meaning} (kept entities {ps[0]}, random inputs {ps[1]})."


def write_cocoa_report(folder: Path | str) -> Path:
    """Write `report.html`, `table.md` and `table.tex` from the `results.json` in a folder."""
    folder = Path(folder)
    results = CocoaResults.load(folder)
    grids = cocoa_grids(results)
    atomic_write_text(folder / "table.md", grids_markdown(grids, results.signature))
    atomic_write_text(folder / "table.tex", grids_latex(grids, results.signature))
    return atomic_write_text(folder / "report.html", render("cocoa.html.jinja", _view(results)))


def _view(results: CocoaResults) -> dict[str, Any]:
    return {
        "contents": list(_TITLES.items()),
        "verdicts": [(row.agent, describe_verdict(row)) for row in results.verdicts],
        "ranks": _ranks(results),
        "grids": cocoa_grids(results),
        "agents": results.agents,
        "map": [_heat_row(results, channel) for channel in results.channels],
        "examples": results.examples,
        "channels": CHANNELS,
        "scenarios": format_count(results.settings.get("scenarios")),
        "settings": [*flatten(results.settings)] if results.settings else [],
        "versions": [*flatten(results.versions)] if results.versions else [],
        "signature": results.signature,
    }


def _ranks(results: CocoaResults) -> list[dict[str, Any]]:
    """Completion rates of every agent, from the channel that hurts least to the worst."""
    lines = []
    for agent in results.agents:
        cells = [(name, results.cell("completion_rate", agent, name)) for name in results.channels]
        lines += ranking(
            RankedBar(agent, cell.value, CHANNELS.get(name, name), cell.low, cell.high)
            for name, cell in cells
            if cell is not None
        )
    return lines


def _heat_row(results: CocoaResults, channel: str) -> dict[str, Any]:
    cells = [_heat(results.cell("completion_rate", agent, channel)) for agent in results.agents]
    return {"name": CHANNELS.get(channel, channel), "cells": cells}


def _heat(result: Result | None) -> dict[str, Any]:
    value = None if result is None else finite(result.value)
    return {
        "value": format_share(value, 2), "below": [], "title": "", "best": False,
        "shade": None if value is None else round(60 * value),
    }  # fmt: skip
