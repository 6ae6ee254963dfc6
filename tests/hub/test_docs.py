"""The page on publishing names commands and options that there are."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from dialeval.commands import app

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "publishing.md").read_text("utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("dialeval ")
]


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_of_the_page_is_one(line):
    words = shlex.split(re.split(r" >| &&", line)[0])[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for each in command.params for option in each.opts}
    options = {word for word in words if word.startswith("--")}
    passed_on = command.context_settings.get("ignore_unknown_options")
    assert passed_on or options <= known, options - known


def test_the_page_says_what_the_errors_say():
    source = (Path(__file__).resolve().parents[2] / "dialeval" / "downloads.py").read_text("utf-8")
    said = re.findall(r"^\| (the Hub [^|(]+?|your token[^|(]+?) \(?", PAGE, re.MULTILINE)
    assert len(said) >= 4
    for words in said:
        assert words in source, words
