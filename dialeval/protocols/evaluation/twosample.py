"""Is there any difference at all? A classifier two-sample test on one held-out split."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from dialeval.dialogues import Passages
from dialeval.metrics.significance import sign_flip_test
from dialeval.protocols.evaluation.crossfit import judged
from dialeval.protocols.evaluation.evaluators import Fit, FitContext

POWER = 0.8


@dataclass(frozen=True)
class TwoSampleTest:
    """What a judge that learnt on one half of the dialogues finds on the other.

    Args:
        p_value (`float`):
            One-sided: that it tells the sides apart this well, were they exchangeable.
        minimum (`float`):
            Accuracy that this many contexts would find significant in four of five cases.
    """

    accuracy: float
    p_value: float
    minimum: float
    pairs: int


def difference(
    fit: Fit, halves: list[Passages], seed: int, fit_context: FitContext
) -> TwoSampleTest:
    """Learn on one half, test on the other by swapping the sides within contexts.

    Predictions of cross-fitting are not used: judges of different folds share their training data,
    and a test that takes their predictions for independent ones rejects too often.
    """
    return swap_test(judged(fit(halves[0], seed, fit_context), halves[1]), seed)


def swap_test(table: pa.Table, seed: int) -> TwoSampleTest:
    """The test from one judge's decisions about both sides of every pair.

    If both sides of a context are exchanged, a judge that is right by `d` more responses than it
    is wrong becomes wrong by as many; dialogues are exchanged whole.
    """
    label, taken = (table[name].to_numpy() for name in ("label", "taken"))
    _, dialogue = np.unique(table["dialogue_id"].to_numpy(), return_inverse=True)
    gains = np.bincount(dialogue, np.where(label == 1, 1, -1) * taken)  # (dialogues,)
    pairs = len(label) / 2
    error = np.sqrt(np.square(gains).sum()) / (2 * pairs)  # of the accuracy, were sides exchanged
    accuracy = float((taken == (label == 1)).mean())
    least = 0.5 + (norm.ppf(0.95) + norm.ppf(POWER)) * max(error, 0.5 / np.sqrt(2 * pairs) * 0.5)
    return TwoSampleTest(accuracy, sign_flip_test(gains, seed), float(min(1.0, least)), int(pairs))
