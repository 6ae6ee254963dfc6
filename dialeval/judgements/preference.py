"""Which of two replies is better: win, lose and tie, a sign test, and Bradley-Terry strengths."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypedDict

import numpy as np
from scipy.stats import binomtest

from dialeval.judgements.resampling import (
    codes_of,
    percentile_interval,
    resampled_sums,
)
from dialeval.metrics.intervals import IntervalSettings, interval

OUTCOMES = ("win", "lose", "tie")
_LIMIT = 12.0  # log-strengths of systems that never lose are infinite: e^12 is a share of .999994

Preference = tuple[str, str, str]
"""The first and the second system, and the outcome for the first: win, lose or tie."""


class WinRateResult(TypedDict):
    """What `win_rate` returns; bounds are of 95 % intervals over items."""

    win: float
    win_low: float
    win_high: float
    lose: float
    lose_low: float
    lose_high: float
    tie: float
    tie_low: float
    tie_high: float
    net: float
    net_low: float
    net_high: float
    p_value: float
    items_won: int
    items_lost: int
    n: int
    n_items: int


def win_rate(
    outcomes: Sequence[str],
    groups: Sequence[Hashable] | None = None,
    *,
    method: str = "auto",
    resamples: int = 1_000,
    seed: int = 0,
) -> WinRateResult:
    """Shares of wins, losses and ties (Li et al., 2017, Table 4), and an exact sign test.

    Several judgements about an item are not independent, so the intervals are over items, and
    the sign test counts items: one is won if it has more wins than losses, and left out if it has
    equally many.

    Args:
        outcomes (`Sequence[str]`):
            `win`, `lose` or `tie`, one per judgement.
        groups (`Sequence`, *optional*):
            The item of each judgement; by default every judgement is about another item.
        method (`str`, *optional*, defaults to `"auto"`):
            Method of the intervals: see `dialeval.metrics.intervals.interval`.
        resamples (`int`, *optional*, defaults to 1000):
            Bootstrap draws of items, for methods that draw them.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `WinRateResult`: The three shares and `net` (win minus lose) with their intervals, the
        two-sided `p_value` of the sign test, and counts.

    Examples:
        >>> result = win_rate(["win", "win", "win", "lose", "tie"], resamples=50)
        >>> result["win"], result["items_won"], result["p_value"]
        (0.6, 3, 0.625)
    """
    unknown = sorted({str(outcome) for outcome in outcomes} - set(OUTCOMES))
    if unknown:
        raise ValueError(
            f"Outcomes are win, lose or tie, but there is {unknown[0]!r}. Recode the answers."
        )
    if not len(outcomes):
        raise ValueError("There are no judgements. Pass at least one.")
    marks = np.array([[outcome == name for name in OUTCOMES] for outcome in outcomes], dtype=float)
    if groups is not None and len(groups) != len(outcomes):
        raise ValueError(f"There are {len(groups)} groups for {len(outcomes)} outcomes.")
    unit, names = codes_of(list(groups) if groups is not None else list(range(len(outcomes))))
    table = np.zeros((len(names), 3))
    np.add.at(table, unit, marks)
    won, lost = (int((gap > 0).sum()) for gap in _gaps(table))
    settings: IntervalSettings = {"method": method, "resamples": resamples, "seed": seed}
    numbers = _shares_with_bounds(marks, unit, settings)
    p_value = float(binomtest(won, won + lost).pvalue) if won + lost else 1.0
    return {
        **numbers,  # type: ignore[typeddict-item]  # the names of shares and bounds are built
        "p_value": p_value,
        "items_won": won,
        "items_lost": lost,
        "n": len(outcomes),
        "n_items": len(names),
    }


def _gaps(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    gap = table[:, 0] - table[:, 1]
    return gap, -gap


def _shares_with_bounds(
    marks: np.ndarray, unit: np.ndarray, settings: IntervalSettings
) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for name, values in zip(OUTCOMES, marks.T, strict=True):
        low, high = interval(values, unit, **settings)
        numbers |= {name: float(values.mean()), f"{name}_low": low, f"{name}_high": high}
    net = marks[:, 0] - marks[:, 1]
    low, high = interval((1 + net) / 2, unit, **settings)  # from 0 to 1, as a share is
    return numbers | {"net": float(net.mean()), "net_low": 2 * low - 1, "net_high": 2 * high - 1}


@dataclass(frozen=True)
class Strength:
    """A system in a Bradley-Terry model.

    Args:
        system (`str`):
            Its name.
        strength, low, high (`float`):
            Log-strength with its 95 % interval over items; the mean of all systems is 0, and the
            chance that `a` beats `b` is `1 / (1 + exp(b - a))`.
        rank_low, rank_high (`int`):
            Ranks that it has in 95 % of the resamples, from 1.
        wins (`float`):
            Comparisons that it won; a tie is half a win.
        n (`int`):
            Its comparisons.
    """

    system: str
    strength: float
    low: float
    high: float
    rank_low: int
    rank_high: int
    wins: float
    n: int


def bradley_terry(
    preferences: Sequence[Preference],
    groups: Sequence[Hashable] | None = None,
    *,
    resamples: int = 200,
    seed: int = 0,
) -> list[Strength]:
    """Strengths of systems from pairwise preferences (Bradley and Terry, 1952).

    The maximum-likelihood strengths by Hunter's (2004) minorisation; a tie is half a win for both
    sides. A system that won, or lost, everything has no finite strength: it gets ±12.

    Args:
        preferences (`Sequence`):
            First system, second system, and `win`, `lose` or `tie` for the first.
        groups (`Sequence`, *optional*):
            The item of each; the intervals draw whole items.
        resamples (`int`, *optional*, defaults to 200):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `list[Strength]`: The strongest system first.

    Examples:
        >>> won = [("a", "b", "win")] * 3 + [("a", "b", "lose")]
        >>> [(row.system, round(row.strength, 3)) for row in bradley_terry(won, resamples=20)]
        [('a', 0.549), ('b', -0.549)]
    """
    if not preferences:
        raise ValueError("There are no preferences. Pass at least one.")
    names = sorted({name for row in preferences for name in row[:2]})
    index = {name: number for number, name in enumerate(names)}
    unit, units = codes_of(list(groups) if groups is not None else list(range(len(preferences))))
    size = len(names)
    table = np.zeros((len(units), size * size))
    for row, (first, second, outcome) in zip(unit, preferences, strict=True):
        share = {"win": 1.0, "tie": 0.5, "lose": 0.0}[outcome]
        table[row, index[first] * size + index[second]] += share
        table[row, index[second] * size + index[first]] += 1 - share
    wins = table.sum(0).reshape(size, size)
    strengths = log_strengths(wins)
    drawn = np.array(
        [log_strengths(sums.reshape(size, size)) for sums in resampled_sums(table, resamples, seed)]
    )
    ranks = (-drawn).argsort(1).argsort(1) + 1
    rows = [
        _strength(name, strengths[number], drawn[:, number], ranks[:, number], wins, number)
        for number, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: -row.strength)


def _strength(
    name: str, value: float, drawn: np.ndarray, ranks: np.ndarray, wins: np.ndarray, number: int
) -> Strength:
    low, high = percentile_interval(drawn)
    best, worst = np.quantile(ranks, [0.025, 0.975], method="inverted_cdf")
    total = wins[number].sum() + wins[:, number].sum()
    return Strength(
        name, float(value), low, high, int(best), int(worst), float(wins[number].sum()), int(total)
    )


def log_strengths(wins: np.ndarray, steps: int = 2_000, tolerance: float = 1e-8) -> np.ndarray:
    """Maximum-likelihood log-strengths with mean 0 of a matrix of wins, row over column.

    Args:
        wins (`np.ndarray`):
            How often the row's system beat the column's, shape `(systems, systems)`.
        steps (`int`, *optional*, defaults to 2000):
            Iterations at most.
        tolerance (`float`, *optional*, defaults to 1e-8):
            Change of every log-strength at which to stop.

    Returns:
        `np.ndarray`: One number per system.
    """
    games = wins + wins.T
    won = wins.sum(1)
    strengths = np.zeros(len(wins))
    for _ in range(steps):
        scale = np.exp(strengths)
        expected = (games / (scale[:, None] + scale[None, :])).sum(1)
        with np.errstate(divide="ignore", invalid="ignore"):
            updated = np.log(won) - np.log(expected)
        updated = np.clip(np.nan_to_num(updated, nan=0.0, neginf=-_LIMIT), -_LIMIT, _LIMIT)
        updated = updated - updated.mean()
        if np.abs(updated - strengths).max() < tolerance:
            return updated
        strengths = updated
    return strengths


def ratings_as_preferences(
    ratings: Mapping[Hashable, Mapping[str, float]],
) -> tuple[list[Preference], list[Hashable]]:
    """Every two systems rated on the same item as a preference, and the items.

    Examples:
        >>> ratings_as_preferences({"x": {"a": 4.0, "b": 2.0, "c": 4.0}})[0]
        [('a', 'b', 'win'), ('a', 'c', 'tie'), ('b', 'c', 'lose')]
    """
    rows: list[Preference] = []
    items: list[Hashable] = []
    for item, by_system in ratings.items():
        for first, second in combinations(sorted(by_system), 2):
            gap = by_system[first] - by_system[second]
            rows.append((first, second, "win" if gap > 0 else "lose" if gap < 0 else "tie"))
            items.append(item)
    return rows, items
