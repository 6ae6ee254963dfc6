"""Progress: a bar on a terminal, one line a minute elsewhere, nothing with DIALEVAL_QUIET."""

import logging
import os
import subprocess
import sys

import pytest
from tqdm.auto import tqdm

from dialeval import progress
from dialeval.commands import console
from dialeval.models.loading import from_pretrained
from dialeval.progress import MinuteLine
from tests.responders.endpoint_server import completion, serving


class Clock:
    """Time that passes when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(MinuteLine, "last", None)
    return Clock()


def test_a_line_a_minute_says_where_a_run_stands(clock, capsys):
    line = MinuteLine("smollm2", 400, " contexts", clock)
    for _ in range(400):
        clock.now += 1
        line.update()
    assert capsys.readouterr().err.splitlines() == [
        f"smollm2: {60 * minute} of 400 contexts, {minute} min" for minute in range(1, 7)
    ]


def test_many_short_steps_do_not_say_more(clock, capsys):
    for step in range(130):
        clock.now += 1
        MinuteLine("fold", clock=clock).at(step, None, f"fold {step}\x1b")
    assert capsys.readouterr().err.splitlines() == [r"fold 60\x1b: 60, 0 min",
                                                    r"fold 120\x1b: 120, 0 min"]  # fmt: skip


class Loader:
    """A class of transformers that shows a bar, as loading does."""

    @staticmethod
    def from_pretrained(name, **_):
        return list(tqdm(range(3), desc=f"Converting {name}"))


@pytest.mark.parametrize(
    ("quiet", "terminal", "shown"),
    [("", False, False), ("1", False, False), ("1", True, False), ("", True, True)],
)
def test_bars_of_libraries_that_load_models_are_for_terminals(
    quiet, terminal, shown, monkeypatch, capsys
):
    monkeypatch.setenv("DIALEVAL_QUIET", quiet)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert from_pretrained(Loader, "weights") == [0, 1, 2]
    assert ("Converting weights" in capsys.readouterr().err) == shown
    list(tqdm(range(3), desc="bar of the caller"))  # is not touched
    assert "bar of the caller" in capsys.readouterr().err


def test_bars_are_for_terminals(monkeypatch, clock, capsys):
    assert isinstance(progress.bar("x", 3, " rows"), MinuteLine)
    assert progress.bar("x", 3, " rows", enabled=False).disable
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    shown = progress.bar("x", 3, " rows")
    assert not shown.disable
    shown.close()
    monkeypatch.setenv("DIALEVAL_QUIET", "1")
    assert progress.bar("x", 3, " rows").disable


def test_callbacks_of_commands_are_quiet_if_told_so(monkeypatch, clock, capsys):
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    with console.progress_bar() as on_progress, console.counting("Reading") as count:
        on_progress(1, 4, "stack")
        count(3)
        monkeypatch.setenv("DIALEVAL_QUIET", "1")
        on_progress(2, 4, "stack")
        count(4)
    err = capsys.readouterr().err
    assert err.splitlines() == ["stack: 1 of 4, 0 min", "Reading: 3 passages, 0 min"]


def test_a_quiet_command_prints_results_only(write):
    """In a process of its own, because libraries read their settings once."""
    rows = [{"context": [f"how are you {row}?"], "response": "fine", "id": str(row)}
            for row in range(8)]  # fmt: skip
    write("human.jsonl", [*rows, {"context": 3}])
    surroundings = {**os.environ, "DIALEVAL_QUIET": "1", "COLUMNS": "80"}
    with serving() as server:
        server.usual = completion("always this", finish="length")
        command = [
            sys.executable, "-c", "from dialeval.commands import main; main()", "generate",
            "--system", f"bot=m@{server.url}", "--data", "human.jsonl", "--skip-bad",
        ]  # fmt: skip
        loud = subprocess.run(command, capture_output=True, text=True, env=surroundings)
        assert (loud.returncode, loud.stderr) == (0, "") and "always this" in loud.stdout
    wrong = subprocess.run([*command[:-1], "--decoding", "beam"], capture_output=True, text=True,
                           env=surroundings)  # fmt: skip
    assert wrong.returncode == 2 and wrong.stderr.startswith("Error: ")


def test_retries_of_the_hub_are_not_said_by_its_client(monkeypatch):
    monkeypatch.setattr(progress, "_BARS", ())
    progress.prepare_libraries()
    assert not logging.getLogger("huggingface_hub.utils._http").isEnabledFor(logging.WARNING)
