"""`dialeval pull` where there is no Hub."""

import sys

import pytest

from dialeval.commands import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["me/nothing"], "me/nothing: it is not in the cache, and the Hub was not asked."),
        (["me/nothing", "--type", "space"], "Choose one of model, dataset."),
        (["me/nothing", "--output-dir", "."], "it is there already. Choose another --output-dir."),
    ],
)
def test_what_cannot_be_pulled_ends_in_one_sentence(monkeypatch, capsys, tmp_path, words, message):
    (tmp_path / "mine.txt").write_text("x")
    monkeypatch.setattr(sys, "argv", ["dialeval", "pull", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    told = capsys.readouterr()
    assert stop.value.code == 2 and message in told.err and not told.out
    assert (tmp_path / "mine.txt").read_text() == "x"
