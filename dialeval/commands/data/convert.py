"""`dialeval data convert`: any corpus to passages in a file."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import say
from dialeval.commands.data import options as o


def convert(
    files: o.Files,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .jsonl, .csv, .tsv, .parquet")
    ] = Path("passages.jsonl"),
    format: o.Format = None,
    only: Annotated[
        str | None, typer.Option(help="Keep only the responses of this author.")
    ] = None,
    skip_bad: o.SkipBad = False,
    author: o.Author = None,
    column: o.Column = None,
    turn_separator: o.Separator = None,
    context_turns: o.ContextTurns = None,
    responses: o.Responses = "every",
    full_context: o.FullContext = False,
    filter: o.Filter = "none",
    min_response: o.MinResponse = None,
    max_response: o.MaxResponse = None,
    min_context: o.MinContext = None,
    max_context: o.MaxContext = None,
    forbid: o.Forbid = None,
    keep_duplicates: o.KeepDuplicates = False,
    against: o.Against = None,
    num_proc: o.NumProc = 1,
) -> None:
    """Cut any corpus into passages and write them to a file."""
    from dialeval.dialogues import BadInput, authors, by_author, write_passages

    options = o.read_options(
        format, skip_bad, author, column, turn_separator, context_turns, responses, full_context,
        filter, min_response, max_response, min_context, max_context, forbid,
        keep_duplicates=keep_duplicates, num_proc=num_proc,
    )  # fmt: skip
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
