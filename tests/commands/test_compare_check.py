"""`dialeval compare` and `dialeval check`, run as a user would."""

import json
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import typer
from typer.testing import CliRunner

import dialeval.commands
from dialeval.commands.check import check
from dialeval.commands.compare import compare
from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.metrics.results import Result
from dialeval.protocols.comparison import check_run, compare_runs

APP = typer.Typer()
APP.command("compare")(compare)
APP.command("check")(check)


def run(*arguments):
    """Exit code and output of a command."""
    done = CliRunner().invoke(APP, [*map(str, arguments)], env={"COLUMNS": "80"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.output


def refused(monkeypatch, capsys, *arguments):
    """The error that `main` prints for bad input."""
    monkeypatch.setattr(dialeval.commands, "app", APP)
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        dialeval.commands.main()
    assert stop.value.code == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.fixture
def folder(tmp_path):
    """A run with three systems, of which the first two hardly differ."""
    rng, table, results = np.random.default_rng(0), [], []
    for system, share in (("greedy", 0.5), ("[beam]", 0.48), ("constant", 0.05)):
        machine, people = rng.random(200) < share, rng.random(200) < 0.8
        for number in range(200):
            facts = {"system": system, "evaluator": "svm", "scenario": "human_machine"}
            facts |= {"id": f"c{number}", "dialogue_id": f"d{number // 2}"}
            sides = (1, people, "yes"), (0, machine, "no")
            table += [
                {
                    **facts,
                    "label": label,
                    "predicted_human": bool(predicted[number]),
                    "response": text,
                }
                for label, predicted, text in sides
            ]
        value = float((1 - people + machine.astype(int)).mean() / 2)
        names = {"metric": "adversuc", "system": system, "evaluator": "svm"}
        interval = {"value": value, "low": value - 0.05, "high": value + 0.05, "n": 400}
        result = Result(**names, **interval, signature="folds:5|seed:0", details={"auroc": 0.7})
        results.append(result)
    path = tmp_path / "runs" / "x"
    EvaluationResults(results=tuple(results)).save(path)
    parquet.write_table(pa.Table.from_pylist(table), path / "scores.parquet")
    return path


def test_compare_shows_differences_and_groups(folder):
    code, output = run("compare", folder)
    comparison = compare_runs([folder])
    assert code == 0
    top = comparison.pairs[0]
    assert top.significant and top.second == "constant"
    lines = output.splitlines()
    at = next(number for number, line in enumerate(lines) if "<.001" in line)
    first, second = lines[at : at + 2]
    assert first.startswith(top.first) and second.startswith("constant")
    for number in (top.first_adversuc, top.difference, top.low, top.high, top.machine_side):
        assert f"{number:.3f}".removeprefix("0") in first
    assert f"{top.second_adversuc:.3f}".removeprefix("0") in second and "p <.001" in second
    assert max(map(len, lines)) <= 80
    words = " ".join(output.split())  # the sentence is wrapped
    assert any(
        f"{one} and {two} are the hardest to distinguish; not significantly different: {one} and "
        f"{two}" in words
        for one, two in (("greedy", "[beam]"), ("[beam]", "greedy"))
    )
    assert "An evaluator is trained for each system" in output


def test_compare_gives_json_that_agrees_with_the_protocol(folder):
    code, output = run("compare", folder, "--json", "--resamples", 500, "--seed", 3)
    content = json.loads(output)
    assert code == 0
    assert content == compare_runs([folder], resamples=500, seed=3).to_dict()
    assert content["groups"]["svm"][-1] == ["constant"]
    assert content["pairs"][0]["n"] == 200 and content["pairs"][0]["dialogues"] == 100
    assert "seed:3" in content["signature"] and "numpy" in content["versions"]


def test_check_passes_and_fails_with_the_exit_code(folder):
    least = min(check.value for check in check_run(folder, {"adversuc": 0}))
    code, output = run("check", folder, "--min", f"adversuc={least}", "--max", "adversuc.auroc=0.7")
    assert code == 0 and output.count("pass:") == 6 and "FAIL" not in output
    code, output = run("check", folder, "--min", "adversuc=0.2")
    assert code == 1 and output.count("pass:") == 2
    assert "FAIL: adversuc >= 0.2, constant, evaluated by svm" in output
    assert "pass: adversuc >= 0.2, [beam], evaluated by svm" in output
    assert "1 of 3 conditions not met." in output
    code, output = run("check", folder, "--min", "adversuc=0.2", "--system", "greedy")
    assert code == 0 and output.count("\n") == 1
    code, output = run("check", folder, "--max", "ere=0.2")
    assert code == 2 and "not measured: ere <= 0.2: the run has no metric 'ere'" in output
    assert run("check", folder, "--max", "ere=0.2", "--allow-unmeasured")[0] == 0
    both = ("--max", "ere=0.2", "--min", "adversuc=0.2")
    assert run("check", folder, *both)[0] == 1  # what failed outweighs what is not known


def test_check_tests_the_wanted_bound(folder):
    (greedy,) = check_run(folder, {"adversuc": 0}, systems=["greedy"])
    one = ["check", folder, "--system", "greedy", "--evaluator", "svm"]
    limit = greedy.value - 0.02  # between the low bound and the value
    assert run(*one, "--min", f"adversuc={limit}")[0] == 0
    assert run(*one, "--min", f"adversuc={limit}", "--bound", "low")[0] == 1
    assert run(*one, "--min", f"adversuc={limit}", "--conservative")[0] == 1
    most = ("--either-way", "--max", f"adversuc={greedy.value + 0.02}")
    assert run(*one, *most, "--bound", "low")[0] == 0
    code, output = run(*one, *most, "--conservative")
    assert code == 1 and "high bound tested" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "runs/x"], "no condition to check"),
        (["check", "runs/x", "--min", "adversuc.auroc=.6"], "a lower adversuc.auroc is better"),
        (["check", "runs/x", "--max", "adversuc=.2"], "Give --min adversuc=0.2; if you mean it"),
        (["check", "runs/x", "--verdict", "fine"], "there is no verdict 'fine'"),
        (["check", "runs/x", "--verdict", "negligible", "--system", "b"], "Unknown system 'b'"),
        (["check", "runs/x", "--min", "adversuc"], "expected name=number, but got 'adversuc'"),
        (["check", "runs/x", "--min", "=0.2"], "expected name=number, but got '=0.2'"),
        (["check", "runs/x", "--max", "ere=nan"], "expected name=number, but got 'ere=nan'"),
        (["check", "runs/x", "--min", "a=1", "--min", "a=2"], "--min names a twice"),
        (["check", "runs/x", "--min", "a=1", "--bound", "mid"], "Unknown bound 'mid'"),
        (["check", "runs/x", "--min", "a=1", "--bound", "low", "--conservative"], "Leave out --b"),
        (["check", "runs/x", "--min", "a=1", "--system", "bot"], "[beam], constant, greedy"),
        (["check", "runs/nowhere", "--min", "a=1"], "runs/nowhere/results.json: no such file."),
        (["check", "runs/x/scores.parquet", "--min", "a=1"], "expected JSON in UTF-8"),
        (["compare", "runs/nowhere"], "runs/nowhere/results.json: no such file."),
        (["compare", "runs/x", "--evaluator", "rnn"], "Unknown evaluator 'rnn'. Choose one of svm"),
        (["compare", "runs/x", "runs/x"], "given twice"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_a_sentence_and_code_2(folder, monkeypatch, capsys, arguments, message):
    error = refused(monkeypatch, capsys, *arguments)
    assert message in error and "Traceback" not in error
