"""`dialeval --help` lists every command once, by what it is for."""

from pathlib import Path

from typer.testing import CliRunner

import dialeval.commands as commands

HELPERS = {"__init__", "console", "given", "live", "settings", "tracking"}


def test_every_command_is_in_one_group():
    names = [name for group in commands.GROUPS.values() for name in group]
    folder = Path(commands.__file__).parent
    modules = {path.stem for path in folder.iterdir() if not path.name.startswith("__pycache__")}
    assert sorted(name.replace("-", "_") for name in names) == sorted(modules - HELPERS)


def test_help_shows_the_groups_and_how_to_start():
    text = CliRunner().invoke(commands.app, ["--help"], env={"COLUMNS": "120"}).output
    for group in commands.GROUPS:
        assert group in text
    assert text.index("evaluate") < text.index("push")
    assert "Start with dialeval demo" in text
