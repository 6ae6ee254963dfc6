"""The first screen of a robustness page: systems and strategies as ranked bars."""

from typing import Any

from dialeval.metrics.robustness_results import RobustnessResults, RobustnessVerdict
from dialeval.reports.format import finite, format_signed, plural
from dialeval.reports.ranking import RankedBar, ranking
from dialeval.reports.robustness.rows import (
    KINDS,
    TONES,
    headline,
    sorted_strategies,
    system_names,
)

GOOD = ("stable", "responsive")
"""Verdicts on replies that do what they should."""
BAD = ("over-sensitive", "over-stable")


def verdicts_on(results: RobustnessResults, system: str) -> list[RobustnessVerdict]:
    """The verdicts on a system, in the order of the strategies."""
    verdicts = (results.verdict(system, row.name) for row in sorted_strategies(results))
    return [verdict for verdict in verdicts if verdict is not None]


def title_of(results: RobustnessResults, system: str) -> str:
    """What follows the name of a system in its headline."""
    verdicts = verdicts_on(results, system)
    good = sum(verdict.verdict in GOOD for verdict in verdicts)
    bad = sum(verdict.verdict in BAD for verdict in verdicts)
    if not verdicts:
        return "was not tested: nothing was edited"
    if good == len(verdicts):
        return f"does what it should under all {plural(good, 'perturbation')}"
    if not good and not bad:
        return "is undecided: this run cannot tell"
    return f"does what it should under {good} of {plural(len(verdicts), 'perturbation')}"


def system_ranks(results: RobustnessResults) -> list[dict[str, Any]]:
    """Systems by the share of strategies under which they do what they should."""
    bars = []
    for number, system in enumerate(system_names(results), 1):
        verdicts = verdicts_on(results, system)
        good = sum(verdict.verdict in GOOD for verdict in verdicts)
        share = good / len(verdicts) if verdicts else None
        bars.append(
            RankedBar(
                system, share, headline(results, system), tone=_tone(verdicts),
                number=f"{good} of {len(verdicts)}", link=f"system-{number}",
            )
        )  # fmt: skip
    return ranking(bars)


def _tone(verdicts: list[RobustnessVerdict]) -> str:
    if any(verdict.verdict in BAD for verdict in verdicts):
        return "apart"
    return "good" if all(verdict.verdict in GOOD for verdict in verdicts) else "open"


def strategy_ranks(results: RobustnessResults, system: str) -> list[dict[str, Any]]:
    """The effect of each strategy on a system, the largest first where replies should not change.

    Args:
        results (`RobustnessResults`):
            Results of the run.
        system (`str`):
            Name of the system.

    Returns:
        `list[dict[str, Any]]`: Lines for the macro `ranked`.
    """
    lines: list[dict[str, Any]] = []
    for kind, name in KINDS.items():
        strategies = {row.name for row in results.strategies if row.kind == kind}
        rows = [row for row in verdicts_on(results, system) if row.strategy in strategies]
        lines += ranking([_bar(row, name) for row in rows], end=scale_end(results))
    return lines


def scale_end(results: RobustnessResults) -> float:
    """Where the scale of all effects ends, so that small ones can be seen: 1, .5 or .2."""
    bounds = (finite(value) for row in results.verdicts for value in (row.high, row.effect))
    most = max((value for value in bounds if value is not None), default=1.0)
    return next(end for end in (0.2, 0.5, 1.0) if most <= end or end == 1.0)


def _bar(verdict: RobustnessVerdict, kind: str) -> RankedBar:
    margin = finite(verdict.margin)
    return RankedBar(
        verdict.strategy, finite(verdict.effect), verdict.verdict, verdict.low, verdict.high,
        more=kind, tone=TONES.get(verdict.verdict, "open"), number=format_signed(verdict.effect),
        marks=() if margin is None else (("▲", margin, "margin-mark"),),
    )  # fmt: skip
