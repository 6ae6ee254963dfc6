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
from dialeval.metrics.evaluation_results import EvaluationResults
from dialeval.metrics.intervals import mean_of_ratios
from dialeval.metrics.panel_results import Order, Panel
from dialeval.metrics.results import Result
from dialeval.protocols.llm_judge import Answer, Contest, LlmJudgements, pair_verdict
from dialeval.protocols.panel import panel, run_contests, taus, unit_sums
from dialeval.reports.panel import agreement_sentences, panel_tables
from tests.conftest import talk
from tests.responders.endpoint_server import completion, serving

HUMAN = talk(dialogues=20, turns=4)  # 3 passages a dialogue
EVALUATORS = {
    "svm": (0.1, 0.2, 0.4, 0.7),
    "net": (0.3, 0.1, 0.5, 0.9),
}  # P(machine predicted to be human)
SYSTEMS = ("a", "b", "c", "d")


def decisions(evaluator: str, system: str, chance: float, seed: int) -> list[dict]:
    rng = np.random.default_rng([seed, *evaluator.encode(), *system.encode()])
    return [
        {"scenario": "human_machine", "evaluator": evaluator, "system": system, "pair": row,
         "id": passage.id, "dialogue_id": passage.dialogue_id, "label": label,
         "predicted_human": bool(rng.random() < (chance if label == 0 else 0.8)),
         "response": passage.response if label else f"{system} says {row}"}
        for row, passage in enumerate(HUMAN)
        for label in (1, 0)
    ]  # fmt: skip


def adversuc(rows) -> float:
    """The mean of both classes' errors, from the rows themselves."""
    wrong = {label: [row["predicted_human"] != label for row in rows if row["label"] == label]
             for label in (0, 1)}  # fmt: skip
    return (np.mean(wrong[0]) + np.mean(wrong[1])) / 2


@pytest.fixture
def make_run(tmp_path):
    """A run folder of invented decisions, and its rows by evaluator and system."""

    def make(evaluators=EVALUATORS, systems=SYSTEMS, scores=True, **changed):
        cells = {(evaluator, system): decisions(evaluator, system, chance, 0)
                 for evaluator, chances in evaluators.items()
                 for system, chance in zip(systems, chances, strict=False)}  # fmt: skip
        results = tuple(
            Result("adversuc", system, evaluator,
                   changed.get(f"{evaluator}_{system}", adversuc(rows)), 0.0, 1.0, len(rows), "")
            for (evaluator, system), rows in cells.items()
        )  # fmt: skip
        folder = tmp_path / "run"
        EvaluationResults(results=results).save(folder)
        table = pa.Table.from_pylist([row for rows in cells.values() for row in rows])
        if scores:
            parquet.write_table(table, folder / "scores.parquet")
        return folder, cells, table

    return make


def printed(parts) -> str:
    console = Console(width=100, record=True, file=StringIO())
    for part in parts:
        console.print(part)
    return " ".join(console.export_text().split())


# Arithmetic


def test_tau_is_scipys_with_and_without_ties():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (50, 3, 5)) / 10
    matrices = taus(values)
    for drawn, matrix in zip(values, matrices, strict=True):
        for one, two in combinations(range(3), 2):
            expected = kendalltau(drawn[one], drawn[two]).statistic
            np.testing.assert_allclose(matrix[one, two], expected, atol=1e-12)


def test_equal_values_that_differ_by_rounding_are_tied():
    values = np.array([[0.1 + 0.5, 0.2 + 0.4, 0.9], [0.3, 0.2, 0.9]]) / 2
    values[0, 1] += 1e-16
    assert taus(values)[0, 1] == pytest.approx(kendalltau([1, 1, 2], [2, 1, 3]).statistic)


def test_sums_of_dialogues_give_the_adversuc_of_any_set_of_dialogues(make_run):
    _, cells, table = make_run()
    evaluators, systems = list(EVALUATORS), list(SYSTEMS)
    sums = unit_sums(table, (), evaluators, systems)
    dialogues = np.unique(table["dialogue_id"].to_numpy())
    assert sums.shape == (20, 2, 4, 4)
    rng = np.random.default_rng(0)
    for drawn in (np.arange(20), rng.integers(20, size=20), rng.integers(20, size=20)):
        values = mean_of_ratios(sums[drawn].sum(0))
        for (one, evaluator), (two, system) in ((x, y) for x in enumerate(evaluators)
                                             for y in enumerate(systems)):  # fmt: skip
            rows = [row for name in dialogues[drawn]
                    for row in cells[evaluator, system] if row["dialogue_id"] == name]  # fmt: skip
            assert values[one, two] == pytest.approx(adversuc(rows))


