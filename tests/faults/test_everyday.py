"""Faults that users meet: missing values, a wrong separator, Ctrl-C, links, folders for files."""

import errno
import json
import math
import os
import signal
from pathlib import Path

import pytest

from dialeval.dialogues import BadInput, ReadOptions, read, read_passages
from dialeval.errors import STOPPED, sentence_of
from dialeval.files import atomic_write
from dialeval.judgements.tables import read_judgements
from dialeval.saved import read_json
from dialeval.settings.robust import RobustRun
from tests.faults import harness, kills, material


@pytest.mark.parametrize("role", [True, ["x"], {"a": 1}, 1e30, float("nan"), None, ""])
def test_a_role_is_a_text_or_a_number(role):
    messages = [{"role": "user", "content": "hi"}, {"role": role, "content": "yes"}]
    Path("a.jsonl").write_text(json.dumps({"messages": messages}))
    with pytest.raises(BadInput, match="a message with a role"):
        read_passages("a.jsonl")
    messages[1]["role"] = 0
    Path("a.jsonl").write_text(json.dumps({"messages": messages}))
    assert len(read_passages("a.jsonl"))


@pytest.mark.parametrize("name", ["id", "dialogue_id", "author", "speaker", "corpus"])
def test_a_name_that_is_nan_is_missing(name):
    rows = [{"context": ["hi"], "response": "yes"}, {"context": ["tea?"], "response": "no"}]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    Path("b.jsonl").write_text("\n".join(json.dumps({**row, name: math.nan}) for row in rows))
    expected, actual = read_passages("a.jsonl"), read_passages("b.jsonl")
    assert actual[name][:] == expected[name][:] and "nan" not in actual[name][:]


def test_a_separator_that_separates_nothing_is_said():
    Path("a.csv").write_text("context,response\na|b,c\nd|e,f\n")
    for separator, expected in (("|", []), (";", ["No context has the turn separator ';'"])):
        _, report = read("a.csv", ReadOptions(turn_separator=separator))
        assert [note.partition(":")[0] for note in report.notes] == expected


def test_a_huge_cell_in_judgements_is_read_or_refused():
    cell = "word " * 100_000
    Path("a.csv").write_text(f"annotator,item,answer,system\nann,1,real,{cell}\n")
    assert len(list(read_judgements("a.csv"))) == 1
    Path("a.csv").write_text("annotator,item,answer,system\nann,1,real," + "x" * (1 << 26) + "x\n")
    with pytest.raises(BadInput, match="a.csv:2: expected a table"):
        list(read_judgements("a.csv"))


def test_a_folder_in_place_of_a_file(tmp_path):
    for path in (".", "..", str(tmp_path)):
        with pytest.raises(IsADirectoryError) as stop, atomic_write(path):
            pass
        assert "expected a file, but this is a folder" in sentence_of(stop.value)
    assert not list(tmp_path.iterdir())


def test_a_device_or_a_pipe_is_written_and_stays_what_it_is(tmp_path):
    """As root, a file was put in its place."""
    with atomic_write("/dev/null") as file:
        file.write("text")
    assert Path("/dev/null").is_char_device()
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(tmp_path / "pipe", "wb") as file:
        file.write(b"text")
    assert os.read(reader, 10) == b"text" and (tmp_path / "pipe").is_fifo()
    os.close(reader)
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_an_error_that_has_only_a_path_or_no_path_is_explained(tmp_path):
    assert sentence_of(FileNotFoundError("a.parquet")) == (
        "a.parquet: no such file or folder. Check the name."
    )
    assert "TMPDIR" in sentence_of(OSError(errno.ENOSPC, "full"))
    assert "TMPDIR" not in sentence_of(OSError(errno.ENOSPC, "full", "a.jsonl"))
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    with pytest.raises(FileExistsError) as stop:
        link.mkdir()
    assert "a link that leads to nothing" in sentence_of(stop.value)


def test_a_byte_order_mark_in_our_own_files(tmp_path):
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf{"a": 1}')
    assert read_json(tmp_path / "a.json") == {"a": 1}


@pytest.mark.parametrize("call", [1, 4])
def test_ctrl_c_ends_in_one_sentence(warm, tmp_path, call):
    (tmp_path / "material").mkdir()
    material.write_corpora(tmp_path / "material")

    def stop(_name, inside):
        if inside == call:
            os.kill(os.getpid(), signal.SIGINT)

    for name in ("evaluate", "robust"):
        argv = kills.JOBS[name].argv
        outcome = harness.run(argv, tmp_path, before=kills.Calls(stop).install)
        assert outcome.code == 130 and outcome.log.rstrip().endswith(STOPPED), outcome.log


def test_a_target_is_known_before_anything_is_read():
    with pytest.raises(BadInput, match="unknown target '1e-30'"):
        RobustRun(targets=["1e-30"])
    assert RobustRun(targets=["owner/name", "vhred"]).targets
