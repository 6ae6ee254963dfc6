"""What may go to the Hub, and what is refused before any request."""

import json
import shutil

import pytest

from dialeval.dialogues import BadInput
from dialeval.downloads import hub_error, with_retries, without_tokens
from dialeval.hub.contents import contents_of, parameters, refuse_secrets, strip_paths
from dialeval.hub.kinds import recognise
from dialeval.hub.push import _confirm_replacement


@pytest.fixture
def copy_of(folders, tmp_path):
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
def test_a_folder_is_recognised_by_its_files(folders, name, identity):
    assert recognise(folders[name]).identity == identity


def test_unknown_items_are_refused(tmp_path, write):
    with pytest.raises(BadInput, match="no such file or folder"):
        recognise(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="this file cannot be pushed. Give a folder, or passages"):
        recognise(write("notes.txt", "x"))
    with pytest.raises(BadInput, match="nothing to push in this folder: notes.txt"):
        recognise(tmp_path)


def test_weights_that_are_only_pickled_are_refused(copy_of):
    folder = copy_of("hierarchical")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(
        BadInput, match="no safetensors weights in this folder, only pytorch_model.bin"
    ):
        contents_of(recognise(folder), "me/x")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("model.safetensors", b"\x80\x04N.", "no safetensors header"),
        ("model.skops", b"\x80\x04N.", "not an archive"),
        ("extra.json", b"\x80\x04N.", "does not match its extension"),
        ("notes.txt", b"a\0b", "not text"),
        ("table.parquet", b"\x80\x04N.", "not a Parquet table"),
    ],
)
def test_content_must_match_the_extension(copy_of, name, content, reason):
    folder = copy_of("hierarchical")
    (folder / name).write_bytes(content)
    with pytest.raises(BadInput, match=reason):
        contents_of(recognise(folder), "me/x")


def test_run_files_pickles_and_code_are_left_out(copy_of):
    folder = copy_of("svm")
    for path in ("checkpoint-5/a.json", "cache/b.json", "opt.pt", "x.py", ".env", "note.docx"):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("{}")
    contents = contents_of(recognise(folder), "me/x")
    assert set(contents.files) == {"scorer.json", "model.skops"}
    assert set(contents.left_out) == {
        "checkpoint-5/",
        "cache/",
        "opt.pt",
        "x.py",
        ".env",
        "note.docx",
    }


def test_an_adapter_with_a_local_base_is_refused(copy_of):
    folder = copy_of("lora")
    shutil.rmtree(folder / "base")
    path = folder / "adapter_config.json"
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "base_model_name_or_path": "/models/big"}))
    with pytest.raises(BadInput, match="base of this adapter is a local folder"):
        contents_of(recognise(folder), "me/x")
    path.write_text(json.dumps({**config, "base_model_name_or_path": "owner/base"}))
    contents = contents_of(recognise(folder), "me/x")
    assert contents.read("adapter_config.json")["base_model_name_or_path"] == "owner/base"


def test_local_paths_are_not_published(copy_of):
    folder = copy_of("hierarchical")
    settings = json.loads((folder / "scorer.json").read_text())
    settings["training"] = {"settings": {"data": "/home/ann/a.txt,C:\\data\\b.txt", "lr": 0.1}}
    (folder / "scorer.json").write_text(json.dumps(settings))
    published = contents_of(recognise(folder), "me/x").read("scorer.json")
    assert published["training"]["settings"] == {"data": "a.txt,b.txt", "lr": 0.1}
    assert strip_paths({"text": "/home/ann"}) == {"text": "/home/ann"}  # only settings


def test_a_token_in_a_file_stops_the_push(copy_of):
    folder = copy_of("svm")
    (folder / "notes.md").write_text("my token is hf_abcdefghijklm, keep it")
    contents = contents_of(recognise(folder), "me/x")
    with pytest.raises(BadInput, match="notes.md: this file contains your token"):
        refuse_secrets(contents, "hf_abcdefghijklm")
    refuse_secrets(contents, None)
    (folder / "notes.md").write_bytes(
        b"x" * ((1 << 20) - 6) + b"hf_abcdefghijklm"
    )  # across two blocks
    with pytest.raises(BadInput, match="this file contains your token"):
        refuse_secrets(contents, "hf_abcdefghijklm")


def test_parameters_are_counted_without_loading(folders, scorers):
    expected = sum(weights.numel() for weights in scorers["hierarchical"].model.parameters())
    assert parameters(recognise(folders["hierarchical"])) == expected
    assert parameters(recognise(folders["svm"])) is None


def test_errors_contain_no_tokens(monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret-of-mine")
    assert without_tokens("x secret-of-mine y hf_abcdefghijkl z") == "x ... y hf_... z"
    error = hub_error(OSError("secret-of-mine is broken"), "me/x")
    assert str(error) == "me/x: the download failed: ... is broken"
    assert "cannot be reached (ConnectionError)" in str(hub_error(ConnectionError(), "me/x"))


def test_something_else_is_replaced_only_after_confirmation():
    questions = []
    _confirm_replacement(
        "me/x", "discriminator svm", "generator", lambda q: questions.append(q) or True
    )
    assert questions == ["me/x holds something else (discriminator svm) than what is pushed "
                     "(generator). Replace it?"]  # fmt: skip
    with pytest.raises(BadInput, match="Choose another name, or replace it with --force"):
        _confirm_replacement("me/x", "discriminator svm", "generator", lambda q: False)


def test_only_what_may_pass_is_tried_again():
    calls = []

    def fail(error):
        calls.append(error)
        raise error

    with pytest.raises(ConnectionError):
        with_retries(lambda: fail(ConnectionError("gone")), waits=(0, 0))
    assert len(calls) == 3
    with pytest.raises(KeyError):
        with_retries(lambda: fail(KeyError("x")), waits=(0, 0))
    assert len(calls) == 4