def test_intervals_are_those_of_a_bootstrap_over_dialogues_by_hand(make_run):
    folder, cells, _ = make_run()
    result = panel(folder, resamples=4_000)
    (agreement,) = result.agreements
    names = sorted({row["dialogue_id"] for row in cells["svm", "a"]})
    rights = {key: np.array([[sum(row["predicted_human"] != row["label"] for row in rows
                                  if row["dialogue_id"] == name)] for name in names])[:, 0]
              for key, rows in cells.items()}  # fmt: skip
    rng, drawn = np.random.default_rng(9), []
    for _ in range(1_500):
        units = rng.integers(len(names), size=len(names))
        one, two = ([int(rights[evaluator, system][units].sum()) for system in SYSTEMS]
                    for evaluator in EVALUATORS)  # fmt: skip
        drawn.append(kendalltau(one, two).statistic)
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    assert agreement.low == pytest.approx(low, abs=0.1)
    assert agreement.high == pytest.approx(high, abs=0.1)
    assert result.mean.tau == pytest.approx(agreement.tau)
    assert (result.mean.low, result.mean.high) == (agreement.low, agreement.high)


# The panel


def test_the_table_tau_and_orders_of_a_run(make_run):
    folder, cells, _ = make_run()
    result = panel(folder, resamples=500)
    values = {
        evaluator: [adversuc(cells[evaluator, system]) for system in SYSTEMS]
        for evaluator in EVALUATORS
    }
    for evaluator in EVALUATORS:
        assert [result.table[evaluator][system].value for system in SYSTEMS] == values[evaluator]
    expected = kendalltau(values["svm"], values["net"]).statistic
    assert result.agreements[0].tau == pytest.approx(expected)
    orders = {(order.above, order.below) for order in result.orders}
    for (one, first), (two, second) in combinations(enumerate(SYSTEMS), 2):
        gaps = [values[evaluator][one] - values[evaluator][two] for evaluator in EVALUATORS]
        agreed = (first, second) if min(gaps) > 0 else (second, first) if max(gaps) < 0 else None
        assert agreed in orders if agreed else (first, second) in result.disputed
    assert ("d", "a") in orders and ("a", "b") in result.disputed
    support = {(order.above, order.below): order.support for order in result.orders}
    assert support["d", "a"] == 1.0 and 0 < support["c", "a"] <= 1


def test_an_order_of_half_of_the_resamples_is_not_agreed_on():
    orders = [Order("a", "b", 0.97), Order("b", "c", 0.5), Order("a", "c", None)]
    results = Panel(["a", "b", "c"], ["svm", "net"], [], {}, [], [], {}, ranking=["svm", "net"],
                    orders=orders)  # fmt: skip
    agreed, undecided = agreement_sentences(results)
    assert agreed.endswith("harder to detect: a over b (97 % of resamples), a over c.")
    assert undecided == "They order b and c alike too, but in less than 90 % of the resamples."


def test_references_stand_beside_the_panel_and_not_in_its_mean(make_run):
    folder, *_ = make_run({"coin": (0.5, 0.4, 0.6, 0.3), **EVALUATORS})
    result = panel(folder, resamples=100)
    assert result.evaluators == ["svm", "net"] and result.references == ["coin"]
    by_names = {(agreement.first, agreement.second): agreement for agreement in result.agreements}
    assert result.mean.tau == pytest.approx(by_names["svm", "net"].tau)
    assert by_names["svm", "coin"].reference and not by_names["svm", "net"].reference


def test_two_systems_are_no_ranking(make_run):
    folder, *_ = make_run(systems=("a", "b"))
    result = panel(folder)
    assert result.agreements == [] and result.mean is None and set(result.table) == {"svm", "net"}
    warning = "A ranking needs 3 systems, but all evaluators share 2."
    assert warning in printed(panel_tables(result))


