"""Shares of many groups at once: partial pooling, and a test of each group against humans."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import beta

from dialeval.metrics.mixture import densities

_CELLS = 100  # of the share of a group
_MEANS = 1 / (1 + np.exp(-np.linspace(-7, 7, 57)))
_CONCENTRATIONS = np.geomspace(0.05, 500, 41)
MOST_DRAWN = 100
"""Dialogues of a group that its test counts, at most; more would make it less cautious."""


@dataclass(frozen=True)
class PooledShares:
    """Shares of groups after partial pooling.

    Args:
        share, low, high (`np.ndarray`):
            Posterior mean and interval of each group.
        mean, concentration (`float`):
            Of the beta distribution of the groups' shares.
    """

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mean: float
    concentration: float


def pooled_shares(
    groups: np.ndarray,
    human: np.ndarray,
    machine: np.ndarray,
    design_effects: np.ndarray,
    level: float = 0.95,
) -> PooledShares:
    """Empirical Bayes estimates of the groups' shares of machine replies.

    The shares of all groups are draws from one beta distribution, which is fitted by its marginal
    likelihood; a group with few replies is drawn towards it. Replies of a dialogue are alike, so
    a group's likelihood counts as that of fewer replies.

    Args:
        groups (`np.ndarray`):
            Counts of each group in each bin, shape `(groups, bins)`.
        human, machine (`np.ndarray`):
            Counts of the known replies, shape `(bins,)`.
        design_effects (`np.ndarray`):
            For each group, by how much its replies are worth less than independent ones.
        level (`float`, *optional*, defaults to 0.95):
            Probability of the intervals.

    Returns:
        `PooledShares`: One share per group.

    Examples:
        >>> human, machine = np.array([90.0, 10.0]), np.array([10.0, 90.0])
        >>> counts = np.array([[90.0, 10.0]] * 9 + [[10.0, 90.0]])
        >>> pooled_shares(counts, human, machine, np.ones(10)).share.round(1).tolist()[-2:]
        [0.0, 1.0]
    """
    edges = np.linspace(0, 1, _CELLS + 1)
    shares = (edges[1:] + edges[:-1]) / 2
    mixed = np.outer(1 - shares, densities(human)) + np.outer(shares, densities(machine))
    likelihood = groups @ np.log(mixed).T / design_effects[:, None]  # (groups, cells)
    relative = np.exp(likelihood - likelihood.max(1, keepdims=True))
    settings = [(mean, size) for mean in _MEANS for size in _CONCENTRATIONS]
    priors = np.array(
        [np.diff(beta.cdf(edges, mean * size, (1 - mean) * size)) for mean, size in settings]
    )
    with np.errstate(divide="ignore"):
        best = int(np.argmax(np.log(relative @ priors.T).sum(0)))
    joint = relative * priors[best]
    posterior = joint / joint.sum(1, keepdims=True)
    below = np.cumsum(posterior, 1)
    tails = (1 - level) / 2, (1 + level) / 2
    low, high = (shares[np.minimum((below < tail).sum(1), _CELLS - 1)] for tail in tails)
    half = 0.5 / _CELLS
    return PooledShares(
        posterior @ shares,
        np.maximum(low - half, 0),
        np.minimum(high + half, 1),
        *map(float, settings[best]),
    )


def intraclass_correlation(values: np.ndarray, units: np.ndarray) -> float:
    """How alike replies of one unit are: 0 as independent ones, 1 all the same.

    Args:
        values (`np.ndarray`):
            One number per reply.
        units (`np.ndarray`):
            Number of the unit of each.

    Returns:
        `float`: From the variance of the units' sums, at least 0.

    Examples:
        >>> round(intraclass_correlation(np.array([1.0, 1, 0, 0]), np.array([0, 0, 1, 1])), 2)
        1.0
    """
    centred = values - values.mean()
    sizes = np.bincount(units).astype(float)
    pairs = (sizes * (sizes - 1)).sum()
    variance = (centred**2).mean()
    if not pairs or not variance:
        return 0.0
    products = (np.bincount(units, centred) ** 2).sum() - (centred**2).sum()
    return float(np.clip(products / pairs / variance, 0, 1))


def null_means(
    values: np.ndarray,
    dialogues: np.ndarray,
    groups: np.ndarray | None,
    size: int,
    draws: int,
    rng: np.random.Generator,
    replies: int | None = None,
) -> np.ndarray:
    """Means of as many human dialogues as a group has, drawn at random.

    Where the humans are known by name, all dialogues of a draw are of one of them: people differ,
    and a person's style must not count as evidence. Where a group has few replies of a dialogue,
    so has a draw: the mean of more replies varies less.

    Args:
        values (`np.ndarray`):
            One number per human reply.
        dialogues (`np.ndarray`):
            Number of the dialogue of each.
        groups (`np.ndarray`, *optional*):
            Number of the human of each.
        size (`int`):
            Dialogues in a draw.
        draws (`int`):
            Number of draws.
        rng (`np.random.Generator`):
            Random numbers.
        replies (`int`, *optional*):
            Replies of a dialogue in a draw, at most; longer dialogues count as several. All by
            default.

    Returns:
        `np.ndarray`: One mean per draw.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> null_means(np.array([1.0, 1.0]), np.array([0, 1]), None, 2, 3, rng).tolist()
        [1.0, 1.0, 1.0]
    """
    if replies is not None:
        dialogues = _parts_of(dialogues, replies)
    sums, sizes = np.bincount(dialogues, values), np.bincount(dialogues)
    size = min(size, MOST_DRAWN)
    if groups is None:
        index = rng.integers(len(sums), size=(draws, size))
        return sums[index].sum(1) / sizes[index].sum(1)
    first = np.unique(dialogues, return_index=True)[1]
    order = np.argsort(groups[first], kind="stable")
    counts = np.bincount(groups[first])
    starts = np.cumsum(counts) - counts
    person = rng.integers(len(counts), size=draws)
    offset = (rng.random((draws, size)) * counts[person][:, None]).astype(int)
    index = order[starts[person][:, None] + offset]
    return sums[index].sum(1) / sizes[index].sum(1)


def _parts_of(dialogues: np.ndarray, replies: int) -> np.ndarray:
    """Numbers of parts of dialogues of at most so many replies, in place of the dialogues."""
    order, sizes = np.argsort(dialogues, kind="stable"), np.bincount(dialogues)
    before = np.empty(len(dialogues), dtype=np.int64)  # replies of the dialogue before each
    before[order] = np.arange(len(dialogues)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    part = before // replies
    numbers: np.ndarray = np.unique(dialogues * (int(part.max()) + 1) + part, return_inverse=True)[
        1
    ]
    return numbers
