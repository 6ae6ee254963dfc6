"""A panel's agreement against scipy, brute force over rows, and orders worked out by hand."""

import json
import re
from io import StringIO
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import typer
from rich.console import Console
from scipy.stats import kendalltau
from typer.testing import CliRunner

from dialeval.commands.panel import panel as command
from dialeval.dialogues import BadInput, to_passages
from dialeval.metrics.intervals import mean_of_ratios
from dialeval.metrics.results import Result
from dialeval.protocols.llm_judge import Answer, Contest, Judged, verdict
from dialeval.protocols.panel import panel, run_contests, taus, unit_sums
from dialeval.reports.transfer import agreement_sentences, panel_tables
from tests.conftest import talk
from tests.responders.endpoint_server import completion, serving

HUMAN = talk(dialogues=20, turns=4)  # 3 passages a dialogue
EVALUATORS = {
    "svm": (0.1, 0.2, 0.4, 0.7),
    "net": (0.3, 0.1, 0.5, 0.9),
}  # P(machine taken for human)
SYSTEMS = ("a", "b", "c", "d")


def decisions(judge: str, system: str, chance: float, seed: int) -> list[dict]:
    rng = np.random.default_rng([seed, *judge.encode(), *system.encode()])
    return [
        {"scenario": "human_machine", "evaluator": judge, "system": system, "pair": place,
         "id": each.id, "dialogue_id": each.dialogue_id, "label": label,
         "taken": bool(rng.random() < (chance if label == 0 else 0.8)),
         "response": each.response if label else f"{system} says {place}"}
        for place, each in enumerate(HUMAN)
        for label in (1, 0)
    ]  # fmt: skip


def adversuc(rows) -> float:
    """The mean of both classes' errors, from the rows themselves."""
    wrong = {label: [row["taken"] != label for row in rows if row["label"] == label]
             for label in (0, 1)}  # fmt: skip
    return (np.mean(wrong[0]) + np.mean(wrong[1])) / 2


@pytest.fixture
def make_run(tmp_path):
    """A run folder of invented decisions, and its rows by evaluator and system."""

    def make(judges=EVALUATORS, systems=SYSTEMS, scores=True, **changed):
        cells = {(judge, system): decisions(judge, system, chance, 0)
                 for judge, chances in judges.items()
                 for system, chance in zip(systems, chances, strict=False)}  # fmt: skip
        results = [
            {"metric": "adversuc", "system": system, "evaluator": judge, "low": 0.0, "high": 1.0,
             "value": changed.get(f"{judge}_{system}", adversuc(rows)), "n": len(rows)}
            for (judge, system), rows in cells.items()
        ]  # fmt: skip
        folder = tmp_path / "run"
        folder.mkdir(exist_ok=True)
        (folder / "results.json").write_text(json.dumps({"results": results}))
        table = pa.Table.from_pylist([row for rows in cells.values() for row in rows])
        if scores:
            parquet.write_table(table, folder / "scores.parquet")
        return folder, cells, table

    return make


def said(parts) -> str:
    console = Console(width=100, record=True, file=StringIO())
    for part in parts:
        console.print(part)
    return " ".join(console.export_text().split())


# Arithmetic


def test_tau_is_scipys_with_and_without_ties():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (50, 3, 5)) / 10
    found = taus(values)
    for drawn, matrix in zip(values, found, strict=True):
        for one, two in combinations(range(3), 2):
            expected = kendalltau(drawn[one], drawn[two]).statistic
            np.testing.assert_allclose(matrix[one, two], expected, atol=1e-12)


def test_equal_values_that_differ_by_rounding_are_tied():
    values = np.array([[0.1 + 0.5, 0.2 + 0.4, 0.9], [0.3, 0.2, 0.9]]) / 2
    values[0, 1] += 1e-16
    assert taus(values)[0, 1] == pytest.approx(kendalltau([1, 1, 2], [2, 1, 3]).statistic)


