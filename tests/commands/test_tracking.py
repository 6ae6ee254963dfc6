"""`--log-with`: the numbers of a run arrive in real trackers."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from dialeval.metrics.evaluation_results import EvaluationResults, Verdict
from dialeval.metrics.results import Result, RunResults
from dialeval.reports.tracking import tracked_numbers, tracked_settings
from tests.commands.test_ere import table


@pytest.fixture
def scores(write, monkeypatch, tmp_path):
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    return write("scores.jsonl", table())


def logged_by_trackio(folder: Path) -> dict[str, float]:
    with sqlite3.connect(folder / "study.db") as database:
        rows = database.execute("SELECT metrics FROM metrics").fetchall()
    return {key: value for (text,) in rows for key, value in json.loads(text).items()}


def logged_by_tensorboard(folder: Path) -> dict[str, float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: events.Scalars(tag)[0].value for tag in events.Tags()["scalars"]}


@pytest.mark.parametrize("tracker", ["trackio", "tensorboard"])
def test_every_number_arrives_and_standard_output_is_for_results(run, scores, tmp_path, tracker):
    pytest.importorskip(tracker)
    code, out, err = run("ere", "--scores", scores, "-o", "x", "--format", "json", "--log-with",
                         tracker, "--project", "study")  # fmt: skip
    assert code == 0 and json.loads(out)["results"]
    expected = tracked_numbers(RunResults.load("x"))
    assert f"Logged {len(expected)} numbers with {tracker}" in err
    logged = (
        logged_by_trackio(tmp_path / "trackio")
        if tracker == "trackio"
        else logged_by_tensorboard(Path("x/study"))
    )
    assert logged.items() >= {key: pytest.approx(value) for key, value in expected.items()}.items()


@pytest.mark.parametrize("quiet", ["", "1"])
def test_what_a_tracker_prints_at_the_exit_is_no_result(scores, tmp_path, quiet):
    pytest.importorskip("trackio")
    command = ["ere", "--scores", scores, "-o", "x", "--format", "json", "--log-with", "trackio"]
    done = subprocess.run(
        [sys.executable, "-m", "dialeval", *map(str, command)],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "DIALEVAL_QUIET": quiet},
    )  # fmt: skip
    assert done.returncode == 0 and json.loads(done.stdout)["results"]
    assert ("Run finished" in done.stderr) == (not quiet)


def test_an_unknown_or_missing_tracker_is_refused_before_anything_is_read(run, monkeypatch):
    code, _, err = run("evaluate", "--human", "none.jsonl", "--log-with", "aim")
    assert code == 2 and "unknown tracker 'aim'. Choose from trackio, wandb" in err
    monkeypatch.setattr("dialeval.settings.tracking.find_spec", lambda name: None)
    code, _, err = run("robustness", "--data", "none.jsonl", "--log-with", "wandb")
    assert code == 2 and "'wandb' is not installed. pip install wandb" in err


def test_names_are_keys_that_every_tracker_accepts_and_verdicts_are_settings():
    row = Result("adversuc", "a/b: [c]", "svm", 0.4, 0.3, float("nan"), 80, "s")
    results = EvaluationResults(
        results=(row,), verdicts=(Verdict("bot", "distinguishable", "Why."),), signature="x"
    )
    assert tracked_numbers(results) == {
        "adversuc/a_b_ _c_/svm": 0.4, "adversuc/a_b_ _c_/svm_low": 0.3,
    }  # fmt: skip
    assert tracked_settings(results)["verdict/bot"] == "distinguishable"


def test_no_key_is_the_folder_of_another_one():
    row = Result("adversuc", "bot", "svm", 0.4, 0.3, 0.5, 80, "s")
    keys = list(tracked_numbers(RunResults(results=(row,))))
    assert len(keys) == 3
    assert not [one for one in keys for other in keys if other.startswith(f"{one}/")]


def test_a_tracker_that_refuses_is_one_sentence_and_the_results_are_there(run, scores, monkeypatch):
    from accelerate import Accelerator

    def refuse(*_, **__):
        raise RuntimeError("no server at\nhttp://localhost:5000")

    monkeypatch.setattr(Accelerator, "init_trackers", refuse)
    code, _, err = run("ere", "--scores", scores, "-o", "x", "--log-with", "trackio")
    assert code == 2 and "Traceback" not in err
    sentence = "trackio could not log the run: no server at http://localhost:5000"
    assert sentence in " ".join(err.split())
    assert RunResults.load("x").results
