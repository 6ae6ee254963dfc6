"""Turns pooled within a dialogue: sums of calibrated log odds, and decisions about dialogues."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from dialeval.metrics.checks import numbers, scores_and_labels, units_of

_CLIP = 1e-6  # a probability of exactly 0 or 1 would decide a dialogue by itself


def log_odds(scores: ArrayLike) -> np.ndarray:
    """The log odds of probabilities; scores that are not all in [0, 1] stay as they are.

    Examples:
        >>> log_odds([0.5, 0.75]).round(3).tolist()
        [0.0, 1.099]
        >>> log_odds([-2.0, 3.0]).tolist()
        [-2.0, 3.0]
    """
    values = numbers(scores, "scores")
    if not len(values) or values.min() < 0 or values.max() > 1:
        return values
    inside = np.clip(values, _CLIP, 1 - _CLIP)
    return np.log(inside / (1 - inside))


def calibrated_log_odds(values: ArrayLike, labels: ArrayLike, folds: ArrayLike) -> np.ndarray:
    """Log odds of class 1, each by a regression on the other folds (Platt, 1999).

    Both classes count equally, whatever their sizes. A slope is never negative: scores that
    mislead in the other folds are worth nothing.

    Args:
        values (`ArrayLike`):
            One number per item, higher for class 1.
        labels (`ArrayLike`):
            1 or 0.
        folds (`ArrayLike`):
            The fold of each item.

    Returns:
        `np.ndarray`: Log odds, one per item; 0 where the other folds have one class only.

    Examples:
        >>> values, labels, folds = [2, 1, -1, -2] * 2, [1, 1, 0, 0] * 2, [0] * 4 + [1] * 4
        >>> (calibrated_log_odds(values, labels, folds) > 0).tolist() == [True, True, False, False] * 2
        True
    """  # noqa: E501
    scores, positive = scores_and_labels(values, labels, "values")
    fold = np.asarray(folds)
    calibrated = np.zeros(len(scores))
    for number in np.unique(fold):
        learn, test = fold != number, fold == number
        if len(np.unique(positive[learn])) == 2:
            slope, intercept = _platt(scores[learn], positive[learn])
            calibrated[test] = slope * scores[test] + intercept
    return calibrated


def _platt(scores: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    scale = float(scores.std()) or 1.0
    model = LogisticRegression(class_weight="balanced").fit(scores[:, None] / scale, positive)
    slope = float(model.coef_[0, 0]) / scale
    return (slope, float(model.intercept_[0])) if slope > 0 else (0.0, 0.0)


def pooled(values: ArrayLike, dialogues: ArrayLike, seen: int | None = None) -> np.ndarray:
    """The sum over the first turns of every dialogue.

    Args:
        values (`ArrayLike`):
            Log odds of each turn, in the order of the dialogue.
        dialogues (`ArrayLike`):
            Number of the dialogue of each turn, from 0.
        seen (`int`, *optional*):
            How many turns of a dialogue count; all by default. A shorter dialogue counts whole.

    Returns:
        `np.ndarray`: One sum per dialogue.

    Examples:
        >>> pooled([1.0, 2.0, -1.0], [0, 0, 1]).tolist(), pooled([1.0, 2.0, -1.0], [0, 0, 1], 1).tolist()
        ([3.0, -1.0], [1.0, -1.0])
    """  # noqa: E501
    turns, dialogue = numbers(values, "values"), np.asarray(dialogues)
    counted = turn_numbers(dialogue) < (len(turns) + 1 if seen is None else seen)
    return np.bincount(dialogue[counted], turns[counted], minlength=int(dialogue.max()) + 1)


def turn_numbers(dialogues: ArrayLike) -> np.ndarray:
    """How many turns of the same dialogue come before each turn.

    Examples:
        >>> turn_numbers([0, 1, 0, 0]).tolist()
        [0, 0, 1, 2]
    """
    dialogue = units_of(len(np.asarray(dialogues)), np.asarray(dialogues).tolist())
    order = np.argsort(dialogue, kind="stable")
    starts = np.searchsorted(dialogue[order], np.arange(int(dialogue.max()) + 1))
    index = np.empty(len(dialogue), dtype=np.int64)
    index[order] = np.arange(len(dialogue)) - starts[dialogue[order]]
    return index