def test_one_evaluator_agrees_with_nobody(make_run):
    folder, *_ = make_run({"svm": EVALUATORS["svm"]})
    assert panel(folder).warnings == ["Agreement needs two evaluators, but there is one."]
    folder, *_ = make_run()
    assert panel(folder, evaluators=["net"]).evaluators == ["net"]


def test_systems_that_not_all_have_judged_are_left_out(make_run):
    folder, *_ = make_run({"svm": (0.1, 0.2, 0.4, 0.7), "net": (0.3, 0.1, 0.5)})
    result = panel(folder, resamples=50)
    assert result.systems == ["a", "b", "c"] and "evaluated d: left out" in result.warnings[0]
    assert "–" in printed(panel_tables(result))


def test_an_evaluator_that_finds_all_equal_has_no_ranking(make_run):
    folder, *_ = make_run()
    numbers = ("llm:flat", 0.5, 0.5, 0.5, 1, "", llm_details())
    results = [Result("pairwise_accuracy", system, *numbers) for system in SYSTEMS]
    contest = Contest((), "h", "m", "q", "t0")
    verdicts = {system: [pair_verdict(contest, [], [])] for system in SYSTEMS}
    flat = LlmJudgements("llm:flat", results, verdicts)
    result = panel(folder, [flat], resamples=50)
    by_names = {(agreement.first, agreement.second): agreement for agreement in result.agreements}
    assert by_names["svm", "llm:flat"].tau is None
    assert result.mean.tau == pytest.approx(by_names["svm", "net"].tau)
    assert result.ranking == ["svm", "net"] and "llm:flat: all systems equal" in result.warnings[-1]
    assert "Both evaluators agree that these are harder to detect" in agreement_sentences(result)[0]


def llm_details(**changed):
    return {"position_bias": None, "contradictions": 0, "parse_failures": 0, "n_answers": 2,
            "refusals": 0, "unbiased_accuracy": None, **changed}  # fmt: skip


def test_an_llm_ranks_by_one_minus_its_pairwise_accuracy(make_run):
    folder, *_ = make_run()
    accuracy = {"a": 1.0, "b": 0.75, "c": 0.5, "d": 0.25}
    right, wrong = (
        ([Answer("A", 1.0)], [Answer("B", 0.0)]),
        ([Answer("B", 0.0)], [Answer("A", 1.0)]),
    )
    verdicts = {system: [pair_verdict(Contest((), "h", "m", f"q{k}", f"t{k}"),
                                 *(right if k < 8 * share else wrong)) for k in range(8)]
                for system, share in accuracy.items()}  # fmt: skip
    results = [Result("pairwise_accuracy", system, "llm:x", share, share - 0.1, share + 0.1, 8, "",
                      llm_details()) for system, share in accuracy.items()]  # fmt: skip
    result = panel(folder, [LlmJudgements("llm:x", results, verdicts)], resamples=300)
    column = result.table["llm:x"]
    assert [column[system].value for system in SYSTEMS] == [0, 0.25, 0.5, 0.75]
    assert (column["b"].low, column["b"].high) == pytest.approx((0.15, 0.35))
    assert "pairwise" in column["a"].metric and result.warnings == []
    tau = {(agreement.first, agreement.second): agreement for agreement in result.agreements}[
        "svm", "llm:x"
    ]
    values = [result.table["svm"][system].value for system in SYSTEMS]
    assert tau.tau == pytest.approx(kendalltau(values, [0, 1, 2, 3]).statistic)
    assert tau.low is not None and tau.low <= tau.tau <= tau.high
    assert "llm:x *" in printed(panel_tables(result))


def test_a_run_without_scores_has_tau_but_no_interval(make_run):
    folder, *_ = make_run(scores=False)
    result = panel(folder)
    assert result.agreements[0].tau is not None and result.agreements[0].low is None
    assert result.orders[0].support is None and "no scores.parquet" in result.warnings[0]
    json.dumps(result.to_dict(), allow_nan=False)


def test_files_that_do_not_belong_together_are_remarked_on(make_run):
    folder, *_ = make_run(svm_a=0.99)
    assert any("results.json differ" in warning for warning in panel(folder, resamples=10).warnings)


