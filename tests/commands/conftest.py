"""What tests of several commands share."""

import sys

import pytest

from dialeval.commands import main


@pytest.fixture
def run(monkeypatch, capsys):
    """Exit code, standard output and standard error of one command."""
    monkeypatch.setenv("COLUMNS", "200")

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["dialeval", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return stop.value.code or 0, captured.out, " ".join(captured.err.split())

    return command
