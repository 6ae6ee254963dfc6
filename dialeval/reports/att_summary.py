"""Several runs of one study that differ in their seed alone: mean and range on one page."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from dialeval.files import atomic_write_text
from dialeval.reports import att_plots as plots
from dialeval.reports.att_html import cell
from dialeval.reports.att_rows import (
    HERO,
    HINT,
    LOWEST,
    MEAN,
    WORST,
    curve,
    held_out,
    listed,
    over_attackers,
    setting,
    table_two,
)
from dialeval.reports.evaluation_rows import number, share
from dialeval.reports.evaluation_sections import flat, line_kinds
from dialeval.reports.pages import clean, read_json_results, rendered

_OF_A_RUN = ("seed", "output_dir", "resume", "generator")  # may differ between runs of one study
_FRESH = {LOWEST: "lowest of the fresh attackers", MEAN: "mean over fresh attackers"}
Told = Mapping[str, Any]


def write_att_summary(folders: Sequence[Path | str], target: Path | str) -> Path:
    """Write `summary.json` and `summary.html` into a folder, from runs with other seeds."""
    target = Path(target)
    runs = {str(folder): _read(Path(folder)) for folder in folders}
    summary = summarise(runs)
    target.mkdir(parents=True, exist_ok=True)
    text = json.dumps(summary, ensure_ascii=False, indent=2, allow_nan=False)
    atomic_write_text(target / "summary.json", text + "\n")
    return atomic_write_text(
        target / "summary.html", rendered("att_summary.html.jinja", _view(summary))
    )


def _read(folder: Path) -> dict[str, Any]:
    return clean(read_json_results(folder / "results.json", "an attack-defence study", HINT))


def summarise(runs: Mapping[str, Told]) -> dict[str, Any]:
    """Mean and range over runs of Table 2, of held-out accuracy and of Figure 2."""
    _check_same_study(runs)
    told = list(runs.values())
    defenders = _in_order(each["defenders"] for each in told)
    grids = [table_two(each) for each in told]
    fresh = [over_attackers(held_out(each)) for each in told]
    attackers = _in_order(grid.attackers for grid in grids)
    games = _in_order((each.get("games") or {}) for each in told)
    table = _table(attackers, defenders, grids, lambda grid, name: grid.row(name))
    after = _table([LOWEST, MEAN], defenders, fresh, lambda own, name: own[name])
    return {
        "runs": len(runs),
        "seeds": [setting(each, "seed") for each in told],
        "defenders": defenders,
        "attackers": attackers,
        "table": table,
        "held_out": {_FRESH[name]: own for name, own in after.items() if own},
        "curves": {name: _curves([_games(each, name) for each in told]) for name in games},
        "verdict": _verdict([grid.row(WORST) for grid in grids], [own[LOWEST] for own in fresh]),
        "settings": _shared(told[0]),
        "signatures": [each.get("signature") or "" for each in told],
    }


def _check_same_study(runs: Mapping[str, Told]) -> None:
    """Refuse no runs at all, runs with other settings, and one seed twice."""
    if not runs:
        raise ValueError("expected the folders of one run or more, found none.")
    (first, told), *others = runs.items()
    own = _shared(told)
    for folder, other in others:
        found = _shared(other)
        names = [name for name in {**own, **found} if own.get(name) != found.get(name)]
        if names:
            said = (f"{name} ({own.get(name)}, here {found.get(name)})" for name in names)
            raise ValueError(
                f"{folder}: expected the settings of {first}, but these differ: "
                f"{', '.join(said)}. Summarise runs that differ in their seed alone."
            )
    seeds = [seed for each in runs.values() if (seed := setting(each, "seed")) is not None]
    if len(set(seeds)) < len(seeds):
        raise ValueError(
            f"expected runs with different seeds, found {', '.join(map(str, seeds))}. "
            "Leave out those that stand twice."
        )


def _shared(told: Told) -> dict[str, str]:
    """The settings that all runs of a study have in common, one a line."""
    pairs = flat(told.get("settings") or {})
    return {name: each for name, each in pairs if name.rsplit(".", 1)[-1] not in _OF_A_RUN}


def _in_order(lists: Iterable[Iterable[str]]) -> list[str]:
    return list(dict.fromkeys(name for each in lists for name in each))


def spread(values: Iterable[float | None]) -> dict[str, float] | None:
    """Mean, lowest and highest of those that are known, and how many there are.

    Example:
        >>> spread([0.5, None, 1.0])
        {'mean': 0.75, 'low': 0.5, 'high': 1.0, 'n': 2}
    """
    known = [each for each in values if each is not None]
    if not known:
        return None
    return {"mean": fmean(known), "low": min(known), "high": max(known), "n": len(known)}


def _table(
    names: Sequence[str], defenders: Sequence[str], runs: Sequence[Any], row: Callable
) -> dict[str, dict[str, Any]]:
    table: dict[str, dict[str, Any]] = {}
    for name in names:
        rows = [row(each, name) for each in runs]
        found = {each: spread(number(own.get(each, {}), "value") for own in rows)
                 for each in defenders}  # fmt: skip
        table[name] = {each: one for each, one in found.items() if one}
    return table


def _games(told: Told, name: str) -> list[dict[str, float]]:
    return curve((told.get("games") or {}).get(name) or ())


def _curves(runs: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, Any]]:
    """For each turn the accuracy after its attack, and the lowest over all sets, over runs.

    Games end at different turns, so `n` says how many runs a point rests on.
    """
    turns = sorted({point["turn"] for points in runs for point in points})
    found = []
    for turn in turns:
        here = [point for points in runs for point in points if point["turn"] == turn]
        found.append({
            "turn": turn,
            **spread(point["value"] for point in here),
            "lowest": spread(point["low"] for point in here),
        })  # fmt: skip
    return found


def _verdict(worst: Sequence[Told], fresh: Sequence[Told]) -> list[str]:
    """Who is right most often, on the pool and on fresh attackers, and how often ATT is above."""
    parts = (("the worst attacker of the pool", worst), ("the worst fresh attacker", fresh))
    return [said for name, rows in parts for said in (_best(name, rows), _above(rows)) if said]


def _best(attacker: str, rows: Sequence[Told]) -> str:
    means = {name: spread(own[name]["value"] for own in rows if name in own)
             for name in _in_order(rows)}  # fmt: skip
    if not means:
        return ""
    best = max(means, key=lambda name: means[name]["mean"])
    runs = f"{len(rows)} run{'' if len(rows) == 1 else 's'}"
    return (
        f"Before {attacker}, {best} is right most often over {runs}: in {_range(means[best])} of "
        "all pairs."
    )


def _above(rows: Sequence[Told]) -> str:
    told = []
    for other in _in_order(own for own in rows if HERO in own):
        pairs = [(own[HERO]["value"], own[other]["value"]) for own in rows
                 if HERO in own and other in own]  # fmt: skip
        if other != HERO:
            wins, beside = sum(one > two for one, two in pairs), spread(two for _, two in pairs)
            told.append(f"{other} ({_range(beside)}) in {wins} of {len(pairs)}")
    if not told:
        return ""
    own = spread(each[HERO]["value"] for each in rows if HERO in each)
    return f"{HERO} ({_range(own)}) is above {listed(told)} runs."


def _range(found: Mapping[str, float]) -> str:
    return f"{share(found['mean'])} [{share(found['low'])}–{share(found['high'])}]"


def _view(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the template lays out."""
    names = ("figure-2", "table-2", "held-out", "settings")
    titles = ("Figure 2: the games", "Table 2: who fools whom", "Attackers no game has seen",
              "Settings")  # fmt: skip
    found = {
        "figure-2": _figure(summary),
        "table-2": _rows(summary, "table"),
        "held-out": _rows(summary, "held_out"),
        "settings": [*summary["settings"].items()],
    }
    shown = [(name, title) for name, title in zip(names, titles, strict=True) if found[name]]
    return {**summary, "sections": found, "contents": [("summary", "Summary"), *shown]}


