"""Calibration of a judge on validation data: what it changes, what is stored, what it says."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from dialeval.dialogues import BadInput, Pairing, to_passages
from dialeval.scorers import is_human, load_scorer, save_scorer
from dialeval.scorers.calibration import calibrate
from tests.closeness import assert_close


@pytest.fixture
def validation(invented):
    """Invented pairs; labels follow the judge now and then, so that its margins are too sure."""
    passages = [
        replace(passage, id=str(number), dialogue_id=str(number), author=author)
        for number, passage in enumerate(invented(contexts=150, responses=1))
        for author in ("human", "bot")
    ]
    return Pairing()(to_passages(passages))


def noisy(scorer, validation):
    """The same passages, labelled by a coin that the judge's margin biases a little."""
    margins = scorer.margins(validation)
    rng = np.random.default_rng(0)
    labels = (rng.random(len(margins)) < 1 / (1 + np.exp(-margins / 3))).astype(int).tolist()
    return validation.remove_columns("label").add_column("label", labels)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_calibration_brings_probabilities_nearer_to_the_truth(tiny_scorer, validation, method):
    scorer = tiny_scorer()
    numbers = calibrate(scorer, noisy(scorer, validation), False, method)
    assert numbers["after"]["brier"] < numbers["before"]["brier"] - 0.01
    assert numbers["after"]["ece"] < numbers["before"]["ece"] - 0.02
    assert ("isotonic" in scorer.signature) == (method == "isotonic")
    assert numbers["decision"]["n"] == len(validation)


@pytest.mark.parametrize("method", ["temperature", "isotonic", "none"])
def test_calibration_survives_saving(tiny_scorer, validation, tmp_path, method):
    scorer = tiny_scorer()
    calibrate(scorer, noisy(scorer, validation), True, method)
    again = load_scorer(save_scorer(scorer, tmp_path / "judge"), device="cpu")
    assert_close(again(validation), scorer(validation))
    assert again.decision == scorer.decision
    assert again.signature == scorer.signature


def test_temperature_moves_no_decision_at_one_half(tiny_scorer, validation):
    scorer = tiny_scorer()
    before = is_human(scorer, scorer(validation))
    calibrate(scorer, noisy(scorer, validation), False)
    assert scorer.temperature != 1
    assert (is_human(scorer, scorer(validation)) == before).all()


def test_a_judge_that_never_varies_is_named(tiny_scorer, validation, caplog):
    scorer = tiny_scorer()
    torch.nn.init.zeros_(scorer.model.score.weight)
    with caplog.at_level(logging.WARNING):
        calibrate(scorer, validation, False)
    assert "the same score to" in caplog.text


def test_a_judge_with_swapped_labels_is_named(tiny_scorer, validation, caplog):
    scorer = tiny_scorer()
    margins = scorer.margins(validation)
    labels = (margins < np.median(margins)).astype(int).tolist()
    swapped = validation.remove_columns("label").add_column("label", labels)
    with caplog.at_level(logging.WARNING):
        calibrate(scorer, swapped, False, check_labels=False)
        assert "swapped" not in caplog.text
        calibrate(scorer, swapped, False)
    assert "swapped" in caplog.text


def test_unknown_method_lists_the_choices(tiny_scorer, validation):
    with pytest.raises(BadInput, match="temperature, isotonic, none"):
        calibrate(tiny_scorer(), validation, False, "platt")
