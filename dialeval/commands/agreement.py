"""`dialeval agreement`: how far annotators agree, and metrics with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, say, say_warnings
from dialeval.commands.settings import with_settings
from dialeval.settings.people import StudySettings

if TYPE_CHECKING:
    from dialeval.judgements import Judgement
    from dialeval.protocols.people import MetricScores


@with_settings(settings=StudySettings)
def agreement(
    settings: StudySettings,
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Judgements: .jsonl, .csv or .tsv with the columns annotator, item and answer "
            "(and system, truth, scale, ...), or the folder of `dialeval annotate`."
        ),
    ],
    scores: Annotated[
        list[Path] | None,
        typer.Option(
            help="Table with the columns item, system and a number per metric, to be correlated "
            "with ratings, or compared with people as P(human). Repeatable."
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="With --scores: from which score on a reply counts as human.")
    ] = 0.5,
    column: Annotated[
        list[str] | None,
        typer.Option(help="Name of a column of the judgements: annotator=JudgeID. Repeatable."),
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(help="Column with the ratings on one scale. Repeatable."),
    ] = None,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Folder for results.json and report.html.")
    ] = Path("runs/agreement"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON, unrounded.")] = False,
) -> None:
    """Statistics of human judgements.

    Agreement among annotators (Fleiss' pi, Krippendorff's alpha), people and discriminators on
    the same items, win/lose/tie with a sign test, rankings of systems, the quality of the
    annotators, correlation of metrics with ratings, and how many more judgements are needed.

    Example: dialeval agreement runs/annotation
    """
    from json import dumps

    from rich.markup import escape

    from dialeval.protocols.people import read_scores, study_judgements
    from dialeval.reports.people import judgement_tables, write_judgement_report

    judgements = [row for path in files for row in _read(path, column or [], scale or [])]
    metrics: list[MetricScores] = [
        metric for path in scores or () for metric in read_scores(path, threshold)
    ]
    results = study_judgements(judgements, metrics, settings)
    numbers = results.save(output_dir)
    page = write_judgement_report(output_dir)
    if json:
        print(dumps(results.to_dict(), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for part in judgement_tables(results):
        out.print(part)
    say_warnings(results.warnings)
    say(f"Report: [bold]{escape(str(page))}[/], numbers: [bold]{escape(str(numbers))}[/]")


def _read(path: Path, columns: list[str], scales: list[str]) -> list[Judgement]:
    from dialeval.commands.data.options import column_names
    from dialeval.judgements import read_judgements

    return read_judgements(path, column_names(columns), scales)
