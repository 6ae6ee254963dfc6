"""Is there any difference at all? A classifier two-sample test on one held-out split."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from scipy.stats import norm

from dialeval.dialogues import Passages
from dialeval.metrics.significance import sign_flip_test
from dialeval.protocols.evaluation.crossfit import score_pairs
from dialeval.protocols.evaluation.evaluators import Fit, FitContext

POWER = 0.8


@dataclass(frozen=True)
class TwoSampleTest:
    """Outcome of training an evaluator on half of the dialogues and testing it on the others.

    Args:
        accuracy (`float`):
            Accuracy on the held-out half; NaN if there was no test.
        p_value (`float`):
            One-sided: the probability of this accuracy if both sides were exchangeable.
        minimum (`float`):
            Minimum detectable accuracy: significant in 80 % of cases with this many contexts.
        pairs (`int`):
            Pairs of the held-out half.
    """

    accuracy: float
    p_value: float
    minimum: float
    pairs: int


def two_sample_test(
    fit: Fit, halves: list[Passages], seed: int, fit_context: FitContext
) -> TwoSampleTest:
    """Fit to one half, test on the other by swapping the sides within contexts.

    Predictions of cross-fitting are not used: the evaluators of different folds share training
    data, and a test that treats their predictions as independent rejects too often.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        halves (`list[Passages]`):
            Pairs to fit to, and pairs to test on, of different dialogues.
        seed (`int`):
            Seed of the evaluator and of the test.
        fit_context (`FitContext`):
            What evaluators share.

    Returns:
        `TwoSampleTest`: Accuracy and p-value on the second half.
    """
    return swap_test(score_pairs(fit(halves[0], seed, fit_context), halves[1]), seed)


def swap_test(table: pa.Table, seed: int) -> TwoSampleTest:
    """The test, from one evaluator's decisions about both sides of every pair.

    If both sides of a context are swapped, an evaluator with `d` more correct than incorrect
    decisions has `d` more incorrect ones; all contexts of a dialogue are swapped together.
    """
    label, predicted = (table[name].to_numpy() for name in ("label", "predicted_human"))
    _, dialogue = np.unique(table["dialogue_id"].to_numpy(), return_inverse=True)
    gains = np.bincount(dialogue, np.where(label == 1, 1, -1) * predicted)  # (dialogues,)
    pairs = len(label) / 2
    error = np.sqrt(np.square(gains).sum()) / (2 * pairs)  # of the accuracy under swaps
    accuracy = float((predicted == (label == 1)).mean())
    least = 0.5 + (norm.ppf(0.95) + norm.ppf(POWER)) * max(error, 0.5 / np.sqrt(2 * pairs) * 0.5)
    return TwoSampleTest(accuracy, sign_flip_test(gains, seed), float(min(1.0, least)), int(pairs))
