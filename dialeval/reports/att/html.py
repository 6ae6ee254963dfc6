"""A study of the attack-defence game as one self-contained HTML page."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.metrics.game_results import GameExample, GameResults, TurnRecord
from dialeval.metrics.results import RESULTS, Result
from dialeval.reports.att import plots
from dialeval.reports.att.ranks import RANK_CAPTION, defender_ranks
from dialeval.reports.att.rows import (
    HINT,
    LOWEST,
    MEAN,
    GamePoint,
    Grid,
    curve,
    held_out,
    over_attackers,
    table_two,
    verdict_sentences,
)
from dialeval.reports.drawing import line_classes
from dialeval.reports.format import (
    NONE,
    detail,
    finite,
    flatten,
    format_count,
    format_interval,
    format_share,
    plural,
)
from dialeval.reports.pages import render

_EXAMPLES = 12
_HABITS = {  # shares of an attacker's replies: the CSS class and the name of each
    "share": ("c0", "most frequent reply"),
    "empty": ("c3", "empty"),
    "unfinished": ("c4", "unfinished"),
}
_FACTS = {
    "peak_mib": "peak memory, MiB",
    "trainable": "trainable parameters",
    "pairwise_accuracy": "pairwise accuracy",
    "n": "pairs",
}
_TITLES = {
    "summary": "Summary",
    "figure-2": "The games",
    "table-2": "Attackers against defenders",
    "held-out": "Fresh attackers",
    "pool": "The pool of attackers",
    "attackers": "Replies of the attackers",
    "table-1": "Examples",
    "components": "Components and cost",
    "warnings": "Warnings",
    "settings": "Settings and versions",
}
_VALIDATED_AT = {
    "1": "Replies are sampled at temperature 1 in every game.",
    "lowest": "Each context is answered at every plausible temperature, and the lowest accuracy "
    "over these temperatures counts.",
    "mixture": "Replies are sampled at the game’s own temperatures. A defender soon recognises "
    "nearly all replies of a high temperature, so on plausible replies its accuracy is lower than "
    "this.",
}
_ALWAYS = ("summary", "table-2", "warnings", "settings")


def load_game(folder: Path | str) -> GameResults:
    """The results of a study in a folder.

    Raises:
        ValueError: There are none; says what to do.
    """
    path = Path(folder) / RESULTS
    try:
        return GameResults.load(path)
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).removeprefix(f'{path}: ')} {HINT}") from error


def write_att_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    return atomic_write_text(Path(folder) / "report.html", render_report(load_game(folder)))


def render_report(results: GameResults) -> str:
    """The page, the same for the same results; texts of users and models are escaped."""
    return render("att/report.html.jinja", _view(results))


def _view(results: GameResults) -> dict[str, Any]:
    """What the template lays out; a section without content is left out."""
    grid, fresh = table_two(results), held_out(results)
    settings = results.settings
    sections = {
        "summary": verdict_sentences(results),
        "figure-2": _figure_two(results),
        "table-2": _grid_rows(grid),
        "held-out": _held_out_rows(fresh, results),
        "pool": _pool(results),
        "attackers": _attackers(results),
        "table-1": [_example(one, results.defenders) for one in results.examples[:_EXAMPLES]],
        "components": _components(results),
        "warnings": results.warnings,
        "settings": [*flatten(settings)] if settings else [],
    }
    shown = [(name, title) for name, title in _TITLES.items() if sections[name] or name in _ALWAYS]
    return {
        "sections": sections,
        "contents": shown,
        "ranks": defender_ranks(results),
        "rank_caption": RANK_CAPTION,
        "defenders": grid.defenders or results.defenders,
        "held_out_defenders": fresh.defenders,
        "n": format_count(max((cell.n for cell in grid.cells.values()), default=0)),
        "versions": [*flatten(results.versions)] if results.versions else [],
        "signature": results.signature,
        "by_probability": settings.get("accuracy") == "probability"
        or settings.get("preset") == "released",
        "most_sets": settings.get("max_validated"),
        "validated_at": _VALIDATED_AT.get(settings.get("validation_temperature", "mixture"), ""),
    }


def _grid_rows(grid: Grid) -> list[dict[str, Any]]:
    """A row for each attacker, its cells shaded and the best of them marked."""
    return [
        _row(name, {defender: grid.cell(name, defender) for defender in grid.defenders})
        for name in grid.attackers
    ]


def _held_out_rows(fresh: Grid, results: GameResults) -> list[dict[str, Any]]:
    if not fresh.attackers:
        return []
    over = over_attackers(results)
    last = [
        _row(name, {defender: over[name].get(defender) for defender in fresh.defenders})
        for name in (LOWEST, MEAN)
    ]
    return [*_grid_rows(fresh), *({**row, "over": True} for row in last)]


def _row(name: str, cells: Mapping[str, Result | None]) -> dict[str, Any]:
    best = max((cell.value for cell in cells.values() if cell is not None), default=None)
    shaded = [
        shaded_cell(None, [], "")
        if cell is None
        else shaded_cell(
            cell.value, _lines(cell), _description(name, defender, cell), cell.value == best
        )
        for defender, cell in cells.items()
    ]
    return {"name": name, "cells": shaded, "over": False}


def shaded_cell(
    value: float | None, below: list[str], title: str, best: bool = False
) -> dict[str, Any]:
    """A cell of a heat map: the stronger its colour, the better.

    Args:
        value (`float`, *optional*):
            The accuracy.
        below (`list[str]`):
            Lines below the number.
        title (`str`):
            Description of the number.
        best (`bool`, *optional*, defaults to `False`):
            Whether to mark it.

    Returns:
        `dict[str, Any]`: Values for the macro `shaded`.
    """
    if value is None:
        return {"value": NONE, "below": [], "title": "not measured", "shade": None, "best": False}
    shade = round(52 * min(max((value - 0.25) / 0.75, 0), 1))
    number = format_share(value)
    return {"value": number, "below": below, "title": title, "shade": shade, "best": best}


def _lines(cell: Result) -> list[str]:
    """The lines below an accuracy: interval, HvM alone and probability, worst attacker."""
    bounds = format_interval(cell.low, cell.high)
    parts = {"HvM": detail(cell, "hvm"), "P": detail(cell, "probability")}
    alone = " · ".join(
        f"{name} {format_share(value)}" for name, value in parts.items() if value is not None
    )
    attacker, step = cell.details.get("attacker"), cell.details.get("step")
    lines = [bounds if bounds != NONE else "", alone, f"by {attacker}" if attacker else ""]
    lines += [] if step is None else [f"step {step} of {cell.details.get('steps')}"]
    return [line for line in lines if line]


def _description(attacker: str, defender: str, cell: Result) -> str:
    parts = [f"{defender} against {attacker}: accuracy {format_share(cell.value)}"]
    for name, label in (("hvm", "HvM alone"), ("probability", "mean pairwise probability")):
        value = detail(cell, name)
        if value is not None:
            parts.append(f"{label} {format_share(value)}")
    return ", ".join([*parts, f"{format_count(cell.n)} pairs"])


def _figure_two(results: GameResults) -> dict[str, Any]:
    games = {name: curve(records) for name, records in results.games.items()}
    games = {name: points for name, points in games.items() if points}
    if not games:
        return {}
    kinds = line_classes(list(dict.fromkeys([*results.defenders, *results.games])))
    c_high, end = finite(results.settings.get("c_high")), plots.last_turn(games)
    alt = "Accuracy after the attack at each turn of {}; the numbers are in the tables below"
    panels = [
        {
            "name": name,
            "kind": kinds[name],
            "plot": plots.game_plot(points, kinds[name], end, c_high, alt.format(name)),
            "caption": _caption(results.games[name], points),
        }
        for name, points in games.items()
    ]
    together = plots.games_plot(games, kinds, c_high, alt.format("every game"))
    return {"together": together, "panels": panels, "c_high": c_high}


def _caption(records: Iterable[TurnRecord], points: Sequence[GamePoint]) -> str:
    fooled = sum(record.stopped == "fooled" for record in records)
    last = points[-1]
    return (
        f"{plural(len(points), 'turn')}, fooled in {fooled}; accuracy after the last attack "
        f"{format_share(last.value)}, over all sets {format_interval(last.low, last.high)}"
    )


def _pool(results: GameResults) -> list[dict[str, Any]]:
    """A heat map for each game: defenders by the turns of its attackers."""
    groups: dict[str, dict[str, Mapping[str, float]]] = {}
    for name, accuracies in results.pool.items():
        match = re.fullmatch(r"(.*) turn (\d+)", name, re.DOTALL)
        game, head = match.groups() if match else ("", name)
        groups.setdefault(game, {})[head] = accuracies
    worst = {
        defender: min(
            (row[defender] for row in results.pool.values()
             if finite(row.get(defender)) is not None), default=None,
        )
        for defender in results.defenders
    }  # fmt: skip
    return [
        {
            "game": game,
            "heads": [*columns],
            "rows": [(name, _heat(name, columns, worst[name])) for name in results.defenders],
        }
        for game, columns in groups.items()
    ]


def _heat(
    defender: str, columns: Mapping[str, Mapping[str, float]], worst: float | None
) -> list[dict[str, Any]]:
    cells = []
    for head, accuracies in columns.items():
        value = finite(accuracies.get(defender))
        marked = value is not None and value == worst
        cell = shaded_cell(value, [], f"{defender}, {head}", marked)
        cells.append({**cell, "value": format_share(value, 2)})
    return cells


def _attackers(results: GameResults) -> list[dict[str, Any]]:
    """For each game, what its attackers' replies are like, and each attack and defence."""
    parts = []
    for game, records in results.games.items():
        rows = [_turn_row(record) for record in records]
        if not rows:
            continue
        lines = {kind: [row[name] or 0 for row in rows] for name, (kind, _) in _HABITS.items()}
        turns = [record.turn for record in records]
        plot = plots.habits_plot(turns, lines, f"Replies of the attackers of {game}")
        parts.append({"game": game, "rows": rows, "plot": plot, "legend": [*_HABITS.values()]})
    return parts


