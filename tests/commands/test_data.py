"""The `data` commands as a user runs them."""

import json
import sys

import pytest

from dialeval.commands import main
from dialeval.dialogues import write_passages

TALK = "".join(
    " ".join(f"line {turn} of talk {number} . __eou__" for turn in range(5)) + "\n"
    for number in range(60)
)


@pytest.fixture
def dialeval(monkeypatch, capsys):
    """Run a command line; gives exit code, standard output and standard error."""

    def run(*arguments):
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return run


def test_formats_are_listed_with_an_example(dialeval):
    code, out, _ = dialeval("data", "formats")
    assert code == 0
    for name in ("dailydialog", "switchboard", "cocoa", "passages", "chat", "Coffee ? __eou__"):
        assert name in out


def test_describe_counts_draws_and_says_what_it_guessed(dialeval, write, tmp_path):
    path = write("talk.txt", TALK + TALK.splitlines()[0])
    code, out, err = dialeval("data", "describe", path)
    assert code == 0 and "Read talk.txt as dailydialog" in err
    for row in ("dialogues 61", "turns 305", "duplicate dialogues, dropped 1", "passages 240"):
        assert row in " ".join(out.split())
    assert (tmp_path / "talk.describe.png").read_bytes().startswith(b"\x89PNG")


def test_describe_as_json(dialeval, write, tmp_path):
    code, out, _ = dialeval("data", "describe", write("talk.txt", TALK), "--json", "--no-png")
    description = json.loads(out)
    assert code == 0
    assert (description["dialogues"], description["turns"]["mean"], description["passages"]) == (
        60,
        5.0,
        240,
    )
    assert description["authors"][0]["lengths"] == {"6": 240}
    assert not list(tmp_path.glob("*.png"))


def test_convert_round_trip(dialeval, write, tmp_path):
    path = write("talk.txt", TALK)
    assert (
        dialeval("data", "convert", path, "-o", "a.jsonl", "-k", 1, "--responses", "last")[0] == 0
    )
    records = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(records) == 60
    assert records[0]["context"] == [{"role": "B", "content": "line 3 of talk 0 ."}]
    assert dialeval("data", "convert", "a.jsonl", "-o", "b.csv")[0] == 0
    assert dialeval("data", "convert", "b.csv", "-o", "c.jsonl")[0] == 0
    assert (tmp_path / "a.jsonl").read_text() == (tmp_path / "c.jsonl").read_text()


def test_convert_drops_dialogues_of_another_split(dialeval, write):
    train, test = write("train.txt", TALK), write("test.txt", TALK.splitlines()[0] + "\n")
    _, _, err = dialeval("data", "convert", train, "--against", test, "-o", "out.jsonl")
    assert "Wrote 236 passages" in err and "1 in other files" in " ".join(err.split())


def test_a_failed_convert_leaves_the_old_file_alone(dialeval, write, tmp_path):
    (tmp_path / "out.jsonl").write_text("old")
    code, _, err = dialeval(
        "data", "convert", write("talk.txt", TALK + "broken"), "-o", "out.jsonl"
    )
    assert code == 2 and "talk.txt:61: expected __eou__" in err and "Traceback" not in err
    assert (tmp_path / "out.jsonl").read_text() == "old"
    code, _, err = dialeval(
        "data", "convert", write("talk.txt", TALK + "broken"), "-o", "out.jsonl", "--skip-bad"
    )
    assert code == 0 and "Skipped 1 bad record(s)" in err and "talk.txt:61" in err


def test_split_writes_parts_and_a_card(dialeval, write, tmp_path):
    code, out, _ = dialeval("data", "split", write("talk.txt", TALK), "-o", "parts")
    assert code == 0 and "generator" in out
    manifest = json.loads((tmp_path / "parts" / "manifest.json").read_text())
    assert sum(part["dialogues"] for part in manifest["parts"].values()) == 60
    assert manifest["signature"] in (tmp_path / "parts" / "README.md").read_text()
    ids = [
        {json.loads(line)["dialogue_id"] for line in path.read_text().splitlines()}
        for path in sorted((tmp_path / "parts").glob("*.jsonl"))
    ]
    assert len(ids) == 3 and not (ids[0] & ids[1] | ids[0] & ids[2] | ids[1] & ids[2])


def test_folds(dialeval, write, tmp_path):
    assert dialeval("data", "split", write("talk.txt", TALK), "-o", "folds", "--folds", 4)[0] == 0
    assert len(list((tmp_path / "folds").glob("fold-*.jsonl"))) == 4


