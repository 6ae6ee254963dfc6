"""A study of judgements: results, page and command."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from dialeval.commands import main
from dialeval.dialogues import BadInput
from dialeval.judgements import Judgement, write_judgements
from dialeval.judgements.planning import judgements_for_share
from dialeval.judgements.tables import IDENTICAL
from dialeval.metrics.judgement_results import JudgementResults
from dialeval.protocols.people import MetricScores, read_scores, study_judgements
from dialeval.reports.people import judgement_tables, render_judgements
from dialeval.settings.people import StudySettings

QUICK = StudySettings(resamples=60)
SCRIPT = "<script>alert(1)</script>"


def real_or_not() -> list[Judgement]:
    """40 items, half of them real; of three annotators one is wrong on every fourth item."""
    rows = []
    for item in range(40):
        truth = "real" if item % 2 else "fake"
        system = "human" if item % 2 else "random" if item % 4 else "bot"
        for number, name in enumerate(("ann", "bob", SCRIPT)):
            wrong = number == item % 3 and item % 4 == 0
            answer = {"real": "fake", "fake": "real"}[truth] if wrong else truth
            rows.append(Judgement(name, f"i{item}", answer, "real", "", system, "", truth))
    return rows


def preferences() -> list[Judgement]:
    return [
        Judgement(name, f"p{item}", "win" if item < 15 else "tie" if item < 20 else "lose",
                  "better", "", "ours-2", "baseline")
        for item in range(30)
        for name in ("ann", "bob")
    ]  # fmt: skip


def ratings() -> list[Judgement]:
    rng, quality = np.random.default_rng(0), {"a": 2.0, "b": 3.0, "c": 3.5, "d": 4.0, "e": 2.5}
    return [
        Judgement(name, f"r{item}", float(np.clip(round(quality[system] + rng.normal()), 1, 5)),
                  "rating", scale, system)
        for item in range(30) for system in quality for name in ("ann", "bob")
        for scale in ("fluency", "sense")
    ]  # fmt: skip


def test_people_and_a_discriminator_are_compared_on_the_same_items():
    rows = real_or_not()
    truth = {row.item: row.truth for row in rows}
    scores = {(item, ""): 0.9 if kind == "real" else 0.1 for item, kind in truth.items()}
    results = study_judgements(rows, [MetricScores("oracle", scores, 0.5)], QUICK)
    people = results.get("detection", "bot", "people")
    # 10 of the bot and as many real, three answers each; one of three is wrong about the bot's
    assert people.value == pytest.approx(50 / 60) and people.n == 60
    assert people.details["classes"]["fake"]["recall"] == pytest.approx(2 / 3)
    assert results.get("detection", "random", "people").value == 1.0
    oracle = results.get("detection", "bot", "oracle")
    assert oracle.value == 1.0 and oracle.details["fleiss_pi"] == 1.0 and oracle.n == 20
    assert results.get("detection", "bot", "majority").value == 1.0
    plan = next(plan for plan in results.plans if "bot" in plan.question)
    assert plan.settled and plan.items == 20


def test_a_tie_about_who_is_human_is_a_guess():
    answers = ["lose"] * 6 + ["win"] * 2 + ["tie"] * 4  # of the system: the human was recognised
    rows = [Judgement("ann", f"i{n}", answer, "human", "", "bot", "human")
            for n, answer in enumerate(answers)]  # fmt: skip
    result = study_judgements(rows, settings=QUICK).get("detection", "bot", "people")
    assert result.value == pytest.approx((6 + 4 / 2) / 12) and result.details["pairs"]
    assert result.low < result.value < result.high and result.details["n_items"] == 12


def test_a_task_whose_replies_were_judged_once_is_named():
    alone = [row for row in preferences() if row.annotator == "ann"]
    results = study_judgements([*real_or_not(), *alone], settings=QUICK)
    assert results.warnings == ("better: every reply was judged once, so agreement is unknown.",)
    assert {row.details["task"] for row in results.select("fleiss_pi")} == {"real"}


@pytest.mark.parametrize("copies", [1, 3])
def test_answers_about_one_item_are_one_piece_of_evidence_in_a_plan(copies):
    """Ten of sixteen are right; three annotators who always agree settle no more than one."""
    rows = [
        Judgement(f"ann{copy}", f"i{item}", "real" if (item % 8 < 5) == (item < 8) else "fake",
                  "real", system="human" if item < 8 else "bot",
                  truth="real" if item < 8 else "fake")
        for item in range(16) for copy in range(copies)
    ]  # fmt: skip
    [plan] = study_judgements(rows, settings=StudySettings(resamples=2_000)).plans
    assert not plan.settled and plan.items == 16
    assert plan.needed == pytest.approx(judgements_for_share(10 / 16), rel=0.2)


def test_preferences_and_ratings():
    quality = {"a": 2.0, "b": 3.0, "c": 3.5, "d": 4.0, "e": 2.5}
    good = {(f"r{i}", s): value for i in range(30) for s, value in quality.items()}
    noise = {key: float(rank) for rank, key in enumerate(sorted(good))}
    metrics = [MetricScores("good", good), MetricScores("noise", noise)]
    results = study_judgements([*preferences(), *ratings()], metrics, QUICK)
    win = results.get("win_rate", "ours-2", "people")
    assert (win.value, win.details["items_won"], win.details["items_lost"]) == (0.5, 15, 10)
    means = [row for row in results.select("rating") if row.details["scale"] == "fluency"]
    assert [row.system for row in means] == ["d", "c", "b", "e", "a"]
    strengths = [row for row in results.select("strength") if row.details["scale"] == "sense"]
    assert strengths[0].system == "d" and strengths[-1].system == "a"
    key = ("mean of scales", "system")
    rows = [row for row in results.select("spearman", evaluator="good")
            if (row.details["scale"], row.details["level"]) == key]  # fmt: skip
    assert rows[0].value == pytest.approx(1.0)
    gaps = [row for row in results.select("correlation_gap", evaluator="good")
            if (row.details["scale"], row.details["level"]) == ("fluency", "item")]  # fmt: skip
    assert gaps[0].value > 0 and gaps[0].details["p_value"] < 0.01


def test_replies_with_the_same_words_are_ties_but_no_agreement_of_annotators():
    rows = preferences()
    rows[0] = replace(rows[0], answer="lose")
    same = [Judgement(f"{IDENTICAL} {number}", f"same{item}", "tie", "better", "", "ours-2",
                      "baseline") for item in range(30) for number in range(2)]  # fmt: skip
    alone, results = (study_judgements(answers, (), QUICK) for answers in (rows, rows + same))
    assert results.select("fleiss_pi")[0].value == alone.select("fleiss_pi")[0].value < 1
    assert [row.annotator for row in results.annotators] == ["ann", "bob"]
    assert (results.n_judgements, results.n_items) == (60, 60)
    shares = [part.get("win_rate", "ours-2", "people").details["tie"] for part in (alone, results)]
    assert shares == [10 / 60, 70 / 120]
    with pytest.raises(BadInput, match="none of the 60 judgements counts"):
        study_judgements(same, (), QUICK)


def test_annotators_who_fail_test_questions_do_not_count():
    tests = [Judgement(name, f"t{item}", "real", "real", truth="real" if name == "ann" else "fake",
                       test=True) for item in range(5) for name in ("ann", "bob")]  # fmt: skip
    results = study_judgements([*real_or_not(), *tests], (), QUICK)
    assert results.n_judgements == 80  # those of bob are left out
    assert "1 annotators failed" in results.warnings[0]
    rows = [row for row in (*real_or_not(), *tests) if row.annotator == "bob"]
    with pytest.raises(BadInput, match="none of the 45 judgements counts"):
        study_judgements(rows, (), QUICK)


def test_results_are_saved_and_the_page_shows_text_as_text(tmp_path):
    results = study_judgements([*real_or_not(), *preferences(), *ratings()], (), QUICK)
    results.save(tmp_path)
    assert JudgementResults.load(tmp_path).to_dict() == results.to_dict()
    page = render_judgements(JudgementResults.load(tmp_path))
    assert SCRIPT not in page and "&lt;script&gt;" in page
    for title in ("Do annotators agree?", "Which is better", "Ranking of the systems"):
        assert title in page
    assert page.count("<table") >= 8 and 'id="glossary-fleiss-pi"' in page
    assert len(judgement_tables(results)) > 10


def test_scores_are_read_from_tables(write, tmp_path):
    path = write("s.csv", "item,system,note,svm,length\n1,a,x,0.5,3\n2,b,y,,4\n")
    svm, length = read_scores(path)
    assert svm.values == {("1", "a"): 0.5} and length.values == {("1", "a"): 3.0, ("2", "b"): 4.0}
    rows = [{"id": "1", "svm": 0.5}, {"id": "2", "svm": None}, {"id": "3"}]
    assert read_scores(write("v.jsonl", rows))[0].values == {("1", ""): 0.5}
    with pytest.raises(BadInput, match="expected a column item or id"):
        read_scores(write("t.csv", "name,x\na,1\n"))
    with pytest.raises(BadInput, match="no column of numbers"):
        read_scores(write("u.jsonl", [{"id": "1", "text": "x"}]))
    with pytest.raises(BadInput, match="no such file"):
        read_scores(tmp_path / "none.csv")


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code or 0


def test_the_command_prints_tables_and_writes_a_page(tmp_path, monkeypatch, capsys):
    path = write_judgements([*real_or_not(), *preferences()], tmp_path / "j.csv")
    options = ("--resamples", 50, "-o", tmp_path / "out")
    assert run(monkeypatch, "agreement", path, *options) == 0
    printed = capsys.readouterr()
    assert "240" not in printed.out and "180 judgements about 70 items" in printed.out
    assert "Real passages against random replies" in printed.out and "report.html" in printed.err
    assert (tmp_path / "out" / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert run(monkeypatch, "agreement", path, *options, "--json") == 0
    assert json.loads(capsys.readouterr().out)["protocol"] == "judgements"
    (tmp_path / "out" / "report.html").unlink()
    assert run(monkeypatch, "report", tmp_path / "out") == 0
    assert (tmp_path / "out" / "report.html").is_file()


def test_the_command_explains_bad_options(tmp_path, monkeypatch, capsys):
    path = write_judgements(real_or_not(), tmp_path / "j.jsonl")
    assert run(monkeypatch, "agreement", path, "--required", "2") == 2
    assert "lies in [0, 1]" in capsys.readouterr().err
    assert run(monkeypatch, "agreement", tmp_path / "none.csv") == 2
    assert "no such file" in capsys.readouterr().err


def test_who_calls_everything_fake_recognises_nothing():
    rows = [
        Judgement(name, f"{truth}{item}", "fake", "real", "", system, "", truth)
        for truth, system, count in (("real", "human", 10), ("fake", "bot", 30))
        for item in range(count)
        for name in ("ann", "bob")
    ]
    results = study_judgements(rows, settings=QUICK)
    people = results.get("detection", "bot", "people")
    assert people.value == 0.5 and people.details["n_items"] == 20
    assert not next(plan for plan in results.plans if "bot" in plan.question).settled
    without = study_judgements([row for row in rows if row.truth == "fake"], settings=QUICK)
    assert without.get("detection", "bot", "people") is None
    assert "No real replies were judged beside those of bot" in without.warnings[0]


@pytest.mark.parametrize(("items", "settled"), [(3, False), (8, True)])
def test_a_few_equal_ratings_settle_nothing(items, settled):
    rows = [
        Judgement("ann", f"r{item}", rating, "rating", "sense", system)
        for item in range(items)
        for system, rating in (("a", 4.0), ("b", 3.0))
    ]
    [plan] = study_judgements(rows, settings=QUICK).plans
    assert plan.settled is settled
