"""Reading a judge's numbers rightly: temperature and threshold, chosen on validation data."""

from dataclasses import asdict
from typing import Any

import numpy as np

from dialeval.dialogues import Passages
from dialeval.metrics.calibration import (
    brier_score,
    expected_calibration_error,
    fit_temperature,
    threshold_for_accuracy,
)
from dialeval.scorers.base import Decision
from dialeval.scorers.neural import NeuralScorer


def calibrate(scorer: NeuralScorer, validation: Passages, choose_threshold: bool) -> dict[str, Any]:
    """Set a scorer's temperature and decision; gives the numbers before and after.

    Args:
        choose_threshold (`bool`):
            Pairwise training does not see a shift that all responses of a context share, so its
            threshold is chosen here; the papers' pointwise models keep one half.
    """
    labels = np.asarray(validation["label"])
    margins = scorer.margins(validation)
    before = _quality(margins, labels, 1.0)
    scorer.temperature = fit_temperature(margins, labels)
    scores = 1 / (1 + np.exp(-margins / scorer.temperature))
    threshold = threshold_for_accuracy(scores, labels)[0] if choose_threshold else 0.5
    scorer.decision = Decision(
        threshold=float(threshold),
        chosen="validation" if choose_threshold else "fixed",
        false_positive_rate=float((scores[labels == 1] < threshold).mean()),
        n=len(labels),
    )
    return {
        "temperature": scorer.temperature,
        "before": before,
        "after": _quality(margins, labels, scorer.temperature),
        "decision": asdict(scorer.decision),
    }


def _quality(margins: np.ndarray, labels: np.ndarray, temperature: float) -> dict[str, float]:
    scores = 1 / (1 + np.exp(-margins / temperature))
    return {
        "ece": float(expected_calibration_error(scores, labels)),
        "brier": float(brier_score(scores, labels)),
    }
