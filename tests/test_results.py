"""The tables of docs/results.md: configs, resuming, the page, and a quick run."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from benchmarks.results import runner
from benchmarks.results.config import TableConfig, load_configs
from benchmarks.results.page import HEAD, format_cell, markdown_table, section
from benchmarks.results.runner import make_parts, run_table
from benchmarks.results.store import Number, PartResult, TableParts, TableResult

ROOT = Path(__file__).resolve().parents[1]
CONFIGS = load_configs()


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("quick", [False, True])
def test_every_config_makes_its_parts(name, quick):
    table = make_parts(CONFIGS[name], quick)
    assert table.parts
    assert len(set(table.columns)) == len(table.columns)
    for row in CONFIGS[name].paper:
        assert len(row) == len(CONFIGS[name].paper[0])


@pytest.fixture
def counted(monkeypatch, tmp_path):
    """A table of two parts, of which the second fails at first."""
    calls: list[str] = []
    state = {"fails": True}

    def second():
        calls.append("second")
        if state["fails"]:
            raise RuntimeError("interrupted")
        return [["b", Number(0.25, 0.2, 0.3, 10)]]

    def first():
        calls.append("first")
        return [["a", Number(1.0)]]

    table = TableParts(["name", "value"], {"first": first, "second": second})
    monkeypatch.setattr(runner, "make_parts", lambda config, quick: table)
    monkeypatch.setattr(runner, "PUBLISHED", tmp_path)
    return calls, state, tmp_path / "toy.json"


def test_an_interrupted_table_goes_on_with_the_next_part(counted):
    calls, state, path = counted
    config = TableConfig("toy", 1, "Toy", "About.", "x:y", {"seed": 0})
    with pytest.raises(RuntimeError):
        run_table(config, False, print)
    assert TableResult.load(path).missing == ["second"]
    state["fails"] = False
    assert run_table(config, False, print)
    assert calls == ["first", "second", "second"]
    stored = TableResult.load(path)
    assert stored.parts["second"].rows == [["b", Number(0.25, 0.2, 0.3, 10)]]
    assert stored.command == "python -m benchmarks.results toy"
    assert "numpy" in stored.parts["first"].versions
    run_table(replace(config, settings={"seed": 1}), False, print)
    assert calls[3:] == ["first", "second"]  # other settings: everything again


def test_missing_corpora_are_named_and_skipped(counted, monkeypatch, tmp_path):
    calls, _, path = counted
    monkeypatch.setenv("DIALEVAL_SHARED_DATA", str(tmp_path / "nowhere"))
    messages: list[str] = []
    config = TableConfig("toy", 1, "Toy", "About.", "x:y", needs=["dstc7"])
    assert not run_table(config, False, messages.append)
    assert "skipped, dstc7 not in" in messages[0]
    assert not path.exists() and not calls


def test_a_section_has_the_paper_the_numbers_and_how_they_were_made():
    config = TableConfig("toy", 1, "Toy", "About.", "x:y", paper=[["a"], [".5"]])
    assert "Not computed yet: `python -m benchmarks.results toy`" in section(config, None)
    part = PartResult([["<b>|", Number(0.5, 0.25, 0.75)]], "2026-11-18", 300.0, {"numpy": "2"})
    result = TableResult("toy", "cmd", {"seed": 3}, ["x", "y"], ["p", "q"], {"p": part})
    text = section(config, result)
    assert "| &lt;b>\\| | .500 [.250, .750] |" in text
    for words in ("`cmd`; seed 3.", "2026-11-18 in 5 min", "numpy 2", "**Not computed yet:** q"):
        assert words in text


def test_numbers_in_cells():
    assert format_cell(None) == ""
    assert format_cell(Number(float("nan"))) == "-"
    assert format_cell(Number(-0.0712)) == "-.071"
    assert markdown_table(["a"], [["1"]]) == "| a |\n| --- |\n| 1 |\n"


def test_the_page_is_made_of_the_published_results():
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    assert page.startswith(HEAD)
    for name, config in CONFIGS.items():
        assert f"## {config.title}\n" in page
        path = ROOT / "benchmarks" / "results" / "published" / f"{name}.json"
        result = TableResult.load(path) if path.is_file() else None
        assert section(config, result) in page, "run: python -m benchmarks.results --page"


def test_published_results_belong_to_their_configs():
    for path in (ROOT / "benchmarks" / "results" / "published").glob("*.json"):
        stored = json.loads(path.read_text("utf-8"))
        config = yaml.safe_load(
            (path.parents[1] / "configs" / f"{path.stem}.yaml").read_text("utf-8")
        )
        assert stored["settings"] == config["settings"], path.name


@pytest.mark.slow
def test_a_quick_run_computes_every_table(tmp_path):
    environment = {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.results", "--quick"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    page = (tmp_path / "runs" / "results" / "quick" / "results.md").read_text("utf-8")
    skipped = done.stderr.count(": skipped,")
    assert page.count("Not computed yet") == skipped


def test_a_stopped_study_is_resumed_by_its_table(tmp_path):
    from benchmarks.results.tables.studies import _settings
    from dialeval.protocols.regs import RegsRun
    from dialeval.settings.adversarial import AdversarialConfig
    from dialeval.settings.training import GeneratorConfig

    run, training, _ = _settings(
        "regs_tiny", tmp_path, 3, RegsRun, GeneratorConfig, AdversarialConfig
    )
    assert run.resume and run.output_dir == str(tmp_path) and training.seed == 3
