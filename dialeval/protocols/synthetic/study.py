"""Trials in a known world: what an evaluation measures there, beside what is true."""

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.evaluators import FitContext
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.planted import power_of
from dialeval.protocols.evaluation.study import Study
from dialeval.protocols.evaluation.tables import ScoreTables
from dialeval.protocols.evaluation.verdict import ALPHA
from dialeval.protocols.synthetic.worlds import MACHINE, ON_TOPIC, World
from dialeval.settings.evaluation import EvaluationRun


@dataclass(frozen=True)
class Trial:
    """One evaluator on one drawn corpus.

    Args:
        kind, distance (`str`, `float`):
            The world.
        contexts, seed (`int`):
            Size of the corpus, and its seed.
        evaluator (`str`):
            Name of the evaluator.
        best (`float`):
            The best accuracy that is possible in this world.
        accuracy, low, high (`float`):
            Accuracy of cross-fitting, 1 - AdverSuc, with its interval of 95 %.
        p_value (`float`):
            Of the test on a held-out half.
    """

    kind: str
    distance: float
    contexts: int
    seed: int
    evaluator: str
    best: float
    accuracy: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class Planted:
    """What the check by planted replies promises, and what then happens.

    Args:
        share (`float`):
            Share of human replies that random ones replace.
        contexts, seed (`int`):
            Size of the corpora, and their seed.
        evaluator (`str`):
            Name of the evaluator.
        promised (`float`):
            Power of the test by the check, on humans alone.
        p_value (`float`):
            Of the test on another corpus, of a system that differs by exactly this share.
    """

    share: float
    contexts: int
    seed: int
    evaluator: str
    promised: float
    p_value: float


def run_trial(world: World, contexts: int, seed: int, evaluators: Sequence[str]) -> list[Trial]:
    """Draw a corpus, and evaluate the machine with the code of `dialeval evaluate`.

    Args:
        world (`World`):
            Where both sides come from.
        contexts (`int`):
            Contexts of the corpus.
        seed (`int`):
            Seed of the corpus, the folds and the evaluators.
        evaluators (`Sequence[str]`):
            Names of evaluators.

    Returns:
        `list[Trial]`: One per evaluator.
    """
    trials = []
    with _tables(world.sample(contexts, seed), seed, evaluators) as tables:
        for name in evaluators:
            table = tables.table(name, MACHINE, "human_machine")
            low, high = measures.accuracy_bounds(table, seed, 1 - ALPHA)
            test = tables.two_sample_test(name, MACHINE, "human_machine")
            numbers = (world.accuracy, measures.accuracy(table), low, high, test.p_value)
            trials.append(Trial(world.kind, world.distance, contexts, seed, name, *numbers))
    return trials


def planted_trial(
    share: float, contexts: int, seed: int, evaluators: Sequence[str]
) -> list[Planted]:
    """Ask the check for its power on human replies, and then evaluate such a system.

    Args:
        share (`float`):
            Share of replies that are replaced by random ones.
        contexts (`int`):
            Contexts of both corpora.
        seed (`int`):
            Seed of both corpora, the folds and the evaluators.
        evaluators (`Sequence[str]`):
            Names of evaluators that read contexts.

    Returns:
        `list[Planted]`: One per evaluator.
    """
    humans, system = World("topic", 0.0), planted_world(share)
    with _tables(humans.sample(contexts, seed), seed, evaluators) as tables:
        scenario = ("", "human_random")
        promised = {name: power_of(tables, name, *scenario, share, ALPHA) for name in evaluators}
    with _tables(system.sample(contexts, seed + 1_000_000), seed, evaluators) as tables:
        tests = {
            name: tables.two_sample_test(name, MACHINE, "human_machine") for name in evaluators
        }
    return [
        Planted(share, contexts, seed, name, promised[name], tests[name].p_value)
        for name in evaluators
    ]


def planted_world(share: float) -> World:
    """The world of a system that gives another context's human reply in a share of cases.

    Such a reply is on the topic by chance alone, so the system stays on it with a probability of
    (1 - share) * ON_TOPIC + share / topics.

    Examples:
        >>> round(planted_world(0.2).distance, 3)  # .2 * (.9 - 1 / 8)
        0.155
    """
    topics = World("topic", 0.0).topics
    return World("topic", share * (ON_TOPIC - 1 / topics))


@contextmanager
def _tables(data: EvaluationData, seed: int, evaluators: Sequence[str]) -> Iterator[ScoreTables]:
    """The tables of a run that measures nothing but AdverSuc and its test."""
    with tempfile.TemporaryDirectory() as folder:
        run = EvaluationRun(
            list(evaluators), seeds=1, curve=(), length_matched=False, twins=False,
            normalise="off", seed=seed, output_dir=folder,
        )  # fmt: skip
        yield Study(data, run, FitContext(embed=CachedEmbedder())).tables
