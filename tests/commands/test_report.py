"""`dialeval report`: write the report of a run again, without computing anything."""

import csv
import json

import pytest

from dialeval.metrics.results import SCHEMA_VERSION, Result
from dialeval.metrics.robustness_results import RobustnessResults
from tests.commands.test_ere import table
from tests.reports.invented import invent


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "runs" / "x"
    path.mkdir(parents=True)
    invent(path)
    return path


def test_the_page_is_written_again_and_nothing_else_is_touched(run, folder, tmp_path):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code, out, err = run("report", folder)
    assert (code, out) == (0, "") and "report.html" in err
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    page = after.pop("report.html")
    assert after == before and b"svm-unigram" in page
    code, _, _ = run("report", folder, "--output", "new/page.html")
    assert code == 0 and (tmp_path / "new" / "page.html").read_bytes() == page


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ("markdown", "| AdverSuc"),
        ("latex", r"\toprule"),
        ("json", '"results"'),
        ("csv", "metric,system,evaluator,value"),
    ],
)
def test_other_forms_are_printed_or_written(run, folder, tmp_path, format, words):
    code, out, _ = run("report", folder, "--format", format)
    assert code == 0 and words in out and not (folder / "report.html").exists()
    code, nothing, err = run("report", folder, "--format", format, "-o", "r.txt")
    assert (code, nothing) == (0, "") and "r.txt" in err
    assert (tmp_path / "r.txt").read_text("utf-8").strip() == out.strip()


def test_a_reliability_run_has_a_page_without_verdicts(run, write, tmp_path):
    write("scores.jsonl", table())
    assert run("ere", "--scores", "scores.jsonl", "-o", "x")[0] == 0
    assert run("report", "x")[0] == 0
    page = (tmp_path / "x" / "report.html").read_text("utf-8")
    value = json.loads((tmp_path / "x" / "results.json").read_text())["results"][0]["value"]
    assert f"<b>{value:.3f}</b>".replace("0.", ".") in page
    assert "how reliable the evaluators are" in page and "no verdict" not in page
    code, out, _ = run("report", "x", "--format", "markdown")
    assert code == 0 and "human / next" in out and "AdverSuc[" not in out


def test_a_folder_without_an_evaluation_is_refused(run, folder, write, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    content = {"results": [], "protocol": "training", "schema_version": SCHEMA_VERSION}
    (tmp_path / "other" / "results.json").write_text(json.dumps(content))
    write("file.txt", "x")
    refused = {
        "nowhere": "expected a folder, found nothing",
        "file.txt": "expected a folder, found a file",
        "empty": "no results.json here",
        "other": "no report for results of kind 'training'",
    }
    for name, words in refused.items():
        code, out, err = run("report", name)
        assert (code, out) == (2, "") and words in err and "dialeval evaluate" in err
    code, _, err = run("report", folder, "--format", "pdf")
    assert code == 2 and "Unknown format 'pdf'. Choose from html, markdown, latex, json" in err
    (tmp_path / "other" / "results.json").write_text(json.dumps({"results": []}))
    code, _, err = run("report", "other")
    assert code == 2 and "schema version 1" in err
    code, _, err = run("report", folder, "-o", "empty")
    assert code == 2 and "found a directory" in err
    (folder / "scores.parquet").write_bytes(b"PAR1")
    code, _, err = run("report", folder)
    assert code == 2 and "expected a table of scores" in err


def test_the_page_can_be_opened(run, folder, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", lambda url: opened.append(url) or len(opened) == 1)
    code, _, err = run("report", folder, "--open")
    assert code == 0 and opened == [(folder / "report.html").resolve().as_uri()]
    assert "No browser" not in err and "No browser" in run("report", folder, "--open")[2]
    code, _, err = run("report", folder, "--open", "--format", "csv")
    assert code == 2 and "only a page can be opened" in err


def test_no_cell_of_the_spreadsheet_is_a_formula(run, tmp_path):
    names = ['=HYPERLINK("http://x")', "+1", "-1", "@sum", " =1", "\t=1", "plain"]
    rows = tuple(Result("adversuc", name, "svm", -0.5, -1, 1, 9, "s", {"a": 1}) for name in names)
    RobustnessResults(results=rows).save(tmp_path / "x")
    code, out, _ = run("report", tmp_path / "x", "--format", "csv")
    table = list(csv.DictReader(out.splitlines()))
    assert code == 0 and [row["value"] for row in table] == ["-0.5"] * 7
    systems = [row["system"] for row in table]
    assert systems == ['\'=HYPERLINK("http://x")', "'+1", "'-1", "'@sum", "'=1", "'=1", "plain"]
    assert json.loads(table[0]["details"]) == {"a": 1}