def test_bad_runs_are_named(make_run, tmp_path):
    with pytest.raises(BadInput, match="results.json: no such file"):
        panel(tmp_path / "nowhere")
    folder, *_ = make_run()
    with pytest.raises(BadInput, match="no evaluator 'svn'.*Choose from svm, net"):
        panel(folder, evaluators=["svn"])
    (folder / "scores.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(BadInput, match="could not read the scores"):
        panel(folder)


# What an LLM is asked


def test_contests_join_the_runs_responses_with_their_contexts(make_run):
    folder, *_ = make_run()
    contests, warnings = run_contests(folder, to_passages(HUMAN))
    assert list(contests) == list(SYSTEMS) and warnings == []
    by_id = {passage.id: passage for passage in HUMAN}
    for contest in contests["b"]:
        assert contest.context == by_id[contest.id].context
        assert contest.human == by_id[contest.id].response
        assert contest.machine.startswith("b says") and contest.dialogue_id
    assert len(contests["b"]) == len(HUMAN)


def test_a_limit_takes_the_same_contexts_for_every_system(make_run):
    folder, *_ = make_run()
    contests, warnings = run_contests(folder, to_passages(HUMAN), limit=7, seed=1)
    ids = [[contest.id for contest in some] for some in contests.values()]
    assert len(ids[0]) == 7 and all(names == ids[0] for names in ids)
    assert warnings == ["The LLM judged 7 of 60 contexts."]


def test_passages_of_another_corpus_are_refused(make_run):
    folder, *_ = make_run()
    strangers = to_passages(passage.with_response("other words", "human") for passage in HUMAN)
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
    assert (
        "Kendall's τ" in output
        and "Both evaluators agree that these are harder to detect" in output
    )
    content = json.loads((folder / "panel.json").read_text("utf-8"))
    assert content["agreements"][0]["tau"] == panel(folder, resamples=50).agreements[0].tau
    assert content["signature"].startswith("metric:kendall_tau|n_systems:4|resamples:50")


def test_the_command_adds_an_llm_behind_a_server(make_run, write, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder, *_ = make_run()
    human = write("human.jsonl", [
        {"context": [turn.text for turn in passage.context], "response": passage.response,
         "id": passage.id, "dialogue_id": passage.dialogue_id} for passage in HUMAN])  # fmt: skip

    class Plan(dict):
        """Knows system a, says A of d, and cannot be read on the others."""

        def get(self, text, default=None):
            first, second = re.findall(r"=== REPLY [AB] \w+ ===\n(.*)", text)
            system = next(text for text in (first, second) if "says" in text)[0]
            right = "B" if "says" in first else "A"
            return [completion({"a": right, "d": "A"}.get(system, "who knows"))]

    with serving() as server:
        server.plan = Plan()
        arguments = ("--url", server.url, "--model", "m", "--human", human, "--limit", 5)
        output = " ".join(invoke(folder, *arguments, "--resamples", 20).split())
        count = len(server.bodies)
        invoke(folder, *arguments, "--resamples", 20)
        assert len(server.bodies) == count == 4 * 5 * 2
    content = json.loads((folder / "panel.json").read_text("utf-8"))
    rows = {row["system"]: row for row in content["results"]}
    assert {name: row["value"] for name, row in rows.items()} == {
        "a": 1,
        "b": 0.5,
        "c": 0.5,
        "d": 0.5,
    }
    assert (
        rows["b"]["details"]["parse_failures"] == 10 and rows["d"]["details"]["position_bias"] == 1
    )
    assert content["table"]["llm:m"]["a"]["value"] == 0
    assert (
        "10 of 10 answers could not be read" in output
        and "100 % of answers name the reply" in output
    )


@pytest.mark.parametrize(("arguments", "match"), [
    (("--url", "http://localhost:1"), "Give --url and --model"),
    (("--llm", "x", "--url", "http://localhost:1"), "only one LLM"),
    (("--url", "http://localhost:1", "--model", "m"), "Give the run's human passages"),
])  # fmt: skip
def test_the_command_says_what_is_missing(make_run, arguments, match):
    folder, *_ = make_run()
    with pytest.raises(BadInput, match=match):
        invoke(folder, *arguments)
