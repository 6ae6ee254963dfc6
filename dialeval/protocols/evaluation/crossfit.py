"""Scores for every response by an evaluator that was not trained on its dialogue."""

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from dialeval.dialogues import BadInput, Passages
from dialeval.files import atomic_write
from dialeval.protocols.evaluation.evaluators import Fit, FitContext, fit_each
from dialeval.protocols.evaluation.folds import COLUMNS, Ablations, Folds, response_columns
from dialeval.scorers import Decision, is_human

logger = logging.getLogger(__name__)

THRESHOLD = 0.5
"""Of evaluators that are trained in a run: see [`HumanScale`]."""


def crossfit(
    fit: Fit,
    folds: Folds,
    seed: int,
    fit_context: FitContext,
    share: float = 1.0,
    on_fold: Callable[[], Any] = lambda: None,
    twin: bool = False,
    shuffled: bool = False,
    on_scorer: Callable[[int, Any], Any] = lambda number, scorer: None,
) -> pa.Table:
    """Scores of every response by an evaluator that was fitted to the other folds.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        folds (`Folds`):
            The pairs of each fold.
        seed (`int`):
            Seed of the evaluator.
        fit_context (`FitContext`):
            What evaluators share.
        share (`float`, *optional*, defaults to 1.0):
            Share of the training pairs that is used, for a learning curve.
        on_fold (`Callable`, *optional*):
            Called after each fit.
        twin (`bool`, *optional*, defaults to `False`):
            Whether a response-only twin is fitted in each fold too: the same evaluator, trained
            and tested without any context. Else its columns are null.
        shuffled (`bool`, *optional*, defaults to `False`):
            Whether the evaluator also scores responses after another dialogue's context.
        on_scorer (`Callable`, *optional*):
            Called with the number of each fold and the evaluator that was fitted to the others.

    Returns:
        `pa.Table`: Columns as in `COLUMNS`, one row per response.
    """
    numbers = [number for number, test in enumerate(folds) if len(test)]
    trains = [folds.train(number, share) for number in numbers]
    scorers = map(on_human_scale, fit_each(fit, trains, seed, fit_context))
    twins = _fit_twins(fit, folds, numbers, seed, fit_context) if twin else repeat(None)
    tables, start = [], 0
    for number, scorer, blind in zip(numbers, scorers, twins, strict=False):
        on_scorer(number, scorer)
        for _ in range(1 + twin):
            on_fold()
        ablations = folds.context_ablations(number) if twin or shuffled else None
        columns = folds.response_columns(number)
        test = folds[number]
        tables.append(score_pairs(scorer, test, number, start, ablations, columns, blind, shuffled))
        start += len(test) // 2
    return pa.concat_tables(tables)


def _fit_twins(
    fit: Fit, folds: Folds, numbers: Sequence[int], seed: int, fit_context: FitContext
) -> Iterator[Any]:
    """The response-only twins; `None` where the pairs do not allow one.

    A baseline that fails must not remove the score that it is compared with.
    """
    trains = [folds.blind_train(number) for number in numbers]
    try:
        yield from map(on_human_scale, fit_each(fit, trains, seed, fit_context))
    except BadInput:
        yield from repeat(None)


class HumanScale:
    """An evaluator that was trained here, on the scale that all numbers of a run are computed on.

    A higher score means human, and from .5 on a response is predicted human. The evaluators of
    dialeval have this scale anyway; others may give humans low scores, or have a threshold.

    Args:
        scorer (`Scorer`):
            The evaluator.
    """

    higher_is_human = True

    def __init__(self, scorer: Any):
        self.scorer, self.name, self.decision = scorer, scorer.name, Decision(THRESHOLD)

    def __call__(self, passages: Passages) -> np.ndarray:
        """The score of each passage, in their order."""
        scores = finite_scores(self.scorer, passages)
        sign = 1.0 if self.scorer.higher_is_human else -1.0
        return THRESHOLD + sign * (scores - self.scorer.decision.threshold)


def on_human_scale(scorer: Any) -> Any:
    """The evaluator itself where it has the scale of [`HumanScale`], else on that scale."""
    has_scale = scorer.higher_is_human and scorer.decision.threshold == THRESHOLD
    return scorer if has_scale else HumanScale(scorer)


