"""`dialeval report`: a run's report again, from what stands in its folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import say

FORMATS = ("html", "markdown", "latex", "json")


def report(
    run: Annotated[
        Path,
        typer.Argument(
            help="Output folder of `dialeval evaluate`, `ere`, `robustness`, or of recipes/att.py."
        ),
    ],
    format: Annotated[str, typer.Option("--format", help=f"One of {', '.join(FORMATS)}.")] = "html",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="File; report.html in the folder, others are printed."),
    ] = None,
) -> None:
    """Write the report of a finished run again; nothing is judged or computed anew."""
    from rich.markup import escape

    from dialeval.dialogues import BadInput, atomic_write

    if format not in FORMATS:
        raise BadInput(f"Unknown format {format!r}.", hint=f"Choose from {', '.join(FORMATS)}.")
    if output is not None and output.is_dir():
        hint = f"Name a file in it, for example {output / 'report.html'}"
        raise BadInput("expected a file name, found a directory.", output, hint=hint)
    told = _told(run)
    if (other := _other_page(told)) is not None:
        if format != "html" or output is not None:
            hint = "Leave out --format and --output: it goes to report.html in the folder."
            raise BadInput("this kind of run has a page of HTML only.", run, hint=hint)
        output = other(run)
    elif format == "html":
        output = _page(run, output)
    else:
        from dialeval.commands.evaluate import as_text

        text = as_text(told, format)
        if output is None:
            print(text)
            return
        with atomic_write(output) as file:
            file.write(text.rstrip("\n") + "\n")
    say(f"Report: [bold]{escape(str(output))}[/]")


def _told(run: Path) -> dict[str, Any]:
    """What the run found, once it is a run whose report this is."""
    from dialeval.dialogues import BadInput
    from dialeval.protocols.comparison import read_results

    hint = "Give the --output-dir of a finished `dialeval evaluate` or `dialeval ere`."
    if not run.is_dir():
        found = "a file" if run.exists() else "nothing"
        raise BadInput(f"expected a folder, found {found}.", run, hint=hint)
    told = read_results(run)
    metrics = {row["metric"] for row in told["results"]}
    if _other_page(told) is not None:
        return told
    if not metrics & {"adversuc", "ere", "ere_transfer"}:
        held = ", ".join(sorted(map(str, metrics))) or "none"
        raise BadInput(f"these are no results of an evaluation, but {held}.", run, hint=hint)
    return told


def _other_page(told: dict[str, Any]) -> Callable[[Path], Path] | None:
    """What writes the page of a run that is no evaluation, if it is known."""
    if told.get("games") is not None:
        from dialeval.reports.att import write_att_report

        return write_att_report
    if (told.get("settings") or {}).get("strategies") is not None:
        from dialeval.reports.robustness_html import write_robustness_report

        return write_robustness_report
    return None


def _page(run: Path, output: Path | None) -> Path:
    from dialeval.dialogues import BadInput
    from dialeval.reports.evaluation_html import write_report

    try:
        return write_report(run, output)
    except ValueError as error:
        raise BadInput(str(error)) from None
