"""`dialeval spaces` as a user types it."""

import sys

import pytest

from dialeval.commands import main
from dialeval.hub import spaces


def run(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["dialeval", "spaces", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code or 0, capsys.readouterr().err


def test_serve_launches_the_page_of_the_metric(monkeypatch, capsys):
    calls = []
    monkeypatch.setattr(spaces, "launch", lambda name, **options: calls.append((name, options)))
    code, err = run(monkeypatch, capsys, "serve", "adversuc", "--port", "7999")
    assert code == 0 and "Serving adversuc" in err
    assert calls == [("adversuc", {"server_name": "127.0.0.1", "server_port": 7999})]


@pytest.mark.parametrize("action", ["serve", "push"])
def test_an_unknown_metric_is_named_before_anything_is_done(monkeypatch, capsys, action):
    monkeypatch.setattr(spaces, "push", lambda *_: pytest.fail("it was pushed"))
    words = ["adversuc", "eree"] if action == "push" else ["eree"]
    code, err = run(monkeypatch, capsys, action, *words)
    assert code == 2 and "Unknown metric 'eree'. Choose one of adversuc" in err
