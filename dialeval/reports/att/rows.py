"""Results of the attack-defence game as grids of attackers and defenders, and in sentences."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean

from dialeval.metrics.game_results import FRESH_WORST, GameResults, TurnRecord
from dialeval.metrics.results import Result
from dialeval.reports.format import (
    NONE,
    detail,
    finite,
    format_interval,
    format_list,
    format_share,
)

HERO = "ATT"
"""The method of the paper, which the sentences compare with all others."""
WORST, OWN_WORST = "Adversarial G, worst", "Adversarial G, own worst"
LOWEST, MEAN = "lowest", "mean"
HINT = "Run `accelerate launch recipes/att.py` with this folder as its --output_dir."


@dataclass(frozen=True)
class Grid:
    """Attackers by defenders, with the result of each pair.

    Args:
        attackers, defenders (`list[str]`):
            Names of the rows and of the columns.
        cells (`Mapping[tuple[str, str], Result]`):
            Results by attacker and defender; pairs that were not measured are missing.
    """

    attackers: list[str]
    defenders: list[str]
    cells: Mapping[tuple[str, str], Result]

    def cell(self, attacker: str, defender: str) -> Result | None:
        """The result of a pair, or `None`."""
        return self.cells.get((attacker, defender))

    def row(self, attacker: str) -> dict[str, Result]:
        """The results of an attacker by defender, where there is one."""
        cells = {name: self.cell(attacker, name) for name in self.defenders}
        return {name: cell for name, cell in cells.items() if cell is not None}

    def column(self, defender: str) -> dict[str, Result]:
        """The results of a defender by attacker, where there is one."""
        cells = {name: self.cell(name, defender) for name in self.attackers}
        return {name: cell for name, cell in cells.items() if cell is not None}


def table_two(results: GameResults) -> Grid:
    """The accuracy of each defender on each attacker (Gao et al., 2021, Table 2)."""
    return _grid(results, "pairwise_accuracy", results.attackers)


def held_out(results: GameResults) -> Grid:
    """The accuracy of each frozen defender on attackers that were trained after the games."""
    return _grid(results, "held_out_accuracy", ())


def _grid(results: GameResults, metric: str, order: Iterable[str]) -> Grid:
    cells = results.select(metric)
    systems = {cell.system for cell in cells}
    attackers = dict.fromkeys([*(name for name in order if name in systems),
                               *(cell.system for cell in cells)])  # fmt: skip
    evaluators = dict.fromkeys(cell.evaluator for cell in cells)
    defenders = [name for name in results.defenders or evaluators if name in evaluators]
    measured = [cell for cell in cells if finite(cell.value) is not None]
    by_pair = {(cell.system, cell.evaluator): cell for cell in measured}
    return Grid(list(attackers), defenders, by_pair)


def over_attackers(results: GameResults) -> dict[str, dict[str, Result]]:
    """Each defender's accuracy on the worst of its fresh attackers, and the mean over them.

    The interval of the worst is that of the minimum, where the run computed it.
    """
    grid = held_out(results)
    computed = {cell.evaluator: cell for cell in results.select(FRESH_WORST)}
    lowest, mean = {}, {}
    nan = float("nan")
    for defender in grid.defenders:
        cells = list(grid.column(defender).values())
        if cells:
            selected = min(cells, key=lambda cell: cell.value)
            lowest[defender] = computed.get(defender, selected)
            value = fmean(cell.value for cell in cells)
            mean[defender] = Result(
                cells[0].metric, MEAN, defender, value, nan, nan, cells[0].n, ""
            )
    return {LOWEST: lowest, MEAN: mean}


def verdict_sentences(results: GameResults) -> list[str]:
    """The outcome in sentences: on the common pool, then on attackers that no game used."""
    worst, fresh = table_two(results).row(WORST), over_attackers(results)[LOWEST]
    sentences = []
    if worst:
        pool = max(detail(cell, "pool") or 0 for cell in worst.values())
        of = f"the worst of {pool:,.0f} attackers from one pool" if pool else "the worst attacker"
        sentences += [f"On {of}, {_best(worst)}", compare_with_hero(worst)]
    else:
        sentences.append("No pool of attackers was scored in this run: no worst case is known.")
    if fresh:
        of = "the worst of the fresh attackers that were trained against each frozen defender"
        sentences += [f"On {of}, with seeds that no game used, {_best(fresh)}",
                      compare_with_hero(fresh), _disagreement(worst, fresh)]  # fmt: skip
    return [sentence for sentence in sentences if sentence]


def _best(cells: Mapping[str, Result]) -> str:
    names = _leaders(cells)
    best = cells[names[0]]
    if len(names) > 1:
        accuracy = format_share(best.value)
        return f"{format_list(names)} have the highest accuracy: {accuracy} each."
    bounds = format_interval(best.low, best.high)
    interval = f" (95 % interval {bounds})" if bounds != NONE else ""
    return f"{names[0]} has the highest accuracy: {format_share(best.value)}{interval}."


def compare_with_hero(cells: Mapping[str, Result], hero: str = HERO) -> str:
    """Which defenders the hero is above, and whether the intervals overlap; empty without it.

    Examples:
        >>> nan = float("nan")
        >>> cells = {name: Result("", "", name, 0.8, nan, nan, 9, "") for name in ("ATT", "SL")}
        >>> compare_with_hero(cells)
        'ATT (.800) is not above all other defenders: it is equal to SL (.800).'
    """
    if hero not in cells or len(cells) < 2:
        return ""
    groups: dict[str, list[str]] = {}
    for name, cell in cells.items():
        if name != hero:
            label = f"{name} ({format_share(cell.value)})"
            groups.setdefault(_relation(cells[hero], cell), []).append(label)
    order = [relation for relation in _RELATIONS if relation in groups]
    parts = [_RELATIONS[relation].format(format_list(groups[relation])) for relation in order]
    above = set(groups) <= {"far above", "above"}
    head = "is above every other defender" if above else "is not above all other defenders"
    return f"{hero} ({format_share(cells[hero].value)}) {head}: it is {'; '.join(parts)}."


_RELATIONS = {
    "far above": "above {} with intervals that do not overlap",
    "above": "above {}, but the intervals overlap",
    "equal": "equal to {}",
    "below": "below {}, but the intervals overlap",
    "far below": "below {} with intervals that do not overlap",
}


def _relation(hero: Result, other: Result) -> str:
    if hero.value == other.value:
        return "equal"
    above = hero.value > other.value
    higher, lower = (hero, other) if above else (other, hero)
    far = higher.low > lower.high  # never, if one of them is NaN
    return ("far " if far else "") + ("above" if above else "below")


def _leaders(cells: Mapping[str, Result]) -> list[str]:
    best = max(cell.value for cell in cells.values())
    return [name for name, cell in cells.items() if cell.value == best]


def _disagreement(worst: Mapping[str, Result], fresh: Mapping[str, Result]) -> str:
    if not worst:
        return ""
    first, second = _leaders(worst), _leaders(fresh)
    if set(first) & set(second):
        return ""
    leads = "leads" if len(first) == 1 else "lead"
    return (
        f"The two disagree: {format_list(first)} {leads} on the pool, {format_list(second)} on "
        "fresh attackers. The second predicts more about future attackers, because no defender was "
        "trained on them."
    )


@dataclass(frozen=True)
class GamePoint:
    """Accuracy after the attack of a turn, and its range over all sets of replies so far."""

    turn: float
    value: float
    low: float
    high: float


def curve(records: Iterable[TurnRecord]) -> list[GamePoint]:
    """The curve of a game (Figure 2).

    All numbers are 0/1 accuracies, even if the game itself used the mean probability.
    """
    points = []
    for record in records:
        value = finite(record.accuracy)
        if value is None:
            continue
        measured = [finite(accuracy.pairwise) for accuracy in record.measured.values()]
        known = [number for number in measured if number is not None]
        if not known:
            bounds = (finite(record.low), finite(record.high))
            known = [value if bound is None else bound for bound in bounds]
        points.append(GamePoint(record.turn, value, min(known), max(known)))
    return points