def test_sums_of_dialogues_give_the_adversuc_of_any_set_of_dialogues(make_run):
    _, cells, table = make_run()
    judges, systems = list(EVALUATORS), list(SYSTEMS)
    sums = unit_sums(table, (), judges, systems)
    dialogues = np.unique(table["dialogue_id"].to_numpy())
    assert sums.shape == (20, 2, 4, 4)
    rng = np.random.default_rng(0)
    for drawn in (np.arange(20), rng.integers(20, size=20), rng.integers(20, size=20)):
        found = mean_of_ratios(sums[drawn].sum(0))
        for (one, judge), (two, system) in ((x, y) for x in enumerate(judges)
                                             for y in enumerate(systems)):  # fmt: skip
            rows = [row for name in dialogues[drawn]
                    for row in cells[judge, system] if row["dialogue_id"] == name]  # fmt: skip
            assert found[one, two] == pytest.approx(adversuc(rows))


def test_intervals_are_those_of_a_bootstrap_over_dialogues_by_hand(make_run):
    folder, cells, _ = make_run()
    found = panel(folder, resamples=4_000)
    (agreement,) = found.agreements
    names = sorted({row["dialogue_id"] for row in cells["svm", "a"]})
    rights = {key: np.array([[sum(row["taken"] != row["label"] for row in rows
                                  if row["dialogue_id"] == name)] for name in names])[:, 0]
              for key, rows in cells.items()}  # fmt: skip
    rng, drawn = np.random.default_rng(9), []
    for _ in range(1_500):
        units = rng.integers(len(names), size=len(names))
        one, two = ([int(rights[judge, system][units].sum()) for system in SYSTEMS]
                    for judge in EVALUATORS)  # fmt: skip
        drawn.append(kendalltau(one, two).statistic)
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    assert agreement.low == pytest.approx(low, abs=0.1)
    assert agreement.high == pytest.approx(high, abs=0.1)
    assert found.mean.tau == pytest.approx(agreement.tau)
    assert (found.mean.low, found.mean.high) == (agreement.low, agreement.high)


# The panel


def test_the_table_tau_and_orders_of_a_run(make_run):
    folder, cells, _ = make_run()
    found = panel(folder, resamples=500)
    values = {judge: [adversuc(cells[judge, system]) for system in SYSTEMS] for judge in EVALUATORS}
    for judge in EVALUATORS:
        assert [found.table[judge][system]["value"] for system in SYSTEMS] == values[judge]
    expected = kendalltau(values["svm"], values["net"]).statistic
    assert found.agreements[0].tau == pytest.approx(expected)
    orders = {(each.above, each.below) for each in found.orders}
    for (one, first), (two, second) in combinations(enumerate(SYSTEMS), 2):
        gaps = [values[judge][one] - values[judge][two] for judge in EVALUATORS]
        agreed = (first, second) if min(gaps) > 0 else (second, first) if max(gaps) < 0 else None
        assert agreed in orders if agreed else (first, second) in found.disputed
    assert ("d", "a") in orders and ("a", "b") in found.disputed
    support = {(each.above, each.below): each.support for each in found.orders}
    assert support["d", "a"] == 1.0 and 0 < support["c", "a"] <= 1


def test_references_stand_beside_the_panel_and_not_in_its_mean(make_run):
    folder, *_ = make_run({"coin": (0.5, 0.4, 0.6, 0.3), **EVALUATORS})
    found = panel(folder, resamples=100)
    assert found.evaluators == ["svm", "net"] and found.references == ["coin"]
    by_names = {(each.first, each.second): each for each in found.agreements}
    assert found.mean.tau == pytest.approx(by_names["svm", "net"].tau)
    assert by_names["svm", "coin"].reference and not by_names["svm", "net"].reference


def test_two_systems_are_no_ranking(make_run):
    folder, *_ = make_run(systems=("a", "b"))
    found = panel(folder)
    assert found.agreements == [] and found.mean is None and set(found.table) == {"svm", "net"}
    assert "A ranking needs 3 systems, and 2 are judged by all." in said(panel_tables(found))


def test_one_evaluator_agrees_with_nobody(make_run):
    folder, *_ = make_run({"svm": EVALUATORS["svm"]})
    assert panel(folder).warnings == ["Agreement needs two evaluators, and there is one."]
    folder, *_ = make_run()
    assert panel(folder, evaluators=["net"]).evaluators == ["net"]


