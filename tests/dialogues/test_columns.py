"""The columns of a Hub dataset are prompted for once."""

import io
import sys

import pytest
from huggingface_hub import constants

from dialeval.dialogues import BadInput
from dialeval.dialogues.columns import columns_of, stored_columns

ROW = {"question": "hi", "answer": "ho"}
OURS = {"context": "question", "response": "answer"}


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HOME", str(tmp_path))
    return tmp_path


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_without_a_terminal_the_option_is_named():
    with pytest.raises(BadInput, match="columns question, answer.*--column context=NAME"):
        columns_of("me/talk", ROW, {})


def test_what_was_given_once_is_remembered_for_that_dataset(home):
    assert columns_of("me/talk", ROW, OURS) == OURS
    assert columns_of("me/talk", ROW, {}) == OURS
    assert (home / "dialeval" / "columns.json").is_file() and stored_columns("me/other") == {}
    with pytest.raises(BadInput, match="hub:me/other"):
        columns_of("me/other", ROW, {})
    with pytest.raises(BadInput, match="it has the columns q"):
        columns_of("me/talk", {"q": ""}, {})  # the dataset has changed since


def test_a_mapping_that_does_not_fit_is_not_stored():
    assert columns_of("me/talk", ROW, {"context": "nope"}) == {"context": "nope"}
    assert stored_columns("me/talk") == {}


def test_our_own_columns_and_chats_need_no_mapping():
    assert columns_of("me/talk", {"context": [], "response": ""}, {}) == {}
    assert columns_of("me/talk", {"messages": []}, {}) == {}


def test_a_terminal_is_asked_until_it_answers(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("what\nquestion\nanswer\n"))
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert columns_of("me/talk", ROW, {}) == OURS == stored_columns("me/talk")
    assert sys.stderr.getvalue().count("is the context?") == 2


def test_a_broken_memory_is_no_obstacle(home):
    (home / "dialeval").mkdir()
    (home / "dialeval" / "columns.json").write_text("{broken")
    assert columns_of("me/talk", ROW, OURS) == OURS == stored_columns("me/talk")
