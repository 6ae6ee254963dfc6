"""What an audit says where nothing was planted: groups of people, and bounds from one sample."""

from types import SimpleNamespace

import numpy as np
import pytest

from dialeval.metrics.audit_results import AT_MOST, UNLIKE
from dialeval.metrics.results import Result
from dialeval.protocols.audit.bounds import bound_of, half_of, ranks_of
from dialeval.protocols.audit.groups import _p_values, _shapes
from dialeval.protocols.audit.scoring import _auroc
from dialeval.protocols.audit.wording import result_text


def scores_of(rng, dialogues, replies):
    """Scores of replies that are alike within a dialogue."""
    shared = rng.normal(0, 0.3, dialogues).repeat(replies)
    return shared + rng.normal(size=dialogues * replies)


@pytest.mark.parametrize(("known", "given"), [(1, 1), (10, 10), (10, 1), (10, 3)])
def test_people_with_fewer_replies_than_the_reference_do_not_stand_out(known, given):
    rng = np.random.default_rng(0)
    p_values = []
    for _ in range(20):
        reference = SimpleNamespace(dialogue_numbers=np.arange(150).repeat(known))
        means = np.array([scores_of(rng, 5, given).mean() for _ in range(30)])
        shape = np.tile([5, given], (30, 1))
        values = scores_of(rng, 150, known)
        p_values.append(_p_values(means, shape, values, reference, None, 0))
    share = (np.concatenate(p_values) < 0.05).mean()
    assert 0.01 < share < 0.09  # 600 p-values of groups that do not differ


def test_a_long_and_short_dialogues_count_as_fewer_equal_ones():
    data = SimpleNamespace(dialogue_numbers=np.repeat(np.arange(5), [9, 1, 2, 2, 2]))
    member = np.repeat([0, 1], [10, 6])
    assert _shapes(data, member).tolist() == [[1, 10], [3, 2]]


@pytest.mark.parametrize(("known", "data"), [(60, 60), (200, 1_000)])
def test_data_that_are_all_like_the_reference_are_not_said_to_be_unlike_it(known, data):
    rng = np.random.default_rng(1)
    below = 0
    for seed in range(200):
        scores = rng.normal(size=known), rng.normal(size=data)
        units = np.arange(known), np.arange(data)
        split = half_of(units[0], seed), half_of(units[1], seed)
        ranks = ranks_of(scores, split)
        below += bound_of(ranks, units, split, 300, 0.95, seed).high < 1
    assert below <= 12  # 5 of 200 on average


def test_a_bound_is_rounded_so_that_it_stays_one():
    result = Result("", "data", "svm", 0.2, 0.1277, 0.3012, 90, "", {"dialogues": 30})
    assert result_text(UNLIKE, result, 0.95).startswith("At least 12.7% of the 90 replies")
    assert result_text(AT_MOST, result, 0.95).startswith("At most 30.2% of the 90 replies")


def test_scores_that_all_mean_the_opposite_have_an_auroc_of_zero():
    assert _auroc(np.array([3.0, 4.0]), np.array([1.0, 2.0])) == 0.0
