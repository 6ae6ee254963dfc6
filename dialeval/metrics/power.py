"""Power: how large a difference has to be for a test on pairs to detect it."""

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, numbers, units_of
from dialeval.metrics.intervals import interval

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
        >>> minimum = minimum_detectable([1, -1] * 200)
        >>> round(minimum, 4)  # .5 + (1.645 + .842) / (2 * sqrt(400)) + 1 / (2 * 400)
        0.5634
    """
    from scipy.stats import norm

    gains = _gains(signs, groups)
    n = len(np.asarray(signs))
    error = np.sqrt(max(np.square(gains).sum(), n / 2)) / n  # ties must not promise certainty
    excess = (norm.isf(alpha) + norm.ppf(POWER)) * error + _half_step(gains) / n
    return float(min(1.0, 0.5 + excess / 2))


def planted_power(
    signs: ArrayLike,
    share: float,
    groups: Ids | None = None,
    *,
    alpha: float = 0.05,
    confidence: float | None = None,
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
        confidence (`float`, *optional*):
            The held-out pairs are a sample, and the evaluator may be worse than it was on them:
            with a confidence, the power of an evaluator whose pairwise accuracy is the lower bound
            at that confidence. By default the observed accuracy counts.
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
    if confidence is not None:
        share *= _certain_part(values, unit, confidence)
    rng = np.random.default_rng(seed)
    detected = 0
    for _ in range(draws):
        coins = rng.integers(0, 2, len(values)) * 2 - 1
        mixed = np.where(rng.random(len(values)) < share, values, coins)
        detected += _sign_flip_p(np.bincount(unit, mixed)) < alpha
    return float(detected / draws)


def _certain_part(signs: np.ndarray, unit: np.ndarray, confidence: float) -> float:
    """Share of an evaluator's gain over guessing that is left at its lower bound.

    Deciding that share of the pairs as observed, and the rest by a coin, has that accuracy.
    """
    accuracy = (1 + signs.mean()) / 2
    low, _ = interval((1 + signs) / 2, unit.tolist(), method="auto", level=2 * confidence - 1)
    return float(max(low - 0.5, 0) / (accuracy - 0.5)) if accuracy > 0.5 else 0.0


def _sign_flip_p(gains: np.ndarray) -> float:
    """The p-value of `sign_flip_test` for whole numbers, by the normal limit.

    Sums of flipped signs lie on a lattice, so the probability of the observed one and above begins
    half a step below it. Without that correction 50 pairs would need 31 correct ones to be
    significant, and in the exact test they need 32.
    """
    from scipy.stats import norm

    deviation = np.sqrt(np.square(gains).sum())
    return float(norm.sf((gains.sum() - _half_step(gains)) / deviation)) if deviation else 1.0


def _half_step(gains: np.ndarray) -> int:
    """Half the distance between neighbouring sums of flipped signs: their greatest divisor."""
    return int(np.gcd.reduce(np.abs(gains).astype(np.int64)))


def _gains(signs: ArrayLike, groups: Ids | None) -> np.ndarray:
    """The sum of the signs of each dialogue."""
    values = numbers(signs, "signs")
    return np.bincount(units_of(len(values), groups), values)
