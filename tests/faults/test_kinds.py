"""Kinds of faults that a campaign once met: each ends in a sentence, or does no harm."""

import errno
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

from dialeval.commands.data.options import read_options
from dialeval.config import parse_config, plain_errors
from dialeval.dialogues import BadInput, read_passages, to_passages, write_passages
from dialeval.dialogues.encoding import InputFormat
from dialeval.errors import sentence_of
from dialeval.files import atomic_write
from dialeval.hub.kinds import recognise
from dialeval.judgements.project import Scale
from dialeval.metrics.results import Result
from dialeval.responders.prompts import PromptFormat
from dialeval.saved import check_type, from_saved, read_json
from dialeval.scorers import load_scorer, save_scorer
from dialeval.scorers.base import Decision
from dialeval.scorers.linear_features import SvmSettings
from dialeval.settings.inputs import InputSettings
from dialeval.terminal import prepare_streams
from dialeval.training.discriminator import DiscriminatorConfig
from tests.conftest import talk
from tests.faults import harness
from tests.faults.material import write_zero_shot

ROW = Result("adversuc", "bot", "svm", 0.25, 0.2, 0.3, 80, "folds:2").to_dict()


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "9" * 5_000])
def test_a_saved_number_that_no_float_holds_is_refused_with_its_file(tmp_path, number):
    (tmp_path / "a.json").write_text(f'{{"value": {number}}}')
    with pytest.raises(BadInput, match=r"a\.json: a number in it is too large"):
        read_json(tmp_path / "a.json")


def test_the_largest_float_is_no_fault(tmp_path):
    (tmp_path / "a.json").write_text(str(int(sys.float_info.max)))
    assert float(read_json(tmp_path / "a.json")) == sys.float_info.max


def test_an_overflow_is_explained():
    with pytest.raises(BadInput, match="finite number"):
        check_type("value", 10**400, float)
    with pytest.raises(OverflowError) as caught:
        float(10**400)
    assert "too large" in (sentence_of(caught.value) or "")


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_a_number_of_5000_digits_names_the_line(tmp_path, name):
    bad, good = (
        '{"context": ["a"], "response": "b", "n": %s}',
        '{"context": ["c"], "response": "d"}',
    )
    lines = [bad % ("9" * 5_000), good]
    document = "[" + ",\n".join(lines) + "]" if name == "a.json" else "\n".join(lines) + "\n"
    (tmp_path / name).write_text(document)
    with pytest.raises(BadInput, match=rf"{name}:1: .*too many digits"):
        read_passages(tmp_path / name)


@pytest.mark.parametrize("cell", ["[" * 100_000, "[" + "9" * 5_000 + "]"])
def test_a_cell_that_only_looks_like_json_is_a_text(tmp_path, cell):
    (tmp_path / "a.csv").write_text(f'context,response\n"{cell}",b\n')
    assert read_passages(tmp_path / "a.csv")[0]["context"] == [{"speaker": "A", "text": cell}]


@pytest.mark.parametrize("content", ["", "# nothing\n", "null\n"])
def test_a_config_without_settings_does_not_start_a_full_run(tmp_path, content):
    path = tmp_path / "a.yaml"
    path.write_text(content)
    with pytest.raises(BadInput, match="no settings"):
        parse_config(DiscriminatorConfig, argv=["--config", str(path)])


def test_a_recipe_ends_with_code_2(monkeypatch, capsys):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    plain_errors()
    with pytest.raises(SystemExit) as stop:
        sys.excepthook(BadInput, BadInput("no."), None)
    assert stop.value.code == 2 and "Error: no." in capsys.readouterr().err


def test_a_full_disk_names_the_file(tmp_path):
    with pytest.raises(OSError) as caught, atomic_write(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (sentence_of(caught.value) or "").startswith(f"{tmp_path / 'a.txt'}: no space")


@pytest.mark.parametrize("exists", [True, False])
def test_an_output_that_is_a_link_stays_one(tmp_path, exists):
    target, link = tmp_path / "disk" / "a.txt", tmp_path / "a.txt"
    link.symlink_to(target)
    if exists:
        target.parent.mkdir()
        target.write_text("old")
    with atomic_write(link) as file:
        file.write("new")
    assert link.is_symlink() and target.read_text() == "new"
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_a_clock_before_1980_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("time.localtime", lambda: time.gmtime(0))
    with pytest.raises(BadInput, match="clock is before 1980"):
        save_scorer(None, tmp_path)


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "a.jsonl").symlink_to("a.jsonl")
    with pytest.raises(BadInput, match="link that leads to nothing"):
        read_passages(tmp_path / "a.jsonl")


def test_json_lines_have_no_nan(tmp_path):
    record = {"context": ["a"], "response": "b", "score": float("nan"), "n": [float("inf"), 1]}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    write_passages(read_passages(tmp_path / "a.jsonl"), tmp_path / "b.jsonl")

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    row = json.loads((tmp_path / "b.jsonl").read_text(), parse_constant=refuse)
    assert row["score"] is None and row["n"] == [None, 1]


@pytest.mark.parametrize("name", ["id", "dialogue_id", "author", "speaker", "corpus"])
@pytest.mark.parametrize("value", [["x"], {"x": 1}, True])
def test_a_name_is_a_text_or_a_number(tmp_path, name, value):
    record = {"context": ["a"], "response": "b", name: value}
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    with pytest.raises(BadInput, match=r"a\.jsonl:1: expected a text or a number"):
        read_passages(tmp_path / "a.jsonl")


