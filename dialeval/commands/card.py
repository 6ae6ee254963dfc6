"""`dialeval card`: preview the card that a push would write."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out
from dialeval.commands.push import Dataset, Evaluator, License, Results
from dialeval.saved import expecting
from dialeval.terminal import printable


def card(
    path: Annotated[Path, typer.Argument(help="Folder of a model or run, or a file of passages.")],
    name: Annotated[
        str | None, typer.Option(help="Repository: owner/name; your-name/FOLDER by default.")
    ] = None,
    license: License = None,
    dataset: Dataset = None,
    results: Results = None,
    evaluator: Evaluator = None,
    files: Annotated[
        bool,
        typer.Option("--files", help="List the files that would be pushed, and those left out."),
    ] = False,
) -> None:
    """Print the card of a model or a run; redirect it to README.md in its folder to edit it.

    A README.md in the folder that is a dialeval card is pushed unchanged.
    """
    from dialeval.hub.push import CARD, prepare

    name = name or f"your-name/{path.resolve().stem}"
    with expecting("a saved model or a run", path):
        _, contents = prepare(path, name, license, dataset, results or (), evaluator)
    if not files:
        content = contents.files[CARD]
        text = content.decode() if isinstance(content, bytes) else content.read_text("utf-8")
        out.file.write(printable(text.rstrip("\n")) + "\n")
        return
    for file in sorted(contents.files):
        out.print(file, markup=False, soft_wrap=True)
    for file, reason in sorted(contents.left_out.items()):
        out.print(f"left out: {file} ({reason})", markup=False, soft_wrap=True)
