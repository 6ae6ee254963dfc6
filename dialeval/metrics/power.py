"""Power: how large a difference has to be for a test on pairs to detect it."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm

from dialeval.metrics.checks import Ids, numbers, units_of

POWER = 0.8
"""A difference counts as detectable if the test finds it in this share of cases."""


def minimum_detectable(signs: ArrayLike, groups: Ids | None = None, alpha: float = 0.05) -> float:
    """The pairwise accuracy that a sign-flip test over dialogues finds in 80 % of cases.

    Args:
        signs (`ArrayLike`):
            For each pair 1 if the human response has the higher score, -1 if it has the lower one.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units whose signs are flipped.
        alpha (`float`, *optional*, defaults to 0.05):
            Level of the one-sided test.

    Returns:
        `float`: In (0.5, 1].

    Examples:
        >>> round(minimum_detectable([1, -1] * 200), 3)  # .5 + (1.645 + .842) / (2 * sqrt(400))
        0.562
    """
    gains = _gains(signs, groups)
    n = len(np.asarray(signs))
    error = np.sqrt(max(np.square(gains).sum(), n / 2)) / n  # ties must not promise certainty
    return float(min(1.0, 0.5 + (norm.isf(alpha) + norm.ppf(POWER)) * error / 2))


def planted_power(
    signs: ArrayLike,
    share: float,
    groups: Ids | None = None,
    *,
    alpha: float = 0.05,
    draws: int = 500,
    seed: int = 0,
) -> float:
    """How often a sign-flip test notices that some human replies were replaced by others.

    A drawn share of the pairs keeps the evaluator's decision; in all others both responses are
    taken to be equally human, so a coin decides.

    Args:
        signs (`ArrayLike`):
            For each held-out pair of a human and a planted response, 1 if the human one has the
            higher score, -1 if it has the lower one, 0 for a tie.
        share (`float`):
            Share of the pairs that are planted.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the test.
        alpha (`float`, *optional*, defaults to 0.05):
            Level of the one-sided test.
        draws (`int`, *optional*, defaults to 500):
            How many times pairs and coins are drawn.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.

    Returns:
        `float`: Share of the draws in which the test is significant.

    Examples:
        >>> planted_power([1] * 400, share=0.5), planted_power([1, -1] * 200, share=0.2) < 0.1
        (1.0, True)
    """
    values = numbers(signs, "signs")
    unit = units_of(len(values), groups)
    rng = np.random.default_rng(seed)
    detected = 0
    for _ in range(draws):
        coins = rng.integers(0, 2, len(values)) * 2 - 1
        mixed = np.where(rng.random(len(values)) < share, values, coins)
        gains = np.bincount(unit, mixed)
        detected += norm.sf(gains.sum() / np.sqrt(max(np.square(gains).sum(), 1))) < alpha
    return float(detected / draws)


def _gains(signs: ArrayLike, groups: Ids | None) -> np.ndarray:
    """The sum of the signs of each dialogue."""
    values = numbers(signs, "signs")
    return np.bincount(units_of(len(values), groups), values)
