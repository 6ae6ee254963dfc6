"""The world with known truth: best accuracies by hand and by simulation, trials and rates."""

import math
from itertools import pairwise

import numpy as np
import pytest

from dialeval.dialogues import iterate
from dialeval.errors import BadInput
from dialeval.protocols.synthetic import Planted, Trial, World, planted_rates, run_trial, summarise
from dialeval.protocols.synthetic.study import planted_world
from dialeval.protocols.synthetic.summary import ALL


def test_best_accuracy_by_hand():
    # Two words with p = .7 and .3: human if both are of the first style (.49 to .09), a coin for
    # one of each (.42 to .42): .5 * (.49 + .42 + .49).
    world = World("words", 0.4, shortest=2, longest=2)
    assert world.accuracy == pytest.approx(0.5 * (0.49 + 0.42 + 0.49))
    # Pairs: a higher count wins; P(H > M) + P(H = M) / 2 with counts .09 .42 .49 and .49 .42 .09.
    wins = 0.49 * (0.49 + 0.42) + 0.42 * 0.49
    ties = 0.09 * 0.49 + 0.42 * 0.42 + 0.49 * 0.09
    assert world.pairwise_accuracy == pytest.approx(wins + ties / 2)
    # Three words have two transitions, so the order world is the words world of two.
    assert World("order", 0.4, shortest=3, longest=3).accuracy == pytest.approx(world.accuracy)
    # On the topic in 90 and 50 % of cases: .5 * (.9 + .5).
    assert World("topic", 0.4).accuracy == pytest.approx(0.7)
    assert World("topic", 0.4).pairwise_accuracy == pytest.approx(0.7)


def test_a_mixture_of_lengths_is_the_mean_over_lengths():
    both = World("words", 0.3, shortest=4, longest=5).accuracy
    single = [World("words", 0.3, shortest=n, longest=n).accuracy for n in (4, 5)]
    assert both == pytest.approx(sum(single) / 2)


@pytest.mark.parametrize("kind", ["words", "order", "topic"])
def test_no_distance_is_chance_and_more_is_easier(kind):
    assert World(kind, 0.0).accuracy == pytest.approx(0.5)
    assert World(kind, 0.0).pairwise_accuracy == pytest.approx(0.5)
    accuracies = [World(kind, distance).accuracy for distance in (0.1, 0.3, 0.6)]
    assert accuracies == sorted(accuracies)
    assert accuracies[0] > 0.5


def sufficient_count(world: World, context: str, response: str) -> tuple[int, int]:
    """The length and the count, read from the text alone."""
    where = {
        word: (topic, style)
        for topic, styles in enumerate(world.vocabulary)
        for style, words in enumerate(styles)
        for word in words
    }
    topics, styles = zip(*(where[word] for word in response.split()), strict=True)
    assert len(set(topics)) == 1
    if world.kind == "words":
        return len(styles), styles.count(0)
    if world.kind == "order":
        return len(styles), sum(a == b for a, b in pairwise(styles))
    return len(styles), int(topics[0] == where[context.split()[0]][0])


@pytest.mark.parametrize(("kind", "distance"), [("words", 0.3), ("order", 0.5), ("topic", 0.5)])
def test_the_likelihood_ratio_reaches_the_best_accuracy_on_drawn_text(kind, distance):
    world, n = World(kind, distance), 3_000
    data = world.sample(n, seed=1)
    human, machine = world.probabilities

    def looks_human(passage) -> bool:
        length, count = sufficient_count(world, passage.context[0].text, passage.response)
        trials = world.trials(length)
        ratio = count * math.log(human / machine)
        ratio += (trials - count) * math.log((1 - human) / (1 - machine))
        return ratio > 0 or (ratio == 0 and sum(map(ord, passage.response)) % 2 == 0)

    hits = [looks_human(row) for row in iterate(data.human)]
    hits += [not looks_human(row) for row in iterate(data.systems["machine"])]
    error = math.sqrt(world.accuracy * (1 - world.accuracy) / (2 * n))
    assert np.mean(hits) == pytest.approx(world.accuracy, abs=4.5 * error)


def test_the_words_of_replies_are_equally_frequent_in_order_and_topic_worlds():
    for kind in ("order", "topic"):
        world = World(kind, 0.6)
        data = world.sample(2_000, seed=2)
        counts = []
        for side in (data.human, data.systems["machine"]):
            words = [word for text in side["response"] for word in text.split()]
            first = set(world.vocabulary[:, 0].ravel())
            counts.append(np.mean([word in first for word in words]))
        assert counts[0] == pytest.approx(counts[1], abs=0.04)


def test_planted_replies_are_on_the_topic_as_often_as_random_ones():
    world = planted_world(1.0)  # nothing but random replies: on the topic by chance
    assert world.probabilities[1] == pytest.approx(1 / world.topics)


def test_impossible_worlds_are_refused():
    with pytest.raises(BadInput, match="unknown world 'taste'"):
        World("taste", 0.1)
    with pytest.raises(BadInput, match="between 0 and 0.9"):
        World("topic", 0.95)


def test_a_trial_finds_a_large_difference_and_stays_below_the_truth():
    [trial] = run_trial(World("words", 0.6), 60, seed=0, evaluators=["svm-unigram"])
    assert trial.p_value < 0.01
    assert 0.7 < trial.accuracy < trial.best
    assert trial.low < trial.accuracy < trial.high
    [same] = run_trial(World("words", 0.0), 60, seed=0, evaluators=["svm-unigram"])
    assert same.p_value > 0.01


def make_trial(evaluator: str, seed: int, accuracy: float, p_value: float) -> Trial:
    return Trial("words", 0.2, 100, seed, evaluator, 0.7, accuracy, accuracy - 0.05, 0.9, p_value)


def test_rates_and_errors_of_trials():
    trials = [
        make_trial("a", 0, 0.6, 0.01), make_trial("a", 1, 0.64, 0.2),
        make_trial("b", 0, 0.7, 0.04), make_trial("b", 1, 0.8, 0.03),
    ]  # fmt: skip
    one, two, both = summarise(trials)
    assert (one.evaluator, two.evaluator, both.evaluator) == ("a", "b", ALL)
    assert one.error == pytest.approx(-0.08)
    assert one.spread == pytest.approx(0.04 / math.sqrt(2))
    assert one.rejected.value == 0.5
    assert two.rejected.value == 1.0
    assert two.above.value == 0.5  # .75 > .7, but .65 is not
    assert both.rejected.value == 0.5  # .02 for seed 0, .06 for seed 1


def test_calibration_of_planted_replies():
    trials = [Planted(0.2, 100, seed, "stack", promised, p) for seed, (promised, p) in
              enumerate([(0.8, 0.01), (0.6, 0.2)])]  # fmt: skip
    [row] = planted_rates(trials)
    assert row.promised == pytest.approx(0.7)
    assert (row.detected.value, row.detected.n) == (0.5, 2)
