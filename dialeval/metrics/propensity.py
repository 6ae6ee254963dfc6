"""Matching within calipers of a propensity score, so that two samples become comparable."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment

from dialeval.metrics.checks import numbers

CALIPER = 0.2
"""Width of a caliper in standard deviations of the log odds (Austin, 2011)."""
_OUTSIDE = 1e6


def caliper_matches(
    first: ArrayLike, second: ArrayLike, distances: ArrayLike | None = None, width: float = CALIPER
) -> tuple[np.ndarray, np.ndarray]:
    """One-to-one matches of two samples, the closest ones within calipers of the propensity.

    As many items as possible are matched, and among all such matchings the one with the smallest
    sum of distances is chosen (Rosenbaum and Rubin, 1985: nearest neighbours within calipers).

    Args:
        first, second (`ArrayLike`):
            Propensity of each item of both samples, as log odds.
        distances (`ArrayLike`, *optional*):
            How far items are apart otherwise, between 0 and 1, shape `(first, second)`; by default
            only the propensity counts.
        width (`float`, *optional*, defaults to 0.2):
            Width of a caliper, in pooled standard deviations of the propensity.

    Returns:
        `tuple[np.ndarray, np.ndarray]`: Indices into both samples, match by match.

    Examples:
        >>> left, right = caliper_matches([0.0, 1.0, 9.0], [1.05, 0.05, -9.0])
        >>> list(zip(left.tolist(), right.tolist()))
        [(0, 1), (1, 0)]
    """
    one, other = numbers(first, "first"), numbers(second, "second")
    gaps = np.abs(one[:, None] - other[None, :])
    deviation = float(np.sqrt((one.var() + other.var()) / 2))
    allowed = gaps <= width * deviation + 1e-12
    cost = gaps / (gaps.max() or 1.0) if distances is None else np.asarray(distances, dtype=float)
    left, right = linear_sum_assignment(np.where(allowed, cost, _OUTSIDE))
    inside = allowed[left, right]
    return left[inside], right[inside]
