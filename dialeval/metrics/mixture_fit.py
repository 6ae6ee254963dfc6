"""Whether a sample is a mixture of two known ones at all, or has something of neither.

Scores of one classifier show one direction only. Here every sample is the mean of its replies'
feature vectors, and a mixture lies on the line between the means of the two known samples. How far
the sample is from that line is compared with samples whose units are exchanged at random (kernel
two-sample test: Gretton et al., 2012; mixtures by mean embeddings: Iyer et al., 2014).
"""

from dataclasses import dataclass

import numpy as np

LEAST_UNITS = 10
"""Units of the known human sample that the test needs."""


@dataclass(frozen=True)
class MixtureFit:
    """The distance of a sample from the mixtures of two known ones.

    Args:
        p_value (`float`):
            That a mixture is as far away.
        unexplained (`float`):
            The distance, as the share of replies of a third kind that would make it: one that is
            as far from the human sample as the machine sample is, at a right angle to it.
        noticed_from (`float`):
            The same for a distance that is just significant: with such a share the test notices
            a third kind in about half of the cases.
    """

    p_value: float
    unexplained: float
    noticed_from: float


@dataclass(frozen=True)
class UnitProducts:
    """Units of three samples with the inner products of their replies' feature vectors.

    Args:
        gram (`np.ndarray`):
            For every two units the sum of the products of their replies, `(units, units)`.
        sizes (`np.ndarray`):
            Replies of each unit.
        sample (`np.ndarray`):
            Of each unit: 0 the sample in question, 1 known human, 2 known machine.
    """

    gram: np.ndarray
    sizes: np.ndarray
    sample: np.ndarray

    def product(self, left: np.ndarray, right: np.ndarray) -> float:
        """The product of two means of units, each without the products of a unit with itself."""
        block = self.gram[np.ix_(left, right)].astype(float)
        pairs = np.outer(self.sizes[left], self.sizes[right]).astype(float)
        same = left[:, None] == right[None, :]
        return float(block[~same].sum() / max(pairs[~same].sum(), 1.0))


def mixture_fit(
    units: UnitProducts,
    share: float,
    permutations: int,
    rng: np.random.Generator,
    alpha: float = 0.05,
) -> MixtureFit | None:
    """How far a sample is from the mixtures of two known ones, and whether that is chance.

    The sample is compared with known units in its own proportion, of which the machine ones are
    put aside at random; the others give the direction in which an error of the share would move
    the sample, and which does not count. Under the hypothesis the units of both are exchangeable.

    Args:
        units (`UnitProducts`):
            Units of the three samples.
        share (`float`):
            The sample's share of machine replies, as estimated.
        permutations (`int`):
            Number of random exchanges.
        rng (`np.random.Generator`):
            Random numbers.
        alpha (`float`, *optional*, defaults to 0.05):
            Level of `noticed_from`.

    Returns:
        `MixtureFit` or `None`: `None` where too few human units are left to compare with.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> kinds = np.repeat([0, 0, 1, 2], [45, 15, 60, 60])  # the sample: 45 human, 15 others
        >>> vectors = np.array([[0, 0.0], [0, 1], [0, 0], [1, 0]])  # which are of a third kind
        >>> vectors = vectors[np.repeat(range(4), [45, 15, 60, 60])] + rng.normal(0, 0.1, (180, 2))
        >>> fit = mixture_fit(UnitProducts(vectors @ vectors.T, np.ones(180), kinds), 0, 199, rng)
        >>> fit.p_value, round(fit.unexplained, 2)
        (0.005, 0.25)
    """
    sample, human, machine = (np.flatnonzero(units.sample == kind) for kind in range(3))
    human, mixed_in, rest = _in_proportion(units.sizes, human, machine, share, rng)
    if len(human) < LEAST_UNITS or len(rest) < LEAST_UNITS:
        return None
    pool = np.concatenate([sample, human, mixed_in])
    direction = _direction(units, pool, human, rest)
    length = (
        units.product(rest, rest) + units.product(human, human) - 2 * units.product(rest, human)
    )
    if length <= 0:
        return None
    is_sample = np.zeros((permutations + 1, len(pool)), dtype=bool)
    is_sample[0, : len(sample)] = True
    is_sample[1:] = rng.permuted(np.tile(is_sample[0], (permutations, 1)), axis=1)
    distances = _distances(units, pool, is_sample, direction, length)
    p_value = (1 + (distances[1:] >= distances[0]).sum()) / (1 + permutations)
    critical = float(np.quantile(distances[1:], 1 - alpha))
    unexplained, noticed = (
        float(np.sqrt(max(0.0, value) / length)) for value in (float(distances[0]), critical)
    )
    return MixtureFit(float(p_value), min(1.0, unexplained), min(1.0, noticed))


def _in_proportion(
    sizes: np.ndarray,
    human: np.ndarray,
    machine: np.ndarray,
    share: float,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Human units, machine units in proportion to them, and at least half of the machine units."""
    human, machine = rng.permutation(human), rng.permutation(machine)
    per_unit = sizes[human].mean(), sizes[machine].mean()
    odds = share / max(1 - share, 1e-9) * per_unit[0] / per_unit[1]  # machine units a human one
    count = round(min(odds * len(human), len(machine) / 2))
    kept = min(len(human), round(count / odds)) if odds * len(human) > count + 1 else len(human)
    return human[:kept], machine[:count], machine[count:]


def _direction(
    units: UnitProducts, pool: np.ndarray, human: np.ndarray, rest: np.ndarray
) -> np.ndarray:
    """Of each unit of a pool the product with the step from the human to the machine mean."""
    to_human = units.gram[np.ix_(pool, human)].astype(float)
    to_human[pool[:, None] == human[None, :]] = 0.0
    others = units.sizes[human].sum() - np.where(np.isin(pool, human), units.sizes[pool], 0)
    to_machine = units.gram[np.ix_(pool, rest)].sum(1, dtype=float) / units.sizes[rest].sum()
    return to_machine - to_human.sum(1) / np.maximum(others, 1)


def _distances(
    units: UnitProducts,
    pool: np.ndarray,
    is_sample: np.ndarray,
    direction: np.ndarray,
    length: float,
) -> np.ndarray:
    """Squared distances of two parts of a pool, without what lies in the direction.

    A unit's products with itself would make every distance larger, and are left out.
    """
    gram = units.gram[np.ix_(pool, pool)].astype(float)
    np.fill_diagonal(gram, 0.0)
    sizes = units.sizes[pool].astype(float)
    inside, outside = is_sample.astype(float), (~is_sample).astype(float)
    within = np.einsum("pu,pu->p", inside @ gram, inside)
    across = inside @ gram.sum(1) - within
    beyond = gram.sum() - 2 * across - within
    replies = inside @ sizes, outside @ sizes
    pairs = [n**2 - side @ sizes**2 for n, side in zip(replies, (inside, outside), strict=True)]
    squared = within / pairs[0] + beyond / pairs[1] - 2 * across / (replies[0] * replies[1])
    weights = inside / replies[0][:, None] - outside / replies[1][:, None]
    return squared - (weights @ direction) ** 2 / length
