"""What the README promises is run."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from dialeval.commands import main
from dialeval.dialogues import write_passages

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
NAMES = ("data", "evaluate", "compare", "check", "report", "perturb")
RUN = tuple(f"dialeval {name} " for name in NAMES)
COMMANDS = [
    shlex.split(line, comments=True)
    for language, block in BLOCKS
    for line in block.splitlines()
    if language == "bash" and line.startswith(RUN)
]


def test_the_readme_opens_with_the_two_commands():
    language, block = BLOCKS[0]
    assert language == "bash"
    assert [line.split("#")[0].strip() for line in block.splitlines()] == ["make demo", "make test"]


def test_every_command_of_the_readme_runs(monkeypatch, capsys, human, machine):
    write_passages(human, "human.jsonl")
    for name in ("bot.jsonl", "system.jsonl"):
        write_passages(machine, name)
    assert len(COMMANDS) > 5
    for command in COMMANDS:
        monkeypatch.setattr(sys, "argv", command)
        with pytest.raises(SystemExit) as stop:
            main()
        allowed = (0, 1) if command[1] == "check" else (0, None)  # a limit may well not be met
        assert stop.value.code in allowed, (command, capsys.readouterr().err)


def test_the_python_of_the_readme_runs(capsys):
    for language, block in BLOCKS:
        if language == "python":
            exec(block, {})
    assert capsys.readouterr().out


def test_the_json_of_the_readme_is_read(write):
    from dialeval.dialogues import iterate, read_passages

    (record,) = [block for language, block in BLOCKS if language == "json"]
    (passage,) = iterate(read_passages(write("own.jsonl", record)))
    assert passage.author == "my-bot" and passage.context[1].text == "Please."
