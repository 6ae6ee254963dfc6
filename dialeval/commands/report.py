"""`dialeval report`: write the report of a finished run again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import say
from dialeval.saved import expecting
from dialeval.terminal import printable

FORMATS = ("html", "markdown", "latex", "json", "csv")
_EVALUATIONS = ("evaluation", "reliability")
_HINT = "Give the --output-dir of a finished `dialeval evaluate`, `ere` or `robustness`."


def report(
    run: Annotated[
        Path,
        typer.Argument(
            help="Output folder of `dialeval evaluate`, `ere`, `robustness`, of `train-generator` "
            "with rewards, or of recipes/att.py and regs.py."
        ),
    ],
    format: Annotated[
        str, typer.Option("--format", help=f"Format of the report: {', '.join(FORMATS)}.")
    ] = "html",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write. By default HTML goes to report.html in the folder, and other "
            "formats are printed.",
        ),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Write the report of a finished run again, from its results; nothing is computed again."""
    from rich.markup import escape

    from dialeval.dialogues import BadInput

    if format not in FORMATS:
        raise BadInput(f"Unknown format {format!r}.", hint=f"Choose from {', '.join(FORMATS)}.")
    if output is not None and output.is_dir():
        hint = f"Name a file in it, for example {output / 'report.html'}"
        raise BadInput("expected a file name, found a directory.", output, hint=hint)
    if open and format != "html":
        raise BadInput("only a page can be opened.", hint="Leave out --format.")
    if format == "csv":
        path = _write_csv(run, output)
        if path is not None:
            say(f"Report: [bold]{escape(str(path))}[/]")
        return
    protocol = _protocol(run)
    _check_format(protocol, format, output, run)
    is_page = format == "html"
    with expecting("the results of a run", run, _HINT):
        path = _write_page(protocol, run, output) if is_page else _write_text(run, format, output)
    if path is not None:
        say(f"Report: [bold]{escape(str(path))}[/]")
    if open and path is not None:
        _open(path)


def _check_format(protocol: str, format: str, output: Path | None, run: Path) -> None:
    """Refuse what the report of a kind of run cannot be written as."""
    from dialeval.dialogues import BadInput

    if protocol in _EVALUATIONS:
        return
    if format == "html" and output is not None:
        hint = "Leave out --output: it is written to report.html in the folder."
        raise BadInput("the page of such a run cannot be written elsewhere.", run, hint=hint)
    if format in ("markdown", "latex") and protocol != "unpaired":
        hint = "Choose html, csv or json."
        raise BadInput(f"there is no {format} of such a run.", run, hint=hint)


def _open(path: Path) -> None:
    """Show a page in the browser, where there is one."""
    import webbrowser

    if not webbrowser.open(path.resolve().as_uri()):
        say("[yellow]No browser could be started; open the file yourself.[/]")


def _write_csv(run: Path, output: Path | None) -> Path | None:
    """Write the numbers of any run to a file, or print them and return `None`."""
    from dialeval.files import atomic_write_text
    from dialeval.metrics.results import RunResults
    from dialeval.reports.spreadsheet import to_csv

    text = to_csv(RunResults.load(run))
    if output is not None:
        return atomic_write_text(output, text)
    print(printable(text), end="")
    return None


def _protocol(run: Path) -> str:
    """Which kind of run a folder has results of.

    Raises:
        BadInput: There are none, or none whose report can be written.
    """
    from dialeval.dialogues import BadInput
    from dialeval.metrics.results import RESULTS, RunResults, read_results

    if not run.is_dir():
        reality = "a file" if run.exists() else "nothing"
        raise BadInput(f"expected a folder, found {reality}.", run, hint=_HINT)
    if not (run / RESULTS).is_file():
        raise BadInput("no results.json here.", run, hint=_HINT)
    RunResults.load(run)  # refuses another schema version, and damage
    protocol = str(read_results(run / RESULTS)["protocol"])
    if protocol not in (*_EVALUATIONS, *_PAGES):
        raise BadInput(f"there is no report for results of kind {protocol!r}.", run, hint=_HINT)
    return protocol


def _write_page(protocol: str, run: Path, output: Path | None) -> Path:
    from dialeval.dialogues import BadInput
    from dialeval.registry import import_object
    from dialeval.reports.evaluation import write_report

    try:
        if protocol in _EVALUATIONS:
            return write_report(run, output)
        write: Callable[[Path], Path] = import_object(_PAGES[protocol], "dialeval")
        return write(run)
    except ValueError as error:
        raise BadInput(str(error)) from None


_PAGES = {
    "adversarial-training": "dialeval.reports.adversarial:write_adversarial_report",
    "cocoa": "dialeval.reports.cocoa:write_cocoa_report",
    "game": "dialeval.reports.att:write_att_report",
    "regs": "dialeval.reports.adversarial:write_regs_report",
    "robust": "dialeval.reports.robust:write_robust_report",
    "robustness": "dialeval.reports.robustness:write_robustness_report",
    "analysis": "dialeval.reports.analysis:write_analysis_report",
    "audit": "dialeval.reports.audit:write_audit_report",
    "unpaired": "dialeval.reports.unpaired:write_unpaired_report",
    "profile": "dialeval.reports.profile:write_profile_report",
    "judgements": "dialeval.reports.people:write_judgement_report",
}
"""Functions that write other pages, imported when they are used."""


def _write_text(run: Path, format: str, output: Path | None) -> Path | None:
    """Write the text to a file, or print it and return `None`."""
    from dialeval.dialogues import BadInput
    from dialeval.files import atomic_write_text

    try:
        text = _text(run, format)
    except ValueError as error:
        raise BadInput(str(error)) from None
    if output is None:
        print(printable(text))
        return None
    return atomic_write_text(output, text.rstrip("\n") + "\n")


def _text(run: Path, format: str) -> str:
    """The results of a run in one of the formats that are text."""
    import json

    from dialeval.commands.evaluate import as_text
    from dialeval.metrics.results import RESULTS, read_results
    from dialeval.metrics.unpaired_results import UnpairedResults
    from dialeval.reports.evaluation.html import load_evaluation

    if _protocol(run) in _EVALUATIONS:
        return as_text(load_evaluation(run), format)
    if format == "json":
        return json.dumps(read_results(run / RESULTS), ensure_ascii=False, indent=2)
    return as_text(UnpairedResults.load(run), format)
