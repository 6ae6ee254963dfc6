"""Scores of two piles by evaluators that were not trained on the dialogue that they score."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput, Passages
from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.intervals import class_sums, mean_of_ratios, sums_interval
from dialeval.metrics.significance import exchange_test
from dialeval.protocols.evaluation.crossfit import finite_scores
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.unpaired.views import ViewRows, training_pairs, unit_folds
from dialeval.scorers import is_human

COLUMNS = {
    "id": pa.string(), "dialogue_id": pa.string(), "unit": pa.string(), "label": pa.int8(),
    "fold": pa.int16(), "score": pa.float64(), "predicted_human": pa.bool_(),
    "response": pa.string(),
}  # fmt: skip
"""Columns of a table of scores, one row per turn; `unit` is what is held out and resampled."""


@dataclass(frozen=True)
class Accuracy:
    """A balanced accuracy with its interval.

    Args:
        value, low, high (`float`):
            The accuracy, and the bounds of its interval over units.
        n (`int`):
            Turns or dialogues that were classified.
        auroc (`float`, *optional*):
            Area under the ROC curve.
    """

    value: float
    low: float
    high: float
    n: int
    auroc: float | None = None


def crossfit_rows(
    fit: Fit,
    rows: ViewRows,
    k: int,
    seed: int,
    fit_context: FitContext,
    on_fit: Callable[[], Any] = lambda: None,
) -> pa.Table:
    """Scores of all rows, each by an evaluator that was fitted to the other folds.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        rows (`ViewRows`):
            Rows of both piles.
        k (`int`):
            Number of folds.
        seed (`int`):
            Seed of folds and evaluator.
        fit_context (`FitContext`):
            What evaluators share.
        on_fit (`Callable`, *optional*):
            Called after each fit.

    Returns:
        `pa.Table`: Columns as in `COLUMNS`.
    """
    folds = unit_folds(rows, k, seed)
    parts = []
    for number in range(k):
        test = folds[0] == number, folds[1] == number
        if not any(chosen.any() for chosen in test):
            continue
        pairs = training_pairs(rows, (~test[0], ~test[1]), seed)
        scorer = fit(_enough(pairs), seed, fit_context)
        on_fit()
        parts += score_rows(scorer, rows, test, number)
    return pa.concat_tables(parts)


def heldout_rows(fit: Fit, rows: ViewRows, seed: int, fit_context: FitContext) -> pa.Table:
    """Scores of one half of the units by an evaluator that was fitted to the other half.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        rows (`ViewRows`):
            Rows of both piles.
        seed (`int`):
            Seed of halves and evaluator.
        fit_context (`FitContext`):
            What evaluators share.

    Returns:
        `pa.Table`: The held-out half; columns as in `COLUMNS`.
    """
    halves = unit_folds(rows, 2, seed)
    learn = halves[0] == 0, halves[1] == 0
    scorer = fit(_enough(training_pairs(rows, learn, seed)), seed, fit_context)
    return pa.concat_tables(score_rows(scorer, rows, (~learn[0], ~learn[1]), 1))


def apply_rows(scorer: Any, rows: ViewRows) -> pa.Table:
    """Scores of all rows by an evaluator that is not trained here."""
    every = tuple(np.ones(len(side), dtype=bool) for side in (rows.human, rows.system))
    return pa.concat_tables(score_rows(scorer, rows, (every[0], every[1]), 0))


def score_rows(
    scorer: Any, rows: ViewRows, masks: tuple[np.ndarray, np.ndarray], fold: int
) -> list[pa.Table]:
    """A table of scores for each pile that has rows.

    Args:
        scorer (`Scorer`):
            The evaluator.
        rows (`ViewRows`):
            Rows of both piles.
        masks (`tuple[np.ndarray, np.ndarray]`):
            Which of them.
        fold (`int`):
            Number of the fold, for the table.

    Returns:
        `list[pa.Table]`: Columns as in `COLUMNS`.
    """
    tables = []
    for label, passages, units, chosen in (
        (1, rows.human, rows.units[0], masks[0]),
        (0, rows.system, rows.units[1], masks[1]),
    ):
        index = np.flatnonzero(chosen)
        if len(index):
            tables.append(_score(scorer, passages.select(index), units[index], label, fold))
    return tables


def _score(scorer: Any, passages: Passages, units: np.ndarray, label: int, fold: int) -> pa.Table:
    scores = finite_scores(scorer, passages)
    n = len(passages)
    values = {
        **{name: passages[name][:] for name in ("id", "dialogue_id", "response")},
        "unit": units.tolist(),
        "label": np.full(n, label),
        "fold": np.full(n, fold),
        "score": scores if scorer.higher_is_human else -scores,
        "predicted_human": is_human(scorer, scores),
    }
    return pa.table({name: values[name] for name in COLUMNS}, pa.schema(COLUMNS))


def _enough(pairs: Passages) -> Passages:
    if len(pairs) < 4:
        raise BadInput(
            "too few turns to train an evaluator on.", hint="Give more, or longer, dialogues."
        )
    return pairs


def accuracy_of(table: pa.Table, seed: int, level: float = 0.95) -> Accuracy:
    """The balanced accuracy on single turns, with an interval over units.

    Args:
        table (`pa.Table`):
            Scores of both piles.
        seed (`int`):
            Seed of the bootstrap.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `Accuracy`: Both piles count equally, whatever their sizes.
    """
    correct = _correct(table)
    numbers = adversuc(
        np.where(table["predicted_human"].to_numpy(), 1.0, 0.0), table["label"].to_numpy(),
        groups=table["unit"].to_pylist(), level=level, seed=seed,
    )  # fmt: skip
    ranked = adversuc(
        table["score"].to_numpy(), table["label"].to_numpy(), folds=table["fold"].to_pylist(),
        resamples=1,
    )  # fmt: skip
    low, high = 1 - numbers["high"], 1 - numbers["low"]
    return Accuracy(numbers["accuracy"], low, high, len(correct), ranked["auroc"])


def difference_of_accuracies(
    first: pa.Table, second: pa.Table, seed: int, level: float = 0.95
) -> Accuracy:
    """How much more accurate one table is than another on the same units.

    Args:
        first, second (`pa.Table`):
            Scores of the same dialogues in two views.
        seed (`int`):
            Seed of the bootstrap.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level.

    Returns:
        `Accuracy`: The difference with its interval; units are drawn for both at once.
    """
    names = sorted({*first["unit"].to_pylist(), *second["unit"].to_pylist()})
    index = {name: number for number, name in enumerate(names)}
    sums = np.hstack([_class_sums(table, index) for table in (first, second)])  # (units, 8)

    def gain(totals: np.ndarray) -> np.ndarray:
        return mean_of_ratios(totals[..., :4]) - mean_of_ratios(totals[..., 4:])

    low, high = sums_interval(sums, gain, level=level, seed=seed)
    return Accuracy(float(gain(sums.sum(0))), low, high, len(first))


def _class_sums(table: pa.Table, index: dict[str, int]) -> np.ndarray:
    unit = np.array([index[name] for name in table["unit"].to_pylist()])
    labels = table["label"].to_numpy() == 1
    sums = np.zeros((len(index), 4))
    part = class_sums(_correct(table), labels, unit)
    sums[: len(part)] = part
    return sums


def _correct(table: pa.Table) -> np.ndarray:
    predicted, labels = table["predicted_human"].to_numpy(), table["label"].to_numpy() == 1
    return (predicted == labels).astype(float)


def pile_test(table: pa.Table, seed: int) -> float:
    """One-sided p-value that units of the human pile have the higher scores.

    A unit is a dialogue, or the dialogues that share a context. It counts once in each pile, with
    the mean of its dialogues there, each of which has the mean of its turns; the labels are
    permuted. The table is a held-out half: predictions of cross-fitting are not independent.
    """
    names, label, means = dialogue_means(table)
    unit_of = dict(zip(table["dialogue_id"].to_pylist(), table["unit"].to_pylist(), strict=True))
    units = np.array([unit_of[name] for name in names.tolist()])
    if not label.any() or label.all():
        return 1.0
    human, system = (_means_by(units[side], means[side]) for side in (label, ~label))
    return exchange_test(human, system, seed)


def _means_by(units: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The mean of the values of each unit."""
    index = np.unique(units, return_inverse=True)[1]
    means: np.ndarray = np.bincount(index, values) / np.bincount(index)
    return means


def dialogue_means(table: pa.Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each dialogue with its label (whether human) and its mean score."""
    names, first, index = np.unique(
        np.asarray(table["dialogue_id"].to_pylist()), return_index=True, return_inverse=True
    )
    label = table["label"].to_numpy()[first] == 1
    sums = np.bincount(index, table["score"].to_numpy())
    return names, label, sums / np.bincount(index)


def participants(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """For each row, who speaks in which dialogue, and the number of the turn, from the ids.

    In a dialogue of two humans both may be in the human pile; each is classified by itself.
    """
    parts = [key.rpartition("#") for key in table["id"].to_pylist()]
    return np.array([part[0] for part in parts]), np.array([int(part[2]) for part in parts])


def in_dialogue_order(table: pa.Table) -> pa.Table:
    """The rows sorted by participant and turn."""
    names, turn = participants(table)
    return table.take(pa.array(np.lexsort((turn, names))))
