"""How often verdicts about few dialogues are wrong, by simulated decisions of an evaluator."""

from collections import Counter

import numpy as np
import pytest

from dialeval.metrics.intervals import balanced_interval
from dialeval.metrics.significance import sign_flip_test
from dialeval.protocols.evaluation.verdict import ALPHA, Reading, Trust, verdict

TRUST = Trust(
    control=0.8,
    control_low=0.7,
    families=frozenset({"surface", "context"}),
    detectable={"random human replies": 0.1},
)
"""All that a "no" needs, so that only the numbers of the system decide."""
EVALUATORS = 1  # the highest bound of several counts, so one is the hardest case


def reading(
    name: str, dialogues: int, accuracy: float, method: str, rng: np.random.Generator
) -> Reading:
    """What an evaluator of a known accuracy shows in dialogues of 1 to 5 contexts.

    Its accuracy varies by dialogue (intra-dialogue correlation .2). The test has half of them.
    """
    contexts = rng.integers(1, 6, dialogues)
    shares = rng.beta(4 * accuracy, 4 * (1 - accuracy), dialogues)
    dialogue = np.repeat(np.arange(dialogues), contexts)
    correct = (rng.random((2, len(dialogue))) < shares[dialogue]).astype(float)
    labels = np.repeat([1, 0], len(dialogue))
    low, high = balanced_interval(
        correct.ravel(), labels, np.tile(dialogue, 2),
        method=method, level=1 - ALPHA / EVALUATORS, resamples=500,
    )  # fmt: skip
    half = dialogue % 2 == 0
    gains = np.bincount(dialogue[half], (correct.sum(0) - 1)[half])
    return Reading(name, float(correct.mean()), low, high, sign_flip_test(gains[::2], 0))


def verdicts(
    dialogues: int, accuracy: float, repetitions: int = 300, method: str = "auto"
) -> Counter[str]:
    rng, counts = np.random.default_rng(dialogues), Counter[str]()
    for _ in range(repetitions):
        readings = [
            reading(f"evaluator {number}", dialogues, accuracy, method, rng)
            for number in range(EVALUATORS)
        ]
        counts[verdict("bot", readings, TRUST, dialogues).verdict] += 1 / repetitions
    return counts


@pytest.mark.parametrize("dialogues", [5, 20, 60])
def test_a_difference_beyond_the_margin_is_rarely_called_none(dialogues):
    rates = verdicts(dialogues, 0.56)
    assert rates["indistinguishable"] + rates["negligible difference"] <= 0.03


@pytest.mark.parametrize(("dialogues", "inconclusive"), [(5, 0.9), (20, 0.85), (60, 0.65)])
def test_without_a_difference_few_dialogues_are_inconclusive(dialogues, inconclusive):
    rates = verdicts(dialogues, 0.5)
    assert rates["distinguishable"] + rates["negligible difference"] <= 0.07
    assert rates["inconclusive"] >= inconclusive


def test_a_clear_difference_is_seen_in_60_dialogues():
    assert verdicts(60, 0.8, 50)["distinguishable"] >= 0.9


@pytest.mark.slow
def test_percentiles_would_be_wrong_more_often():
    rates = {}
    for method in ("bootstrap", "auto"):
        for dialogues in (5, 10, 20, 60):
            counts = verdicts(dialogues, 0.55, 1_500, method)
            rates[method, dialogues] = counts["indistinguishable"] + counts["negligible difference"]
    print({key: round(rate, 4) for key, rate in rates.items()})
    assert max(rate for (method, _), rate in rates.items() if method == "auto") <= 0.025
    assert rates["bootstrap", 5] > 0.05 and rates["bootstrap", 10] > 0.035
