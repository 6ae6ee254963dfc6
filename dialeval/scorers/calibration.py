"""Calibration and decision threshold of a discriminator, chosen on validation data."""

from dataclasses import asdict
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passages
from dialeval.metrics.calibration import (
    brier_score,
    expected_calibration_error,
    fit_isotonic,
    fit_temperature,
    threshold_for_accuracy,
)
from dialeval.scorers.base import Decision
from dialeval.scorers.checks import check_direction, warn_if_constant
from dialeval.scorers.neural import NeuralScorer

METHODS = ("temperature", "isotonic", "none")


def calibrate(
    scorer: NeuralScorer,
    validation: Passages,
    choose_threshold: bool,
    method: str = "temperature",
    check_labels: bool = True,
) -> dict[str, Any]:
    """Set a scorer's calibration and decision.

    Args:
        scorer (`NeuralScorer`):
            The discriminator; it is changed in place.
        validation (`Passages`):
            Labelled passages that it was not trained on.
        choose_threshold (`bool`):
            Pairwise training does not see a shift that all responses of a context share, so its
            threshold is chosen here; the papers' pointwise models keep one half.
        method (`str`, *optional*, defaults to `"temperature"`):
            `"temperature"` keeps the order of scores and moves no decision at one half;
            `"isotonic"` fits any rising curve, moves them, and wants some thousand responses;
            `"none"`.
        check_labels (`bool`, *optional*, defaults to `True`):
            Whether to warn where its labels look swapped. An evaluator of a scenario without a
            difference may be below chance on some pairs, which says nothing of its labels.

    Returns:
        `dict`: Method, decision, and calibration error before and after.
    """
    if method not in METHODS:
        raise BadInput(f"`calibration` is {', '.join(METHODS)}, but got {method!r}.")
    labels = np.asarray(validation["label"])
    margins = scorer.margins(validation)
    warn_if_constant(margins, scorer.name)
    if check_labels:
        check_direction(margins, labels, scorer.name)
    scorer.temperature, scorer.curve = 1.0, None
    before = _quality(scorer, margins, labels)
    if method == "temperature":
        scorer.temperature = fit_temperature(margins, labels)
    elif method == "isotonic":
        scorer.curve = fit_isotonic(margins, labels)
    scores = scorer.probabilities(margins)
    threshold = threshold_for_accuracy(scores, labels)[0] if choose_threshold else 0.5
    scorer.decision = Decision(
        threshold=float(threshold),
        chosen="validation" if choose_threshold else "fixed",
        false_positive_rate=float((scores[labels == 1] < threshold).mean()),
        n=len(labels),
    )
    return {
        "method": method,
        "temperature": scorer.temperature,
        "before": before,
        "after": _quality(scorer, margins, labels),
        "decision": asdict(scorer.decision),
    }


def _quality(scorer: NeuralScorer, margins: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    scores = scorer.probabilities(margins)
    return {
        "ece": float(expected_calibration_error(scores, labels)),
        "brier": float(brier_score(scores, labels)),
    }
