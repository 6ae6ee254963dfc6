"""The pages in docs/: commands and options that exist, a glossary that is up to date."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from dialeval.commands import app
from dialeval.reports.glossary import GLOSSARY, glossary_markdown

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = sorted(path for path in DOCS.glob("*.md") if path.name != "glossary.md")
LINES = [
    (path.name, line)
    for path in PAGES
    for block in re.findall(r"```bash\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines()
    if line.startswith("dialeval ")
]


@pytest.mark.parametrize(("page", "line"), LINES)
def test_every_command_and_option_exists(page, line):
    words = shlex.split(re.split(r" >| &&|\s#", line)[0])[1:]
    command = typer.main.get_command(app)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    options = {word for word in words if word.startswith("-")}
    assert options <= known, options - known


def test_the_glossary_is_generated_from_the_reports_entries():
    text = (DOCS / "glossary.md").read_text("utf-8")
    assert text == glossary_markdown(), "run: python -c 'from dialeval.reports.glossary import ...'"
    for term in ("adversuc", "ere", "human-vs-random", "machine-vs-random", "saturation"):
        assert f"{{#{term}}}" in text


@pytest.mark.parametrize("term", GLOSSARY)
def test_every_entry_says_what_it_is_and_its_range_or_direction(term):
    sentences = re.findall(r"[^.;]{12,}[.;]", GLOSSARY[term].text)
    assert len(sentences) >= 2


def test_links_between_pages_lead_somewhere():
    for path in PAGES:
        for target in re.findall(r"\]\(([^)#:]+\.md)(?:#[^)]*)?\)", path.read_text("utf-8")):
            generated = target in ("reference/commands.md", "architecture.md")
            assert generated or (DOCS / target).is_file(), f"{path.name}: {target}"


@pytest.mark.slow
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="install the extra `docs`")
def test_the_site_builds_without_a_warning(tmp_path):
    import subprocess
    import sys

    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=DOCS.parent, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_every_format_is_in_the_table_of_what_can_be_read():
    from dialeval.dialogues import formats

    text = (DOCS / "data.md").read_text("utf-8").split("## What can be read")[1].split("\n- ")[0]
    listed = {name for name in re.findall(r"`([\w-]+)`", text) if name in formats()}
    assert listed == {name for name, format in formats().items() if format.is_builtin}
