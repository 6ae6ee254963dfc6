"""Intervals of shares, by Wilson's formula: of independent trials, and of trials in dialogues.

A percentile bootstrap over dialogues is too narrow if they are few, and the more so the closer the
share is to 0 or 1: of 95 % intervals at .97, 59 % to 91 % contain the truth with 20 dialogues.
"""

import numpy as np

_PRIOR = 1 / 3
"""Weight of one dialogue whose responses all agree: see `clustered_wilson`."""
_NONE = 1e-20  # squared errors below it are rounding


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of a share of independent trials (Wilson, 1927); also valid at 0 and at `n`.

    Args:
        successes (`float`):
            How many trials succeeded.
        n (`float`):
            How many trials there were.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> low, high = wilson(0, 10)
        >>> low, round(high, 4)  # the upper bound is z² / (n + z²)
        (0.0, 0.2775)
    """
    from scipy.stats import norm

    if not 0 <= successes <= n or n <= 0:
        raise ValueError(f"Expected 0 <= successes <= n and n > 0, got {successes:g} of {n:g}.")
    return _score_bounds(successes / n, float(norm.ppf(tails(level)[1])) ** 2 / n)


def clustered_wilson(
    table: np.ndarray, variance: float, level: float = 0.95
) -> tuple[float, float]:
    """Interval of a mean of values from 0 to 1 in dialogues, or of the mean of two classes' means.

    It is Wilson's with the effective number of responses, value (1 - value) / V, and Student's t
    in place of the normal quantile (Korn and Graubard, 1998; Dean and Pagano, 2015). V is the
    variance over dialogues by linearisation. Few errors cannot show whether they go together
    within a dialogue, so V is averaged with what it would be if all responses of a dialogue
    agreed. The weights are the effective number of dialogues that V comes from, (sum of squares)²
    over the sum of fourth powers, and a third. Dialogues count by their size, as in Kish's formula.

    Args:
        table (`np.ndarray`):
            Sum and number of the values of each dialogue, shape `(dialogues, 2)`, or those of both
            classes, shape `(dialogues, 4)`.
        variance (`float`):
            Of single values within their class, the mean over classes.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `tuple[float, float]`: Lower and upper bound. Where all values of a class are the same, the
        bounds are those of as many independent dialogues. NaN twice if one dialogue has several.

    Examples:
        >>> table = np.column_stack([np.repeat([1, 0], [5, 5]), np.ones(10)])
        >>> [round(bound, 2) for bound in clustered_wilson(table, 0.25)]  # without t: .24 and .76
        [0.2, 0.8]
    """
    from scipy.stats import t

    sums, sizes = table[:, 0::2], table[:, 1::2]
    totals = sizes.sum(0)
    means = sums.sum(0) / totals
    value = float(means.mean())
    squares = np.square(((sums - means * sizes) / totals).mean(1))  # of errors
    units = float(1 / np.square((sizes / totals).mean(1)).sum())
    total = float(squares.sum())
    if max(total, variance) < _NONE:
        if np.ptp(means) < 1e-12:
            return constant_bounds(value, units, level=level)
        return wilson(value * units, units, level)
    if len(table) < 2:
        return float("nan"), float("nan")
    seen = total**2 / float(np.square(squares).sum()) if total > _NONE else 0.0
    pooled = seen * total * len(table) / (len(table) - 1) + _PRIOR * variance / units
    critical = float(t.ppf(tails(level)[1], max(units - 1, 1)))
    return _score_bounds(value, critical**2 * pooled / (seen + _PRIOR) / (value * (1 - value)))


def constant_bounds(
    value: float, n: float, least: float = 0.0, *, level: float = 0.95
) -> tuple[float, float]:
    """Bounds of a mean of which all `n` units have the same value.

    None of the units was seen to differ, so the share of all units that do is at most Wilson's
    bound of 0 in n, and these could have any value from the least to 1.

    Args:
        value (`float`):
            What every unit has.
        n (`float`):
            Number of units.
        least (`float`, *optional*, defaults to 0.0):
            The smallest value that is possible; 1 is the largest.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `tuple[float, float]`: Lower and upper bound.

    Examples:
        >>> [round(bound, 3) for bound in constant_bounds(1.0, 10)]  # that of Wilson
        [0.722, 1.0]
    """
    differ = wilson(0, n, level)[1]
    return value - (value - least) * differ, value + (1 - value) * differ


def tails(level: float) -> np.ndarray:
    """The two probabilities between which the middle `level` lies.

    Examples:
        >>> tails(0.5).tolist()
        [0.25, 0.75]
    """
    if not 0 < level < 1:
        raise ValueError(f"`level` is a share between 0 and 1, such as 0.95, not {level:g}.")
    return np.array([(1 - level) / 2, (1 + level) / 2])


def _score_bounds(share: float, ratio: float) -> tuple[float, float]:
    """Wilson's formula; the ratio is the squared critical value over the number of trials."""
    centre = (share + ratio / 2) / (1 + ratio)
    half = float(np.sqrt(share * (1 - share) * ratio + ratio**2 / 4)) / (1 + ratio)
    low = 0.0 if share == 0 else max(0.0, centre - half)
    return low, 1.0 if share == 1 else min(1.0, centre + half)
