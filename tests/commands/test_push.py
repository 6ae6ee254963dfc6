"""`dialeval push` before any request to the Hub."""

import sys

import pytest

from dialeval.commands import main
from dialeval.commands.push import _confirm
from dialeval.scorers import save_scorer
from dialeval.scorers.baselines import CoinScorer


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    return stop.value.code or 0, printed.out, printed.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere", "me/x"), "nowhere: no such file or folder."),
        (("notes.txt", "me/x"), "this file cannot be pushed."),
        (("coin", "alone"), "alone: not a valid Hub name. Write owner/name."),
        (("coin", "a/b/c"), "a/b/c: not a valid Hub name."),
        (("coin", "me/x"), "me/x: it is not in the cache, and the Hub was not contacted."),
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


def test_nothing_is_confirmed_without_a_terminal():
    assert _confirm("Replace it?") is False
