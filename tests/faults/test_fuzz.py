"""Some of the bad inputs of `python -m tests.faults.fuzz`: all end in a sentence."""

from tests.faults import fuzz, harness, material


def test_bad_inputs_end_in_a_sentence(warm, tmp_path):
    material.build(tmp_path, ("svm", "gen.jsonl"))
    outcomes = fuzz.fuzz(tmp_path, 2_000, seed=1, seconds=15)
    print(harness.summary("bad inputs", outcomes))
    assert len(outcomes) >= 8
    bad = [(name, outcome.kind, outcome.log[-800:]) for name, outcome in outcomes
           if outcome.kind not in harness.GOOD]  # fmt: skip
    assert not bad
