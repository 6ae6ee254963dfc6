"""The groups of the data: shares after partial pooling, ranked, with a false discovery rate."""

import numpy as np

from dialeval.metrics.audit_results import AuditGroup
from dialeval.metrics.mixture import densities, likelihood_share
from dialeval.metrics.pooled_shares import intraclass_correlation, null_means, pooled_shares
from dialeval.metrics.significance import benjamini_hochberg
from dialeval.protocols.audit.samples import Sample
from dialeval.protocols.audit.scoring import BinnedScores

DRAWS = 20_000
"""Draws of human dialogues for each number of dialogues."""
FEW_PEOPLE = 10
"""Groups of the reference below which people are not known to differ."""


def audit_groups(
    scores: BinnedScores, data: Sample, reference: Sample, level: float, fdr: float, seed: int
) -> list[AuditGroup]:
    """Every group of the data, the smallest p-value first.

    Args:
        scores (`BinnedScores`):
            Scores of all replies.
        data, reference (`Sample`):
            The data with their groups, and the human replies, perhaps with theirs.
        level (`float`):
            Probability of the intervals.
        fdr (`float`):
            False discovery rate.
        seed (`int`):
            Seed of the null distribution.

    Returns:
        `list[AuditGroup]`: Replies without a group are left out.
    """
    assert data.groups is not None
    names, member = np.unique(data.groups, return_inverse=True)
    people = known_people(reference)
    ratios = _log_ratios(scores)
    values = [table @ ratios / table.sum(1) for table in (scores.data, scores.human)]
    counts = np.stack([np.bincount(member, column) for column in scores.data.T], 1)
    replies = np.bincount(member)
    counts = counts / (counts.sum(1) / replies)[:, None]  # seeds are not further replies
    dialogues = _dialogues_of(data, member)
    known = (_total(scores.human), _total(scores.machine))
    effects = _design_effects(values[1], reference, people, replies, dialogues)
    pooled = pooled_shares(counts, *known, effects, level)
    means = np.bincount(member, values[0]) / replies
    shape = _shapes(data, member)
    p_values = _p_values(means, shape, values[1], reference, people, seed)
    named = names != ""
    q_values = np.ones(len(names))
    q_values[named] = benjamini_hochberg(p_values[named])
    alone = likelihood_share(counts, *known)
    groups = [
        AuditGroup(
            str(names[index]), int(replies[index]), int(dialogues[index]),
            float(pooled.share[index]), float(pooled.low[index]), float(pooled.high[index]),
            float(alone[index]), float(p_values[index]), float(q_values[index]),
            bool(q_values[index] <= fdr),
        )
        for index in np.flatnonzero(named)
    ]  # fmt: skip
    return sorted(groups, key=lambda item: (item.p_value, -item.share, item.name))


def known_people(reference: Sample) -> np.ndarray | None:
    """The number of the human of each reply, where the reference names enough of them.

    It is -1 for a reply without a name.
    """
    if reference.groups is None or reference.group_count < FEW_PEOPLE:
        return None
    named = reference.groups != ""
    numbers = np.full(len(named), -1)
    numbers[named] = np.unique(reference.groups[named], return_inverse=True)[1]
    return numbers


def _total(table: np.ndarray) -> np.ndarray:
    """Counts of known replies, each counting once."""
    totals: np.ndarray = table.sum(0, dtype=float)
    return totals * len(table) / totals.sum()


def _log_ratios(scores: BinnedScores) -> np.ndarray:
    """For each bin, how much more likely it is for machines than for humans."""
    ratios: np.ndarray = np.log(densities(_total(scores.machine)))
    return ratios - np.log(densities(_total(scores.human)))


def _dialogues_of(data: Sample, member: np.ndarray) -> np.ndarray:
    pairs = np.unique(np.stack([member, data.dialogue_numbers], 1), axis=0)
    return np.bincount(pairs[:, 0])


def _shapes(data: Sample, member: np.ndarray) -> np.ndarray:
    """Of each group: effective number of dialogues, and replies of each, `(groups, 2)`.

    A mean over dialogues of 1 and of 9 replies varies as that over 1.2 dialogues of 8 does.
    """
    pairs, sizes = np.unique(
        np.stack([member, data.dialogue_numbers], 1), axis=0, return_counts=True
    )
    replies = np.bincount(pairs[:, 0], sizes)
    dialogues = np.floor(replies**2 / np.bincount(pairs[:, 0], sizes**2) + 1e-9)
    return np.column_stack([dialogues, replies // dialogues]).astype(int)


def _design_effects(
    values: np.ndarray,
    reference: Sample,
    people: np.ndarray | None,
    replies: np.ndarray,
    dialogues: np.ndarray,
) -> np.ndarray:
    """By how much the replies of a group are worth less than independent ones."""
    within = intraclass_correlation(values, reference.dialogue_numbers)
    effects = 1 + (replies / dialogues - 1) * within
    if people is None:
        return effects
    named = people >= 0
    between = intraclass_correlation(values[named], people[named])
    return np.maximum(effects, 1 + (replies - 1) * between)


def _p_values(
    means: np.ndarray,
    shape: np.ndarray,
    values: np.ndarray,
    reference: Sample,
    people: np.ndarray | None,
    seed: int,
) -> np.ndarray:
    """One-sided p-values that a group's replies look more like a machine's than humans' do.

    A group is compared with humans who wrote as many replies in as many dialogues.
    """
    dialogue = reference.dialogue_numbers
    if people is not None:  # nothing is known about how alike the replies of the others are
        named = people >= 0
        values, people = values[named], people[named]
        dialogue = np.unique(dialogue[named], return_inverse=True)[1]
    p_values = np.ones(len(means))
    for size, replies in np.unique(shape, axis=0).tolist():
        rng = np.random.default_rng([seed, size, replies])
        null = np.sort(null_means(values, dialogue, people, size, DRAWS, rng, replies))
        chosen = (shape == (size, replies)).all(1)
        above = len(null) - np.searchsorted(null, means[chosen])
        p_values[chosen] = (1 + above) / (1 + len(null))
    return p_values
