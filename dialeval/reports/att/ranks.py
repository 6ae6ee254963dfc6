"""The first screen of an ATT page: defenders by their accuracy on the worst attackers."""

from collections.abc import Iterable, Mapping
from typing import Any

from dialeval.metrics.game_results import GameResults
from dialeval.metrics.results import Result
from dialeval.reports.att.rows import LOWEST, WORST, over_attackers, table_two
from dialeval.reports.format import finite, of_hundred
from dialeval.reports.ranking import CHANCE, RankedBar, ranking

RANK_CAPTION = (
    "How often a defender scores the human reply above that of its worst attacker, with its 95 % "
    "interval, from never (0 %) to always (100 %); the line in the middle is a random guess. The "
    "most robust defender first."
)


def defender_ranks(results: GameResults) -> list[dict[str, Any]]:
    """Defenders by their worst fresh attacker, else by the worst of the common pool."""
    worst, fresh = table_two(results).row(WORST), over_attackers(results)[LOWEST]
    names = dict.fromkeys([*fresh, *worst])
    return rank_defenders(names, worst, fresh)


def rank_defenders(
    names: Iterable[str], worst: Mapping[str, Result], fresh: Mapping[str, Result]
) -> list[dict[str, Any]]:
    """The lines of the ranking.

    Args:
        names (`Iterable[str]`):
            Defenders.
        worst, fresh (`Mapping[str, Result]`):
            By defender, its accuracy on the worst attacker of the pool, and of the fresh ones.

    Returns:
        `list[dict[str, Any]]`: Lines for the macro `ranked`.
    """
    return ranking([_bar(name, worst.get(name), fresh.get(name)) for name in names], [CHANCE])


def _bar(name: str, worst: Result | None, fresh: Result | None) -> RankedBar:
    cell = fresh or worst
    if cell is None:
        return RankedBar(name, None, "not measured", tone="open")
    against = "its worst fresh attacker" if fresh else "the worst attacker of the pool"
    more = "worst attacker of the pool: " + of_hundred(worst.value) if fresh and worst else ""
    fooled = worst is not None and (finite(worst.high) or worst.value) < 0.5
    more += ", less than a random guess" if fooled and more else ""
    robust = (finite(cell.low) or 0) > 0.5 and not fooled
    return RankedBar(
        name, finite(cell.value), f"right in {of_hundred(cell.value)} pairs against {against}",
        cell.low, cell.high, more, "good" if robust else "apart",
    )  # fmt: skip