def test_skipping_every_record_is_no_success(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"context": ["a"], "response": 5}\n' * 3)
    with pytest.raises(BadInput, match="none of the records can be used; 3 are bad"):
        read_passages(tmp_path / "a.jsonl", skip_bad=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [("n", "x"), ("low", ["x"]), ("high", True), ("value", "0.5"), ("metric", None),
     ("system", 1.5), ("details", [])],
)  # fmt: skip
def test_a_card_of_damaged_results_is_refused(tmp_path, key, value):
    (tmp_path / "scores.parquet").write_bytes(b"")
    (tmp_path / "results.json").write_text(json.dumps({"results": [ROW, {**ROW, key: value}]}))
    with pytest.raises(BadInput, match=rf"results\.json: `results\.1` .*{key}"):
        recognise(tmp_path)
    (tmp_path / "results.json").write_text(json.dumps({"results": [ROW]}))
    assert recognise(tmp_path).kind == "evaluation"


@pytest.mark.parametrize("key", ["turned", "higher_is_human"])
def test_a_switch_of_a_saved_evaluator_is_true_or_false(tmp_path, key):
    write_zero_shot(tmp_path)
    path = tmp_path / "scorer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), key: "no"}))
    with pytest.raises(BadInput, match=f"`{key}` is true or false"):
        load_scorer(tmp_path)


@pytest.mark.parametrize(
    ("schema", "values", "message"),
    [
        (PromptFormat, {"template": -1}, "`template` is a text or null, but got a whole number"),
        (PromptFormat, {"start": "no"}, "`start` is true or false"),
        (PromptFormat, {"max_length": 2.5}, "`max_length` is a whole number or null"),
        (InputFormat, {"cut_left": 1}, "`cut_left` is true or false"),
        (SvmSettings, {"strength": "x"}, "`strength` is a number"),
        (Scale, {"name": "a", "points": None}, "`points` is a whole number"),
    ],
)
def test_a_field_of_a_saved_object_has_its_type(schema, values, message):
    with pytest.raises(BadInput, match=message):
        from_saved(schema, values)


@pytest.mark.parametrize("schema", [PromptFormat, InputFormat, SvmSettings, Decision])
def test_what_was_saved_is_read_again(schema):
    assert from_saved(schema, json.loads(json.dumps(asdict(schema())))) == schema()


@pytest.mark.parametrize(
    "given",
    [{"min_response": -1}, {"max_context": -1}, {"max_response": 0},
     {"min_context": 5, "max_context": 4}, {"responses": "x"}, {"filter": ""},
     {"input_format": " "}, {"turn_separator": ""}],
)  # fmt: skip
def test_limits_that_no_text_keeps_are_refused(given):
    with pytest.raises(BadInput, match="|".join(name.replace("_", "-") for name in given)):
        InputSettings(**given)


@pytest.mark.parametrize("pair", ["a=b", "=b", "response=", "x"])
def test_a_column_that_is_none_of_ours_is_refused(pair):
    with pytest.raises(BadInput, match="no column of ours|expected COLUMN=NAME"):
        read_options(InputSettings(column=[pair]))


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("generate --responder parrot --text hi --data a.jsonl", "only for --responder constant"),
        ("generate --responder parrot --url http://x/v1 --data a.jsonl", "only for --responder e"),
        ("generate --responder parrot -m smollm2 --data a.jsonl", "--model is given too"),
        ("generate --responder parrot --device gpu --data a.jsonl", "`device` is cpu, cuda"),
        ("score -d x --data a.jsonl --device gpu", "--device is cpu, cuda"),
        ("data pair a.jsonl --machine b.jsonl", "--scenario human_machine"),
        ("data overlap a.jsonl a.jsonl --min-response 99", "no passages are left"),
        ("transfer --human a.jsonl --system b=a.jsonl --seed -1", "--seed"),
        ("data describe -", "/dev/stdin"),
        ("card a.jsonl --dataset hub:x/y:z", "not a valid Hub name"),
        ("card a.jsonl --dataset x/y", "it is for models"),
        ("card a.jsonl --evaluator x", "it is for --results"),
        ("card a.jsonl --license [/b]", "no name of a licence"),
    ],
)
def test_what_would_be_ignored_is_refused(warm, tmp_path, command, message):
    write_passages(to_passages(talk(3, 3)), tmp_path / "a.jsonl")
    outcome = harness.run(command.split(), tmp_path)
    assert outcome.kind == "sentence" and message in " ".join(outcome.log.split()), outcome.log


PRINT = "from dialeval.commands.console import out; from dialeval.terminal import prepare_streams; "


def test_text_that_the_terminal_lacks_is_printed_as_json_would():
    code = PRINT + "prepare_streams(); out.print('na\\xefve \\u4f60 \\U0001f600')"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert run.returncode == 0, run.stderr
    assert json.loads(b'"' + run.stdout.strip() + b'"') == "na\xefve \u4f60 \U0001f600"


def test_closed_streams_do_no_harm(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    prepare_streams()
    print("x")
    print("x", file=sys.stderr)


def test_a_terminated_command_cleans_up():
    code = (
        "import atexit, os, signal; from dialeval.commands import _clean_up_on_sigterm as f; "
        "atexit.register(print, 'clean'); f(); os.kill(os.getpid(), signal.SIGTERM)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert run.returncode == 143 and run.stdout == b"clean\n"
