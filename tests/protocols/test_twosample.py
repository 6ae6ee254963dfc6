"""The two-sample test: exact on small cases, right level when there is no difference."""

import random
from itertools import product
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from dialeval.dialogues import Passage, Turn, iterate, to_passages
from dialeval.protocols.evaluation import align
from dialeval.protocols.evaluation.crossfit import crossfit
from dialeval.protocols.evaluation.evaluators import FitContext, fit_function
from dialeval.protocols.evaluation.folds import scenario_folds
from dialeval.protocols.evaluation.twosample import swap_test, two_sample_test
from dialeval.scorers import Decision


def scored(human, machine, dialogue) -> pa.Table:
    """An evaluator's scores of both sides of each pair."""
    pairs = len(dialogue)
    scores = np.concatenate([human, machine]).astype(float)
    return pa.table(
        {
            "label": np.repeat([1, 0], pairs),
            "pair": np.tile(np.arange(pairs), 2),
            "score": scores,
            "predicted_human": scores >= 0.5,
            "dialogue_id": [f"d{number}" for number in (*dialogue, *dialogue)],
        }
    )


def by_enumeration(human, machine, dialogue) -> float:
    """The share of all ways to exchange the sides of whole dialogues that look as good."""
    human, machine, dialogue = map(np.asarray, (human, machine, dialogue))
    names = np.unique(dialogue)

    def decided(first, second):
        return (first > second).sum() - (first < second).sum()

    observed, outcomes = decided(human, machine), []
    for swaps in product((False, True), repeat=len(names)):
        swapped = np.isin(dialogue, names[np.array(swaps)])
        first = np.where(swapped, machine, human)
        second = np.where(swapped, human, machine)
        outcomes.append(decided(first, second) >= observed)
    return float(np.mean(outcomes))


@pytest.mark.parametrize("seed", range(12))
def test_p_is_the_share_of_exchanges_that_look_as_good(seed):
    rng = np.random.default_rng(seed)
    dialogue = rng.integers(0, 7, size=14)
    human, machine = rng.integers(2, 9, 14) / 10, rng.integers(0, 7, 14) / 10  # with ties
    test = swap_test(scored(human, machine, dialogue), seed=0)
    assert test.p_value == pytest.approx(by_enumeration(human, machine, dialogue), abs=1e-12)
    assert test.accuracy == pytest.approx(((human >= 0.5).sum() + (machine < 0.5).sum()) / 28)
    wins = (human > machine).sum() + (human == machine).sum() / 2
    assert test.pairwise_accuracy == pytest.approx(wins / 14) and test.pairs == 14


def test_by_hand():
    # Correct on three pairs in three dialogues: one of eight ways is as good.
    right = [0.9, 0.8, 0.7], [0.2, 0.3, 0.6]
    assert swap_test(scored(*right, [0, 1, 2]), 0).p_value == pytest.approx(1 / 8)
    # The same in one dialogue: it is exchanged whole, so one of two.
    assert swap_test(scored(*right, [0, 0, 0]), 0).p_value == pytest.approx(1 / 2)
    # All above the threshold, and still every pair is decided correctly.
    high = scored([0.9, 0.8, 0.7], [0.6, 0.6, 0.6], [0, 1, 2])
    assert swap_test(high, 0).p_value == pytest.approx(1 / 8)
    assert swap_test(high, 0).accuracy == 0.5 and swap_test(high, 0).pairwise_accuracy == 1.0
    # An evaluator that gives everything one score has learnt nothing.
    assert swap_test(scored([1, 1, 1], [1, 1, 1], [0, 1, 2]), 0).p_value == 1.0


def test_pairs_are_found_by_their_number_in_any_order():
    table = scored([0.9, 0.1, 0.7], [0.2, 0.3, 0.6], [0, 1, 2])
    shuffled = table.take([5, 0, 4, 2, 1, 3])
    assert swap_test(shuffled, 0) == swap_test(table, 0)


