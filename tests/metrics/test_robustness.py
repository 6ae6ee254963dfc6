"""Over-stability and over-sensitivity, by hand and through the intervals."""

import numpy as np
import pytest

from dialeval.metrics import interval, ratio_interval, robustness, wilson

NORMAL = [0.9, 0.8, 0.2, 0.6, 0.7, 0.5]
PERTURBED = [0.1, 0.9, 0.4, 0.4, 0.7, 0.4]
SHOULD_CHANGE = [1, 1, 1, 0, 0, 0]


def test_by_hand():
    result = robustness(NORMAL, PERTURBED, SHOULD_CHANGE)
    assert result["over_stability"] == pytest.approx(2 / 3)  # only the first decision changed
    assert result["over_sensitivity"] == pytest.approx(2 / 3)  # .5 is human still, .4 is not
    assert result["should_change"]["decisions_changed"] == pytest.approx(1 / 3)
    assert result["should_not_change"]["decisions_changed"] == pytest.approx(2 / 3)
    assert result["all"]["decisions_changed"] == pytest.approx(3 / 6)
    assert result["should_change"]["score_change"] == pytest.approx((-0.8 + 0.1 + 0.2) / 3)
    assert result["should_not_change"]["score_change"] == pytest.approx(-0.1)
    assert [result[name]["n"] for name in ("all", "should_change", "should_not_change")] == [
        6,
        3,
        3,
    ]


def test_shares_have_intervals():
    result = robustness(NORMAL, PERTURBED, SHOULD_CHANGE)
    assert (result["over_stability_low"], result["over_stability_high"]) == interval([1, 0, 1])
    part = result["should_change"]
    assert (part["decisions_changed_low"], part["decisions_changed_high"]) == interval([0, 1, 0])
    score_changes = np.subtract(PERTURBED, NORMAL)[:3]
    assert (part["score_change_low"], part["score_change_high"]) == ratio_interval(
        score_changes, np.ones(3)
    )


def test_dialogues_are_the_units():
    rng = np.random.default_rng(0)
    normal, groups = rng.random(200), np.repeat(np.arange(40), 5)
    perturbed = np.where(rng.random(40).repeat(5) < 0.3, 1 - normal, normal)  # all or none of one
    alone, together = (
        robustness(normal, perturbed, True, groups=units) for units in (None, groups)
    )
    assert together["over_stability"] == alone["over_stability"]
    widths = [
        result["over_stability_high"] - result["over_stability_low"] for result in (alone, together)
    ]
    assert widths[1] > 1.7 * widths[0]
    stays = (normal >= 0.5) == (perturbed >= 0.5)
    expected = interval(stays, groups)
    assert (together["over_stability_low"], together["over_stability_high"]) == expected


def test_one_kind_of_perturbation_leaves_the_other_empty():
    result = robustness(NORMAL, PERTURBED, should_change=True)
    assert result["over_sensitivity"] is None
    assert result["over_sensitivity_low"] is None
    assert result["should_not_change"]["n"] == 0
    assert result["should_not_change"]["score_change"] is None
    assert result["over_stability"] == pytest.approx(3 / 6)
    assert robustness(NORMAL, PERTURBED, False)["over_stability"] is None


def test_an_evaluator_that_ignores_the_context():
    result = robustness(NORMAL, NORMAL, SHOULD_CHANGE)
    assert (result["over_stability"], result["over_sensitivity"]) == (1, 0)
    assert result["over_stability_low"] == pytest.approx(wilson(3, 3)[0])
    part = result["all"]
    assert (part["score_change_low"], part["score_change_high"]) == (0, 0)


def test_lower_scores_may_be_human():
    up = robustness(NORMAL, PERTURBED, SHOULD_CHANGE)
    flipped = [[-score for score in scores] for scores in (NORMAL, PERTURBED)]
    down = robustness(*flipped, SHOULD_CHANGE, threshold=-0.5, higher_is_human=False)
    assert down["over_stability"] == up["over_stability"]
    assert down["all"]["score_change"] == pytest.approx(-up["all"]["score_change"])


def test_bad_input_says_what_to_do():
    with pytest.raises(ValueError, match="1 scores in the perturbed context for 2 responses"):
        robustness([0.1, 0.2], [0.1], True)
    with pytest.raises(ValueError, match="marks in `should_change` for 2 responses"):
        robustness([0.1, 0.2], [0.1, 0.2], [1, 0, 1])
    with pytest.raises(ValueError, match="1 of 2 scores in the normal context are not finite"):
        robustness([0.1, np.nan], [0.1, 0.2], True)
