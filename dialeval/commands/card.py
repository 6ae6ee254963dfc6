"""`dialeval card`: the card that a push would write, for reading before it."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out
from dialeval.commands.push import Called, Dataset, License, Results


def card(
    path: Annotated[Path, typer.Argument(help="Folder of a model or run, or a file of passages.")],
    name: Annotated[
        str | None, typer.Option(help="Where it would go: owner/name; your-name/FOLDER by default.")
    ] = None,
    license: License = None,
    dataset: Dataset = None,
    results: Results = None,
    called: Called = None,
    files: Annotated[
        bool, typer.Option("--files", help="List the files that would be pushed, and those not.")
    ] = False,
) -> None:
    """Print the card of a model or a run; redirect it to README.md in its folder to edit it.

    A README.md that is a card of dialeval's is pushed as it stands.
    """
    from dialeval.hub.push import CARD, prepare

    name = name or f"your-name/{path.resolve().stem}"
    _, found = prepare(path, name, license, dataset, results or (), called)
    if not files:
        content = found.files[CARD]
        text = content.decode() if isinstance(content, bytes) else content.read_text("utf-8")
        out.file.write(text.rstrip("\n") + "\n")
        return
    for place in sorted(found.files):
        out.print(place, markup=False, soft_wrap=True)
    for place, why in sorted(found.left_out.items()):
        out.print(f"left out: {place} ({why})", markup=False, soft_wrap=True)
