"""`dialeval evaluate` as a user runs it, on invented files."""

import json
import random
import sys

import pyarrow.parquet as parquet
import pytest

from dialeval.commands import main

WORDS = ("i", "we", "you", "often", "like", "see", "know", "really", "never", "always", "maybe")
QUICK = ("--evaluator", "svm-unigram", "--folds", 2, "--seeds", 1)


def run(*arguments):
    """Exit code, standard output and standard error of one command."""
    patch, capsys = run.tools
    patch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    told = capsys.readouterr()
    return stop.value.code or 0, told.out, " ".join(told.err.split())


@pytest.fixture(autouse=True)
def tools(monkeypatch, capsys):
    run.tools = monkeypatch, capsys
    monkeypatch.setenv("COLUMNS", "200")


def talk(contexts: int = 80) -> list[dict]:
    """Human passages in two turns a dialogue."""
    rng = random.Random(0)

    def said() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))

    return [
        {"id": f"c{row}", "dialogue_id": f"d{row // 2}", "context": [said()], "response": said(),
         "author": "human"}
        for row in range(contexts)
    ]  # fmt: skip


def by(author: str, rows: list[dict], mark: str = "beep") -> list[dict]:
    return [{**row, "author": author, "response": f"{row['response']} {mark}"} for row in rows]


@pytest.fixture
def files(write):
    rows = talk()
    write("human.jsonl", rows)
    write("bot.jsonl", by("model-7", rows))
    write("many.jsonl", [*rows, *by("red", rows, "red"), *by("blue", rows, "blue")])
    return rows


def written(folder) -> dict:
    return json.loads((folder / "results.json").read_text("utf-8"))


def test_every_format_and_what_is_left_in_the_folder(files, tmp_path):
    arguments = ("evaluate", "--human", "human.jsonl", "--system", "[bot]=bot.jsonl", "-o", "x",
                 "--system", "blue=many.jsonl", "--system", "parrot", *QUICK)  # fmt: skip
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "[bot]: judge too weak to say." in out and "AdverSuc" in out and "svm-unigram" in out
    assert "80 contexts are few" in err and "report.html" in err
    told = written(tmp_path / "x")
    assert told["settings"]["systems"] == ["[bot]", "blue", "parrot"]
    values = {(row["metric"], row["system"], row["evaluator"]): row for row in told["results"]}
    assert values["adversuc", "[bot]", "svm-unigram"]["value"] == 0.0
    assert values["adversuc", "blue", "svm-unigram"]["value"] == 0.0
    assert {"coin", "length"} < {evaluator for _, _, evaluator in values}
    scores = parquet.read_table(tmp_path / "x" / "scores.parquet")
    said = {row["response"].split()[-1] for row in scores.to_pylist() if row["author"] == "blue"}
    assert said == {"blue"}
    page = (tmp_path / "x" / "report.html").read_text("utf-8")
    assert all(name in page for name in ("[bot]", "blue", "parrot", told["signature"]))

    before = (tmp_path / "x" / "results.json").read_bytes()
    code, out, err = run(*arguments, "--format", "markdown")
    assert code == 0 and out.count("\n| ") > 10 and "svm-unigram" in out and "beep" not in out
    code, out, err = run(*arguments, "--format", "latex")
    assert code == 0 and r"\begin{tabular}" in out and r"\toprule" in out and "parrot" in out
    code, out, err = run(*arguments, "--format", "json")
    assert code == 0 and json.loads(out) == told
    assert (tmp_path / "x" / "results.json").read_bytes() == before


def test_another_run_is_refused_until_it_may_be_replaced(files, tmp_path):
    common = ("evaluate", "--human", "human.jsonl", *QUICK, "-o", "x")
    assert run(*common, "--system", "parrot")[0] == 0
    kept = {path: path.read_bytes() for path in (tmp_path / "x").rglob("*") if path.is_file()}
    code, out, err = run(*common, "--system", "parrot", "--limit", 60)
    assert code == 2 and out == "" and "another run wrote here" in err
    assert "--overwrite" in err and "--output-dir" in err and "Traceback" not in err
    assert all(path.read_bytes() == content for path, content in kept.items())
    code, _, err = run(*common, "--system", "parrot", "--limit", 60, "--overwrite")
    assert code == 0, err
    told = written(tmp_path / "x")
    assert {row["n"] for row in told["results"] if row["metric"] == "adversuc"} == {120}


