"""Options that several commands share, and reading files with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dialeval.commands.console import counting, err, say
from dialeval.errors import BadInput
from dialeval.progress import is_quiet
from dialeval.settings.checks import MOST_SEED, problem_of_device
from dialeval.settings.inputs import InputSettings

if TYPE_CHECKING:
    from dialeval.dialogues import Passages, ReadOptions, ReadReport


def _check_device(name: str | None) -> str | None:
    problem = "" if name is None else problem_of_device(name)
    if problem:
        raise BadInput(f"--device {problem}, but got {name!r:.60}.")
    return name


Files = Annotated[
    list[str],
    typer.Argument(help="Corpus files, folders, 'shards/*.parquet', or hub:owner/name:split."),
]
Author = Annotated[
    str | None, typer.Option(help="Author of the responses, in place of what the file says.")
]
Against = Annotated[
    list[str] | None,
    typer.Option(help="File of another split; its dialogues are dropped here. Repeatable."),
]
Seed = Annotated[int, typer.Option(min=0, max=MOST_SEED, help="Random seed.")]
Device = Annotated[
    str | None,
    typer.Option(
        callback=_check_device,
        help="cpu, cuda, cuda:1 or mps; the best available by default.",
    ),
]
# Options of several experiments
Human = Annotated[
    list[str] | None,
    typer.Option(help="Files, folders or 'shards/*.parquet'; the embedded corpus by default."),
]
OutputDir = Annotated[Path, typer.Option("--output-dir", "-o", help="Folder for the results.")]
Limit = Annotated[
    int | None,
    typer.Option(help="Maximum number of contexts, drawn by dialogue; 500 without --human."),
]
Folds = Annotated[int, typer.Option(help="Number of cross-fitting folds, by dialogue.")]
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


def read_options(inputs: InputSettings | None = None, **rest: Any) -> ReadOptions:
    """[`ReadOptions`] from the options of a command.

    Args:
        inputs (`InputSettings`, *optional*):
            The options of the command line.
        rest:
            Further fields of `ReadOptions`.

    Returns:
        `ReadOptions`: What `read` takes.
    """
    from dialeval.dialogues import FILTERS, Cut, ReadOptions
    from dialeval.dialogues.columns import FIELDS, column_names

    inputs = inputs or InputSettings()
    limits: dict[str, Any] = {
        "min_response": inputs.min_response,
        "max_response": inputs.max_response,
        "min_context": inputs.min_context,
        "max_context": inputs.max_context,
        "forbidden": tuple(inputs.forbid) if inputs.forbid else None,
    }
    given = {name: value for name, value in limits.items() if value is not None}
    cut = Cut(inputs.context_turns, inputs.responses, inputs.full_context)  # type: ignore[arg-type]  # checked there
    fields: dict[str, Any] = {
        "format": inputs.input_format,
        "role": inputs.role,
        "cut": cut,
        "filters": replace(FILTERS[inputs.filter], **given),
        "skip_bad": inputs.skip_bad,
        "columns": column_names(inputs.column or [], FIELDS),
        "turn_separator": inputs.turn_separator,
        "keep_duplicates": inputs.keep_duplicates,
        "num_proc": inputs.num_proc,
    }
    return ReadOptions(**{**fields, **rest})


def read_files(
    paths: list[str], options: ReadOptions, against: list[str] | None = None
) -> tuple[Passages, ReadReport]:
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
    from dialeval.reports.format import plural

    with counting("Reading") as progress:
        passages, report = read(paths, options, against or (), progress)
    if options.format is None:
        _say_formats(report.formats)
    for note in report.notes:
        say(escape(note))
    _say_roles(report, options)
    if report.duplicate_dialogues:
        dialogues = plural(report.duplicate_dialogues, "repeated dialogue")
        say(f"Left out {dialogues}, equal word for word to others (--keep-duplicates keeps them)")
    _say_skipped(report.problems)
    return passages, report


def _say_formats(formats: dict[str, str], most: int = 5) -> None:
    """Print how files were read: one by one, or their number if there are many."""
    for name in dict.fromkeys(formats.values()):
        files = [Path(path).name for path, other in formats.items() if other == name]
        what = [escape(file) for file in files] if len(files) <= most else [f"{len(files):,} files"]
        for file in what:
            say(f"Read [bold]{file}[/] as [bold]{escape(name)}[/] (another: --input-format NAME)")


def check_exist(paths: Sequence[str]) -> None:
    """Refuse missing files before anything slow is imported, and before others are read."""
    from dialeval.dialogues.paths import check_exists

    for path in paths:
        if path != "chitchat":
            check_exists(Path(path))


def check_files(paths: Sequence[str]) -> None:
    """Refuse missing files and unknown formats before anything slow is imported."""
    from dialeval.dialogues import format_of

    for path in paths:
        if path != "chitchat":
            format_of(Path(path))


def _say_roles(report: ReadReport, options: ReadOptions) -> None:
    """Print whose turns are the responses, and which messages are no turns."""
    counts = [f"{name} ({count:,})" for name, count in report.roles.most_common(3)]
    names = escape(" and ".join(counts))
    author = options.author or options.side
    if counts and (options.side or options.role):
        say(f"Responses: the turns of {names}" + (f", as {escape(author)}" if author else ""))
    elif len(counts) > 1 and not author:
        say(
            f"Responses: the turns of {names}; user is taken as human and assistant as a system. "
            "Choose one with --role NAME, and name its author with --author."
        )
    if report.skipped:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in report.skipped.most_common())
        say(f"Skipped what is no turn: {kinds}")
    if report.clashes:
        names = escape(", ".join(f"{name} ({n:,})" for name, n in report.clashes.most_common()))
        say(f"Left out extra columns with names of ours: {names}; the conversation's are kept.")


def _say_skipped(problems: list[Any], most: int = 20) -> None:
    if not problems or is_quiet():
        return
    err.print(f"[yellow]Skipped {len(problems)} bad record(s):[/]")
    for problem in problems[:most]:
        location = f"{problem.path}:{problem.line}" if problem.line else problem.path
        err.print(f"  {location}: {problem.message}", soft_wrap=True, markup=False)
    if len(problems) > most:
        err.print(f"  … and {len(problems) - most} more")
