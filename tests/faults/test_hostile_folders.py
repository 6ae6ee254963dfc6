"""Folders and repositories that somebody else made: no code runs, nothing leaves its folder."""

import json
import os

import pytest
import skops.io

from dialeval.dialogues import BadInput
from dialeval.hub.contents import contents_of
from dialeval.hub.kinds import recognise
from dialeval.responders.generators import load_generator
from dialeval.run_folder import RunFolder
from dialeval.scorers import load_scorer
from tests.faults.material import write_zero_shot


class Payload:
    """Would leave a file behind if it were loaded."""

    def __reduce__(self):
        return os.system, ("touch code-ran",)


CODE = "open('code-ran', 'w').close()\n"
MAPS = {
    "AutoConfig": "evil.EvilConfig", "AutoModel": "evil.Evil", "AutoTokenizer": ["evil.E", None],
    "AutoModelForCausalLM": "evil.Evil",
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_is_asked(monkeypatch):
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a question was asked"))


def _edit(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("prefix", ["", "evil/code--"])
@pytest.mark.parametrize("file", ["config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("load", [load_scorer, load_generator])
def test_code_beside_a_model_does_not_run(tmp_path, load, file, prefix):
    folder = tmp_path / "zero"
    write_zero_shot(folder)
    (folder / "evil.py").write_text(CODE)
    maps = {k: f"{prefix}{v}" if isinstance(v, str) else v for k, v in MAPS.items()}
    others = {"model_type": "evil"} if file == "config.json" else {"tokenizer_class": "Evil"}
    _edit(folder / file, auto_map=maps, **others)
    try:
        load(folder, device="cpu")
    except BadInput as error:
        assert "\n" not in str(error)
    assert not list(tmp_path.rglob("code-ran")) and not os.path.exists("code-ran")


@pytest.mark.parametrize("kind", ["os:system", "evil:Evil", "tests.conftest:talk", "../evil"])
def test_a_class_path_in_a_saved_evaluator_is_not_imported(tmp_path, kind):
    write_zero_shot(tmp_path / "zero")
    _edit(tmp_path / "zero" / "scorer.json", kind=kind)
    (tmp_path / "evil.py").write_text(CODE)
    with pytest.raises(BadInput, match="unknown kind of scorer"):
        load_scorer(tmp_path / "zero")
    assert not os.path.exists("code-ran")


@pytest.mark.parametrize("kind", ["svm", "embedding", "stack"])
def test_objects_in_a_saved_evaluator_do_not_run(tmp_path, kind):
    write_zero_shot(tmp_path / "zero")
    _edit(tmp_path / "zero" / "scorer.json", kind=kind, fingerprint=None)
    for name in ("model.skops", "stack.skops", "embedding.skops"):
        skops.io.dump({"response": Payload(), "classifier": Payload()}, tmp_path / "zero" / name)
    with pytest.raises(BadInput):
        load_scorer(tmp_path / "zero")
    assert not os.path.exists("code-ran")


def test_a_link_out_of_a_folder_is_not_published(tmp_path):
    write_zero_shot(tmp_path / "zero")
    (tmp_path / "secret.json").write_text('{"key": "hidden"}')
    (tmp_path / "zero" / "linked.json").symlink_to(tmp_path / "secret.json")
    contents = contents_of(recognise(tmp_path / "zero"), "me/zero")
    assert "linked.json" not in contents.files
    assert "outside" in contents.left_out["linked.json"]


def test_a_torn_table_is_not_published(tmp_path):
    write_zero_shot(tmp_path / "zero")
    (tmp_path / "zero" / "data.jsonl").write_text('{"a": 1}\n{"a": ')
    with pytest.raises(BadInput, match=r"data.jsonl: its content does not match.*line 2"):
        contents_of(recognise(tmp_path / "zero"), "me/zero")


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
def test_files_of_a_run_stay_in_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match="inside the run folder"):
        RunFolder(tmp_path / "run").write_json(name, {})
    assert not (tmp_path / "x").exists()