def test_a_file_is_a_system_by_its_own_name_and_needs_no_ids(files, write, tmp_path):
    keys = ("context", "response", "author")
    write("bare.jsonl", [{key: row[key] for key in keys} for row in by("bot", files[::-1])])
    code, _, err = run("evaluate", "--human", "human.jsonl", "--system", "bare.jsonl", *QUICK,
                       "-o", "x")  # fmt: skip
    assert code == 0, err
    [found] = [row for row in written(tmp_path / "x")["results"]
               if (row["metric"], row["evaluator"]) == ("adversuc", "svm-unigram")]  # fmt: skip
    assert (found["system"], found["value"], found["n"]) == ("bare", 0.0, 160)


def test_markup_in_responses_and_names_is_printed_as_it_is(files, write, tmp_path):
    odd = [{**row, "author": "bot", "response": "[/bold] oh [red]"} for row in files]
    write("odd.jsonl", odd)
    code, out, err = run("evaluate", "--human", "human.jsonl", "--system", "[/x]=odd.jsonl",
                         *QUICK, "-o", "x")  # fmt: skip
    assert code == 0, err
    assert "[/x]: " in out and "'[/bold] oh [red]'" in err


def few(rows):
    return by("bot", rows[:5])


REFUSED = {
    "unknown evaluator": (
        ("--system", "bot=bot.jsonl", "--evaluator", "nonsense"),
        ("Unknown evaluator 'nonsense'", "svm-unigram", "embedding", "hierarchical", "all"),
    ),
    "unknown format": (
        ("--system", "bot=bot.jsonl", "--format", "pdf"),
        ("Unknown format 'pdf'", "table, markdown, latex, json"),
    ),
    "several authors": (
        ("--system", "green=many.jsonl"),
        ("it holds several systems: red, blue", "--system red=many.jsonl"),
    ),
    "one name twice": (
        ("--system", "parrot", "--system", "parrot=bot.jsonl"),
        ("two systems are called 'parrot'",),
    ),
    "called human": (("--system", "human=bot.jsonl"), ("cannot be called 'human'",)),
    "missing file": (("--system", "bot=nowhere.jsonl"), ("nowhere.jsonl",)),
    "empty file": (("--system", "bot=empty.jsonl"), ("empty.jsonl",)),
    "too few answers": (
        ("--system", "few=few.jsonl"),
        ("answer 5 contexts in common", "by few 5", "same ids, or the same contexts"),
    ),
    "an endpoint": (("--system", "endpoint"), ("needs settings of its own", "dialeval generate")),
    "unknown responder": (("--system", "parot"), ("parot", "--system NAME=FILE", "parrot, random")),
    "one fold": (("--system", "bot=bot.jsonl", "--folds", 1), ("2 folds or more",)),
    "no contexts": (("--system", "bot=bot.jsonl", "--limit", 0), ("at least 1",)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_ends_in_clear_words_and_exit_code_2(files, write, tmp_path, name):
    arguments, words = REFUSED[name]
    write("few.jsonl", few(files))
    write("empty.jsonl", "")
    code, out, err = run("evaluate", "--human", "human.jsonl", *arguments, "-o", "x")
    assert code == 2 and out == ""
    assert all(word in err for word in words), err
    assert "Traceback" not in err and not (tmp_path / "x" / "results.json").exists()


def test_a_human_file_without_humans_is_refused(files):
    code, _, err = run("evaluate", "--human", "bot.jsonl", "--system", "parrot", "-o", "x")
    assert code == 2 and "bot.jsonl: no human responses, only those of model-7" in err


def test_one_dialogue_is_refused(files, write):
    write("one.jsonl", [{**row, "dialogue_id": "d"} for row in files])
    code, _, err = run("evaluate", "--human", "one.jsonl", "--system", "parrot", "-o", "x")
    assert code == 2 and "80 contexts come from 1 dialogue" in err
