"""What an effect means in words: an interval against a margin."""

import math

STILL, TOO_MUCH = "holds still", "moves too much"
MOVES, STUCK = "moves as it must", "does not move"
OPEN = "inconclusive"
FEWEST = 10
"""Dialogues below which nothing is concluded: a bootstrap of fewer is too sure of itself."""


def verdict(kind: str, low: float, high: float, margin: float, dialogues: int = FEWEST) -> str:
    """The verdict on an effect whose interval is known.

    A system holds still, or does not move, only if the whole interval lies within the margin: a
    change that is not significant proves no stability. It moves only if the whole interval lies
    beyond the margin.

    Args:
        kind (`str`):
            `"should_change"` or `"should_not_change"`.
        dialogues (`int`, *optional*):
            How many the interval rests on.

    Example:
        >>> verdict("should_not_change", 0.0, 0.08, 0.1)
        'holds still'
        >>> verdict("should_change", 0.0, 0.08, 0.1)
        'does not move'
        >>> verdict("should_not_change", 0.05, 0.2, 0.1)
        'inconclusive'
    """
    if dialogues < FEWEST or not (math.isfinite(low) and math.isfinite(high)):
        return OPEN
    still, moving = (STILL, TOO_MUCH) if kind == "should_not_change" else (STUCK, MOVES)
    if high <= margin:
        return still
    return moving if low > margin else OPEN
