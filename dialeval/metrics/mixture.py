"""How much of a sample is of one of two kinds: mixture proportions from scores in bins.

A classifier that was trained on half human and half machine replies counts wrongly where the share
is another one. What does not depend on the share is the distribution of its scores within each
kind. A sample's distribution is a mixture of the two, and its weight is the share (Saerens et al.,
2002; Forman, 2008). Every distribution is a histogram here, so that a bootstrap only adds up rows.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import numbers

BINS = 8
"""Bins of scores. More follow the distributions more closely, and need more replies."""
_SMOOTHING = 0.5  # replies added to each bin of a known kind: an empty bin would rule a kind out
_CELLS = 4_000_000  # counts in memory at once
Share = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def quantile_edges(human: ArrayLike, machine: ArrayLike, bins: int = BINS) -> np.ndarray:
    """Inner edges of bins that hold equal shares of both kinds together, each counting half.

    Args:
        human, machine (`ArrayLike`):
            Scores of replies of known origin.
        bins (`int`, *optional*, defaults to 8):
            Most bins; equal scores make fewer.

    Returns:
        `np.ndarray`: Increasing edges, for `np.searchsorted`.

    Examples:
        >>> quantile_edges([0, 1, 2, 3], [4, 5, 6, 7], bins=4).tolist()
        [2.0, 4.0, 6.0]
    """
    sides = [numbers(human, "human"), numbers(machine, "machine")]
    values = np.concatenate(sides)
    weights = np.concatenate([np.full(len(side), 0.5 / len(side)) for side in sides])
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - weights[order]
    index = np.searchsorted(below, np.arange(1, bins) / bins - 1e-12)
    edges = np.unique(values[order][np.minimum(index, len(values) - 1)])
    return edges[edges > values.min()]


def unit_histograms(bins: np.ndarray, units: np.ndarray, count: int) -> np.ndarray:
    """How many replies of each unit are in each bin.

    Args:
        bins (`np.ndarray`):
            The bin of each reply.
        units (`np.ndarray`):
            The number of its unit.
        count (`int`):
            Number of bins.

    Returns:
        `np.ndarray`: Shape `(units, count)`.

    Examples:
        >>> unit_histograms(np.array([0, 1, 1]), np.array([0, 0, 1]), 2).tolist()
        [[1.0, 1.0], [0.0, 1.0]]
    """
    rows = int(units.max()) + 1 if len(units) else 0
    flat = np.bincount(units * count + bins, minlength=rows * count)
    return flat.reshape(rows, count).astype(float)


def likelihood_share(data: np.ndarray, human: np.ndarray, machine: np.ndarray) -> np.ndarray:
    """The share of machine replies that makes a sample's histogram most likely.

    The fixed point of expectation maximisation (Saerens et al., 2002), found by bisection: the
    likelihood is concave in the share.

    Args:
        data, human, machine (`np.ndarray`):
            Counts of the sample, and of known human and machine replies; shape `(..., bins)`.

    Returns:
        `np.ndarray`: Shares in [0, 1], shape `(...)`.

    Examples:
        >>> human, machine = np.array([80.0, 20.0]), np.array([20.0, 80.0])
        >>> round(float(likelihood_share(0.75 * human + 0.25 * machine, human, machine)), 2)
        0.25
    """
    of_human, of_machine = densities(human), densities(machine)
    gap = of_machine - of_human
    low = np.zeros(np.broadcast_shapes(data.shape, gap.shape)[:-1])
    high = np.ones_like(low)
    for _ in range(40):
        middle = (low + high) / 2
        mixed = of_human + middle[..., None] * gap
        rises = (data * gap / mixed).sum(-1) > 0
        low, high = np.where(rises, middle, low), np.where(rises, high, middle)
    share = (low + high) / 2
    return np.where(share < 1e-9, 0.0, np.where(share > 1 - 1e-9, 1.0, share))


def moment_share(data: np.ndarray, human: np.ndarray, machine: np.ndarray) -> np.ndarray:
    """Adjusted count: where the sample's mean lies between those of the two kinds.

    Each bin counts with its probability of being machine in balanced data (Bella et al., 2010).

    Args:
        data, human, machine (`np.ndarray`):
            As in `likelihood_share`.

    Returns:
        `np.ndarray`: Shares, cut to [0, 1]; NaN where the two kinds have the same mean.

    Examples:
        >>> human, machine = np.array([80.0, 20.0]), np.array([20.0, 80.0])
        >>> round(float(moment_share(0.75 * human + 0.25 * machine, human, machine)), 6)
        0.25
    """
    value = densities(machine) / (densities(human) + densities(machine))
    means = [
        (counts * value).sum(-1) / counts.sum(-1) for counts in np.broadcast_arrays(data, human)
    ]
    top = (machine * value).sum(-1) / machine.sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.clip((means[0] - means[1]) / (top - means[1]), 0.0, 1.0)


def densities(counts: np.ndarray) -> np.ndarray:
    """Counts as shares, with half a reply added to each bin."""
    smoothed = counts + _SMOOTHING
    return smoothed / smoothed.sum(-1, keepdims=True)


def resampled_sums(
    table: np.ndarray, resamples: int, rng: np.random.Generator, drawn: int | None = None
) -> np.ndarray:
    """Column sums of a table whose rows are drawn with replacement.

    Args:
        table (`np.ndarray`):
            One row per unit.
        resamples (`int`):
            Number of resamples.
        rng (`np.random.Generator`):
            Random numbers.
        drawn (`int`, *optional*):
            Units in each; as many as there are by default.

    Returns:
        `np.ndarray`: Shape `(resamples, columns)`.

    Examples:
        >>> resampled_sums(np.ones((3, 1)), 2, np.random.default_rng(0)).tolist()
        [[3.0], [3.0]]
    """
    units = len(table)
    size, chunk = units if drawn is None else drawn, max(1, _CELLS // units)
    equal = np.full(units, 1 / units)
    parts = [
        rng.multinomial(size, equal, size=min(chunk, resamples - done)) @ table
        for done in range(0, resamples, chunk)
    ]
    return np.concatenate(parts)


def misfit(data: np.ndarray, human: np.ndarray, machine: np.ndarray) -> np.ndarray:
    """How far a sample's histogram is from the mixture that fits it best, as chi-square over n.

    Args:
        data, human, machine (`np.ndarray`):
            As in `likelihood_share`.

    Returns:
        `np.ndarray`: 0 where it fits exactly.
    """
    share = likelihood_share(data, human, machine)[..., None]
    mixed = (1 - share) * densities(human) + share * densities(machine)
    return ((data / data.sum(-1, keepdims=True) - mixed) ** 2 / mixed).sum(-1)


def largest_share(data: ArrayLike, kind: ArrayLike, delta: float = 0.1) -> tuple[float, float]:
    """The largest share of one kind that a sample can have, from a sample of that kind alone.

    No more of a sample can be of a kind than the ratio of their numbers above any threshold. The
    threshold is that of the best bin estimation (Garg et al., 2021, eq. 1): the smallest upper
    confidence bound. Only where some replies of the kind look like nothing else in the sample is
    the bound also the share.

    Args:
        data (`ArrayLike`):
            Scores of the sample, higher where they look more like the kind.
        kind (`ArrayLike`):
            Scores of replies of the kind.
        delta (`float`, *optional*, defaults to 0.1):
            Probability with which the confidence bound may fail.

    Returns:
        `tuple[float, float]`: The bound, at most 1, and the threshold.

    Examples:
        >>> sample = np.r_[np.zeros(800), np.ones(200)]  # every fifth one looks like the kind
        >>> largest_share(sample, np.ones(500))
        (0.2, 1.0)
    """
    sample, known = np.sort(numbers(data, "data")), np.sort(numbers(kind, "kind"))
    thresholds = np.unique(known)
    above = [1 - np.searchsorted(side, thresholds) / len(side) for side in (sample, known)]
    slack = np.sqrt(np.log(4 / delta) / 2) * (len(sample) ** -0.5 + 1.01 * len(known) ** -0.5)
    best = int(np.argmin((above[0] + slack) / above[1]))
    return min(1.0, round(float(above[0][best] / above[1][best]), 12)), float(thresholds[best])
