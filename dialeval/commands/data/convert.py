"""`dialeval data convert`: any corpus to passages in a file."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import say
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import InputSettings


@with_settings(inputs=InputSettings)
def convert(
    inputs: InputSettings,
    files: o.Files,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .jsonl, .csv, .tsv, .parquet")
    ] = Path("passages.jsonl"),
    only: Annotated[
        str | None, typer.Option(help="Keep only the responses of this author.")
    ] = None,
    author: o.Author = None,
    against: o.Against = None,
) -> None:
    """Cut any corpus into passages and write them to a file."""
    from dialeval.dialogues import BadInput, authors, by_author, write_passages

    options = o.read_options(inputs, author=author)
    passages, report = o.read_files(files, options, against)
    if only:
        names = authors(passages)
        if only not in names:
            raise BadInput(f"No responses by {only!r}.", hint=f"There are {', '.join(names)}.")
        passages = by_author(passages, only)
    write_passages(passages, output)
    say(
        f"Wrote [bold]{len(passages):,}[/] passages to [bold]{output}[/] "
        f"(left out: {report.duplicate_dialogues:,} duplicate dialogues, {report.seen_elsewhere:,} "
        f"in other files, {report.filtered:,} filtered passages)"
    )
