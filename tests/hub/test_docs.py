"""The page on publishing uses existing commands, options and messages."""

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
    known = {option for parameter in command.params for option in parameter.opts}
    options = {word for word in words if word.startswith("--")}
    passed_on = command.context_settings.get("ignore_unknown_options")
    assert passed_on or options <= known, options - known


def test_the_page_lists_messages_that_exist():
    package = Path(__file__).resolve().parents[2] / "dialeval"
    source = "".join(
        (package / name).read_text("utf-8") for name in ("downloads.py", "hub/push.py")
    )
    table = PAGE.partition("| message | what to do |\n|---|---|\n")[2]
    messages = [
        re.split(r" \(| \.\.\.", row.split("|")[1].strip())[0] for row in table.splitlines()
    ]
    assert len(messages) >= 4
    for message in messages:
        assert message in source, message
