"""Scores of broken discriminators are noticed."""

import logging

import numpy as np
import pytest

from dialeval.dialogues import BadInput
from dialeval.scorers.checks import check_direction, check_varies


def test_a_score_that_never_varies_is_refused():
    with pytest.raises(BadInput, match="'rpt' gave the same score to.*load_dialogrpt"):
        check_varies([0.4, 0.4, 0.4], "rpt")
    with pytest.raises(BadInput, match="each response to a context"):
        check_varies([0.4, 0.4, 0.6, 0.6, 0.1], "rpt", contexts=["a", "a", "b", "b", "c"])
    check_varies([0.4, 0.4, 0.41], "rpt")
    check_varies([0.4, 0.4, 0.6, 0.7], "rpt", contexts=["a", "a", "b", "b"])
    check_varies([0.4], "rpt")
    check_varies([0.4, 0.4], "rpt", contexts=["a", "b"])


def test_swapped_labels_are_noticed(caplog):
    rng = np.random.default_rng(0)
    human = np.arange(200) % 2 == 0
    scores = rng.normal(human * 1.0)
    with caplog.at_level(logging.WARNING):
        assert check_direction(scores, human, "good")
        assert check_direction(rng.normal(size=200), human, "coin")
        assert check_direction(scores, np.ones(200, bool), "humans only")
    assert not caplog.messages
    assert not check_direction(scores, ~human, "bad")
    assert "bad scores machines above humans" in caplog.text
