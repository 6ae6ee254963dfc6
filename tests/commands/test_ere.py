"""`dialeval ere` as a user runs it, on invented files and tables of scores."""

import csv
import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.metrics.ere import ere, scenario_success

GOLD = {"human_human": 0.5, "machine_machine": 0.5, "human_random": 0.0, "human_next": 0.0}
WORDS = ("i", "we", "you", "often", "like", "see", "know", "really", "never", "always", "maybe")
QUICK = ("--evaluator", "svm-unigram", "--folds", 2)


def talk(dialogues: int = 30, turns: int = 3) -> list[dict]:
    rng, passages = random.Random(0), []
    for number in range(dialogues):
        turn_texts = [" ".join(rng.choices(WORDS, k=rng.randint(3, 9))) for _ in range(turns + 2)]
        passages += [
            {"id": f"d{number}#{at}", "dialogue_id": f"d{number}", "context": [turn_texts[at - 1]],
             "response": turn_texts[at], "following": turn_texts[at + 1], "author": "human"}
            for at in range(1, turns + 1)
        ]  # fmt: skip
    return passages


def written(folder="x") -> dict:
    with open(f"{folder}/results.json", encoding="utf-8") as file:
        return json.load(file)


def by_hand(rows: list[dict], threshold: float = 0.5) -> dict[str, float]:
    """AdverSuc of each scenario: the mean of both classes' shares of wrong decisions."""
    values = {}
    for name in GOLD:
        wrong = {0: [], 1: []}
        for row in rows:
            if row["scenario"] == name:
                wrong[int(row["label"])].append((row["score"] >= threshold) != bool(row["label"]))
        if wrong[0]:
            values[name] = (np.mean(wrong[0]) + np.mean(wrong[1])) / 2
    return values


def test_the_error_of_an_evaluator_alone(run, write):
    write("human.jsonl", talk())
    code, out, err = run("ere", "--human", "human.jsonl", *QUICK, "-o", "x")
    assert code == 0, err
    assert "parrot" in out and "noise" in out and ".25 for a random guess" in " ".join(out.split())
    results = written()["results"]
    rows = parquet.read_table("x/scores.parquet").to_pylist()
    assert {row["scenario"] for row in rows} - {"human_next_matched"} == set(GOLD)
    rows = [row for row in rows if row["scenario"] in GOLD]
    for evaluator in ("svm-unigram", "coin", "length"):
        [result] = [row for row in results if row["evaluator"] == evaluator]
        expected = by_hand([row for row in rows if row["evaluator"] == evaluator])
        off = [abs(expected[name] - gold) for name, gold in GOLD.items()]
        assert (result["metric"], result["system"]) == ("ere", "parrot")
        assert result["value"] == pytest.approx(np.mean(off))
        for name, value in expected.items():
            assert result["details"]["scenarios"][name]["deviation"] == pytest.approx(
                value - GOLD[name]
            )
        assert f"{result['value']:.3f}".removeprefix("0") in out
    before = out
    code, out, _ = run("ere", "--human", "human.jsonl", *QUICK, "-o", "x")
    assert code == 0 and out == before
    code, out, _ = run("ere", "--scores", "x/scores.parquet", "-o", "y")
    again = {row["evaluator"]: row["value"] for row in written("y")["results"]}
    assert again == {row["evaluator"]: row["value"] for row in results}


def test_without_a_system_the_error_is_refused_and_the_rest_is_shown(run, write):
    write("human.jsonl", talk())
    code, _, err = run("ere", "--human", "human.jsonl", "--system", "none", *QUICK, "-o", "x")
    assert code == 0 and "ERE skipped: machine_machine needs a system. Name one: --system" in err
    [result] = [row for row in written()["results"] if row["evaluator"] == "svm-unigram"]
    assert result["value"] is None and result["details"]["missing"] == ["machine_machine"]
    assert set(result["details"]["scenarios"]) == {"human_human", "human_random", "human_next"}
    code, _, _ = run("check", "x", "--max", "ere=0.9")
    assert code == 2