def test_pair_and_overlap(dialeval, write, tmp_path):
    dialeval("data", "split", write("talk.txt", TALK), "-o", "parts")
    code, _, err = dialeval("data", "pair", "parts/test.jsonl", "-o", "pairs.jsonl")
    assert code == 0 and "Pairing(scenario='human_random'" in err
    labels = [
        json.loads(line)["label"] for line in (tmp_path / "pairs.jsonl").read_text().splitlines()
    ]
    assert sum(labels) * 2 == len(labels) > 0
    code, out, _ = dialeval("data", "overlap", "parts/generator.jsonl", "parts/test.jsonl")
    assert code == 0 and "No shared dialogues" in out
    code, out, _ = dialeval("data", "overlap", "talk.txt", "parts/test.jsonl")
    assert code == 1 and "has seen dialogues" in out


def test_leaks_finds_a_planted_marker_and_removes_it(dialeval, human, machine, tmp_path):
    write_passages(human, tmp_path / "human.jsonl")
    write_passages(
        machine.map(lambda row: {"response": f"<s> {row['response']} </s>"}), tmp_path / "bot.jsonl"
    )
    code, out, _ = dialeval("data", "leaks", "human.jsonl", "bot.jsonl", "--json", "--normalise")
    before, after = json.loads(out)
    assert code == 0
    named = {leak["name"]: leak for leak in before["format"] + before["content"]}
    assert any(
        "token" in name or "marker" in name for name, leak in named.items() if leak["significant"]
    )
    assert "<s>" not in (tmp_path / "normalised" / "bot.jsonl").read_text()
    assert len(after["format"]) == len(before["format"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "nowhere.jsonl"], "nowhere.jsonl: no such file"),
        (["describe", "empty"], "found a directory"),
        (
            ["convert", "talk.txt", "--filter", "lee"],
            "Unknown filter 'lee'. Choose one of none, li",
        ),
        (["convert", "talk.txt", "--format", "xml"], "unknown format 'xml'"),
        (["convert", "talk.txt", "-o", "out.doc"], "ending '.doc'"),
        (["convert", "talk.txt", "--column", "reply"], "expected COLUMN=NAME, but got 'reply'"),
        (["convert", "talk.txt", "--only", "bot"], "No responses by 'bot'. There are human."),
        (["split", "talk.txt", "--parts", "a=0.5"], "must sum to 1"),
        (["split", "talk.txt", "--parts", "half"], "Cannot read the parts 'half'"),
        (["split", "talk.txt", "--folds", "1"], "at least 2 folds"),
        (["split", "talk.txt", "--folds", "9" * 20], "at most 1,000 files"),
        (["pair", "talk.txt", "--scenario", "x"], "Unknown scenario 'x'"),
        (["pair", "talk.txt", "--scenario", "human_machine"], "Expected one system, found none"),
    ],
)
def test_bad_input_is_one_sentence_and_no_traceback(dialeval, write, arguments, message):
    write("talk.txt", TALK).with_name("empty").mkdir()
    code, _, err = dialeval("data", *arguments)
    assert code == 2
    assert message in " ".join(err.split())
    assert "Traceback" not in err and err.count("Error:") == 1


def test_quiet_is_quiet(dialeval, write, monkeypatch):
    monkeypatch.setenv("DIALEVAL_QUIET", "1")
    _, out, err = dialeval("data", "describe", write("talk.txt", TALK), "--no-png")
    assert out and not err


def test_version(dialeval):
    from dialeval import __version__

    assert dialeval("--version")[1] == f"dialeval {__version__}\n"


def test_leaks_between_two_authors_of_one_file(dialeval, human, machine, tmp_path):
    from datasets import concatenate_datasets

    write_passages(concatenate_datasets([human, machine]), tmp_path / "both.jsonl")
    code, out, _ = dialeval("data", "leaks", "both.jsonl", "both.jsonl", "--normalise")
    assert code == 0 and "As given" in out and "Normalised" in out
    names = {path.name for path in (tmp_path / "normalised").iterdir()}
    assert names == {"both-human.jsonl", "both-system.jsonl"}
    code, _, err = dialeval("data", "leaks", "both.jsonl", "both.jsonl", "--only", "ghost")
    assert code == 2 and "expected one system, but found bot. Name it with --only." in " ".join(
        err.split()
    )


def test_repeated_dialogues_are_left_out_and_said(run, write):
    row = {"context": ["hi"], "response": "hello"}
    path = write("own.jsonl", [row, row, {"context": ["bye"], "response": "see you"}])
    code, _, err = run("data", "convert", path, "-o", "once.jsonl")
    assert code == 0 and "Left out 1 repeated dialogue, equal word for word" in err
    code, _, err = run("data", "convert", path, "--keep-duplicates", "-o", "all.jsonl")
    assert code == 0 and "Left out" not in err
