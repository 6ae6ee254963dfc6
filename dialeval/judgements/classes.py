"""Detection by people and by discriminators on the same items: accuracy, precision, recall, F1."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from dialeval.judgements.resampling import codes_of
from dialeval.metrics.intervals import interval


@dataclass(frozen=True)
class ClassScores:
    """Precision, recall and F1 of one class; NaN where nothing was predicted or nothing is true.

    Args:
        precision, recall, f1 (`float`):
            The scores.
        n (`int`):
            Decisions about items of this class.
    """

    precision: float
    recall: float
    f1: float
    n: int


@dataclass(frozen=True)
class Detection:
    """How well one side recognises the true class, as in the tables of Bruni and Fernández (2017).

    Args:
        accuracy, low, high (`float`):
            Share of right decisions, with its 95 % interval over items.
        classes (`dict[str, ClassScores]`):
            By class.
        n, n_items (`int`):
            Decisions, and items that they are about.
    """

    accuracy: float
    low: float
    high: float
    classes: dict[str, ClassScores]
    n: int
    n_items: int


def detection(
    truth: Sequence[str],
    predicted: Sequence[str],
    items: Sequence[Hashable] | None = None,
    *,
    method: str = "auto",
    resamples: int = 1_000,
    seed: int = 0,
) -> Detection:
    """Accuracy, and precision, recall and F1 of each class.

    For people every judgement is one row, as in the paper: its shares of 30 items are multiples
    of 1/90, so the three answers about an item were pooled and not reduced to a majority.

    Args:
        truth (`Sequence[str]`):
            The class of the item of each decision.
        predicted (`Sequence[str]`):
            The decisions.
        items (`Sequence`, *optional*):
            The item of each decision; by default every row is an item.
        method (`str`, *optional*, defaults to `"auto"`):
            Method of the interval: see `dialeval.metrics.intervals.interval`.
        resamples (`int`, *optional*, defaults to 1000):
            Bootstrap draws of items, for methods that draw them.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `Detection`: The scores.

    Examples:
        >>> result = detection(["real", "real", "random"], ["real", "random", "random"])
        >>> round(result.accuracy, 3), result.classes["real"].recall
        (0.667, 0.5)
    """
    if not len(truth) or len(truth) != len(predicted):
        raise ValueError(
            f"Expected one decision for each truth, but got {len(predicted)} and {len(truth)}."
        )
    actual, decided = np.asarray(truth, dtype=object), np.asarray(predicted, dtype=object)
    correct = actual == decided
    unit, names = codes_of(list(items) if items is not None else list(range(len(truth))))
    low, high = interval(correct, unit, method=method, resamples=resamples, seed=seed)
    return Detection(
        accuracy=float(correct.mean()),
        low=low,
        high=high,
        classes={
            name: _class_scores(actual == name, decided == name) for name in sorted(set(truth))
        },
        n=len(correct),
        n_items=len(names),
    )


def _class_scores(actual: np.ndarray, decided: np.ndarray) -> ClassScores:
    hits = float((actual & decided).sum())
    precision = hits / decided.sum() if decided.any() else float("nan")
    recall = hits / actual.sum() if actual.any() else float("nan")
    f1 = 2 * hits / (decided.sum() + actual.sum())
    return ClassScores(float(precision), float(recall), float(f1), int(actual.sum()))
