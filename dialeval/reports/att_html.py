"""A study of the attack-defence game as one page of HTML that needs nothing beside it."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.reports import att_plots as plots
from dialeval.reports.att_rows import (
    HINT,
    LOWEST,
    MEAN,
    Grid,
    Result,
    curve,
    held_out,
    over_attackers,
    setting,
    table_two,
    verdict,
)
from dialeval.reports.evaluation_rows import NONE, between, count, number, share
from dialeval.reports.evaluation_sections import flat, line_kinds
from dialeval.reports.pages import clean, read_json_results, rendered

_EXAMPLES = 12
_HABITS = {  # what an attacker's replies are like: how each share is drawn and named
    "share": ("c0", "most frequent reply"),
    "empty": ("c3", "empty"),
    "unfinished": ("c4", "unfinished"),
}
_MEMORY = {"peak_mib": "peak memory, MiB", "trainable": "parameters that learn"}
_TITLES = {
    "summary": "Summary",
    "figure-2": "Figure 2: the games",
    "table-2": "Table 2: who fools whom",
    "held-out": "Attackers no game has seen",
    "pool": "The pool of attackers",
    "attackers": "What attackers became",
    "table-1": "Table 1: examples",
    "components": "Components and cost",
    "warnings": "Warnings",
    "settings": "Settings and versions",
}
_ALWAYS = ("summary", "table-2", "warnings", "settings")


def write_att_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    folder = Path(folder)
    told = read_json_results(folder / "results.json", "an attack-defence study", HINT)
    return atomic_write_text(folder / "report.html", render(told))


def render(told: Mapping[str, Any]) -> str:
    """The page, the same for the same results; whatever a user or a model wrote is escaped."""
    return rendered("att.html.jinja", _view(clean(told)))


def _view(told: Mapping[str, Any]) -> dict[str, Any]:
    """What the template lays out; a section without content is left out."""
    kinds = line_kinds(list(dict.fromkeys([*told["defenders"], *(told.get("games") or ())])))
    grid, fresh = table_two(told), held_out(told)
    found = {
        "summary": verdict(told),
        "figure-2": _figure_two(told, kinds),
        "table-2": grid_rows(grid),
        "held-out": _held_out_rows(fresh),
        "pool": _pool(told),
        "attackers": _attackers(told),
        "table-1": _examples(told),
        "components": _components(told),
        "warnings": told.get("warnings") or [],
        "settings": [*flat(told.get("settings") or {})],
    }
    shown = [(name, title) for name, title in _TITLES.items() if found[name] or name in _ALWAYS]
    return {
        "sections": found,
        "contents": shown,
        "defenders": grid.defenders or told["defenders"],
        "held_out_defenders": fresh.defenders,
        "n": count(max((number(each, "n") or 0 for each in grid.cells.values()), default=0)),
        "versions": [*flat(told.get("versions") or {})],
        "signature": told.get("signature") or "",
        "by_probability": setting(told, "accuracy") == "probability"
        or setting(told, "preset") == "released",
        "most_sets": setting(told, "max_validated"),
    }


def grid_rows(grid: Grid) -> list[dict[str, Any]]:
    """A row for each attacker, its cells shaded and the best of them marked."""
    rows = ({each: grid.cell(name, each) for each in grid.defenders} for name in grid.attackers)
    return [_row(name, own) for name, own in zip(grid.attackers, rows, strict=True)]


def _held_out_rows(fresh: Grid) -> list[dict[str, Any]]:
    if not fresh.attackers:
        return []
    over = over_attackers(fresh)
    last = [
        _row(name, {each: over[name].get(each, {}) for each in fresh.defenders})
        for name in (LOWEST, MEAN)
    ]
    return [*grid_rows(fresh), *({**each, "over": True} for each in last)]


def _row(name: str, own: Mapping[str, Result]) -> dict[str, Any]:
    values = {defender: number(each, "value") for defender, each in own.items()}
    top = max((each for each in values.values() if each is not None), default=None)
    cells = [
        cell(values[defender], _below(each), _words(name, defender, each), values[defender] == top)
        for defender, each in own.items()
    ]
    return {"name": name, "cells": cells, "over": False}


def cell(value: float | None, below: list[str], title: str, best: bool = False) -> dict[str, Any]:
    """A number, what stands below it, and how strong its colour is: stronger is better."""
    if value is None:
        return {"value": NONE, "below": [], "title": "not measured", "shade": None, "best": False}
    shade = round(52 * min(max((value - 0.25) / 0.75, 0), 1))
    return {"value": share(value), "below": below, "title": title, "shade": shade, "best": best}


def _below(each: Result) -> list[str]:
    ends = between(each)
    alone = {"HvM": number(each, "hvm"), "P": number(each, "probability")}
    beside = " · ".join(f"{name} {share(one)}" for name, one in alone.items() if one is not None)
    by = (each.get("details") or {}).get("attacker")
    lines = [ends if ends != NONE else "", beside, f"by {by}" if by else ""]
    return [line for line in lines if line]


def _words(attacker: str, defender: str, each: Result) -> str:
    told = [f"{defender} before {attacker}: right in {share(number(each, 'value'))} of pairs"]
    for name, said in (("hvm", "HvM alone"), ("probability", "mean pairwise probability")):
        if number(each, name) is not None:
            told.append(f"{said} {share(number(each, name))}")
    if number(each, "n") is not None:
        told.append(f"{count(number(each, 'n'))} pairs")
    return ", ".join(told)


def _figure_two(told: Mapping[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    records = told.get("games") or {}
    games = {name: curve(own or ()) for name, own in records.items()}
    games = {name: points for name, points in games.items() if points}
    if not games:
        return {}
    c_high, end = setting(told, "c_high"), plots.last_turn(games)
    alt = "Accuracy after the attack at each turn of {}; the numbers stand in the tables below"
    panels = [
        {
            "name": name,
            "kind": kinds[name],
            "plot": plots.game_plot(points, kinds[name], end, c_high, alt.format(name)),
            "said": _said(records[name], points),
        }
        for name, points in games.items()
    ]
    together = plots.games_plot(games, kinds, c_high, alt.format("every game"))
    return {"together": together, "panels": panels, "c_high": c_high}


def _said(records: Iterable[Mapping[str, Any]], points: plots.Curve) -> str:
    fooled = sum(each.get("stopped") == "fooled" for each in records)
    last, turns = points[-1], len(points)
    return (
        f"{turns} turn{'' if turns == 1 else 's'}, fooled in {fooled}; after the last attack "
        f"{share(last['value'])}, over all sets {share(last['low'])}–{share(last['high'])}"
    )


def _pool(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A heat map for each game: defenders by the turns whose attackers they met."""
    pool = told.get("pool") or {}
    groups: dict[str, dict[str, Result]] = {}
    for name, found in pool.items():
        game, _, turn = re.fullmatch(r"(.*?)( turn (\d+))?", name, re.DOTALL).groups()
        groups.setdefault(game if turn else "", {})[turn or name] = found or {}
    worst = {
        each: min((v for found in pool.values() if (v := number(found or {}, each)) is not None),
                  default=None)
        for each in told["defenders"]
    }  # fmt: skip
    return [
        {
            "game": game,
            "heads": [*own],
            "rows": [(each, _heat(each, own, worst[each])) for each in told["defenders"]],
        }
        for game, own in groups.items()
    ]


