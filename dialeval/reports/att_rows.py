"""What a study of the attack-defence game found, as grids of attackers and defenders, in words."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dialeval.reports.evaluation_rows import between, number, share

HERO = "ATT"
WORST, OWN_WORST = "Adversarial G, worst", "Adversarial G, own worst"
LOWEST, MEAN = "lowest", "mean"
HINT = "Run `accelerate launch recipes/att.py` with this folder as its --output_dir."

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Grid:
    """Attackers by defenders, with the result of each pair; an empty one where there is none."""

    attackers: list[str]
    defenders: list[str]
    cells: Mapping[tuple[str, str], Result]

    def cell(self, attacker: str, defender: str) -> Result:
        return self.cells.get((attacker, defender), {})

    def row(self, attacker: str) -> dict[str, Result]:
        """The results of those defenders that have a number."""
        own = {each: self.cell(attacker, each) for each in self.defenders}
        return {each: found for each, found in own.items() if number(found, "value") is not None}

    def column(self, defender: str) -> dict[str, Result]:
        """The results of those attackers that have a number."""
        own = {each: self.cell(each, defender) for each in self.attackers}
        return {each: found for each, found in own.items() if number(found, "value") is not None}


def table_two(told: Mapping[str, Any]) -> Grid:
    """The accuracy of each defender on each attacker (Gao et al., 2021, Table 2)."""
    return _grid(told, "pairwise_accuracy", told.get("attackers") or ())


def held_out(told: Mapping[str, Any]) -> Grid:
    """The accuracy of each frozen defender on attackers that were trained after the games."""
    return _grid(told, "held_out_accuracy", ())


def _grid(told: Mapping[str, Any], metric: str, order: Iterable[str]) -> Grid:
    found = [each for each in told.get("results") or () if each.get("metric") == metric]
    names = [each for each in order if any(row.get("system") == each for row in found)]
    attackers = dict.fromkeys([*names, *(each.get("system") or "" for each in found)])
    judges = dict.fromkeys(each.get("evaluator") or "" for each in found)
    defenders = [each for each in told.get("defenders") or judges if each in judges]
    cells = {(row.get("system") or "", row.get("evaluator") or ""): row for row in found}
    return Grid(list(attackers), defenders, cells)


def over_attackers(grid: Grid) -> dict[str, dict[str, Result]]:
    """The lowest of each defender's results over all attackers, and their mean."""
    lowest, mean = {}, {}
    for defender in grid.defenders:
        found = grid.column(defender)
        if found:
            lowest[defender] = min(found.values(), key=lambda each: each["value"])
            mean[defender] = {"value": fmean(each["value"] for each in found.values())}
    return {LOWEST: lowest, MEAN: mean}


def verdict(told: Mapping[str, Any]) -> list[str]:
    """What the study says, in words: the common pool, then attackers that no game has seen."""
    worst, fresh = table_two(told).row(WORST), over_attackers(held_out(told))[LOWEST]
    said = []
    if worst:
        pool = max((number(each, "pool") or 0 for each in worst.values()), default=0)
        of = f"the worst of {pool:,.0f} attackers from one pool" if pool else "the worst attacker"
        said.append(f"Before {of}, {_best(worst)}")
        said.append(compared(worst))
    else:
        said.append("No pool of attackers was scored in this run, so no worst case is known.")
    if fresh:
        of = "the worst attacker that was trained afresh against each frozen defender"
        said.append(f"Before {of}, with seeds no game has seen, {_best(fresh)}")
        said.append(compared(fresh))
        said.append(_disagreement(worst, fresh))
    return [each for each in said if each]


def _best(cells: Mapping[str, Result]) -> str:
    names = _leaders(cells)
    top = cells[names[0]]["value"]
    if len(names) > 1:
        return f"{listed(names)} are right most often: each in {share(top)} of all pairs."
    ends = between(cells[names[0]])
    interval = f" (95 % interval {ends})" if ends.strip("–") else ""
    return f"{names[0]} is right most often: in {share(top)} of all pairs{interval}."


def compared(cells: Mapping[str, Result], hero: str = HERO) -> str:
    """Which others the hero is above, and whether by more than their intervals; empty without it.

    Example:
        >>> compared({"ATT": {"value": 0.8, "low": 0.7, "high": 0.9}, "SL": {"value": 0.8}})
        'ATT (.800) is not above all the others: it is level with SL (.800).'
    """
    if hero not in cells or len(cells) < 2:
        return ""
    own = cells[hero]
    groups: dict[str, list[str]] = {}
    for name, each in cells.items():
        if name != hero:
            groups.setdefault(_relation(own, each), []).append(f"{name} ({share(each['value'])})")
    order = [each for each in _RELATIONS if each in groups]
    told = [_RELATIONS[each].format(listed(groups[each])) for each in order]
    above = set(groups) <= {"apart", "above"}
    head = "is above every other defender" if above else "is not above all the others"
    return f"{hero} ({share(own['value'])}) {head}: it is {'; '.join(told)}."


_RELATIONS = {
    "apart": "above {} with intervals that lie apart",
    "above": "above {}, but the intervals do not lie apart",
    "level": "level with {}",
    "below": "below {}, but the intervals do not lie apart",
    "far below": "below {} with intervals that lie apart",
}


def _relation(own: Result, other: Result) -> str:
    if own["value"] == other["value"]:
        return "level"
    above = own["value"] > other["value"]
    low, high = (own, other) if above else (other, own)
    ends = number(low, "low"), number(high, "high")
    apart = None not in ends and ends[0] > ends[1]
    return ("apart" if apart else "above") if above else ("far below" if apart else "below")


def _leaders(found: Mapping[str, Result]) -> list[str]:
    best = max(each["value"] for each in found.values())
    return [name for name, each in found.items() if each["value"] == best]


def _disagreement(worst: Mapping[str, Result], fresh: Mapping[str, Result]) -> str:
    if not worst:
        return ""
    first, second = (_leaders(each) for each in (worst, fresh))
    if set(first) & set(second):
        return ""
    leads = "leads" if len(first) == 1 else "lead"
    return (
        f"The two disagree: {listed(first)} {leads} on the pool, {listed(second)} on fresh "
        "attackers. The second says more about attackers to come, for no defender was trained on "
        "them."
    )


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them.

    Example:
        >>> listed(["SL", "GAN", "ND"])
        'SL, GAN and ND'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def curve(records: Iterable[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Turn, accuracy after its attack, and the range over all sets read then (Figure 2).

    All three are 0/1 accuracies, also where the game itself went by the mean probability.
    """
    found = []
    for each in records:
        value, turn = number(each, "accuracy"), number(each, "turn")
        if value is None or turn is None:
            continue
        past = [number(one, "pairwise") for one in (each.get("measured") or {}).values()]
        past = [one for one in past if one is not None] or [
            value if number(each, name) is None else each[name] for name in ("low", "high")
        ]
        found.append({"turn": turn, "value": value, "low": min(past), "high": max(past)})
    return found


def setting(told: Mapping[str, Any], name: str) -> Any:
    """A setting by its name, wherever among the settings it stands; `None` without one."""
    left = [told.get("settings") or {}]
    while left:
        each = left.pop(0)
        if name in each:
            return each[name]
        left += [inner for inner in each.values() if isinstance(inner, Mapping)]
    return None