def test_systems_that_not_all_have_judged_are_left_out(make_run):
    folder, *_ = make_run({"svm": (0.1, 0.2, 0.4, 0.7), "net": (0.3, 0.1, 0.5)})
    found = panel(folder, resamples=50)
    assert found.systems == ["a", "b", "c"] and "judged d: left out" in found.warnings[0]
    assert "–" in said(panel_tables(found))


def test_an_evaluator_that_finds_all_equal_has_no_ranking(make_run):
    folder, *_ = make_run()
    flat = Judged("llm:flat", [Result("pairwise_accuracy", system, "llm:flat", 0.5, 0.5, 0.5, 1, "",
                                      llm_details()) for system in SYSTEMS],
                  {system: [verdict(Contest((), "h", "m", "q", "t0"), [], [])]
                   for system in SYSTEMS})  # fmt: skip
    found = panel(folder, [flat], resamples=50)
    by_names = {(each.first, each.second): each for each in found.agreements}
    assert by_names["svm", "llm:flat"].tau is None
    assert found.mean.tau == pytest.approx(by_names["svm", "net"].tau)
    assert found.ranking == ["svm", "net"] and "llm:flat: all systems equal" in found.warnings[-1]
    assert "Both evaluators find harder to tell" in agreement_sentences(found)[0]


def llm_details(**changed):
    return {"position_bias": None, "contradictions": 0, "parse_failures": 0, "asked": 2,
            "refusals": 0, "unbiased_accuracy": None, **changed}  # fmt: skip


def test_an_llm_ranks_by_one_minus_its_pairwise_accuracy(make_run):
    folder, *_ = make_run()
    accuracy = {"a": 1.0, "b": 0.75, "c": 0.5, "d": 0.25}
    right, wrong = (
        ([Answer("A", 1.0)], [Answer("B", 0.0)]),
        ([Answer("B", 0.0)], [Answer("A", 1.0)]),
    )
    verdicts = {system: [verdict(Contest((), "h", "m", f"q{k}", f"t{k}"),
                                 *(right if k < 8 * share else wrong)) for k in range(8)]
                for system, share in accuracy.items()}  # fmt: skip
    results = [Result("pairwise_accuracy", system, "llm:x", share, share - 0.1, share + 0.1, 8, "",
                      llm_details()) for system, share in accuracy.items()]  # fmt: skip
    found = panel(folder, [Judged("llm:x", results, verdicts)], resamples=300)
    column = found.table["llm:x"]
    assert [column[system]["value"] for system in SYSTEMS] == [0, 0.25, 0.5, 0.75]
    assert (column["b"]["low"], column["b"]["high"]) == pytest.approx((0.15, 0.35))
    assert "pairwise" in column["a"]["metric"] and found.warnings == []
    tau = {(each.first, each.second): each for each in found.agreements}["svm", "llm:x"]
    values = [found.table["svm"][system]["value"] for system in SYSTEMS]
    assert tau.tau == pytest.approx(kendalltau(values, [0, 1, 2, 3]).statistic)
    assert tau.low is not None and tau.low <= tau.tau <= tau.high
    assert "llm:x *" in said(panel_tables(found))


def test_a_run_without_scores_has_tau_but_no_interval(make_run):
    folder, *_ = make_run(scores=False)
    found = panel(folder)
    assert found.agreements[0].tau is not None and found.agreements[0].low is None
    assert found.orders[0].support is None and "no scores.parquet" in found.warnings[0]
    json.dumps(found.to_dict(), allow_nan=False)


def test_files_that_do_not_belong_together_are_remarked_on(make_run):
    folder, *_ = make_run(svm_a=0.99)
    assert any("do not say the same" in warning for warning in panel(folder, resamples=10).warnings)


