"""Verdicts on an effect: its interval compared with a margin."""

import math

from dialeval.metrics.robustness_results import (
    INCONCLUSIVE,
    OVER_SENSITIVE,
    OVER_STABLE,
    RESPONSIVE,
    STABLE,
)

MIN_DIALOGUES = 10
"""Dialogues below which every verdict is inconclusive: the bootstrap interval is too narrow."""


def verdict(
    kind: str, low: float, high: float, margin: float, dialogues: int = MIN_DIALOGUES
) -> str:
    """The verdict on an effect, given its interval.

    A system is stable, or over-stable, only if the whole interval lies within the margin: a change
    that is not significant proves no stability. It is responsive, or over-sensitive, only if the
    whole interval lies beyond the margin.

    Args:
        kind (`str`):
            `"should_change"` or `"should_not_change"`.
        low, high (`float`):
            Bounds of the interval.
        margin (`float`):
            Largest effect that counts as none.
        dialogues (`int`, *optional*, defaults to `MIN_DIALOGUES`):
            Number of dialogues that the interval is based on.

    Returns:
        `str`: One of `ROBUSTNESS_VERDICTS`.

    Examples:
        >>> verdict("should_not_change", 0.0, 0.08, 0.1)
        'stable'
        >>> verdict("should_change", 0.0, 0.08, 0.1)
        'over-stable'
        >>> verdict("should_not_change", 0.05, 0.2, 0.1)
        'inconclusive'
    """
    if dialogues < MIN_DIALOGUES or not (math.isfinite(low) and math.isfinite(high)):
        return INCONCLUSIVE
    if kind == "should_not_change":
        within, beyond = STABLE, OVER_SENSITIVE
    else:
        within, beyond = OVER_STABLE, RESPONSIVE
    if high <= margin:
        return within
    return beyond if low > margin else INCONCLUSIVE
