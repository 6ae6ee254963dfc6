"""People and discriminators on the same items, in the layout of Bruni and Fernández's tables."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dialeval.judgements import Detection, Judgement, detection
from dialeval.judgements.agreement import agreement, count_table, fleiss_pi, majority_answers
from dialeval.judgements.items import order_key
from dialeval.judgements.resampling import codes_of
from dialeval.metrics.intervals import interval
from dialeval.metrics.judgement_results import MAJORITY, PEOPLE
from dialeval.metrics.results import Result
from dialeval.protocols.people.scores import MetricScores

REAL, FAKE = "real", "fake"


def negatives(judgements: Sequence[Judgement]) -> list[str]:
    """Who wrote the replies that are not the real ones: `random` first, then the systems."""
    names = {row.system for row in judgements if row.task == "real" and row.truth == FAKE}
    return sorted(names, key=lambda name: (name != "random", name))


def table_of(judgements: Sequence[Judgement], negative: str) -> list[Judgement]:
    """Judgements about one kind of negative and about as many real items.

    Chance is .5 only if both are equally many: of the more frequent ones some are drawn, by a hash
    of their ids, so that every evaluator meets the same ones. There are none without real items.
    """
    rows = [row for row in judgements if row.task == "real"]
    fake = {row.item for row in rows if row.system == negative and row.truth == FAKE}
    real = {row.item for row in rows if row.truth == REAL}
    count = min(len(fake), len(real))
    kept = {item for side in (fake, real) for item in sorted(side, key=order_key)[:count]}
    return [row for row in rows if row.item in kept]


def real_or_not(
    judgements: Sequence[Judgement],
    metrics: Sequence[MetricScores],
    resamples: int,
    seed: int,
    signature: str,
) -> Iterator[Result]:
    """Accuracy and scores of each class for people, their majority, and each discriminator.

    Args:
        judgements (`Sequence[Judgement]`):
            Answers to the task `real`.
        metrics (`Sequence[MetricScores]`):
            Discriminators that scored the same items.
        resamples, seed (`int`):
            Of the bootstrap over items.
        signature (`str`):
            How the numbers were computed.

    Yields:
        `Result`: Metric `detection`; system is who wrote the negatives.
    """
    for negative in negatives(judgements):
        rows = table_of(judgements, negative)
        if not rows:
            continue
        people = detection(
            [row.truth for row in rows],
            [str(row.answer) for row in rows],
            [row.item for row in rows],
            resamples=resamples,
            seed=seed,
        )
        pi = _agreement_details(rows, resamples, seed)
        yield _result(PEOPLE, negative, people, signature, pi)
        majority = majority_answers([row.answer for row in rows], [row.item for row in rows])
        first = {row.item: row for row in rows}
        decided = {
            str(item): str(answer) for item, answer in majority.items() if answer is not None
        }
        if decided:
            yield _of_decisions(MAJORITY, negative, first, decided, resamples, seed, signature, {})
        for metric in metrics:
            if metric.threshold is None or metric.negative not in (None, negative):
                continue
            predictions = _predictions(metric, first)
            if predictions:
                details = _against_majority(predictions, decided)
                yield _of_decisions(
                    metric.name, negative, first, predictions, resamples, seed, signature, details
                )


def which_is_human(
    judgements: Sequence[Judgement], resamples: int, seed: int, signature: str
) -> Iterator[Result]:
    """How often people find the human reply of a pair, by system.

    Args:
        judgements (`Sequence[Judgement]`):
            Answers to the task `human`.
        resamples, seed (`int`):
            Of the bootstrap over items.
        signature (`str`):
            How the numbers were computed.

    Yields:
        `Result`: Metric `detection` with evaluator `people`; .5 is chance, and a tie counts half.
    """
    rows = [row for row in judgements if row.task == "human"]
    for system in sorted({row.system for row in rows}):
        chosen = [row for row in rows if row.system == system]
        credits = np.array([_RECOGNISED.get(row.answer, 0.5) for row in chosen])
        unit, items = codes_of([row.item for row in chosen])
        value = float(credits.mean())
        low, high = interval(credits, unit, resamples=resamples, seed=seed)
        details = {"n_items": len(items), "pairs": True}
        details |= _agreement_details(chosen, resamples, seed)
        yield Result("detection", system, PEOPLE, value, low, high, len(chosen), signature, details)


_RECOGNISED: dict[str | float, float] = {"win": 0.0, "lose": 1.0}
"""By the outcome for the system, whether the human was recognised; a tie is a guess."""


def _of_decisions(
    name: str,
    negative: str,
    first: dict[str, Judgement],
    decisions: dict[str, str],
    resamples: int,
    seed: int,
    signature: str,
    details: dict[str, Any],
) -> Result:
    items = [item for item in first if item in decisions]
    result = detection(
        [first[item].truth for item in items],
        [decisions[item] for item in items],
        items,
        resamples=resamples,
        seed=seed,
    )
    return _result(name, negative, result, signature, details)


def _predictions(metric: MetricScores, first: dict[str, Judgement]) -> dict[str, str]:
    scores = {item: metric.of(row) for item, row in first.items()}
    return {
        item: REAL if metric.predicts_human(score) else FAKE
        for item, score in scores.items()
        if score is not None
    }


def _against_majority(predictions: dict[str, str], decided: dict[str, str]) -> dict[str, Any]:
    """Fleiss' pi of a discriminator and the majority of the annotators."""
    common = [item for item in decided if item in predictions]
    if not common:
        return {}
    answers = [decided[item] for item in common] + [predictions[item] for item in common]
    counts, categories = count_table(answers, common * 2)
    pi = fleiss_pi(counts) if len(categories) > 1 else None
    return {"fleiss_pi": pi, "n_common": len(common)}


def _agreement_details(rows: Sequence[Judgement], resamples: int, seed: int) -> dict[str, Any]:
    try:
        numbers = agreement(
            [row.answer for row in rows], [row.item for row in rows], resamples=resamples, seed=seed
        )
    except ValueError:  # one answer per item
        return {}
    return {
        "fleiss_pi": numbers["fleiss_pi"],
        "fleiss_pi_low": numbers["fleiss_pi_low"],
        "fleiss_pi_high": numbers["fleiss_pi_high"],
    }


def _result(
    evaluator: str, negative: str, scores: Detection, signature: str, details: dict[str, Any]
) -> Result:
    classes = {name: asdict(row) for name, row in scores.classes.items()}
    return Result(
        "detection", negative, evaluator, scores.accuracy, scores.low, scores.high, scores.n,
        signature, {"classes": classes, "n_items": scores.n_items, **details},
    )  # fmt: skip
