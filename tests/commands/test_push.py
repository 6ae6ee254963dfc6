"""`dialeval push` before it asks the Hub anything."""

import sys

import pytest

from dialeval.commands import main
from dialeval.commands.push import _ask
from dialeval.scorers import save_scorer
from dialeval.scorers.baselines import CoinScorer


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    told = capsys.readouterr()
    return stop.value.code or 0, told.out, told.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere", "me/x"), "nowhere: no such file or folder."),
        (("notes.txt", "me/x"), "this is nothing that can be pushed."),
        (("coin", "alone"), "alone: this is no name on the Hub. Write owner/name."),
        (("coin", "a/b/c"), "a/b/c: this is no name on the Hub."),
        (("coin", "me/x"), "me/x: it is not in the cache, and the Hub was not asked."),
    ],
)
def test_what_cannot_be_pushed_ends_in_one_sentence(monkeypatch, capsys, tmp_path, words, message):
    save_scorer(CoinScorer(), tmp_path / "coin")
    (tmp_path / "notes.txt").write_text("x")
    code, out, err = run(monkeypatch, capsys, "push", *words)
    assert code == 2 and message in err and not out and "Traceback" not in err


def test_there_is_no_flag_for_a_token(monkeypatch, capsys, tmp_path):
    save_scorer(CoinScorer(), tmp_path / "coin")
    code, _, err = run(monkeypatch, capsys, "push", "coin", "me/x", "--token", "hf_x")
    assert code == 2 and "No such option" in err


def test_nobody_agrees_without_a_terminal():
    assert _ask("Replace it?") is False