def _turn_row(record: TurnRecord) -> dict[str, Any]:
    shares = {
        "share": finite(record.most_frequent.share),
        "empty": finite(record.empty),
        "unfinished": finite(record.unfinished),
    }
    return {
        **shares,
        "shares": [format_share(value) for value in shares.values()],
        "turn": format_count(record.turn),
        "accuracy": format_share(record.accuracy),
        "watched": format_share(record.watched),
        "defended": format_share(record.defended),
        "attack_steps": format_count(record.attack_steps),
        "defence_steps": format_count(record.defence_steps),
        "response": record.most_frequent.response,
        "collapsed": record.collapsed,
        "stopped": record.stopped or NONE,
    }


def _example(example: GameExample, defenders: Sequence[str]) -> dict[str, Any]:
    """A context with the human reply and the attackers', each with every defender's score."""
    human = {name: finite(example.human_scores.get(name)) for name in defenders}
    rows = []
    for reply in example.responses:
        cells = [_score(finite(reply.scores.get(name)), human[name]) for name in defenders]
        rows.append((reply.attacker, reply.response, cells))
    scores = [_score(value, None) for value in human.values()]
    return {"context": example.context, "rows": [("human", example.human, scores), *rows]}


def _score(value: float | None, human: float | None) -> dict[str, Any]:
    fooled = value is not None and human is not None and value > human
    return {"value": format_share(value), "fooled": fooled}


def _components(results: GameResults) -> list[dict[str, Any]]:
    """Tables of facts: quality of the players before the games, memory, and minutes."""
    tables = [
        {"title": name, "pairs": [*_facts(component)]}
        for name, component in results.components.items()
    ]
    minutes = {name: value for name, value in results.minutes.items() if finite(value) is not None}
    pairs = [(name, f"{value:.1f}") for name, value in minutes.items()]
    if len(pairs) > 1:
        pairs.append(("all", f"{sum(minutes.values()):.1f}"))
    tables += [{"title": "Memory", "pairs": [*_facts(results.memory)]},
               {"title": "Minutes since the last start", "pairs": pairs}]  # fmt: skip
    return [table for table in tables if table["pairs"]]


def _facts(item: Any) -> Iterator[tuple[str, str]]:
    """The fields of a dataclass that have a value."""
    for field in fields(item) if is_dataclass(item) else ():
        value = getattr(item, field.name)
        if isinstance(value, str) and value:
            yield field.name, value
        elif isinstance(value, Mapping):
            yield from ((f"against {name}", f"{number:,.4g}") for name, number in value.items())
        elif finite(value) is not None:
            number = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
            yield _FACTS.get(field.name, field.name), number
