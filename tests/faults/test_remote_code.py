"""Code of a repository is never run, and nobody is asked whether to run it."""

import json
import re
from pathlib import Path

import pytest

import dialeval
from dialeval.dialogues import BadInput
from dialeval.scorers import load_scorer
from tests.faults.material import write_zero_shot

PACKAGE = Path(dialeval.__file__).parent
SOURCES = [*PACKAGE.rglob("*.py"), *(PACKAGE.parent / "recipes").glob("*.py")]
BARE = re.compile(r"Auto\w+\.from_(?:pretrained|config)\((?![^)]*trust_remote_code=False)")


def test_no_call_leaves_the_question_to_transformers():
    bare = [
        f"{path.name}: {match[0]}"
        for path in SOURCES
        for match in BARE.finditer(path.read_text(encoding="utf-8"))
    ]
    assert not bare


def test_the_pattern_sees_a_bare_call():
    assert BARE.search("AutoModel.from_pretrained(name, dtype=None)")
    assert not BARE.search("AutoModel.from_pretrained(name, trust_remote_code=False)")


def test_an_evaluator_with_code_is_refused_without_a_question(tmp_path, monkeypatch):
    folder = tmp_path / "zero"
    write_zero_shot(folder)
    path = folder / "config.json"
    content = json.loads(path.read_text())
    content["model_type"] = "evil"
    content["auto_map"] = {
        "AutoConfig": "evil/code--evil.EvilConfig", "AutoModelForCausalLM": "evil.Evil",
    }  # fmt: skip
    path.write_text(json.dumps(content))
    (folder / "evil.py").write_text("raise SystemExit('code of the folder ran')\n")
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("a question was asked"))
    with pytest.raises(BadInput, match="its own code|cannot be loaded"):
        load_scorer(folder)
