"""Options that several commands share, and reading files with them."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import counting, err, say

Files = Annotated[
    list[str],
    typer.Argument(help="Corpus files (or folders of some formats, or hub:owner/name:split)."),
]
Format = Annotated[
    str | None,
    typer.Option("--format", "-f", help="Format; guessed by default. See: dialeval data formats"),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Skip bad records, and list them.")]
Author = Annotated[
    str | None, typer.Option(help="Author of the responses, in place of what the file says.")
]
Column = Annotated[
    list[str] | None,
    typer.Option(help="Name of a column in a table: response=reply. Repeatable."),
]
Separator = Annotated[
    str | None,
    typer.Option(help="Separator of turns, where a table has the context in one cell."),
]
ContextTurns = Annotated[
    int | None,
    typer.Option(
        "--context-turns", "-k", help="Turns of context; 2 by default when dialogues are cut."
    ),
]
Responses = Annotated[
    str, typer.Option(help="Which turns of a dialogue are responses: every, last or one.")
]
FullContext = Annotated[
    bool, typer.Option("--full-context", help="Only responses that have all -k turns before them.")
]
Filter = Annotated[str, typer.Option(help="Preset of a paper: none, li or bruni.")]
MinResponse = Annotated[int | None, typer.Option(help="Minimum number of tokens in a response.")]
MaxResponse = Annotated[int | None, typer.Option(help="Maximum number of tokens in a response.")]
MinContext = Annotated[int | None, typer.Option(help="Minimum number of tokens in a context.")]
MaxContext = Annotated[int | None, typer.Option(help="Maximum number of tokens in a context.")]
Forbid = Annotated[
    list[str] | None, typer.Option(help="Drop pairs with this token, such as <unk>. Repeatable.")
]
KeepDuplicates = Annotated[
    bool, typer.Option("--keep-duplicates", help="Keep duplicate dialogues.")
]
Against = Annotated[
    list[str] | None,
    typer.Option(help="File of another split; its dialogues are dropped here. Repeatable."),
]
NumProc = Annotated[int, typer.Option(help="Number of processes that parse.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
# Options of several experiments
Human = Annotated[
    list[str] | None,
    typer.Option(help="Files with human responses; the embedded corpus by default."),
]
OutputDir = Annotated[Path, typer.Option("--output-dir", "-o", help="Folder for the results.")]
Limit = Annotated[
    int | None,
    typer.Option(help="Maximum number of contexts, drawn by dialogue; 500 without --human."),
]
InputFormat = Annotated[str | None, typer.Option(help="Format of the files; guessed by default.")]
Folds = Annotated[int, typer.Option(help="Number of cross-fitting folds, by dialogue.")]
NewTokens = Annotated[int, typer.Option(help="Maximum response length of live systems.")]
DecodingName = Annotated[
    str, typer.Option(help="Decoding of live systems; see: dialeval list decodings")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the results of another run.")]
Turns = Annotated[
    str, typer.Option(help="Turns to edit: all, last, or numbers from 0 such as 0,-1.")
]
Lexicon = Annotated[
    list[str] | None,
    typer.Option(help="Words of a strategy: data-paraphrase=ppdb-2.0-s-all. Repeatable."),
]
StrategySetting = Annotated[
    list[str] | None,
    typer.Option(help="Setting of a strategy: random-swap.words_per_swap=3. Repeatable."),
]


def read_options(
    format: str | None = None,
    skip_bad: bool = False,
    author: str | None = None,
    column: list[str] | None = None,
    turn_separator: str | None = None,
    context_turns: int | None = None,
    responses: str = "every",
    full_context: bool = False,
    filter: str = "none",
    min_response: int | None = None,
    max_response: int | None = None,
    min_context: int | None = None,
    max_context: int | None = None,
    forbid: list[str] | None = None,
    **rest: Any,
) -> Any:
    """[`ReadOptions`] from the options of a command.

    Args:
        format, skip_bad, author, column, turn_separator, context_turns, responses, full_context:
            See the options of the same names.
        filter, min_response, max_response, min_context, max_context, forbid:
            See the options of the same names.
        rest:
            Further fields of `ReadOptions`.

    Returns:
        `ReadOptions`: What `read` takes.
    """
    from dataclasses import replace

    from dialeval.dialogues import FILTERS, BadInput, Cut, ReadOptions

    if filter not in FILTERS:
        raise BadInput(f"Unknown filter {filter!r}.", hint=f"Choose one of {', '.join(FILTERS)}.")
    limits: dict[str, Any] = {
        "min_response": min_response,
        "max_response": max_response,
        "min_context": min_context,
        "max_context": max_context,
        "forbidden": tuple(forbid) if forbid else None,
    }
    given = {name: value for name, value in limits.items() if value is not None}
    return ReadOptions(
        format=format,
        cut=Cut(context_turns, responses, full_context),  # type: ignore[arg-type]  # checked there
        filters=replace(FILTERS[filter], **given),
        skip_bad=skip_bad,
        author=author,
        columns=column_names(column or []),
        turn_separator=turn_separator,
        **rest,
    )


def read_files(paths: list[str], options: Any, against: list[str] | None = None) -> tuple[Any, Any]:
    """Read files and print progress, guessed formats and skipped records.

    Args:
        paths (`list[str]`):
            Files, folders or datasets on the Hub.
        options (`ReadOptions`):
            How they are read.
        against (`list[str]`, *optional*):
            Files of another split, whose dialogues are dropped.

    Returns:
        `tuple[Passages, ReadReport]`: The passages, and counts of what was read and dropped.
    """
    from dialeval.dialogues import read

    with counting("Reading") as progress:
        passages, report = read(paths, options, against or (), progress)
    if options.format is None:
        for path, name in report.formats.items():
            say(f"Read [bold]{Path(path).name}[/] as [bold]{name}[/] (another: --format NAME)")
    _say_skipped(report.problems)
    return passages, report


def _say_skipped(problems: list[Any], most: int = 20) -> None:
    if problems:
        err.print(f"[yellow]Skipped {len(problems)} bad record(s):[/]")
    for problem in problems[:most]:
        location = f"{problem.path}:{problem.line}" if problem.line else problem.path
        err.print(f"  {location}: {problem.message}", soft_wrap=True, markup=False)
    if len(problems) > most:
        err.print(f"  … and {len(problems) - most} more")


def column_names(pairs: list[str]) -> dict[str, str]:
    """Names of columns from `FIELD=NAME` options."""
    from dialeval.dialogues import BadInput

    for pair in pairs:
        if "=" not in pair:
            raise BadInput(
                f"expected COLUMN=NAME, but got {pair!r}.", hint="--column response=reply"
            )
    return dict(pair.split("=", 1) for pair in pairs)