def test_bad_runs_are_named(make_run, tmp_path):
    with pytest.raises(BadInput, match="no results.json here"):
        panel(tmp_path / "nowhere")
    folder, *_ = make_run()
    with pytest.raises(BadInput, match="no evaluator 'svn'.*Choose from svm, net"):
        panel(folder, evaluators=["svn"])
    (folder / "scores.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(BadInput, match="these scores cannot be read"):
        panel(folder)


# What an LLM is asked


def test_contests_join_the_runs_responses_with_their_contexts(make_run):
    folder, *_ = make_run()
    found, warnings = run_contests(folder, to_passages(HUMAN))
    assert list(found) == list(SYSTEMS) and warnings == []
    by_id = {each.id: each for each in HUMAN}
    for contest in found["b"]:
        assert contest.context == by_id[contest.id].context
        assert contest.human == by_id[contest.id].response
        assert contest.machine.startswith("b says") and contest.dialogue_id
    assert len(found["b"]) == len(HUMAN)


def test_a_limit_takes_the_same_contexts_for_every_system(make_run):
    folder, *_ = make_run()
    found, warnings = run_contests(folder, to_passages(HUMAN), limit=7, seed=1)
    ids = [[each.id for each in some] for some in found.values()]
    assert len(ids[0]) == 7 and all(each == ids[0] for each in ids)
    assert warnings == ["The LLM was asked about 7 of 60 contexts."]


def test_passages_of_another_corpus_are_refused(make_run):
    folder, *_ = make_run()
    strangers = to_passages(each.with_response("other words", "human") for each in HUMAN)
    with pytest.raises(BadInput, match="none of the contexts"):
        run_contests(folder, strangers)


# The command


APP = typer.Typer()
APP.command("panel")(command)


def invoke(*arguments):
    done = CliRunner().invoke(APP, list(map(str, arguments)), env={"COLUMNS": "100"})
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def test_the_command_shows_and_writes_the_panel(make_run):
    folder, *_ = make_run()
    output = invoke(folder, "--resamples", 50)
    assert "Kendall's τ" in output and "Both evaluators find harder to tell" in output
    told = json.loads((folder / "panel.json").read_text("utf-8"))
    assert told["agreements"][0]["tau"] == panel(folder, resamples=50).agreements[0].tau
    assert told["signature"].startswith("metric:kendall_tau|n_systems:4|resamples:50")


def test_the_command_adds_an_llm_behind_a_server(make_run, write, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder, *_ = make_run()
    human = write("human.jsonl", [
        {"context": [turn.text for turn in each.context], "response": each.response,
         "id": each.id, "dialogue_id": each.dialogue_id} for each in HUMAN])  # fmt: skip

    class Plan(dict):
        """Knows system a, says A of d, and cannot be read on the others."""

        def get(self, text, default=None):
            first, second = re.findall(r"=== REPLY [AB] \w+ ===\n(.*)", text)
            system = next(each for each in (first, second) if "says" in each)[0]
            right = "B" if "says" in first else "A"
            return [completion({"a": right, "d": "A"}.get(system, "who knows"))]

    with serving() as server:
        server.plan = Plan()
        arguments = ("--url", server.url, "--model", "m", "--human", human, "--limit", 5)
        output = " ".join(invoke(folder, *arguments, "--resamples", 20).split())
        asked = len(server.bodies)
        invoke(folder, *arguments, "--resamples", 20)
        assert len(server.bodies) == asked == 4 * 5 * 2
    told = json.loads((folder / "panel.json").read_text("utf-8"))
    rows = {row["system"]: row for row in told["results"]}
    assert {name: row["value"] for name, row in rows.items()} == {
        "a": 1,
        "b": 0.5,
        "c": 0.5,
        "d": 0.5,
    }
    assert (
        rows["b"]["details"]["parse_failures"] == 10 and rows["d"]["details"]["position_bias"] == 1
    )
    assert told["table"]["llm:m"]["a"]["value"] == 0
    assert (
        "10 of 10 answers unreadable" in output and "100 % of answers are for the reply" in output
    )


@pytest.mark.parametrize(("arguments", "match"), [
    (("--url", "http://localhost:1"), "Give --url and --model"),
    (("--llm", "x", "--url", "http://localhost:1"), "one LLM at a time"),
    (("--url", "http://localhost:1", "--model", "m"), "Give the run's human passages"),
])  # fmt: skip
def test_the_command_says_what_is_missing(make_run, arguments, match):
    folder, *_ = make_run()
    with pytest.raises(BadInput, match=match):
        invoke(folder, *arguments)