def simulated(rng, accuracy: float, pairs: int = 200) -> pa.Table:
    """Scores of a fixed evaluator that decides this share of the pairs correctly."""
    correct = rng.random(pairs) < accuracy
    return scored(np.where(correct, 0.6, 0.4), np.full(pairs, 0.5), np.arange(pairs))


def test_p_is_uniform_for_a_fixed_evaluator_when_there_is_no_difference():
    rng = np.random.default_rng(0)
    p = np.array([swap_test(simulated(rng, 0.5), 0).p_value for _ in range(1_500)])
    for level in (0.01, 0.05, 0.1, 0.25, 0.5):
        error = np.sqrt(level * (1 - level) / len(p))
        assert (p <= level).mean() <= level + 3 * error
        # Sums are whole numbers, so p moves in steps of at most .08; it wastes no more than that.
        assert (p <= level + 0.08).mean() >= level - 3 * error


def test_the_minimum_is_found_in_four_of_five_cases():
    rng = np.random.default_rng(1)
    minimum = swap_test(simulated(rng, 0.5), 0).minimum
    # Sums of signs lie on a lattice, so the exact test needs half a step more: 1 of 2 * 200.
    assert minimum == pytest.approx(0.5 + 2.486 / (2 * np.sqrt(200)) + 1 / 400, abs=1e-4)
    power = np.mean([swap_test(simulated(rng, minimum), 0).p_value < 0.05 for _ in range(1_000)])
    assert power == pytest.approx(0.8, abs=0.06)
    assert swap_test(scored([1, 1], [0, 0], [0, 1]), 0).minimum == 1.0  # never above certainty


# The whole protocol, with an evaluator that is fitted again each time.


def invented(contexts: int, seed: int):
    """Humans and a system that draw their replies from one distribution."""
    rng = random.Random(seed)
    words = [f"w{number}" for number in range(30)]

    def reply() -> str:
        return " ".join(rng.choices(words, k=rng.randint(1, 12)))

    people = [
        Passage((Turn("A", reply()),), reply(), id=f"c{row}", dialogue_id=f"d{row}")
        for row in range(contexts)
    ]
    bot = [passage.with_response(reply(), "bot") for passage in people]
    return align(to_passages(people), {"bot": to_passages(bot)})


def test_the_evaluator_learns_on_one_half_and_is_tested_on_the_other():
    data = invented(40, 0)
    halves = scenario_folds("human_machine", data.human, data.systems["bot"], 2, 0)
    learnt, scored = [], []

    def fit(pairs, seed, fit_context):
        learnt.append({passage.dialogue_id for passage in iterate(pairs)})

        def score(passages):
            scored.append({passage.dialogue_id for passage in iterate(passages)})
            return np.full(len(passages), 0.7)

        attributes = {"name": "spy", "higher_is_human": True, "decision": Decision()}
        return type("Spy", (SimpleNamespace,), {"__call__": lambda _, passages: score(passages)})(
            **attributes
        )

    test = two_sample_test(fit, halves, 0, FitContext())
    assert len(learnt) == len(scored) == 1
    assert not learnt[0] & scored[0] and len(learnt[0] | scored[0]) == 40
    assert (test.p_value, test.accuracy, test.pairs) == (1.0, 0.5, 20)


@pytest.mark.slow
def test_the_whole_protocol_rejects_at_most_5_percent_when_there_is_no_difference():
    repetitions, rejected, pooled = 300, 0, 0
    for seed in range(repetitions):
        data = invented(200, seed)
        sides = ("human_machine", data.human, data.systems["bot"])
        fit_context, fit = FitContext(), fit_function("length")
        halves = scenario_folds(*sides, 2, seed)
        rejected += two_sample_test(fit, halves, seed, fit_context).p_value < 0.05
        folds = scenario_folds(*sides, 5, seed)
        table = crossfit(fit, folds, seed, fit_context)
        pooled += swap_test(table, seed).p_value < 0.05
    rates = rejected / repetitions, pooled / repetitions
    print(f"rejected: {rates[0]:.3f} on a held-out half, {rates[1]:.3f} on pooled predictions")
    assert rates[0] <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / repetitions)
