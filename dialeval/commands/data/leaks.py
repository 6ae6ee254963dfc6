"""`dialeval data leaks`: what gives a system away without reading for meaning."""

import json
from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o


def leaks(
    human: Annotated[str, typer.Argument(help="Human responses.")],
    system: Annotated[str, typer.Argument(help="A system's responses to the same contexts.")],
    format: o.Format = None,
    skip_bad: o.SkipBad = False,
    column: o.Column = None,
    only: Annotated[
        str | None, typer.Option(help="Name of the system, of a file with several authors.")
    ] = None,
    normalise: Annotated[
        bool,
        typer.Option("--normalise", help="Write both sides without format leaks, check again."),
    ] = False,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Where --normalise writes.")
    ] = Path("normalised"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    seed: o.Seed = 0,
) -> None:
    """Tell what gives a system away without reading for meaning: format, length, repetition.

    Files with one response a line are compared line by line, each line as a dialogue of its own;
    give passages with a dialogue_id where several lines come from one dialogue.
    """
    from dialeval.dialogues import write_passages
    from dialeval.dialogues.surface import normalise_passages
    from dialeval.protocols.leaks import find_leaks, remedy_for
    from dialeval.reports.leaks import leak_tables

    ours, theirs = _sides(human, system, only, format, skip_bad, column)
    report = find_leaks(ours, theirs, seed=seed)
    reports = [report]
    if normalise:
        hint = remedy_for(report)
        ours, theirs = normalise_passages(ours, hint), normalise_passages(theirs, hint)
        for passages, name in zip((ours, theirs), _names(human, system), strict=True):
            path = write_passages(passages, output_dir / f"{name}.jsonl")
            say(f"Wrote [bold]{path}[/] ({hint})")
        reports.append(find_leaks(ours, theirs, seed=seed))
    if as_json:
        print(json.dumps([each.to_dict() for each in reports], ensure_ascii=False, indent=2))
        return
    for title, each in zip(("As given", "Normalised"), reports, strict=False):
        out.rule(title)
        out.print(*leak_tables(each), sep="\n")


def _names(human: str, system: str) -> tuple[str, str]:
    """Names for the normalised files that do not clash."""
    one, other = (
        Path(path.removeprefix("hub:").replace(":", "-")).stem for path in (human, system)
    )
    return (one, other) if one != other else (f"{one}-human", f"{other}-system")


def _sides(human: str, system: str, only: str | None, format, skip_bad, column):
    """Passages of the human and of the system; both may stand in one file."""
    from dialeval.dialogues import BadInput, authors, by_author

    ours, theirs = (_read(path, format, skip_bad, column) for path in (human, system))
    names = [name for name in authors(theirs) if name != "human"]
    if only or len(names) > 1:
        if only not in names:
            raise BadInput(
                f"Expected one system, found {', '.join(names)}.",
                system,
                hint="Name it with --only.",
            )
        theirs = by_author(theirs, only)
    elif names:
        theirs = by_author(theirs, names[0])
    return (by_author(ours, "human") if len(authors(ours)) > 1 else ours), theirs


def _read(path: str, format: str | None, skip_bad: bool, column: list[str] | None):
    """Passages of a file; plain text that no format knows is one response a line."""
    from dialeval.dialogues import BadInput, format_of

    if format is None and Path(path).is_file():
        try:
            format_of(Path(path))
        except BadInput:
            say(f"Read [bold]{Path(path).name}[/] as one response a line (another: --format NAME)")
            format = "lines"
    options = o.read_options(format, skip_bad, None, column, allow_empty=True, keep_duplicates=True)
    return o.read_files([path], options)[0]
