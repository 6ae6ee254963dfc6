"""What may go to the Hub, and what is refused before anything is asked of it."""

import json
import shutil

import pytest

from dialeval.dialogues import BadInput
from dialeval.downloads import again, in_plain_words, without_tokens
from dialeval.hub.contents import contents_of, parameters, refuse_secrets, without_places
from dialeval.hub.kinds import recognise
from dialeval.hub.push import _ask_first


@pytest.fixture
def copied(folders, tmp_path):
    def copy(name):
        return shutil.copytree(folders[name], tmp_path / name)

    return copy


@pytest.mark.parametrize(
    ("name", "identity"),
    [
        ("hierarchical", "discriminator neural dialeval-hierarchical"),
        ("transformer", "discriminator neural dialeval-transformer gpt2"),
        ("lora", "discriminator neural lora dialeval-transformer gpt2"),
        ("svm", "discriminator svm"),
        ("gpt2", "generator gpt2"),
        ("seq2seq", "generator dialeval-seq2seq"),
        ("adapter", "generator lora gpt2"),
        ("passages", "dataset"),
    ],
)
def test_a_folder_is_known_by_its_files(folders, name, identity):
    assert recognise(folders[name]).identity == identity


def test_what_is_nothing_of_ours_is_refused(tmp_path, write):
    with pytest.raises(BadInput, match="no such file or folder"):
        recognise(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="nothing that can be pushed. Give a folder, or passages"):
        recognise(write("notes.txt", "x"))
    with pytest.raises(BadInput, match="nothing here can be pushed; it holds notes.txt"):
        recognise(tmp_path)


def test_weights_that_are_only_pickled_are_refused(copied):
    folder = copied("hierarchical")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(BadInput, match="no weights as safetensors here, only pytorch_model.bin"):
        contents_of(recognise(folder), "me/x")


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("model.safetensors", b"\x80\x04N.", "no header of safetensors"),
        ("model.skops", b"\x80\x04N.", "no archive"),
        ("extra.json", b"\x80\x04N.", "not what its ending says"),
        ("notes.txt", b"a\0b", "no text"),
        ("table.parquet", b"\x80\x04N.", "no table"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_is_refused(copied, name, content, why):
    folder = copied("hierarchical")
    (folder / name).write_bytes(content)
    with pytest.raises(BadInput, match=why):
        contents_of(recognise(folder), "me/x")


def test_traces_pickles_and_code_stay_at_home(copied):
    folder = copied("svm")
    for path in ("checkpoint-5/a.json", "cache/b.json", "opt.pt", "x.py", ".env", "note.docx"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("{}")
    found = contents_of(recognise(folder), "me/x")
    assert set(found.files) == {"scorer.json", "model.skops"}
    assert set(found.left_out) == {"checkpoint-5/", "cache/", "opt.pt", "x.py", ".env", "note.docx"}


def test_an_adapter_whose_base_stays_on_this_machine_is_refused(copied):
    folder = copied("lora")
    shutil.rmtree(folder / "base")
    path = folder / "adapter_config.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "base_model_name_or_path": "/models/big"}))
    with pytest.raises(BadInput, match="base of this adapter is a folder of this machine"):
        contents_of(recognise(folder), "me/x")
    path.write_text(json.dumps({**told, "base_model_name_or_path": "owner/base"}))
    found = contents_of(recognise(folder), "me/x")
    assert found.read("adapter_config.json")["base_model_name_or_path"] == "owner/base"


def test_places_on_this_machine_are_not_told(copied):
    folder = copied("hierarchical")
    told = json.loads((folder / "scorer.json").read_text())
    told["training"] = {"settings": {"data": "/home/ann/a.txt,C:\\data\\b.txt", "lr": 0.1}}
    (folder / "scorer.json").write_text(json.dumps(told))
    found = contents_of(recognise(folder), "me/x").read("scorer.json")
    assert found["training"]["settings"] == {"data": "a.txt,b.txt", "lr": 0.1}
    assert without_places({"text": "/home/ann"}) == {"text": "/home/ann"}  # only settings


def test_a_token_in_a_file_stops_the_push(copied):
    folder = copied("svm")
    (folder / "notes.md").write_text("my token is hf_abcdefghijklm, keep it")
    found = contents_of(recognise(folder), "me/x")
    with pytest.raises(BadInput, match="notes.md: your token stands in this file"):
        refuse_secrets(found, "hf_abcdefghijklm")
    refuse_secrets(found, None)
    (folder / "notes.md").write_bytes(b"x" * ((1 << 20) - 6) + b"hf_abcdefghijklm")  # on an edge
    with pytest.raises(BadInput, match="your token stands in this file"):
        refuse_secrets(found, "hf_abcdefghijklm")


def test_parameters_are_counted_without_loading(folders, scorers):
    expected = sum(each.numel() for each in scorers["hierarchical"].model.parameters())
    assert parameters(recognise(folders["hierarchical"])) == expected
    assert parameters(recognise(folders["svm"])) is None


def test_errors_are_said_without_tokens(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret-of-mine")
    assert without_tokens("x secret-of-mine y hf_abcdefghijkl z") == "x ... y hf_... z"
    told = in_plain_words(OSError("secret-of-mine is broken"), "me/x")
    assert str(told) == "me/x: the Hub does not give it: ... is broken"
    assert "cannot be reached (ConnectionError)" in str(in_plain_words(ConnectionError(), "me/x"))


def test_something_else_is_replaced_only_when_somebody_agrees():
    asked = []
    _ask_first("me/x", "discriminator svm", "generator", lambda q: asked.append(q) or True)
    assert asked == ["me/x holds something else (discriminator svm) than what is pushed "
                     "(generator). Replace it?"]  # fmt: skip
    with pytest.raises(BadInput, match="Choose another name, or replace it with --force"):
        _ask_first("me/x", "discriminator svm", "generator", lambda q: False)


def test_only_what_may_pass_is_tried_again():
    calls = []

    def fail(error):
        calls.append(error)
        raise error

    with pytest.raises(ConnectionError):
        again(lambda: fail(ConnectionError("gone")), waits=(0, 0))
    assert len(calls) == 3
    with pytest.raises(KeyError):
        again(lambda: fail(KeyError("x")), waits=(0, 0))
    assert len(calls) == 4