def apply_scorer(scorer: Any, folds: Folds, context_ablation: bool = True) -> pa.Table:
    """Scores of every response of all folds by a scorer that is not trained here.

    Args:
        scorer (`FrozenScorer`):
            Applied as it is.
        folds (`Folds`):
            The pairs of each fold.
        context_ablation (`bool`, *optional*, defaults to `True`):
            Whether it also scores the responses without the true context. There is no twin to
            retrain, so this shows what it relies on, not what a response alone reveals.

    Returns:
        `pa.Table`: Columns as in `COLUMNS`, one row per response.
    """
    columns = folds.response_columns(None)
    ablations = folds.context_ablations(None) if context_ablation else None
    blind = None
    if ablations is not None:
        human = np.flatnonzero(columns["label"].to_numpy() == 1)
        blind = scorer.for_humans(ablations[0].select(human))
    return score_pairs(scorer, folds.pooled(), 0, 0, ablations, columns, blind, context_ablation)


def score_pairs(
    scorer: Any,
    pairs: Passages,
    fold: int = 0,
    first_pair: int = 0,
    ablations: Ablations | None = None,
    columns: pa.Table | None = None,
    blind: Any = None,
    shuffled: bool = False,
) -> pa.Table:
    """A table with the score of each response.

    Args:
        scorer (`Scorer`):
            The evaluator.
        pairs (`Passages`):
            The responses.
        fold (`int`, *optional*, defaults to 0):
            Number of the fold, for the table.
        first_pair (`int`, *optional*, defaults to 0):
            Number of the first pair, for the table.
        ablations (`tuple`, *optional*):
            The same responses without the true context: see [`Folds.context_ablations`].
        columns (`pa.Table`, *optional*):
            What [`response_columns`] returns for the pairs, if it was computed before.
        blind (`Scorer`, *optional*):
            Scores the responses without a context.
        shuffled (`bool`, *optional*, defaults to `False`):
            Whether the evaluator scores the responses after another dialogue's context.

    Returns:
        `pa.Table`: Columns as in `COLUMNS`, one row per response.
    """
    columns = response_columns(pairs) if columns is None else columns
    alone, elsewhere = ablations or (None, None)
    scores = finite_scores(scorer, pairs)
    response_only, without_context = _ablation_scores(blind, alone, len(pairs))
    _, other_context = _ablation_scores(scorer if shuffled else None, elsewhere, len(pairs))
    values = {
        **{name: columns[name] for name in columns.column_names},
        "pair": pc.add(columns["pair"], first_pair),
        "fold": np.full(len(pairs), fold),
        "score": scores,
        "predicted_human": is_human(scorer, scores),
        "response_only": response_only,
        "response_only_predicted_human": without_context,
        "shuffled_predicted_human": other_context,
    }
    return pa.table({name: values[name] for name in COLUMNS}, pa.schema(COLUMNS))


def _ablation_scores(
    scorer: Any, passages: Passages | None, n: int
) -> tuple[Sequence[Any] | np.ndarray, Sequence[Any] | np.ndarray]:
    """Scores and decisions on ablated passages; nulls where they cannot be scored.

    A baseline that fails must not remove the score that it is compared with.
    """
    nulls = [None] * n
    if scorer is None or passages is None:
        return nulls, nulls
    try:
        scores = finite_scores(scorer, passages)
    except BadInput:
        return nulls, nulls
    return scores, is_human(scorer, scores)


def finite_scores(scorer: Any, pairs: Passages) -> np.ndarray:
    """The score of each passage, checked for shape and finite values."""
    scores = np.asarray(scorer(pairs), dtype=float)
    if scores.shape != (len(pairs),):
        raise BadInput(f"{scorer.name} gave scores of shape {scores.shape} for {len(pairs)} texts.")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise BadInput(
            f"{scorer.name} gave no finite number for {len(bad)} of {len(pairs)} responses, "
            f"first for passage {pairs['id'][int(bad[0])]!r}.",
            hint="Look at that passage, or choose another evaluator.",
        )
    return scores


def cached_table(path: Path, make: Callable[[], pa.Table]) -> pa.Table:
    """A table from its file, made and written when it is not there yet."""
    if path.is_file():
        try:
            return parquet.read_table(path)
        except (OSError, ValueError, pa.ArrowException):  # torn: computed again
            logger.warning("%s is damaged; it is computed again.", path)
    table = make()
    with atomic_write(path, "wb") as file:
        parquet.write_table(table, file)
    return table
