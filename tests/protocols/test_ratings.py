"""Agreement of evaluators with people over systems."""

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import spearmanr

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.protocols.ratings import rank_agreement, ratings_of


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    rows = []
    for number, system in enumerate("abcd"):
        for key in range(60):
            for label in (1, 0):
                predicted = bool(rng.random() < (0.9 if label else 0.2 * (number + 1)))
                rows.append({"evaluator": "judge", "system": system, "scenario": "human_machine",
                             "id": str(key), "label": label,
                             "predicted_human": predicted})  # fmt: skip
    return pa.Table.from_pylist(rows)


def rated(values):
    return {name: {str(key): value + 0.01 * (key % 3) for key in range(60)}
            for name, value in values.items()}  # fmt: skip


def test_agreement_is_spearmans_of_the_means(scores):
    agreement = rank_agreement(scores, rated({"a": 1.0, "b": 3.0, "c": 2.0, "d": 4.0}), "judge")
    names = list("abcd")
    expected = spearmanr(
        [agreement.adversuc[n] for n in names], [agreement.rating[n] for n in names]
    )
    assert agreement.spearman == pytest.approx(expected.statistic)
    assert agreement.low <= agreement.spearman <= agreement.high
    assert (agreement.systems, agreement.n) == (4, 60)


def test_systems_can_be_left_out(scores):
    ratings = rated({"a": 4.0, "b": 2.0, "c": 3.0, "d": 3.5})
    whole = rank_agreement(scores, ratings, "judge")
    part = rank_agreement(scores, ratings, "judge", without=["a"])
    assert part.systems == 3
    assert part.spearman > whole.spearman


def test_too_few_rated_systems_say_so(scores):
    with pytest.raises(BadInput, match="needs 3 rated systems"):
        rank_agreement(scores, rated({"a": 1.0, "b": 2.0}), "judge")


def test_ratings_are_read_from_the_passages():
    made = [
        Passage((Turn("A", "hi"),), "yo", "bot", id=str(n), extra={"rating": n}) for n in (1, 2)
    ]
    made.append(Passage((Turn("A", "hi"),), "hm", "bot", id="3"))
    assert ratings_of({"bot": to_passages(made)}) == {"bot": {"1": 1.0, "2": 2.0}}
