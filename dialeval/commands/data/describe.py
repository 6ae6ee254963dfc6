"""`dialeval data describe`: what a corpus looks like."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.errors import BadInput
from dialeval.settings.inputs import InputSettings


@with_settings(inputs=InputSettings)
def describe(
    inputs: InputSettings,
    files: o.Files,
    author: o.Author = None,
    against: o.Against = None,
    png: Annotated[
        Path | None, typer.Option(help="Where the picture goes; NAME.describe.png by default.")
    ] = None,
    no_png: Annotated[bool, typer.Option("--no-png", help="No picture.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Count dialogues, turns, lengths, duplicates and frequent responses, with a histogram."""
    from dialeval.dialogues.statistics import describe as description_of
    from dialeval.reports.description import description_plot, description_tables

    if png and no_png:
        raise BadInput("--png and --no-png contradict each other.", hint="Leave out one of them.")
    options = o.read_options(inputs, author=author, allow_empty=True)
    description = description_of(*o.read_files(files, options, against))
    if as_json:
        print(json.dumps(description.to_dict(), ensure_ascii=False, indent=2))
    else:
        out.print(description_tables(description))
    if not no_png:
        name = Path(files[0].removeprefix("hub:").replace(":", "-")).name
        path = description_plot(description, png or Path(f"{Path(name).stem}.describe.png"))
        say(f"Picture: [bold]{path}[/]")
