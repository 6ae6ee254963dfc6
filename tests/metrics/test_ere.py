"""The reliability error, by hand and against simulated evaluators."""

import numpy as np
import pytest

from dialeval.metrics import adversuc, ere, wilson

NAMES = ("human_human", "machine_machine", "human_random", "human_next")


def scored(*wrong: int, of: int = 100):
    """Scores with this many mistakes per scenario, half of them in either class."""
    scores, labels, scenarios = [], [], []
    for name, mistakes in zip(NAMES, wrong, strict=True):
        for label, count in ((1, mistakes - mistakes // 2), (0, mistakes // 2)):
            good, bad = (0.9, 0.1) if label else (0.1, 0.9)
            scores += [bad] * count + [good] * (of // 2 - count)
            labels += [label] * (of // 2)
        scenarios += [name] * of
    return scores, labels, scenarios


def test_by_hand():
    result = ere(*scored(40, 54, 20, 30))
    assert result["ere"] == pytest.approx((0.10 + 0.04 + 0.20 + 0.30) / 4)
    parts = result["scenarios"]
    assert [parts[name]["gold"] for name in NAMES] == [0.5, 0.5, 0, 0]
    assert [parts[name]["adversuc"] for name in NAMES] == pytest.approx([0.4, 0.54, 0.2, 0.3])
    assert [parts[name]["deviation"] for name in NAMES] == pytest.approx([-0.1, 0.04, 0.2, 0.3])
    assert [parts[name]["n"] for name in NAMES] == [100] * 4
    following = parts["human_next"]
    assert (following["low"], following["high"]) == pytest.approx(wilson(30, 100), abs=2e-3)
    assert result["n"] == 400


def test_another_gold_standard_counts_in_the_value_and_in_its_interval():
    gold = {"human_human": 0.5, "human_random": 0.1}  # one in ten random replies fits by chance
    result = ere(*scored(40, 50, 20, 50), gold=gold, resamples=2_000)
    assert result["ere"] == pytest.approx((0.10 + 0.10) / 2)
    assert result["low"] < result["ere"] < result["high"]
    assert result["random_guess"] == pytest.approx((0 + 0.4) / 2)
    assert result["scenarios"]["human_random"]["deviation"] == pytest.approx(0.2 - 0.1)
    assert result["scenarios"]["human_random"]["gold"] == 0.1


def test_deviations_do_not_cancel():
    assert ere(*scored(40, 60, 0, 0))["ere"] == pytest.approx(0.05)


@pytest.mark.parametrize("error", [0.232, 0.209, 0.193, 0.152])
def test_an_error_of_the_paper_and_what_it_takes(error):
    # Table 2 prints the errors only. An evaluator that is perfect where classes are drawn alike
    # must miss twice the error in each of the other two scenarios (Li et al., 2017, Table 2).
    missed = round(2 * error * 1000)
    result = ere(*scored(500, 500, missed, missed, of=1000), resamples=200)
    assert result["ere"] == pytest.approx(error)
    assert result["ere"] < result["random_guess"]
    assert result["low"] <= error <= result["high"]


@pytest.mark.parametrize("score", [0.9, 0.1])
def test_a_constant_evaluator_gets_what_guessing_gets(score):
    # The useless evaluators of Li et al. (2017, sec. 4.2): half of every scenario is missed.
    _, labels, scenarios = scored(0, 0, 0, 0)
    result = ere([score] * 400, labels, scenarios)
    assert result["ere"] == result["random_guess"] == 0.25
    assert {part["adversuc"] for part in result["scenarios"].values()} == {0.5}


def test_scenarios_have_the_same_weight_whatever_their_size():
    small, large = scored(5, 5, 10, 0, of=10), scored(0, 0, 0, 0, of=1000)
    keep = [name == "human_next" for name in large[2]]
    parts = [
        [*(v for v, s in zip(a, small[2], strict=True) if s != "human_next"),
         *(v for v, k in zip(b, keep, strict=True) if k)]
        for a, b in zip(small, large, strict=True)
    ]  # fmt: skip
    assert ere(*parts, resamples=50)["ere"] == pytest.approx((0 + 0 + 1 + 0) / 4)


def test_the_noise_floor_is_the_error_of_a_perfect_evaluator():
    rng, errors = np.random.default_rng(0), []
    labels, scenarios = np.tile([1, 0], 400), np.repeat(NAMES, 200)
    for _ in range(400):
        scores = np.where(np.isin(scenarios, NAMES[:2]), rng.random(800), labels)
        result = ere(scores, labels, scenarios, resamples=1)
        errors.append(result["ere"])
    assert result["noise_floor"] == pytest.approx(np.mean(errors), rel=0.08)
    assert result["noise_floor"] == pytest.approx(2 * 0.39894 / np.sqrt(200) / 4, rel=1e-4)
    floors = [result["scenarios"][name]["noise_floor"] for name in NAMES]
    assert floors == pytest.approx([0.39894 / np.sqrt(200)] * 2 + [0, 0], rel=1e-4)


def test_the_interval_covers_the_truth():
    rng, covered, rounds = np.random.default_rng(2), 0, 150
    labels, scenarios = np.tile([1, 0], 400), np.repeat(NAMES, 200)
    chance = np.repeat([0.3, 0.4, 0.3, 0.2], 200)  # of a mistake; all far from gold
    for number in range(rounds):
        scores = np.where(rng.random(800) < chance, 1 - labels, labels)
        result = ere(scores, labels, scenarios, resamples=300, seed=number)
        covered += result["low"] <= (0.2 + 0.1 + 0.3 + 0.2) / 4 <= result["high"]
    assert 0.89 <= covered / rounds <= 0.99


def test_dialogues_widen_the_interval():
    scores, labels, scenarios = scored(30, 40, 20, 30)
    # Four responses in a row belong to one dialogue, and mistakes are adjacent in `scored`.
    groups = [number // 4 for number in range(400)]
    alone, together = (ere(scores, labels, scenarios, groups=units) for units in (None, groups))
    assert together["high"] - together["low"] > 1.3 * (alone["high"] - alone["low"])
    assert together["ere"] == alone["ere"]


def test_one_dialogue_gives_no_interval():
    result = ere(*scored(40, 40, 10, 10), groups=[0] * 400)
    assert np.isnan([result["low"], result["high"]]).all()


def test_each_scenario_is_an_adversarial_success():
    rng = np.random.default_rng(3)
    scores, scenarios = rng.random(400), np.tile(NAMES, 100)
    labels = rng.integers(2, size=400)  # classes of unequal size
    result = ere(scores, labels, scenarios, threshold=0.4, higher_is_human=False, resamples=50)
    for name in NAMES:
        rows = scenarios == name
        expected = adversuc(
            scores[rows], labels[rows], threshold=0.4, higher_is_human=False, resamples=50
        )
        part = result["scenarios"][name]
        assert part["adversuc"] == pytest.approx(expected["adversuc"])
        assert (part["low"], part["high"]) == pytest.approx((expected["low"], expected["high"]))


def test_a_missing_scenario_is_named():
    scores, labels, scenarios = scored(1, 1, 1, 1)
    rest = [row for row in zip(scores, labels, scenarios, strict=True) if row[2] != "human_next"]
    with pytest.raises(ValueError, match="no response of human_next. Score that scenario too"):
        ere(*zip(*rest, strict=True))
    with pytest.raises(ValueError, match="Unknown scenario 'human_last'. Choose from human_human"):
        ere(scores, labels, [*scenarios[:-1], "human_last"])


def test_bad_input_says_where():
    scores, labels, scenarios = scored(0, 0, 0, 0, of=2)
    with pytest.raises(ValueError, match="In scenario human_random: .* all 2 responses are pos"):
        ere(scores, [1, 0, 1, 0, 1, 1, 1, 0], scenarios)
    with pytest.raises(ValueError, match="got 7 labels and 8 scenarios"):
        ere(scores, labels[:-1], scenarios)
    with pytest.raises(ValueError, match="1 of 8 scores are not finite"):
        ere([np.nan, *scores[1:]], labels, scenarios)
