"""One known sample only: what share the data can have at most, or what is unlike it at least."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialeval.metrics.mixture import largest_share, resampled_sums, unit_histograms
from dialeval.metrics.training_variance import with_seed_variance
from dialeval.protocols.audit.samples import Sample
from dialeval.protocols.audit.scoring import machine_likeness
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.unpaired.views import ViewRows, training_pairs, unit_folds


@dataclass(frozen=True)
class Bound:
    """The largest share of the data that can be of a known kind.

    Args:
        value, low, high (`float`):
            The bound with its interval.
    """

    value: float
    low: float
    high: float


def largest_share_of(
    fit: Fit,
    data: Sample,
    known: Sample,
    *,
    folds: int,
    seeds: range,
    resamples: int,
    level: float,
    least_groups: int,
    fit_context: FitContext,
    on_fit: Callable[[], Any] = lambda: None,
) -> Bound:
    """The largest share of the data that can be like a known sample.

    An evaluator learns to distinguish the known replies from the data, which are a mixture of
    such replies and others.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        data, known (`Sample`):
            The data, and replies of a known kind.
        folds (`int`):
            Number of folds.
        seeds (`range`):
            Seeds of folds and evaluators.
        resamples (`int`):
            Resamples of the bootstrap.
        level (`float`):
            Confidence level.
        least_groups (`int`):
            From this many known groups, groups are resampled, not dialogues.
        fit_context (`FitContext`):
            What evaluators share.
        on_fit (`Callable`, *optional*):
            Called after each fit.

    Returns:
        `Bound`: The mean of the seeds.
    """
    rows = ViewRows(known.replies, data.replies, (known.dialogues, data.dialogues))
    units = known.units(least_groups), data.dialogue_numbers
    bounds = []
    for seed in seeds:
        scores = _likeness(fit, rows, folds, seed, fit_context, on_fit)
        bounds.append(_bound(scores, units, resamples, level, seed))
    values = [bound.value for bound in bounds]
    value, low, high = (float(np.mean(part)) for part in zip(*map(_numbers, bounds), strict=True))
    low, high = with_seed_variance(value, low, high, values, level)
    return Bound(value, low, high)


def _numbers(bound: Bound) -> tuple[float, float, float]:
    return bound.value, bound.low, bound.high


def _likeness(
    fit: Fit,
    rows: ViewRows,
    folds: int,
    seed: int,
    fit_context: FitContext,
    on_fit: Callable[[], Any],
) -> tuple[np.ndarray, np.ndarray]:
    """How much each reply looks like the known ones, as a rank within its fold."""
    fold = unit_folds(rows, folds, seed)
    scores = np.zeros(len(rows.human)), np.zeros(len(rows.system))
    for number in range(folds):
        learn = fold[0] != number, fold[1] != number
        scorer = fit(training_pairs(rows, learn, seed), seed, fit_context)
        on_fit()
        tests = [np.flatnonzero(side == number) for side in fold]
        parts = [
            -machine_likeness(scorer, passages.select(index)) if len(index) else np.zeros(0)
            for passages, index in zip((rows.human, rows.system), tests, strict=True)
        ]
        known = np.sort(parts[0])
        for side, index, part in zip(scores, tests, parts, strict=True):
            side[index] = np.searchsorted(known, part, side="right") / max(1, len(known))
    return scores


def _bound(
    scores: tuple[np.ndarray, np.ndarray],
    units: tuple[np.ndarray, np.ndarray],
    resamples: int,
    level: float,
    seed: int,
) -> Bound:
    value, threshold = largest_share(scores[1], scores[0])
    rng = np.random.default_rng(seed)
    shares = []
    for side, unit in zip(scores, units, strict=True):
        table = unit_histograms((side >= threshold).astype(int), unit, 2)
        sums = resampled_sums(table, resamples, rng)
        shares.append(sums[:, 1] / sums.sum(1))
    ratios = np.minimum(1, shares[1] / np.maximum(shares[0], 1e-9))
    low, high = np.quantile(ratios, [(1 - level) / 2, (1 + level) / 2])
    return Bound(value, float(low), float(high))
