"""Unpaired results as Markdown and LaTeX, and what `dialeval report` writes of other runs."""

import json

import pytest

from dialeval.metrics.audit_results import AuditResults
from dialeval.metrics.results import Result
from dialeval.metrics.unpaired_results import PileVerdict, UnpairedResults
from dialeval.reports.unpaired_text import to_latex, to_markdown


@pytest.fixture
def results():
    rows = [
        Result("accuracy", "a_b|c", "surface", 0.62, 0.55, 0.69, 160, "s"),
        Result("topic_control", "a_b|c", "surface", 0.5, 0.45, 0.55, 160, "s"),
    ]
    verdict = PileVerdict("a_b|c", "distinguishable", "62 % & more <b>.")
    return UnpairedResults(results=tuple(rows), verdicts=(verdict,), signature="x|y_z")


def test_markdown_has_verdict_and_table_with_everything_escaped(results):
    lines = to_markdown(results).splitlines()
    assert lines[0] == r"- **a\_b\|c**: **distinguishable**. 62 % &amp; more &lt;b&gt;."
    assert lines[2] == "| system | evaluator | responses | topic control |"
    assert lines[4] == r"| a\_b\|c | surface | .620 (.550–.690) | .500 (.450–.550) |"
    assert lines[-1] == r"Signature: x\|y\_z"


def test_latex_has_the_table(results):
    text = to_latex(results)
    assert r"a\_b\textbar{}c & surface & .620 (.550--.690) & .500 (.450--.550) \\" in text
    assert text.count(r"\begin{") == text.count(r"\end{") == 2


def test_report_writes_runs_without_shared_contexts_as_text(run, results):
    results.save("x")
    for format, start in (("markdown", "- **"), ("latex", r"\begin{table*}"), ("csv", "metric,")):
        code, out, _ = run("report", "x", "--format", format)
        assert code == 0 and out.startswith(start)
    code, out, _ = run("report", "x", "--format", "json")
    assert code == 0 and json.loads(out)["verdicts"][0]["system"] == "a_b|c"


def test_report_says_what_an_audit_can_be_written_as(run):
    row = Result("machine_share", "data", "surface", 0.2, 0.1, 0.3, 80, "s", {"dialogues": 40})
    AuditResults(results=(row,), text="20 %").save("x")
    code, out, _ = run("report", "x", "--format", "json")
    assert code == 0 and json.loads(out)["text"] == "20 %"
    code, _, err = run("report", "x", "--format", "latex")
    assert code == 2 and "no latex of such a run. Choose html, csv or json." in err
    code, _, err = run("report", "x", "-o", "y.html")
    assert code == 2 and "Leave out --output" in err
