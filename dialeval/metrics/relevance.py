"""Relevance: does a system answer the context as closely as humans do?

An evaluator that was trained to distinguish human replies from random ones, without any machine
response, is applied to a system's replies. What it gives human and random replies is the scale.
"""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, numbers, units_of
from dialeval.metrics.intervals import sums_interval


class RelevanceResult(TypedDict):
    """What `relevance` returns."""

    relevance: float
    low: float
    high: float
    n: int
    n_groups: int
    system_score: float
    human_score: float
    random_score: float


def relevance(
    system: ArrayLike,
    human: ArrayLike,
    random: ArrayLike,
    *,
    groups: Ids | None = None,
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RelevanceResult:
    """The mean score of a system's replies, between random replies (0) and human ones (1).

    Args:
        system (`ArrayLike`):
            Scores of the system's replies, by an evaluator trained on human and random replies of
            other dialogues.
        human (`ArrayLike`):
            Its scores of the human replies to the same contexts.
        random (`ArrayLike`):
            Its scores of random replies to the same contexts.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the interval.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `RelevanceResult`: `relevance` with `low` and `high`: (system - random) / (human - random).
        It exceeds 1 where a system sticks closer to the context than humans do, as one that
        repeats it; the three mean scores; `n` contexts in `n_groups` dialogues.

    Raises:
        ValueError: The evaluator does not give human replies higher scores than random ones.

    Examples:
        >>> result = relevance([0.6, 0.8], human=[0.9, 0.9], random=[0.3, 0.1])
        >>> round(result["relevance"], 3)  # .7 is five sevenths of the way from .2 to .9
        0.714
    """
    values = numbers(system, "system")
    columns = [values, numbers(human, "human", len(values)), numbers(random, "random", len(values))]
    table = np.column_stack(columns)  # (contexts, 3)
    means = table.mean(0)
    if means[1] <= means[2]:
        raise ValueError(
            f"The evaluator gives human replies a mean score of {means[1]:.3f} and random ones "
            f"{means[2]:.3f}, so it does not measure relevance. Pass the scores of an evaluator "
            "that passes human-vs-random."
        )
    unit = units_of(len(values), groups)
    sums = np.column_stack([np.bincount(unit, column) for column in columns])
    low, high = sums_interval(sums, _position, level=level, resamples=resamples, seed=seed)
    return {
        "relevance": float(_position(means)),
        "low": low,
        "high": high,
        "n": len(values),
        "n_groups": len(sums),
        "system_score": float(means[0]),
        "human_score": float(means[1]),
        "random_score": float(means[2]),
    }


def _position(sums: np.ndarray) -> np.ndarray:
    """Where the first of three sums lies between the third (0) and the second (1)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return (sums[..., 0] - sums[..., 2]) / (sums[..., 1] - sums[..., 2])