def _rows(summary: Mapping[str, Any], part: str) -> list[dict[str, Any]]:
    rows = []
    for name, own in summary[part].items():
        top = max((each["mean"] for each in own.values()), default=None)
        cells = [_cell(own.get(each), top, summary["runs"]) for each in summary["defenders"]]
        rows.append({"name": name, "cells": cells, "over": False})
    return rows


def _cell(each: Mapping[str, float] | None, top: float | None, runs: int) -> dict[str, Any]:
    if each is None:
        return cell(None, [], "")
    below = [f"{share(each['low'])}–{share(each['high'])}"]
    below += [f"{each['n']} of {runs} runs"] if each["n"] < runs else []
    return cell(each["mean"], below, f"mean and range of {each['n']} runs", each["mean"] == top)


def _figure(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    games = {name: points for name, points in summary["curves"].items() if points}
    kinds = line_kinds(_in_order([summary["defenders"], games]))
    c_high = next((float(v) for k, v in summary["settings"].items()
                   if k.rsplit(".", 1)[-1] == "c_high"), None)  # fmt: skip
    panels = []
    for name, points in games.items():
        drawn = [{**each, "value": each["mean"], "lowest": each["lowest"]["mean"]}
                 for each in points]  # fmt: skip
        alt = f"Accuracy after the attack at each turn of {name}, mean and range over runs"
        plot = plots.game_plot(drawn, kinds[name], plots.last_turn(games), c_high, alt, "lowest")
        panels.append({"name": name, "kind": kinds[name], "plot": plot, "c_high": c_high})
    return panels
