"""Several runs of one study that differ only in their seed: mean and range on one page."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.game_results import GameResults
from dialeval.metrics.results import Result, to_plain
from dialeval.reports.att import plots
from dialeval.reports.att.html import load_game, shaded_cell
from dialeval.reports.att.ranks import rank_defenders
from dialeval.reports.att.rows import (
    HERO,
    LOWEST,
    MEAN,
    WORST,
    GamePoint,
    curve,
    over_attackers,
    table_two,
)
from dialeval.reports.drawing import line_classes
from dialeval.reports.format import flatten, format_interval, format_list, format_share, plural
from dialeval.reports.pages import render

_OF_A_RUN = ("seed", "output_dir", "resume", "generator")  # may differ between runs of one study
_RANK_CAPTION = (
    "How often a defender scores the human reply above that of its worst attacker: mean over runs, "
    "with the range from the lowest run to the highest, from never (0 %) to always (100 %); the "
    "line in the middle is a random guess. The most robust defender first."
)
_FRESH = {LOWEST: "lowest of the fresh attackers", MEAN: "mean over fresh attackers"}


@dataclass(frozen=True)
class Spread:
    """Mean, lowest and highest of some numbers, and how many there are."""

    mean: float
    low: float
    high: float
    n: int


SpreadTable = dict[str, dict[str, Spread]]
"""Spreads by attacker and defender."""


@dataclass(frozen=True)
class SummaryPoint:
    """Accuracy after the attack of a turn, and the lowest over all sets of replies, over runs."""

    turn: float
    accuracy: Spread
    lowest: Spread


@dataclass(frozen=True)
class GameSummary:
    """Mean and range over runs; what `summary.json` holds.

    Args:
        runs (`int`):
            Number of runs.
        seeds (`list`):
            Their seeds.
        defenders, attackers (`list[str]`):
            Columns and rows of the tables.
        table (`dict`):
            Table 2, by attacker and defender.
        held_out (`dict`):
            Accuracy on fresh attackers, by statistic and defender.
        curves (`dict[str, list[SummaryPoint]]`):
            Figure 2, by game.
        verdict (`list[str]`):
            The outcome in sentences.
        settings (`dict[str, str]`):
            Settings that all runs have in common.
        signatures (`list[str]`):
            Signature of each run.
    """

    runs: int
    seeds: list[Any]
    defenders: list[str]
    attackers: list[str]
    table: SpreadTable
    held_out: SpreadTable
    curves: dict[str, list[SummaryPoint]]
    verdict: list[str]
    settings: dict[str, str]
    signatures: list[str]


def load_summary(folders: Sequence[Path | str]) -> GameSummary:
    """The summary of the runs in some folders."""
    return summarise({str(folder): load_game(folder) for folder in folders})


def write_att_summary(summary: GameSummary, target: Path | str) -> Path:
    """Write `summary.json` and `summary.html` into a folder; returns the path of the page."""
    target = Path(target)
    target.mkdir(parents=True, exist_ok=True)
    text = json.dumps(to_plain(summary), ensure_ascii=False, indent=2, allow_nan=False)
    atomic_write_text(target / "summary.json", text + "\n")
    page = render("att/summary.html.jinja", _view(summary))
    return atomic_write_text(target / "summary.html", page)


def summarise(runs: Mapping[str, GameResults]) -> GameSummary:
    """Mean and range over runs of Table 2, of held-out accuracy and of Figure 2.

    Raises:
        ValueError: There are no runs, their settings differ, or two have the same seed.
    """
    _check_same_study(runs)
    results = list(runs.values())
    defenders = _in_order(run.defenders for run in results)
    grids = [table_two(run) for run in results]
    fresh = [over_attackers(run) for run in results]
    attackers = _in_order(grid.attackers for grid in grids)
    table = {name: _spreads([grid.row(name) for grid in grids], defenders) for name in attackers}
    after = {_FRESH[name]: _spreads([cells[name] for cells in fresh], defenders)
             for name in (LOWEST, MEAN)}  # fmt: skip
    games = _in_order(run.games for run in results)
    return GameSummary(
        runs=len(runs),
        seeds=[run.settings.get("seed") for run in results],
        defenders=defenders,
        attackers=attackers,
        table=table,
        held_out={name: spreads for name, spreads in after.items() if spreads},
        curves={name: _curve([curve(run.games.get(name, ())) for run in results])
                for name in games},
        verdict=_verdict([grid.row(WORST) for grid in grids], [cells[LOWEST] for cells in fresh]),
        settings=_shared_settings(results[0]),
        signatures=[run.signature for run in results],
    )  # fmt: skip


def _check_same_study(runs: Mapping[str, GameResults]) -> None:
    if not runs:
        raise ValueError("expected the folders of one run or more, but got none.")
    (first, results), *others = runs.items()
    expected = _shared_settings(results)
    for folder, other in others:
        settings = _shared_settings(other)
        differing = [name for name in {**expected, **settings}
                     if expected.get(name) != settings.get(name)]  # fmt: skip
        if differing:
            pairs = (
                f"{name} ({expected.get(name)}, here {settings.get(name)})" for name in differing
            )
            raise ValueError(
                f"{folder}: expected the settings of {first}, but these differ: "
                f"{', '.join(pairs)}. Summarise runs that differ only in their seed."
            )
    seeds = [run.settings["seed"] for run in runs.values() if "seed" in run.settings]
    if len(set(seeds)) < len(seeds):
        raise ValueError(
            f"expected runs with different seeds, but got {', '.join(map(str, seeds))}. "
            "Leave out duplicates."
        )


def _shared_settings(results: GameResults) -> dict[str, str]:
    """The settings that all runs of a study have in common, by name."""
    pairs = flatten(results.settings) if results.settings else ()
    return {name: text for name, text in pairs if name.rsplit(".", 1)[-1] not in _OF_A_RUN}


def _in_order(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))


def spread(values: Sequence[float]) -> Spread:
    """The spread of one number or more.

    Examples:
        >>> spread([0.5, 1.0])
        Spread(mean=0.75, low=0.5, high=1.0, n=2)
    """
    return Spread(fmean(values), min(values), max(values), len(values))


def _spreads(rows: Sequence[Mapping[str, Result]], names: Sequence[str]) -> dict[str, Spread]:
    """The spread of each defender that has a number in one run or more."""
    values = {name: [row[name].value for row in rows if name in row] for name in names}
    return {name: spread(numbers) for name, numbers in values.items() if numbers}


def _curve(runs: Sequence[Sequence[GamePoint]]) -> list[SummaryPoint]:
    """The curve over runs; games end at different turns, so points have different `n`."""
    points = []
    for turn in sorted({point.turn for run in runs for point in run}):
        at_turn = [point for run in runs for point in run if point.turn == turn]
        accuracy = spread([point.value for point in at_turn])
        points.append(SummaryPoint(turn, accuracy, spread([point.low for point in at_turn])))
    return points


def _verdict(
    worst: Sequence[Mapping[str, Result]], fresh: Sequence[Mapping[str, Result]]
) -> list[str]:
    """The best defender on the pool and on fresh attackers, and how often ATT is above others."""
    parts = (("the worst attacker of the pool", worst), ("the worst fresh attacker", fresh))
    sentences = (text for name, rows in parts for text in (_best(name, rows), _above(rows)))
    return [text for text in sentences if text]


def _best(attacker: str, rows: Sequence[Mapping[str, Result]]) -> str:
    spreads = _spreads(rows, _in_order(rows))
    if not spreads:
        return ""
    best = max(spreads, key=lambda name: spreads[name].mean)
    runs = plural(len(rows), "run")
    accuracy = _range(spreads[best])
    return f"On {attacker}, {best} has the highest mean accuracy over {runs}: {accuracy}."


def _above(rows: Sequence[Mapping[str, Result]]) -> str:
    rows = [row for row in rows if HERO in row]
    parts = []
    for other in _in_order(rows):
        both = [row for row in rows if other in row]
        if other != HERO:
            wins = sum(row[HERO].value > row[other].value for row in both)
            accuracy = _range(spread([row[other].value for row in both]))
            parts.append(f"{other} ({accuracy}) in {wins} of {len(both)}")
    if not parts:
        return ""
    hero = _range(spread([row[HERO].value for row in rows]))
    return f"{HERO} ({hero}) is above {format_list(parts)} runs."


def _range(values: Spread) -> str:
    return f"{format_share(values.mean)} [{format_interval(values.low, values.high)}]"


def _view(summary: GameSummary) -> dict[str, Any]:
    """What the template lays out."""
    titles = {
        "figure-2": "The games",
        "table-2": "Attackers against defenders",
        "held-out": "Fresh attackers",
        "settings": "Settings",
    }
    sections = {
        "figure-2": _figure(summary),
        "table-2": _rows(summary, summary.table),
        "held-out": _rows(summary, summary.held_out),
        "settings": [*summary.settings.items()],
    }
    shown = [(name, title) for name, title in titles.items() if sections[name]]
    return {
        "summary": summary,
        "sections": sections,
        "contents": [("summary", "Summary"), *shown],
        "rank_caption": _RANK_CAPTION,
        "ranks": rank_defenders(
            summary.defenders,
            _as_results(summary.table.get(WORST, {})),
            _as_results(summary.held_out.get(_FRESH[LOWEST], {})),
        ),
    }


def _as_results(spreads: Mapping[str, Spread]) -> dict[str, Result]:
    """Means with the range over runs, as the ranking takes them."""
    return {
        name: Result("", "", name, one.mean, one.low, one.high, one.n, "")
        for name, one in spreads.items()
    }


def _rows(summary: GameSummary, table: SpreadTable) -> list[dict[str, Any]]:
    rows = []
    for name, spreads in table.items():
        best = max((one.mean for one in spreads.values()), default=None)
        cells = [_cell(spreads.get(defender), best, summary.runs) for defender in summary.defenders]
        rows.append({"name": name, "cells": cells, "over": False})
    return rows


def _cell(values: Spread | None, best: float | None, runs: int) -> dict[str, Any]:
    if values is None:
        return shaded_cell(None, [], "")
    below = [format_interval(values.low, values.high)]
    below += [f"{values.n} of {runs} runs"] if values.n < runs else []
    title = f"mean and range of {values.n} runs"
    return shaded_cell(values.mean, below, title, values.mean == best)


def _figure(summary: GameSummary) -> list[dict[str, Any]]:
    games = {
        name: [GamePoint(point.turn, point.accuracy.mean, point.accuracy.low, point.accuracy.high)
               for point in points]
        for name, points in summary.curves.items() if points
    }  # fmt: skip
    kinds = line_classes(_in_order([summary.defenders, games]))
    c_high = float(summary.settings["c_high"]) if "c_high" in summary.settings else None
    panels = []
    for name, points in games.items():
        lowest = [point.lowest.mean for point in summary.curves[name]]
        alt = f"Accuracy after the attack at each turn of {name}, mean and range over runs"
        plot = plots.game_plot(points, kinds[name], plots.last_turn(games), c_high, alt, lowest)
        panels.append({"name": name, "kind": kinds[name], "plot": plot, "c_high": c_high})
    return panels
