"""Results and signatures: JSON and back, nothing rounded, nothing lost."""

import json
import re
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import dialeval
from dialeval.metrics import Result, adversuc, ere, results_to_json, signature

NAN = float("nan")


def result(**changes) -> Result:
    facts = {
        "metric": "adversuc", "system": "parrot", "evaluator": "svm-unigram", "value": 0.1 + 0.2,
        "low": 0.25, "high": 1 / 3, "n": 400, "signature": "folds:5|seed:0",
    }  # fmt: skip
    return Result(**(facts | changes))


def test_json_and_back_is_the_same_result():
    original = result(details={"auroc": 0.75, "folds": [1, 2], "names": {"a": None}})
    back = Result.from_dict(json.loads(json.dumps(original.to_dict())))
    assert back == original
    assert back.value == 0.1 + 0.2  # to the last bit


def test_nan_becomes_null_and_nan_again():
    row = result(low=NAN, high=np.nan, details={"deep": [NAN, {"x": np.inf}]}).to_dict()
    assert (row["low"], row["high"]) == (None, None)
    assert row["details"] == {"deep": [None, {"x": None}]}
    back = Result.from_dict(row)
    assert np.isnan([back.low, back.high]).all()


def test_numpy_numbers_become_plain_ones():
    row = result(value=np.float64(0.5), n=np.int64(3), details={"a": np.arange(2)}).to_dict()
    assert type(row["value"]) is float
    assert type(row["n"]) is int
    assert row["details"] == {"a": [0, 1]}


def test_unknown_keys_are_kept_and_missing_ones_named():
    row = {**result(details={"auroc": 0.5}).to_dict(), "corpus": "dd"}
    assert Result.from_dict(row).details == {"auroc": 0.5, "corpus": "dd"}
    del row["n"], row["low"]
    with pytest.raises(ValueError, match="A result needs metric, .*; low, n missing"):
        Result.from_dict(row)


def test_a_result_cannot_be_changed_and_can_be_a_key():
    with pytest.raises(FrozenInstanceError):
        result().value = 1
    assert {result(): 1}[result()] == 1
    assert result(details={"a": 1}) != result()


def test_what_metrics_give_fits_into_details():
    names = ("human_human", "machine_machine", "human_random", "human_next")
    reliability = ere([0.9, 0.1] * 4, [1, 0] * 4, np.repeat(names, 2), groups=[0] * 8)
    success = adversuc([0.9, 0.1], [1, 0], pairs="aa")
    for details in (reliability, success):
        text = results_to_json([result(details=details)])
        assert json.loads(text)["results"][0]["details"].keys() == details.keys()


def test_a_file_has_results_settings_and_versions():
    text = results_to_json([result(), result(system="é")], seed=0, level=NAN, path=("a", "b"))
    content = json.loads(text)
    assert [Result.from_dict(row).system for row in content["results"]] == ["parrot", "é"]
    assert content["settings"] == {"seed": 0, "level": None, "path": ["a", "b"]}
    assert content["versions"]["dialeval"] == dialeval.__version__
    assert content["versions"]["numpy"] == np.__version__
    assert "é" in text
    assert json.loads(results_to_json([]))["results"] == []


def test_signatures_keep_their_order_and_can_be_taken_apart():
    parts = {"metric": "adversuc", "data": "a|b\\", "url": "x:y", "folds": 5, "end": "\\|"}
    text = signature(**parts)
    assert text.startswith("metric:adversuc|data:a\\|b")
    fields = re.findall(r"(?:^|\|)(\w+):((?:[^|\\]|\\.)*)", text)
    assert {key: re.sub(r"\\(.)", r"\1", value) for key, value in fields} == {
        key: str(value) for key, value in parts.items()
    }
    assert [key for key, _ in fields] == list(parts)
    assert signature() == ""
