"""The share of machine replies with an interval over dialogues and training."""

from dataclasses import dataclass

import numpy as np

from dialeval.metrics.audit_results import ScoreBin
from dialeval.metrics.intervals import percentiles
from dialeval.metrics.mixture import (
    densities,
    likelihood_share,
    moment_share,
    resampled_sums,
)
from dialeval.metrics.share_intervals import wilson
from dialeval.metrics.training_variance import with_seed_variance
from dialeval.protocols.audit.scoring import BinnedScores, Histograms


@dataclass(frozen=True)
class ShareEstimate:
    """A share with its interval.

    Args:
        value, low, high (`float`):
            The share of machine replies.
        moments (`float`):
            The same by the adjusted count, for comparison.
        seeds (`tuple[float, ...]`):
            The share with each seed alone.
    """

    value: float
    low: float
    high: float
    moments: float
    seeds: tuple[float, ...]


def estimate_share(
    scores: BinnedScores, sums: Histograms, resamples: int, level: float, seed: int
) -> ShareEstimate:
    """The share that fits best, with an interval over units of all three samples and over seeds.

    The known samples are resampled too: how often the evaluator errs is only estimated.

    Args:
        scores (`BinnedScores`):
            Scores of all replies.
        sums (`Histograms`):
            Their sums over units.
        resamples (`int`):
            Resamples of the bootstrap.
        level (`float`):
            Confidence level.
        seed (`int`):
            Seed of the bootstrap.

    Returns:
        `ShareEstimate`: Values in [0, 1].
    """
    totals = [table.sum(0) for table in scaled(sums, len(scores.seeds))]
    value = float(likelihood_share(*totals))
    rng = np.random.default_rng(seed)
    draws = [resampled_sums(table, resamples, rng) for table in scaled(sums, len(scores.seeds))]
    shares = likelihood_share(*draws)
    low, high = percentiles(shares, level, min(map(len, sums)))
    seeds = tuple(float(likelihood_share(*parts)) for parts in scores.seeds)
    low, high = with_seed_variance(value, low, high, seeds, level)
    # At 0 and 1 all resamples may be equal; no sample of n dialogues shows more than this.
    least = wilson(value * len(sums[0]), len(sums[0]), level)
    moments = float(moment_share(*totals))
    return ShareEstimate(value, min(low, least[0]), max(high, least[1]), moments, seeds)


def scaled(sums: Histograms, seeds: int) -> Histograms:
    """Counts in which a reply counts once, however many seeds there are."""
    data, human, machine = (table / seeds for table in sums)
    return data, human, machine


def score_bins(sums: Histograms) -> list[ScoreBin]:
    """The distributions of scores, and the mixture that fits the data best."""
    totals = [table.sum(0) for table in sums]
    share = float(likelihood_share(*totals))
    human, machine = densities(totals[1]), densities(totals[2])
    fitted = (1 - share) * human + share * machine
    columns = (*(total / total.sum() for total in (totals[1], totals[2], totals[0])), fitted)
    return [ScoreBin(*map(float, row)) for row in zip(*columns, strict=True)]