def _heat(defender: str, own: Mapping[str, Result], worst: float | None) -> list[dict[str, Any]]:
    found = []
    for name, each in own.items():
        value = number(each, defender)
        made = cell(value, [], f"{defender}, {name}", value is not None and value == worst)
        made["value"] = NONE if value is None else f"{value:.2f}".removeprefix("0")
        found.append(made)
    return found


def _attackers(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """For each game, what its attackers' replies are like and how each attack and defence went."""
    shown = []
    for game, records in (told.get("games") or {}).items():
        rows = [_attack(each) for each in records or ()]
        if not rows:
            continue
        turns = [number(each, "turn") or place for place, each in enumerate(records, 1)]
        lines = {kind: [row[name] or 0 for row in rows] for name, (kind, _) in _HABITS.items()}
        plot = plots.habits_plot(turns, lines, f"What replies of the attackers of {game} are like")
        shown.append({"game": game, "rows": rows, "plot": plot, "legend": [*_HABITS.values()]})
    return shown


def _attack(record: Mapping[str, Any]) -> dict[str, Any]:
    frequent = record.get("most_frequent") or {}
    numbers = {name: number(record, name) for name in ("empty", "unfinished")}
    told = {name: share(number(record, name)) for name in ("accuracy", "watched", "defended")}
    steps = {name: count(number(record, name)) for name in ("attack_steps", "defence_steps")}
    return {
        **numbers,
        **told,
        **steps,
        "turn": count(number(record, "turn")),
        "share": number(frequent, "share"),
        "response": str(frequent.get("response") or ""),
        "collapsed": (number(frequent, "share") or 0) > 0.5,
        "stopped": record.get("stopped") or NONE,
        "shares": [share(number(frequent, "share")), *(share(each) for each in numbers.values())],
    }


def _examples(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Contexts with the human's reply and the attackers', each with every defender's score."""
    return [_example(each, told["defenders"]) for each in (told.get("examples") or ())[:_EXAMPLES]]


def _example(each: Mapping[str, Any], defenders: Iterable[str]) -> dict[str, Any]:
    human = {name: number(each.get("human_scores") or {}, name) for name in defenders}
    rows = []
    for reply in each.get("responses") or ():
        scores = {name: number(reply.get("scores") or {}, name) for name in defenders}
        cells = [
            {"value": share(one), "fooled": None not in (one, human[name]) and one > human[name]}
            for name, one in scores.items()
        ]
        rows.append((reply.get("attacker") or "", reply.get("response") or "", cells))
    own = [{"value": share(one), "fooled": False} for one in human.values()]
    return {
        "context": each.get("context") or [],
        "rows": [("human", each.get("human") or "", own), *rows],
    }


def _components(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tables of facts: what the players got on their own, memory, and minutes."""
    tables = [
        {"title": name, "pairs": [(fact, _plain(one)) for fact, one in _facts(own)]}
        for name, own in (told.get("components") or {}).items()
    ]
    memory = [(_MEMORY.get(name, name), _plain(one)) for name, one in _facts(told.get("memory"))]
    minutes = {name: number(told["minutes"], name) for name in told.get("minutes") or ()}
    pairs = [(name, f"{one:.1f}") for name, one in minutes.items() if one is not None]
    if len(pairs) > 1 and "total" not in minutes:
        pairs.append(("all", f"{sum(one for one in minutes.values() if one is not None):.1f}"))
    tables += [{"title": "Memory", "pairs": memory}, {"title": "Minutes", "pairs": pairs}]
    return [each for each in tables if each["pairs"]]


def _facts(own: Any, name: str = "") -> Iterable[tuple[str, Any]]:
    if isinstance(own, Mapping):
        for key, each in own.items():
            yield from _facts(each, f"{name} {key}".strip())
    elif own is not None:
        yield name or "value", own


def _plain(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
