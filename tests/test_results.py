"""The tables of docs/results.md: configs, resuming, the page, and a quick run."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmarks.results import runner
from benchmarks.results.config import TableConfig, load_configs
from benchmarks.results.page import (
    HEAD,
    SUMMARY,
    format_cell,
    markdown_table,
    section,
    summary,
)
from benchmarks.results.runner import make_parts, run_table
from benchmarks.results.store import Number, PartResult, TableParts, TableResult
from benchmarks.results.tables.training import after_other_contexts
from benchmarks.results.values import filled, is_complete
from dialeval.dialogues import Passage, Turn
from dialeval.errors import BadInput

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


def test_a_longer_list_of_parts_keeps_the_finished_ones(tmp_path):
    before = {"seed": 0, "evaluators": ["a"], "corpora": {"x": "one"}}
    TableResult("toy", "", before, ["n"], ["a"], {"a": PartResult([["1"]], "", 0.0)}).save(
        tmp_path / "toy.json"
    )
    table = TableParts(["n"], {"a": list, "b": list})

    def missing(parts_by, **changes):
        settings = {**before, **changes}
        config = TableConfig("toy", 1, "Toy", "", "x:y", settings, parts_by=parts_by)
        return runner.resume(config, table, False, tmp_path / "toy.json").missing

    longer = {"evaluators": ["a", "b"], "corpora": {"x": "one", "y": "two"}}
    assert missing(["evaluators", "corpora"], **longer) == ["b"]
    assert missing([], **longer) == ["a", "b"]
    assert missing(["evaluators", "corpora"], seed=1) == ["a", "b"]
    assert missing(["evaluators", "corpora"], corpora={"x": "other"}) == ["a", "b"]


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


def published() -> dict[str, TableResult]:
    return {path.stem: TableResult.load(path) for path in runner.PUBLISHED.glob("*.json")}


def test_the_page_is_made_of_the_published_results():
    page, results = (ROOT / "docs" / "results.md").read_text("utf-8"), published()
    assert page.startswith(HEAD)
    for name, config in CONFIGS.items():
        assert f"## {config.title}\n" in page
        text = section(config, results.get(name), results)
        assert text in page, "run: python -m benchmarks.results --page"
        assert is_complete(config.differences, results)  # else the text would be missing


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
    from benchmarks.results.tables.studies import recipe_settings
    from dialeval.protocols.regs import RegsRun
    from dialeval.settings.adversarial import AdversarialConfig
    from dialeval.settings.training import GeneratorConfig

    run, training, _ = recipe_settings(
        "regs_tiny", tmp_path, 3, RegsRun, GeneratorConfig, AdversarialConfig
    )
    assert run.resume and run.output_dir == str(tmp_path) and training.seed == 3


def test_every_response_stands_after_the_context_of_another_passage():
    rows = [Passage((Turn("A", f"context {n}"),), f"reply {n}", id=str(n)) for n in range(7)]
    moved = after_other_contexts(rows, seed=0)
    assert [row.response for row in moved] == [row.response for row in rows]
    assert sorted(row.context[0].text for row in moved) == [f"context {n}" for n in range(7)]
    assert all(row.context != before.context for row, before in zip(moved, rows, strict=True))


def rated_world(folder: Path) -> dict[str, np.ndarray]:
    """Six systems whose quality people rate, and scores that know it, know half of it, or not."""
    rng = np.random.default_rng(0)
    quality = np.repeat(np.arange(6.0), 40).reshape(6, 40)
    rating = np.clip(np.round(quality + rng.normal(0, 0.5, (6, 40))), 0, 5)
    scores = {
        "knows": quality + rng.normal(0, 0.5, (6, 40)),
        "guesses": quality + rng.normal(0, 4, (6, 40)),
        "reversed": -quality + rng.normal(0, 0.5, (6, 40)),
    }
    cells = [(system, item) for system in range(6) for item in range(40)]
    answers = [f"a{n % 3},i{item},s{system},{rating[system, item]}" for n, (system, item)
               in enumerate(cells)]  # fmt: skip
    (folder / "judgements.csv").write_text(
        "\n".join(["annotator,item,system,rating", *answers]), encoding="utf-8"
    )
    (folder / "people").mkdir()
    for name, values in scores.items():
        rows = [f"i{item},s{system},{values[system, item]}" for system, item in cells]
        (folder / "people" / f"{name}.csv").write_text(
            "\n".join([f"item,system,{name}", *rows]), encoding="utf-8"
        )
    return {**scores, "rating": rating}


def test_neighbours_are_ordered_and_compared_by_their_correlation(tmp_path):
    from benchmarks.results.tables.people import neighbours

    world = rated_world(tmp_path)
    table = neighbours(tmp_path, tmp_path / "people_neighbours", "judgements.csv")
    rows = table.parts["replies"]()
    assert [(row[1], row[3]) for row in rows] == [("knows", "guesses"), ("guesses", "reversed")]
    for row in rows:
        for name, cell in ((row[1], row[2]), (row[3], row[4])):
            expected = np.corrcoef(world[name].ravel(), world["rating"].ravel())[0, 1]
            assert cell.value == pytest.approx(expected)
        assert row[5].value == pytest.approx(row[2].value - row[4].value)
        assert row[5].low < row[5].value < row[5].high and row[6] == "< .001" and row[7] == "240"
    systems = table.parts["systems"]()
    assert systems[0][1:4:2] == ["knows", "guesses"] or systems[0][1:4:2] == ["guesses", "knows"]
    assert systems[-1][3] == "reversed" and systems[-1][7] == "6"


def test_neighbours_without_scores_say_what_to_run(tmp_path):
    from benchmarks.results.tables.people import neighbours
    from dialeval.errors import BadInput

    table = neighbours(tmp_path, tmp_path / "people_neighbours", "judgements.csv")
    with pytest.raises(BadInput, match="python -m benchmarks.results people"):
        table.parts["systems"]()


def test_correlations_with_people_are_over_systems_and_over_replies(tmp_path):
    from benchmarks.results.tables.people import correlation_rows
    from dialeval.protocols.people import read_scores

    world = rated_world(tmp_path)
    metrics = [
        read_scores(tmp_path / "people" / f"{name}.csv")[0] for name in ("knows", "reversed")
    ]
    rows = correlation_rows(metrics, tmp_path / "judgements.csv", 40, 0)
    assert [row[0] for row in rows] == ["knows", "reversed"]
    known = rows[0]
    assert known[1] == "40" and known[6] == "240"
    means = [values.mean(1) for values in (world["knows"], world["rating"])]
    assert known[2].value == pytest.approx(1.0)
    assert known[3].value == pytest.approx(np.corrcoef(*means)[0, 1])
    cells = [world[name].ravel() for name in ("knows", "rating")]
    assert known[5].value == pytest.approx(np.corrcoef(*cells)[0, 1])
    assert rows[1][2].value == pytest.approx(-1.0) and rows[1][4].value < -0.8


def test_rows_of_robust_training_are_those_of_table_two():
    from benchmarks.results.tables.studies import ROBUST_COLUMNS, robust_rows
    from dialeval.metrics.results import Result
    from dialeval.metrics.robust_results import (
        MORE_EPOCHS,
        Comparison,
        RobustResults,
        RobustVerdict,
        TargetRow,
    )
    from dialeval.metrics.robustness_results import NORMAL, Estimate, StrategyCoverage

    def cell(train, test, value, p=None):
        details = {"train": train, "test": test, **({} if p is None else {"p": p})}
        return Result("likelihood", "vhred", "", value, value, value, 9, "s", details)

    attack = Comparison(-0.2, -0.3, -0.1, 0.001)
    results = RobustResults(
        results=(
            cell(NORMAL, NORMAL, -4.0), cell(NORMAL, "random-swap", -4.2, 0.001),
            cell("random-swap", "random-swap", -4.1, 0.3), cell("random-swap", NORMAL, -3.9, 0.5),
            cell(MORE_EPOCHS, NORMAL, -3.8, 0.01),
        ),
        targets=(TargetRow("vhred", 5, 5, Estimate(9.0), "", Estimate(0.25, 0.1, 0.4)),),
        strategies=(
            StrategyCoverage("random-swap", "should_not_change", "random-swap", 0.5, 5, 9),
        ),
        verdicts=(
            RobustVerdict("vhred", "random-swap", "should_not_change", "likelihood", attack, attack,
                          attack, "helps", "harms"),
        ),
        measure="likelihood",
    )  # fmt: skip
    normal, swapped, more = robust_rows(results, 3)
    assert len(normal) == len(ROBUST_COLUMNS) + 3
    assert normal[:3] == ["3", "vhred", "Normal Input"] and normal[5] == "−4.000"
    assert "+0.250 [+0.100, +0.400]" in normal[8]
    assert swapped[2:] == [
        "random-swap", "−4.200*", "−4.100", None, "−3.900", Number(-0.2, -0.3, -0.1), "helps",
        "harms",
    ]  # fmt: skip
    assert more[2:] == ["more epochs, no perturbation", *[None] * 3, "−3.800*", *[None] * 3]


def test_studies_after_the_first_seed_start_from_its_generator(tmp_path, monkeypatch):
    from benchmarks.results.tables.studies import regs

    runs = []

    def train(run, training, config):
        runs.append((training.seed, run.generator, config.backward))
        raise InterruptedError

    monkeypatch.setattr("dialeval.protocols.regs.train_regs", train)
    table = regs(tmp_path, tmp_path, "regs_tiny", [4, 7])
    for part in table.parts.values():
        with pytest.raises(InterruptedError):
            part()
    players = tmp_path / "4" / "players"
    assert runs == [(4, None, None), (7, str(players / "generator"), str(players / "backward"))]


def test_generators_of_one_study_are_a_part(tmp_path, monkeypatch):
    from benchmarks.results.tables.studies import robust

    runs = []

    def train(run, training, against):
        runs.append((training.seed, run.targets, run.output_dir))
        raise InterruptedError

    monkeypatch.setattr("dialeval.protocols.robust.robust", train)
    table = robust(tmp_path, tmp_path, "robust_small", [3], [["vhred", "vhred-bpe"], ["gpt2"]])
    assert list(table.parts) == ["seed 3, vhred, vhred-bpe", "seed 3, gpt2"]
    [alone] = robust(tmp_path, tmp_path, "robust_tiny", [4]).parts.items()
    assert alone[0] == "seed 4"
    for part in (*table.parts.values(), alone[1]):
        with pytest.raises(InterruptedError):
            part()
    assert runs == [
        (3, ["vhred", "vhred-bpe"], str(tmp_path / "3" / "vhred+vhred-bpe")),
        (3, ["gpt2"], str(tmp_path / "3" / "gpt2")),
        (4, ["vhred"], str(tmp_path / "4")),
    ]


def toy_result(rows) -> TableResult:
    part = PartResult(rows, "2026-01-01", 1.0)
    return TableResult("toy", "", {}, ["seed", "attacker", "ERE"], ["all"], {"all": part})


TOY = {
    "toy": toy_result([["0", "worst, of all", Number(0.2, 0.1, 0.3)],
                       ["1", "worst, of all", Number(0.4)]])
}  # fmt: skip


def test_a_text_takes_its_numbers_from_the_table():
    text = "[[toy: 0; worst, of all | ERE]] and [[toy: worst, of all | ERE mean]]"
    assert filled(text, TOY) == ".200 [.100, .300] and .300"


@pytest.mark.parametrize(
    "reference",
    ["[[other: 0 | ERE]]", "[[toy: 0 | accuracy]]", "[[toy: 2 | ERE]]", "[[toy: 0 | ERE mean]]",
     "[[toy: worst, of all | ERE]]"],
)  # fmt: skip
def test_a_reference_that_does_not_fit_is_an_error(reference):
    with pytest.raises(BadInput, match=r"\[\["):
        filled(reference, TOY)
    assert not is_complete(reference, TOY)


def test_the_summary_refers_to_published_numbers_only():
    """A point that refers to nothing would silently be missing on the page."""
    results = published()
    points = SUMMARY.read_text(encoding="utf-8").count("\n- ") + 1
    text = summary(results)
    assert "[[" not in text and text.count("**") == 2 * points
    assert text in (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert summary({}).startswith("- **Perturbations**")
