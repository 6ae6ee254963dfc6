"""Scores of the data by evaluators that were fitted to replies of known origin."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialeval.dialogues import Passages
from dialeval.metrics.adversuc import auroc
from dialeval.metrics.mixture import BINS, quantile_edges
from dialeval.protocols.audit.samples import Sample
from dialeval.protocols.evaluation.crossfit import finite_scores
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.unpaired.views import ViewRows, training_pairs, unit_folds

Histograms = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of the data, and of the human and machine replies: `(units, bins)` or `(bins,)`."""


@dataclass
class BinnedScores:
    """In which bins of scores each reply is, over all folds and seeds.

    An evaluator of one fold scores the known replies of that fold, which it has not seen, and all
    of the data. Its bins are quantiles of these known replies. So the data are a mixture of the
    two kinds fold by fold, and also in the mean of folds, whatever each evaluator has learnt.

    Args:
        data, human, machine (`np.ndarray`):
            How often each reply is in each bin, summed over seeds; shape `(replies, bins)`.
        seeds (`list[Histograms]`):
            Sums over all replies, for each seed.
        auroc (`float`):
            Of the evaluator on the known replies, out of fold, with the first seed.
    """

    data: np.ndarray
    human: np.ndarray
    machine: np.ndarray
    seeds: list[Histograms]
    auroc: float

    def per_unit(self, units: Histograms) -> Histograms:
        """Sums over the replies of each unit: of the data, the human and the machine replies."""
        tables = (self.data, self.human, self.machine)
        data, human, machine = (
            _unit_sums(table, unit) for table, unit in zip(tables, units, strict=True)
        )
        return data, human, machine


def _unit_sums(table: np.ndarray, units: np.ndarray) -> np.ndarray:
    count = int(units.max()) + 1
    return np.stack([np.bincount(units, column, minlength=count) for column in table.T], 1)


def binned_scores(
    fit: Fit,
    data: Sample,
    human: Sample,
    machine: Sample,
    *,
    folds: int,
    seeds: range,
    fit_context: FitContext,
    on_fit: Callable[[], Any] = lambda: None,
) -> BinnedScores:
    """Scores of all replies in bins.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        data, human, machine (`Sample`):
            The data in question, and replies of known origin.
        folds (`int`):
            Number of folds.
        seeds (`range`):
            Seeds of folds and evaluators.
        fit_context (`FitContext`):
            What evaluators share.
        on_fit (`Callable`, *optional*):
            Called after each fit.

    Returns:
        `BinnedScores`: Counts of bins.
    """
    rows = ViewRows(human.replies, machine.replies, (human.dialogues, machine.dialogues))
    tables = tuple(
        np.zeros((len(sample), BINS), dtype=np.float32) for sample in (data, human, machine)
    )
    sums: list[Histograms] = []
    separation = 0.5
    for seed in seeds:
        before = [table.sum(0, dtype=float) for table in tables]
        scores = _add_seed(fit, data, rows, tables, folds, seed, fit_context, on_fit)
        separation = separation if sums else _auroc(*scores)
        after = [table.sum(0, dtype=float) for table in tables]
        parts = [late - early for late, early in zip(after, before, strict=True)]
        sums.append((parts[0], parts[1], parts[2]))
    return BinnedScores(tables[0], tables[1], tables[2], sums, separation)


def _add_seed(
    fit: Fit,
    data: Sample,
    rows: ViewRows,
    tables: tuple[np.ndarray, ...],
    folds: int,
    seed: int,
    fit_context: FitContext,
    on_fit: Callable[[], Any],
) -> tuple[np.ndarray, np.ndarray]:
    """Add the bins of one cross-fit to the tables; returns the out-of-fold scores of both kinds."""
    fold = unit_folds(rows, folds, seed)
    known = np.full(len(rows.human), np.nan), np.full(len(rows.system), np.nan)
    for number in range(folds):
        tests = [np.flatnonzero(side == number) for side in fold]
        if not all(map(len, tests)):
            continue
        learn = fold[0] != number, fold[1] != number
        scorer = fit(training_pairs(rows, learn, seed), seed, fit_context)
        on_fit()
        for side, passages, index in zip(known, (rows.human, rows.system), tests, strict=True):
            side[index] = machine_likeness(scorer, passages.select(index))
        edges = quantile_edges(known[0][tests[0]], known[1][tests[1]])
        _count(tables[1], tests[0], edges, known[0][tests[0]], 1.0)
        _count(tables[2], tests[1], edges, known[1][tests[1]], 1.0)
        everything = np.arange(len(data))
        _count(tables[0], everything, edges, machine_likeness(scorer, data.replies), 1 / folds)
    return known


def _count(
    table: np.ndarray, rows: np.ndarray, edges: np.ndarray, scores: np.ndarray, weight: float
) -> None:
    table[rows, np.searchsorted(edges, scores, side="right")] += weight


def machine_likeness(scorer: Any, passages: Passages) -> np.ndarray:
    """Scores that are higher for replies that look more like a machine's."""
    scores = finite_scores(scorer, passages)
    return -scores if scorer.higher_is_human else scores


def _auroc(human: np.ndarray, machine: np.ndarray) -> float:
    scored = [side[~np.isnan(side)] for side in (human, machine)]
    labels = np.repeat([1, 0], [len(side) for side in scored])
    return auroc(-np.concatenate(scored), labels)
