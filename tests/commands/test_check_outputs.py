"""`dialeval check` with verdicts, and what it writes for other tools."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import dialeval
from dialeval.metrics.evaluation_results import EvaluationResults, Verdict
from dialeval.metrics.results import Result
from dialeval.metrics.robustness_results import RobustnessResults

VERDICTS = {"good": "indistinguishable", "near": "negligible difference",
            "a|b<c>\x01": "distinguishable", "open": "inconclusive"}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A run with four systems, of which one has a name that breaks careless writers."""
    rows = [
        Result("adversuc", name, "svm", 0.4, 0.3, 0.5, 80, "s", {"auroc": 0.6}) for name in VERDICTS
    ]
    verdicts = tuple(Verdict(name, text, "Why.", "svm") for name, text in VERDICTS.items())
    EvaluationResults(results=tuple(rows), verdicts=verdicts).save(tmp_path / "x")
    return tmp_path / "x"


@pytest.mark.parametrize(
    ("accepted", "systems", "code"),
    [
        (["indistinguishable"], ["good"], 0),
        (["indistinguishable"], ["good", "near"], 1),
        (["indistinguishable", "negligible"], ["good", "near"], 0),
        (["indistinguishable"], ["good", "open"], 2),
        (["indistinguishable", "inconclusive"], ["good", "open"], 0),
        (["indistinguishable"], [], 1),
    ],
)
def test_the_exit_code_says_passed_failed_or_not_measured(run, folder, accepted, systems, code):
    options = [word for name in accepted for word in ("--verdict", name)]
    options += [word for name in systems for word in ("--system", name)]
    exit_code, output, _ = run("check", folder, *options)
    assert exit_code == code
    assert len(output.splitlines()) == len(systems or VERDICTS) + bool(code)


def test_the_files_can_be_read_by_their_tools(run, folder):
    command = ("check", folder, "--verdict", "indistinguishable", "--min", "adversuc=0.2", "--max",
               "ere=0.2", "--junit", "out/junit.xml", "--markdown", "comment.md",
               "--json")  # fmt: skip
    code, output, _ = run(*command)
    record = json.loads(output)
    assert code == record["exit_code"] == 1 and record["status"] == "failed"
    statuses = [check["status"] for check in record["checks"]]
    assert statuses == ["passed", "failed", "failed", "not measured", *["passed"] * 4,
                        "not measured"]  # fmt: skip
    suite = ElementTree.parse("out/junit.xml").getroot().find("testsuite")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("9", "2", "2")
    assert len(suite.findall("testcase/failure")) == len(suite.findall("testcase/error")) == 2
    assert "dialeval.a|b<c>\ufffd" in {case.get("classname") for case in suite}
    lines = Path("comment.md").read_text("utf-8").splitlines()
    rows = [line for line in lines if line.startswith("|")]
    assert lines[0] == "### ❌ dialeval: failed" and len(rows) == 2 + 9
    assert all(row.replace("\\|", "").count("|") == 6 for row in rows)
    assert "<c>" not in "".join(lines)


def test_a_missing_number_can_be_left_out(run, folder):
    command = ("check", folder, "--min", "adversuc=0.2", "--max", "ere=0.2", "--allow-unmeasured")
    code, _, _ = run(*command, "--junit", "junit.xml")
    suite = ElementTree.parse("junit.xml").getroot().find("testsuite")
    assert code == 0 and (suite.get("errors"), suite.get("skipped")) == ("0", "1")


def test_a_run_without_verdicts_says_so(run, tmp_path):
    RobustnessResults(results=()).save(tmp_path / "r")
    code, _, error = run("check", tmp_path / "r", "--verdict", "indistinguishable")
    assert code == 2 and "this run has no verdicts on systems" in error


def test_the_helper_for_tests_takes_verdicts(folder):
    dialeval.assert_metrics(folder, min={"adversuc": 0.2}, verdict="indistinguishable",
                            systems=["good"])  # fmt: skip
    with pytest.raises(AssertionError, match="FAIL: verdict indistinguishable, near"):
        dialeval.assert_metrics(folder, verdict="indistinguishable", systems=["near"])
