"""`dialeval report`: the report of a run again, without asking a judge."""

import json

import pytest

from tests.commands.test_ere import table
from tests.reports.test_evaluation import invent


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
    ("format", "words"), [("markdown", "| AdverSuc"), ("latex", r"\toprule"), ("json", '"results"')]
)
def test_other_forms_are_printed_or_written(run, folder, tmp_path, format, words):
    code, out, _ = run("report", folder, "--format", format)
    assert code == 0 and words in out and not (folder / "report.html").exists()
    code, nothing, err = run("report", folder, "--format", format, "-o", "r.txt")
    assert (code, nothing) == (0, "") and "r.txt" in err
    assert (tmp_path / "r.txt").read_text("utf-8").strip() == out.strip()


def test_a_run_about_judges_alone_has_a_page_without_verdicts(run, write, tmp_path):
    write("scores.jsonl", table())
    assert run("ere", "--scores", "scores.jsonl", "-o", "x")[0] == 0
    assert run("report", "x")[0] == 0
    page = (tmp_path / "x" / "report.html").read_text("utf-8")
    value = json.loads((tmp_path / "x" / "results.json").read_text())["results"][0]["value"]
    assert f"<b>{value:.3f}</b>".replace("0.", ".") in page
    assert "what the judges are worth" in page and "no verdict" not in page
    code, out, _ = run("report", "x", "--format", "markdown")
    assert code == 0 and "human / next" in out and "AdverSuc[" not in out


def test_a_folder_that_is_no_run_is_told_from_one(run, folder, write, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    row = {"metric": "accuracy", "system": "", "evaluator": "svm", "value": 0.5}
    (tmp_path / "other" / "results.json").write_text(json.dumps({"results": [row]}))
    write("file.txt", "x")
    refused = {
        "nowhere": "expected a folder, found nothing",
        "file.txt": "expected a folder, found a file",
        "empty": "no results.json here",
        "other": "no results of an evaluation, but accuracy",
    }
    for name, words in refused.items():
        code, out, err = run("report", name)
        assert (code, out) == (2, "") and words in err and "dialeval evaluate" in err
    code, _, err = run("report", folder, "--format", "pdf")
    assert code == 2 and "Unknown format 'pdf'. Choose from html, markdown, latex, json" in err
    code, _, err = run("report", folder, "-o", "empty")
    assert code == 2 and "found a directory" in err
    (folder / "scores.parquet").write_bytes(b"PAR1")
    code, _, err = run("report", folder)
    assert code == 2 and "expected a table of scores" in err
