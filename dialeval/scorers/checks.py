"""Signs in the scores that a discriminator is broken: all are the same, or its labels swapped."""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from dialeval.errors import BadInput

logger = logging.getLogger(__name__)

_SAME = 1e-6


def check_varies(
    scores: Sequence[float] | np.ndarray, name: str, contexts: Sequence[Any] | None = None
) -> None:
    """Raise if a discriminator gives every response the same score (DialogRPT issues 10 and 13).

    Args:
        scores (`Sequence[float]` or `np.ndarray`):
            Scores of several responses.
        name (`str`):
            Name of the discriminator in the error.
        contexts (`Sequence`, *optional*):
            The context of each response. At least one context must have responses with different
            scores; a wrong pooling leads to equal ones.

    Returns:
        `None`: If the scores differ.

    Examples:
        >>> check_varies([0.2, 0.2, 0.7, 0.7], "rpt", contexts=["a", "a", "b", "b"])
        Traceback (most recent call last):
        ...
        dialeval.errors.BadInput: the discriminator 'rpt' gave the same score to ...
    """
    scores = np.asarray(scores, dtype=float)
    groups = _groups(scores, contexts)
    if not groups or any(np.ptp(group) > _SAME for group in groups):
        return
    raise _constant(name, len(scores), "each" if contexts is None else "each response to a context")


def _constant(name: str, count: int, what: str = "each") -> BadInput:
    return BadInput(
        f"the discriminator {name!r} gave the same score to {what} of {count}.",
        hint="Load a DialogRPT checkpoint with dialeval.models.load_dialogrpt, since the pooling "
        "of GPT2ForSequenceClassification mistakes separators for padding; otherwise retrain it.",
    )


def check_direction(
    scores: Sequence[float] | np.ndarray, is_human: Sequence[bool] | np.ndarray, name: str
) -> bool:
    """Whether humans do not score clearly lower than machines; logs a warning if they do.

    Labels look swapped when the area under the ROC curve is three standard errors below one half.

    Args:
        scores (`Sequence[float]` or `np.ndarray`):
            Scores of responses.
        is_human (`Sequence[bool]` or `np.ndarray`):
            Which of them are human.
        name (`str`):
            Name of the discriminator in the warning.

    Returns:
        `bool`: Whether the direction looks correct.
    """
    scores, human = np.asarray(scores, dtype=float), np.asarray(is_human, dtype=bool)
    humans, machines = int(human.sum()), int((~human).sum())
    if not humans or not machines:
        return True
    area = (rankdata(scores)[human].sum() - humans * (humans + 1) / 2) / (humans * machines)
    error = np.sqrt((humans + machines + 1) / (12 * humans * machines))
    if area >= 0.5 - 3 * error:
        return True
    logger.warning(
        "%s scores machines above humans in %.0f %% of pairs: its labels look swapped. If "
        "they are, negate the weights of its score head, or swap the rows of its classifier.",
        name, 100 * (1 - area),
    )  # fmt: skip
    return False


def warn_if_constant(scores: np.ndarray, name: str) -> None:
    """Log a warning if all scores are the same."""
    if len(scores):
        warn_if_narrow(float(scores.min()), float(scores.max()), len(scores), name)


def warn_if_narrow(low: float, high: float, count: int, name: str) -> None:
    """Log a warning if several scores are the same.

    Args:
        low (`float`):
            The lowest score.
        high (`float`):
            The highest.
        count (`int`):
            How many there are.
        name (`str`):
            Name of the discriminator.

    Returns:
        `None`: The warning is logged.
    """
    if count > 1 and high - low <= _SAME:
        logger.warning("%s", _constant(name, count))


def _groups(scores: np.ndarray, contexts: Sequence[Any] | None) -> list[np.ndarray]:
    """Scores that should not all be equal: those of one context, or all."""
    if contexts is None:
        return [scores] if len(scores) > 1 else []
    rows: dict[Any, list[int]] = {}
    for row, context in enumerate(contexts):
        rows.setdefault(context, []).append(row)
    return [scores[members] for members in rows.values() if len(members) > 1]
