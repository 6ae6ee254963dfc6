"""Pages that are generated when the site is built: commands, glossary and architecture."""

import re
from pathlib import Path

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]


def on_files(files: Files, config) -> Files:
    """Add the generated pages; the glossary page of the repository is replaced by a fresh one."""
    pages = {
        "reference/commands.md": commands_page(),
        "glossary.md": glossary_page(),
        "architecture.md": architecture_page(),
    }
    for name, text in pages.items():
        existing = files.get_file_from_path(name)
        if existing:
            files.remove(existing)
        files.append(File.generated(config, name, content=text))
    return files


def glossary_page() -> str:
    """Every term of the reports, with an anchor of its own."""
    from dialeval.reports.glossary import glossary_markdown

    return glossary_markdown()


def architecture_page() -> str:
    """The README of the package."""
    return (ROOT / "dialeval" / "README.md").read_text(encoding="utf-8")


def commands_page() -> str:
    """Every command with its options, from the command line itself."""
    import typer

    from dialeval.commands import app

    group = typer.main.get_command(app)
    parts = ["# Commands\n", "Every command prints this with `--help`.\n"]
    parts += _commands(group, "dialeval")
    return "\n".join(parts)


def _commands(group, prefix: str) -> list[str]:
    parts = []
    for name, command in sorted(group.commands.items()):
        path = f"{prefix} {name}"
        if hasattr(command, "commands"):
            parts += _commands(command, path)
        else:
            parts += [f"## {path}\n", f"{_text(command.help)}\n", _options(command)]
    return parts


def _options(command) -> str:
    rows = ["| option | what it does | default |", "|---|---|---|"]
    for parameter in command.params:
        if parameter.name == "help":
            continue
        names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
        help = _text(getattr(parameter, "help", "") or "").replace("\n", " ")
        rows.append(f"| {names} | {_cell(help)} | {_cell(_default(parameter))} |")
    return "\n".join([*rows, ""]) if len(rows) > 2 else ""


def _default(parameter) -> str:
    value = parameter.default
    if value is None or callable(value) or value == () or value == []:
        return "required" if parameter.required else ""
    return f"`{', '.join(map(str, value)) if isinstance(value, list | tuple) else value}`"


def _text(text: str | None) -> str:
    return re.sub(r"[ \t]+\n", "\n", (text or "").replace("\f", "")).strip()


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
