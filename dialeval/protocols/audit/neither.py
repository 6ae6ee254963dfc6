"""Whether the data have replies that are like neither known sample, such as another machine's."""

import numpy as np
from scipy.sparse import csr_matrix

from dialeval.metrics.audit_results import NEITHER, AuditCheck
from dialeval.metrics.mixture_fit import MixtureFit, UnitProducts, mixture_fit
from dialeval.protocols.audit.samples import Sample
from dialeval.scorers.families import FeatureStore

ALPHA = 0.05
"""P-value from which replies count as of the two known kinds."""
MIN_UNEXPLAINED = 0.05
"""Share below which such replies do not matter; large data always differ a little."""
PERMUTATIONS = 999
MOST_UNITS = 1_500
"""Units of each sample that are compared; more are drawn at random."""


def neither_check(
    samples: tuple[Sample, Sample, Sample],
    share: float,
    features: FeatureStore,
    least_groups: int,
    seed: int,
) -> AuditCheck | None:
    """Whether the data are a mixture of the known samples by all words and characters they use.

    The evaluator's scores hardly show a machine that it was not trained on. Here nothing is
    trained: see [`mixture_fit`].

    Args:
        samples (`tuple[Sample, Sample, Sample]`):
            The data, the human and the machine replies.
        share (`float`):
            Share of machine replies that was estimated.
        features (`FeatureStore`):
            N-grams of replies.
        least_groups (`int`):
            From this many groups in data and reference, groups are exchanged, not dialogues.
        seed (`int`):
            Seed of the exchanges.

    Returns:
        `AuditCheck` or `None`: `None` where there are too few human replies to compare with.
    """
    rng = np.random.default_rng([seed, 2])
    units = _unit_products(samples, features, least_groups, rng)
    fit = mixture_fit(units, share, PERMUTATIONS, rng, ALPHA)
    if fit is None:
        return None
    passed = fit.p_value >= ALPHA or fit.unexplained < MIN_UNEXPLAINED
    return AuditCheck(NEITHER, fit.unexplained, passed, _sentence(fit, passed), fit.p_value)


def _sentence(fit: MixtureFit, passed: bool) -> str:
    if not passed:
        return (
            f"Some replies are like neither known sample: the data differ as much as "
            f"{fit.unexplained:.0%} replies of another machine would make them, if it is as unlike "
            "the reference as the known one. They are of another machine, or of other people."
        )
    noticed = (
        f"replies of another machine that is as unlike the reference as the known one would be "
        f"noticed in half of such runs at a share of about {fit.noticed_from:.0%}"
    )
    if fit.p_value >= ALPHA:
        return f"No replies that are like neither known sample were noticed; {noticed}."
    return (
        f"The data differ from both known samples, but by no more than {fit.unexplained:.0%} "
        f"replies of another machine would make them; {noticed}."
    )


def _unit_products(
    samples: tuple[Sample, Sample, Sample],
    features: FeatureStore,
    least_groups: int,
    rng: np.random.Generator,
) -> UnitProducts:
    sums, sizes = [], []
    by_group = all(sample.group_count >= least_groups for sample in samples[:2])
    for sample in samples:
        unit = sample.units(least_groups) if by_group else sample.dialogue_numbers
        rows, unit = _drawn(unit, rng)
        texts = sample.replies.select(rows)["response"][:]
        table = csr_matrix(features.matrix("ngrams", [((), text) for text in texts]))
        member = csr_matrix((np.ones(len(unit)), (unit, np.arange(len(unit)))))
        sums.append(csr_matrix(member @ table))
        sizes.append(np.bincount(unit))
    gram = np.block([[(left @ right.T).toarray() for right in sums] for left in sums])
    kinds = np.repeat(np.arange(3), [len(part) for part in sizes])
    return UnitProducts(gram.astype(np.float32), np.concatenate(sizes), kinds)


def _drawn(units: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some units, and the number of the unit of each."""
    chosen = rng.permutation(np.unique(units))[:MOST_UNITS]
    rows = np.flatnonzero(np.isin(units, chosen))
    return rows, np.unique(units[rows], return_inverse=True)[1]
