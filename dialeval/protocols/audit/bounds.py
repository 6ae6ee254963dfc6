"""One known sample only: what share the data can have at most, or what is unlike it at least."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialeval.metrics.intervals import class_sums, mean_of_ratios, percentiles
from dialeval.metrics.mixture import largest_share
from dialeval.metrics.resampling import resampled_sums
from dialeval.metrics.training_variance import with_seed_variance
from dialeval.protocols.audit.samples import Sample
from dialeval.protocols.audit.scoring import machine_likeness
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.unpaired.views import ViewRows, training_pairs, unit_folds

Sides = tuple[np.ndarray, np.ndarray]
"""One number per reply: of the known replies, and of the data."""


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
        split = half_of(units[0], seed), half_of(units[1], seed)
        scores = _likeness(fit, rows, split, folds, seed, fit_context, on_fit)
        bounds.append(bound_of(scores, units, split, resamples, level, seed))
    values = [bound.value for bound in bounds]
    value, low, high = (float(np.mean(part)) for part in zip(*map(_numbers, bounds), strict=True))
    low, high = with_seed_variance(value, low, high, values, level)
    return Bound(value, low, high)


def _numbers(bound: Bound) -> tuple[float, float, float]:
    return bound.value, bound.low, bound.high


def half_of(units: np.ndarray, seed: int) -> np.ndarray:
    """A random half for every unit, 0 or 1, both as large as the other; one number per reply."""
    order = np.random.default_rng([seed, 3]).permutation(int(units.max()) + 1)
    halves: np.ndarray = (order % 2)[units]
    return halves


def _likeness(
    fit: Fit,
    rows: ViewRows,
    split: Sides,
    folds: int,
    seed: int,
    fit_context: FitContext,
    on_fit: Callable[[], Any],
) -> Sides:
    """How much each reply looks like the known ones, as a rank within its fold."""
    fold = unit_folds(rows, folds, seed)
    ranks = np.zeros(len(rows.human)), np.zeros(len(rows.system))
    for number in range(folds):
        learn = fold[0] != number, fold[1] != number
        scorer = fit(training_pairs(rows, learn, seed), seed, fit_context)
        on_fit()
        tests = [np.flatnonzero(side == number) for side in fold]
        parts = [
            -machine_likeness(scorer, passages.select(index)) if len(index) else np.zeros(0)
            for passages, index in zip((rows.human, rows.system), tests, strict=True)
        ]
        halves = split[0][tests[0]], split[1][tests[1]]
        made = ranks_of((parts[0], parts[1]), halves)
        for side, index, part in zip(ranks, tests, made, strict=True):
            side[index] = part
    return ranks


def ranks_of(scores: Sides, split: Sides) -> Sides:
    """Ranks of scores among those of the known replies of the other half.

    A known reply has a rank among others, as a reply of the data has: among all known ones it would
    be compared with itself too, and look more like them than a reply of the data ever can.

    Args:
        scores (`tuple[np.ndarray, np.ndarray]`):
            Of known replies, and of the data.
        split (`tuple[np.ndarray, np.ndarray]`):
            The half of each.

    Returns:
        `tuple[np.ndarray, np.ndarray]`: Shares of the known replies that score no higher.
    """
    ranks = np.zeros(len(scores[0])), np.zeros(len(scores[1]))
    for half in (0, 1):
        known = np.sort(scores[0][split[0] != half])
        for side, values, halves in zip(ranks, scores, split, strict=True):
            part = values[halves == half]
            side[halves == half] = np.searchsorted(known, part, side="right") / max(1, len(known))
    return ranks


def bound_of(
    ranks: Sides, units: Sides, split: Sides, resamples: int, level: float, seed: int
) -> Bound:
    """The largest share, with its interval over units.

    The threshold of a half is the best one of the other half: one that was chosen on the replies
    that it is applied to would make the bound too low.

    Args:
        ranks (`tuple[np.ndarray, np.ndarray]`):
            Likeness of the known replies, and of the data.
        units (`tuple[np.ndarray, np.ndarray]`):
            What is resampled; each unit is in one half.
        split (`tuple[np.ndarray, np.ndarray]`):
            The half of each reply.
        resamples (`int`):
            Bootstrap draws.
        level (`float`):
            Of the interval.
        seed (`int`):
            Of the bootstrap.

    Returns:
        `Bound`: At most 1.
    """
    thresholds = np.zeros(2)
    for half in (0, 1):
        known, data = (side[halves != half] for side, halves in zip(ranks, split, strict=True))
        thresholds[half] = largest_share(data, known)[1]
    rng = np.random.default_rng(seed)
    rates, draws = [], []
    for side, unit, halves in zip(ranks, units, split, strict=True):
        table = class_sums((side >= thresholds[halves]).astype(float), halves == 1, unit)
        rates.append(float(mean_of_ratios(table.sum(0))))
        draws.append(mean_of_ratios(resampled_sums(table, resamples, int(rng.integers(2**31)))))
    ratios = np.minimum(1, draws[1] / np.maximum(draws[0], 1e-9))
    low, high = percentiles(ratios, level, min(int(unit.max()) + 1 for unit in units))
    return Bound(min(1.0, rates[1] / max(rates[0], 1e-9)), low, high)
