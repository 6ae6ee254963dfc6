"""`dialeval pull` without a network."""

import sys

import pytest

from dialeval.commands import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["me/nothing"], "me/nothing: it is not in the cache, and the Hub was not contacted."),
        (["me/nothing", "--type", "space"], "Choose one of model, dataset."),
        (["me/nothing", "--output-dir", "."], "it already exists. Choose another --output-dir."),
    ],
)
def test_what_cannot_be_pulled_ends_in_one_sentence(monkeypatch, capsys, tmp_path, words, message):
    (tmp_path / "notes.txt").write_text("x")
    monkeypatch.setattr(sys, "argv", ["dialeval", "pull", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert stop.value.code == 2 and message in printed.err and not printed.out
    assert (tmp_path / "notes.txt").read_text() == "x"
