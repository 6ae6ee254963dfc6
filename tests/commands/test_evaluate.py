"""`dialeval evaluate` as a user runs it, on invented files."""

import json
import random
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as parquet
import pytest

from dialeval.commands import main
from dialeval.scorers import Decision

WORDS = ("i", "we", "you", "often", "like", "see", "know", "really", "never", "always", "maybe")
QUICK = ("--evaluator", "svm-unigram", "--folds", 2, "--seeds", 1)


def run(*arguments):
    """Exit code, standard output and standard error of one command."""
    patch, capsys = run.tools
    patch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, " ".join(captured.err.split())


@pytest.fixture(autouse=True)
def tools(monkeypatch, capsys):
    run.tools = monkeypatch, capsys
    monkeypatch.setenv("COLUMNS", "200")


def talk(contexts: int = 80) -> list[dict]:
    """Human passages, two per dialogue."""
    rng = random.Random(0)

    def sentence() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(3, 9)))

    return [
        {"id": f"c{row}", "dialogue_id": f"d{row // 2}", "context": [sentence()],
         "response": sentence(), "author": "human"}
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
    assert "[bot] is given away by its format: one rule is right in 100 of 100" in out
    assert "AdverSuc" in out
    assert "80 contexts are few" in err and "report.html" in err
    results = written(tmp_path / "x")
    assert results["settings"]["systems"] == ["[bot]", "blue", "parrot"]
    values = {(row["metric"], row["system"], row["evaluator"]): row for row in results["results"]}
    assert values["adversuc", "[bot]", "svm-unigram"]["value"] == 0.0
    assert values["adversuc", "blue", "svm-unigram"]["value"] == 0.0
    assert {"coin", "length"} < {evaluator for _, _, evaluator in values}
    scores = parquet.read_table(tmp_path / "x" / "scores.parquet")
    blue = [row["response"] for row in scores.to_pylist() if row["author"] == "blue"]
    assert {text.split()[-1] for text in blue} == {"blue"}
    page = (tmp_path / "x" / "report.html").read_text("utf-8")
    assert all(name in page for name in ("[bot]", "blue", "parrot", results["signature"]))

    before = (tmp_path / "x" / "results.json").read_bytes()
    code, out, err = run(*arguments, "--format", "markdown")
    assert code == 0 and out.count("\n| ") > 10 and "svm-unigram" in out and "says beep" not in out
    code, out, err = run(*arguments, "--format", "latex")
    assert code == 0 and r"\begin{tabular}" in out and r"\toprule" in out and "parrot" in out
    code, out, err = run(*arguments, "--format", "json")
    assert code == 0 and json.loads(out) == results
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
    results = written(tmp_path / "x")
    assert {row["n"] for row in results["results"] if row["metric"] == "adversuc"} == {120}


def test_a_file_is_a_system_by_its_own_name_and_needs_no_ids(files, write, tmp_path):
    keys = ("context", "response", "author")
    write("bare.jsonl", [{key: row[key] for key in keys} for row in by("bot", files[::-1])])
    code, _, err = run("evaluate", "--human", "human.jsonl", "--system", "bare.jsonl", *QUICK,
                       "-o", "x")  # fmt: skip
    assert code == 0, err
    [result] = [row for row in written(tmp_path / "x")["results"]
                if (row["metric"], row["evaluator"]) == ("adversuc", "svm-unigram")]  # fmt: skip
    assert (result["system"], result["value"], result["n"]) == ("bare", 0.0, 160)


def test_a_system_may_answer_equal_contexts_alike(files, write, tmp_path):
    contexts = [["Hello?"] if number < 6 else row["context"] for number, row in enumerate(files)]
    rows = [
        {**row, "context": context, "dialogue_id": row["id"]}
        for row, context in zip(files, contexts, strict=True)
    ]
    write("human.jsonl", rows)
    bot = [{**row, "author": "bot", "response": f"{row['context'][0]} beep"} for row in rows]
    write("bot.jsonl", bot)
    code, _, errors = run("evaluate", "--human", "human.jsonl", "--system", "bot=bot.jsonl",
                          *QUICK, "-o", tmp_path / "run")  # fmt: skip
    assert code == 0 and "repeated dialogue" not in errors
    assert not any("human contexts" in text for text in written(tmp_path / "run")["warnings"])


def test_markup_in_responses_and_names_is_printed_as_it_is(files, write, tmp_path):
    odd = [{**row, "author": "bot", "response": "[/bold] oh [red]"} for row in files]
    write("odd.jsonl", odd)
    code, out, err = run("evaluate", "--human", "human.jsonl", "--system", "[/x]=odd.jsonl",
                         *QUICK, "-o", "x")  # fmt: skip
    assert code == 0, err
    assert "[/x] is easy to spot: right in 100 of 100 (chance 50)" in out
    assert "'[/bold] oh [red]'" in " ".join((out + err).split())


# Evaluators that are not retrained, and a second human.


class SavedScorer:
    """A saved evaluator, as far as its name and weights are concerned."""

    name, higher_is_human, decision, signature = "saved", True, Decision(), "saved"
    fingerprint = "abc"

    def __call__(self, passages):
        return np.array([float("beep" not in text) for text in passages["response"]])


@pytest.fixture
def saved(monkeypatch, tmp_path):
    monkeypatch.setattr("dialeval.protocols.evaluation.frozen.load_scorer", lambda _: SavedScorer())
    (tmp_path / "saved").mkdir()
    return ("--evaluator", "saved", "--folds", 2, "--seeds", 1, "-o", "x")


@pytest.mark.parametrize("manifest", [{"training": {"discriminator_fingerprint": "abc"}},
                                      {"discriminator_fingerprint": ["abc"]}])  # fmt: skip
def test_a_file_whose_manifest_names_the_evaluator_gives_a_warning(files, saved, write, manifest):
    write("bot.jsonl.run.json", json.dumps(manifest))
    arguments = ("--human", "human.jsonl", "--system", "bot=bot.jsonl", "--system", "parrot")
    code, out, err = run("evaluate", *arguments, *saved)
    assert code == 0, err
    shown = " ".join(out.split())
    assert "bot: saved is the discriminator that the generator was trained" in shown
    assert "parrot: saved is" not in shown + err
    code, _, err = run("transfer", *arguments, "--evaluator", "saved", "-o", "y")
    assert code == 0, err
    assert "bot: saved is the discriminator that the generator was trained" in err


@pytest.mark.parametrize("content", ["[]", "not JSON", '{"training": 3}'])
def test_a_manifest_without_information_is_ignored(files, saved, write, content):
    write("bot.jsonl.run.json", content)
    code, _, err = run("evaluate", "--human", "human.jsonl", "--system", "bot=bot.jsonl", *saved)
    assert code == 0 and "trained against" not in err


class Trained:
    """A responder whose generator records the discriminator it was trained against."""

    name, signature = "gen", "gen"
    generator = SimpleNamespace(training={"discriminator_fingerprint": "abc"})

    def stream(self, passages):
        for index, passage in enumerate(passages):
            yield index, passage.with_response("hello you", self.name)


def test_a_generator_trained_against_the_evaluator_gives_a_warning(files, saved, monkeypatch):
    monkeypatch.setattr("dialeval.commands.generate.load_and_say", lambda *_, **__: Trained())
    code, out, err = run("evaluate", "--human", "human.jsonl", "--system", "some/model", *saved)
    assert code == 0, err
    careful = next(line for line in out.splitlines() if line.startswith("  Careful"))
    assert "gen: saved is the discriminator that the generator was trained" in careful


def test_a_saved_evaluator_is_applied_as_it_is(files, saved, tmp_path):
    arguments = ("--human", "human.jsonl", "--system", "bot=bot.jsonl", *saved)
    code, out, err = run("evaluate", *arguments)
    assert code == 0, err
    [result] = [row for row in written(tmp_path / "x")["results"]
                if (row["metric"], row["evaluator"]) == ("adversuc", "saved")]  # fmt: skip
    assert result["value"] == 0.0 and "trained_on:others" in result["signature"]
    code, out, _ = run("evaluate", *arguments, "--format", "json")
    assert code == 0 and json.loads(out) == written(tmp_path / "x")


def references(contexts: int = 60) -> list[dict]:
    """Records in the format of DailyDialog++: two people answer each context."""
    rows = talk(contexts)
    others = [*rows[1:], rows[0]]
    return [
        {"id": index, "context": row["context"],
         "positive_responses": [row["response"], other["response"]],
         "adversarial_negative_responses": ["no"], "random_negative_responses": ["yes"]}
        for index, (row, other) in enumerate(zip(rows, others, strict=True))
    ]  # fmt: skip


def test_a_second_human_is_in_the_table_but_is_no_system(write, tmp_path):
    write("human.jsonl", references())
    arguments = ("evaluate", "--human", "human.jsonl", "--system", "parrot", *QUICK, "-o", "x")
    code, out, err = run(*arguments)
    assert code == 0, err
    results = written(tmp_path / "x")
    rows = [row for row in results["results"] if row["system"] == "second human"]
    assert {row["n"] for row in rows if row["metric"] == "adversuc"} == {120}
    assert "second human: not a system" in out and "second human:" not in out.split("Evaluation")[0]
    assert [row["system"] for row in results["verdicts"]] == ["parrot"]
    page = (tmp_path / "x" / "report.html").read_text("utf-8")
    cards = page.split('id="results"')[0]
    assert "second human" in page and "<bdi>second human</bdi>" not in cards
    assert "a second human" in cards  # as a mark to compare with
    code, out, _ = run("check", "x", "--min", "adversuc=0")
    assert code == 0 and out.count("pass:") == 1 and "second human" not in out
    code, out, _ = run("check", "x", "--min", "adversuc=0", "--system", "second human")
    assert code == 0 and "second human, evaluated by svm-unigram" in out
    code, out, err = run(*arguments[:-1], "y", "--no-second-human")
    assert code == 0 and "second human" not in out


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
        ("it has responses of several systems: red, blue", "--system red=many.jsonl"),
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
        ("answer 5 contexts in common", "few 5", "same ids, or the same contexts"),
    ),
    "an endpoint": (("--system", "endpoint"), ("needs model and url", "model@http://host")),
    "unknown responder": (("--system", "parot"), ("parot", "NAME=FILE", "parrot, random")),
    "one fold": (("--system", "bot=bot.jsonl", "--folds", 1), ("2 folds or more",)),
    "no contexts": (("--system", "bot=bot.jsonl", "--limit", 0), ("at least 1",)),
    "called second human": (("--system", "second human=bot.jsonl"), ("cannot be called",)),
    "a folder without an evaluator": (
        ("--system", "bot=bot.jsonl", "--evaluator", "./"),
        ("no scorer.json here", "dialeval train"),
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_gives_a_clear_message_and_exit_code_2(files, write, tmp_path, name):
    arguments, words = REFUSED[name]
    write("few.jsonl", few(files))
    write("empty.jsonl", "")
    code, out, err = run("evaluate", "--human", "human.jsonl", *arguments, "-o", "x")
    assert code == 2 and out == ""
    assert all(word in err for word in words), err
    assert "Traceback" not in err and not (tmp_path / "x" / "results.json").exists()


@pytest.mark.parametrize(
    ("spec", "message"),
    [("parot", "unknown system 'parot'. Did you mean parrot?"), ("bot=no.jsonl", "no such file")],
)
def test_an_unknown_system_is_refused_before_anything_is_read(files, monkeypatch, spec, message):
    monkeypatch.setattr("dialeval.commands.evaluate._read_files", lambda *_: pytest.fail("read"))
    code, _, err = run("evaluate", "--human", "human.jsonl", "--system", spec)
    assert code == 2 and message in err


def test_a_file_instead_of_the_output_folder_is_refused(files, tmp_path):
    before = (tmp_path / "bot.jsonl").read_bytes()
    for command in ("evaluate", "transfer", "ere"):
        code, _, err = run(command, "--human", "human.jsonl", "-o", "bot.jsonl")
        assert code == 2 and "bot.jsonl: expected a folder for the results, found a file" in err
    assert (tmp_path / "bot.jsonl").read_bytes() == before


def test_a_human_file_without_humans_is_refused(files):
    code, _, err = run("evaluate", "--human", "bot.jsonl", "--system", "parrot", "-o", "x")
    assert code == 2 and "bot.jsonl: no human responses, only those of model-7" in err


def test_one_dialogue_is_refused(files, write):
    write("one.jsonl", [{**row, "dialogue_id": "d"} for row in files])
    code, _, err = run("evaluate", "--human", "one.jsonl", "--system", "parrot", "-o", "x")
    assert code == 2 and "80 contexts come from 1 dialogue" in err
