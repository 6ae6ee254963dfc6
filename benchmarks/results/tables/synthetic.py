"""A world with known truth: does the measure measure it?"""

from collections.abc import Sequence
from pathlib import Path

from benchmarks.results.store import Cell, Number, TableParts
from dialeval.protocols.synthetic import (
    World,
    planted_rates,
    planted_trial,
    run_trial,
    summarise,
)
from dialeval.protocols.synthetic.summary import Rate


def truth(
    data: Path,
    work: Path,
    worlds: Sequence[tuple[str, float]],
    contexts: Sequence[int],
    evaluators: Sequence[str],
    trials: int,
    seed: int = 0,
) -> TableParts:
    """Measured against best accuracy, size and power of the test.

    Args:
        data, work (`Path`):
            Folders, not used here.
        worlds (`Sequence[tuple[str, float]]`):
            Kind and distance of each world.
        contexts (`Sequence[int]`):
            Sizes of the corpora.
        evaluators (`Sequence[str]`):
            Names of evaluators.
        trials (`int`):
            Corpora per world and size.
        seed (`int`, *optional*, defaults to 0):
            Seed of the first corpus.

    Returns:
        `TableParts`: A part per world and size.
    """

    def rows(kind: str, distance: float, size: int) -> list[list[Cell]]:
        world = World(kind, distance)
        seeds = range(seed, seed + trials)
        results = [trial for at in seeds for trial in run_trial(world, size, at, evaluators)]
        return [
            [
                kind, f"{distance:g}", Number(row.best), str(size), row.evaluator,
                Number(row.error), Number(row.spread), _number(row.rejected), _number(row.above),
            ]
            for row in summarise(results)
        ]  # fmt: skip

    columns = [
        "world", "distance", "best accuracy", "contexts", "evaluator", "measured - best",
        "spread", "difference found", "interval above the best",
    ]  # fmt: skip
    parts = {
        f"{kind} {distance:g}, {size} contexts": lambda k=kind, d=distance, n=size: rows(k, d, n)
        for size in contexts
        for kind, distance in worlds
    }
    return TableParts(columns, parts)


def planted(
    data: Path,
    work: Path,
    shares: Sequence[float],
    contexts: Sequence[int],
    evaluators: Sequence[str],
    trials: int,
    seed: int = 0,
) -> TableParts:
    """The power that the check by planted replies promises, against what is detected.

    Args:
        data, work (`Path`):
            Folders, not used here.
        shares (`Sequence[float]`):
            Shares of replaced replies.
        contexts (`Sequence[int]`):
            Sizes of the corpora.
        evaluators (`Sequence[str]`):
            Names of evaluators that read contexts.
        trials (`int`):
            Corpora per share and size.
        seed (`int`, *optional*, defaults to 0):
            Seed of the first corpus.

    Returns:
        `TableParts`: A part per share and size.
    """

    def rows(share: float, size: int) -> list[list[Cell]]:
        seeds = range(seed, seed + trials)
        results = [trial for at in seeds for trial in planted_trial(share, size, at, evaluators)]
        return [
            [f"{share:g}", str(size), row.evaluator, Number(row.promised), _number(row.detected)]
            for row in planted_rates(results)
        ]

    columns = ["share replaced", "contexts", "evaluator", "promised power", "detected"]
    parts = {
        f"{share:g}, {size} contexts": lambda s=share, n=size: rows(s, n)
        for size in contexts
        for share in shares
    }
    return TableParts(columns, parts)


def _number(rate: Rate) -> Number:
    return Number(rate.value, rate.low, rate.high, rate.n)