def test_a_scenario_without_data_is_named(run, write):
    write("human.jsonl", [{**row, "following": None} for row in talk()])
    code, _, err = run("ere", "--human", "human.jsonl", *QUICK, "-o", "x")
    assert code == 0 and "It is called ere_three" in " ".join(err.split())
    assert {row["metric"] for row in written()["results"]} == {"ere_three"}
    assert {row["details"]["random_guess"] for row in written()["results"]} == {0.5 / 3}


def table(n: int = 40, seed: int = 0) -> list[dict]:
    rng = random.Random(seed)
    return [
        {"score": rng.random(), "label": label, "scenario": name, "dialogue_id": f"{name}{at // 2}"}
        for name in GOLD for at in range(n) for label in (0, 1)
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_scores_in_a_table_of_any_kind(run, write, tmp_path, kind):
    rows = table()
    path = tmp_path / f"scores.{kind}"
    if kind == "jsonl":
        write(path.name, rows)
    elif kind == "csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    else:
        parquet.write_table(pa.Table.from_pylist(rows), path)
    code, _, err = run("ere", "--scores", path, "--threshold", 0.4, "-o", "x")
    assert code == 0, err
    [result] = written()["results"]
    columns = [[row[name] for row in rows] for name in ("score", "label", "scenario")]
    groups = [row["dialogue_id"] for row in rows]
    expected = ere(*columns, threshold=0.4, groups=groups)
    assert (result["value"], result["low"]) == (expected["ere"], expected["low"])
    assert "thr:0.4|" in result["signature"] and "trained_on:unknown" in result["signature"]
    assert scenario_success(*columns, threshold=0.4, groups=groups) == expected["scenarios"]


def test_rows_without_a_dialogue_keep_the_dialogues_of_the_others(run, write):
    rows = table()
    write("all.jsonl", rows)
    write("some.jsonl", [{**rows[0], "dialogue_id": ""}, *rows[1:]])
    write("none.jsonl", [{**row, "dialogue_id": ""} for row in rows])
    groups = {}
    for name in ("all", "some", "none"):
        assert run("ere", "--scores", f"{name}.jsonl", "-o", name)[0] == 0
        [result] = written(name)["results"]
        scenario = result["details"]["scenarios"][rows[0]["scenario"]]
        groups[name] = scenario["n_groups"]
    assert groups["some"] == groups["all"] + 1 < groups["none"]
    warnings = {name: " ".join(written(name)["warnings"]) for name in groups}
    assert "dialogue_id" not in warnings["all"]
    assert f"1 of {len(rows):,} rows have no `dialogue_id`" in warnings["some"]
    assert "No row has `dialogue_id`" in warnings["none"]


def test_scores_that_are_low_for_humans_and_of_an_evaluator_that_was_not_retrained(run, write):
    rows = table()
    write("up.jsonl", rows)
    write("down.jsonl", [{**row, "score": -row["score"]} for row in rows])
    assert run("ere", "--scores", "up.jsonl", "-o", "x")[0] == 0
    flags = ("--lower-is-human", "--threshold", -0.5, "--transfer")
    code, out, _ = run("ere", "--scores", "down.jsonl", *flags, "-o", "y")
    [up], [down] = written("x")["results"], written("y")["results"]
    assert code == 0 and up["value"] == down["value"]
    assert (up["metric"], down["metric"]) == ("ere", "ere_transfer")
    assert "not comparable with ERE" in " ".join(out.split())


def test_evaluators_and_systems_of_one_table_are_kept_separate(run, write):
    first, second = table(seed=0), table(seed=1)
    rows = [{**row, "evaluator": "a"} for row in first]
    for row in second:
        systems = ("p", "q") if row["scenario"] == "machine_machine" else ("",)
        rows += [{**row, "evaluator": "b", "system": system} for system in systems]
    write("s.jsonl", rows)
    assert run("ere", "--scores", "s.jsonl", "-o", "x")[0] == 0
    values = {(row["evaluator"], row["system"]): row["value"] for row in written()["results"]}
    assert values.keys() == {("a", ""), ("b", "p"), ("b", "q")}
    assert values["b", "p"] == values["b", "q"] != values["a", ""]


def edited(**changes) -> list[dict]:
    rows = table()
    return [*rows[:6], {**rows[6], **changes}, *rows[7:]]


REFUSED = {
    "no label": (edited(label=None), "scores.jsonl:7: label is missing"),
    "no number": (edited(score="high"), "scores.jsonl:7: the score 'high' is no finite number"),
    "not a number": (edited(score=float("nan")), "scores.jsonl:7: the score nan is no finite"),
    "a strange label": (edited(label=2), "scores.jsonl:7: the label 2 is neither 1 nor 0"),
    "a strange scenario": (edited(scenario="x"), "scores.jsonl:7: Unknown scenario 'x'. Choose"),
    "one class": ([{**row, "label": 1} for row in table()], "all 80 responses are positive"),
    "other scenarios": (
        [{**row, "scenario": "human_machine"} for row in table()],
        "no scores of any scenario of reliability",
    ),
    "nothing": ([], "no scores of any scenario"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_scores_give_a_clear_message(run, write, name):
    content, words = REFUSED[name]
    write("scores.jsonl", content)
    code, out, err = run("ere", "--scores", "scores.jsonl", "-o", "x")
    assert (code, out) == (2, "") and words in err


@pytest.mark.parametrize("missing", ["human_human", "machine_machine", "human_random"])
def test_a_missing_scenario_refuses_the_error_and_names_it(run, write, missing):
    write("scores.jsonl", [row for row in table() if row["scenario"] != missing])
    code, _, err = run("ere", "--scores", "scores.jsonl", "-o", "x")
    assert code == 0 and f"No ERE of scores: there are no scores of {missing}." in err
    [result] = written()["results"]
    assert result["value"] is None and len(result["details"]["scenarios"]) == 3


def test_without_next_turns_the_error_is_another_one_with_its_own_name(run, write):
    rows = [row for row in table() if row["scenario"] != "human_next"]
    write("scores.jsonl", rows)
    code, out, err = run("ere", "--scores", "scores.jsonl", "-o", "x")
    assert code == 0 and "a mean over three scenarios (ere_three)" in " ".join(err.split())
    [result] = written()["results"]
    expected = by_hand(rows)
    assert result["metric"] == "ere_three" and "(3)" in out
    assert result["value"] == pytest.approx(
        np.mean([abs(v - GOLD[k]) for k, v in expected.items()])
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--scores", "nowhere.jsonl"), "nowhere.jsonl: there is no such file"),
        (("--scores", "scores.xml"), "could not read it: unknown ending '.xml'"),
        (("--scores", "scores.jsonl", "--human", "h.jsonl"), "--scores cannot be combined"),
        (("--scores", "scores.jsonl", "-o", "scores.jsonl"), "expected a folder for the results"),
        (("--format", "pdf"), "Unknown format 'pdf'"),
    ],
)
def test_bad_options_are_refused(run, write, arguments, words):
    write("scores.jsonl", table())
    write("scores.xml", "<x/>")
    code, out, err = run("ere", *arguments)
    assert (code, out) == (2, "") and words in err


def test_results_of_another_run_are_kept(run, write):
    write("a.jsonl", table())
    write("b.jsonl", table(seed=3))
    assert run("ere", "--scores", "a.jsonl", "-o", "x")[0] == 0
    kept = written()
    code, _, err = run("ere", "--scores", "b.jsonl", "-o", "x")
    assert code == 2 and "another run wrote here" in err and written() == kept
    assert run("ere", "--scores", "b.jsonl", "-o", "x", "--overwrite")[0] == 0
    assert written() != kept
