"""Is there any difference at all? A classifier two-sample test on one held-out split."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from dialeval.metrics.power import minimum_detectable
from dialeval.metrics.significance import sign_flip_test
from dialeval.protocols.evaluation.crossfit import on_human_scale, score_pairs
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.protocols.evaluation.folds import Folds


@dataclass(frozen=True)
class TwoSampleTest:
    """Outcome of training an evaluator on half of the dialogues and testing it on the others.

    Args:
        accuracy (`float`):
            Accuracy on single responses of the held-out half; NaN if there was no test.
        pairwise_accuracy (`float`):
            Share of its pairs in which the human response has the higher score, ties counting
            half: what is tested.
        p_value (`float`):
            One-sided: the probability of this pairwise accuracy if both sides were exchangeable.
        minimum (`float`):
            Minimum detectable pairwise accuracy: significant in 80 % of cases with these pairs.
        pairs (`int`):
            Pairs of the held-out half.
    """

    accuracy: float
    pairwise_accuracy: float
    p_value: float
    minimum: float
    pairs: int


def two_sample_test(fit: Fit, halves: Folds, seed: int, fit_context: FitContext) -> TwoSampleTest:
    """Fit to one half, test on the other by swapping the sides within contexts.

    Predictions of cross-fitting are not used: the evaluators of different folds share training
    data, and a test that treats their predictions as independent rejects too often.

    Args:
        fit (`Callable`):
            Fits the evaluator to pairs.
        halves (`Folds`):
            Pairs to fit to, and pairs to test on, of different dialogues.
        seed (`int`):
            Seed of the evaluator and of the test.
        fit_context (`FitContext`):
            What evaluators share.

    Returns:
        `TwoSampleTest`: Accuracies and p-value on the second half.
    """
    scorer = on_human_scale(fit(halves.train(1), seed, fit_context))
    return swap_test(score_pairs(scorer, halves[1]), seed)


def swap_test(table: pa.Table, seed: int) -> TwoSampleTest:
    """The test, from one evaluator's scores of both sides of every pair.

    If the two sides of a pair are exchangeable, either of them has the higher score with the same
    probability; all pairs of a dialogue are swapped together. Deciding between the two responses
    to a context is easier than classifying one by itself, so this test has more power than one on
    single responses.
    """
    signs, dialogues = pair_signs(table)
    _, dialogue = np.unique(dialogues, return_inverse=True)
    label, predicted = (table[name].to_numpy() for name in ("label", "predicted_human"))
    return TwoSampleTest(
        accuracy=float((predicted == (label == 1)).mean()),
        pairwise_accuracy=float((1 + signs.mean()) / 2),
        p_value=sign_flip_test(np.bincount(dialogue, signs), seed),
        minimum=minimum_detectable(signs, dialogues.tolist()),
        pairs=len(signs),
    )


def pair_signs(table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """The sign of every pair, and its dialogue.

    The sign is 1 where the human response has the higher score, -1 where it has the lower one, and
    0 for a tie.
    """
    label, pair, score = (table[name].to_numpy() for name in ("label", "pair", "score"))
    rows = np.lexsort((label, pair)).reshape(-1, 2)  # (pairs, 2): the other side, the human one
    return np.sign(score[rows[:, 1]] - score[rows[:, 0]]), table["dialogue_id"].to_numpy()[
        rows[:, 1]
    ]
