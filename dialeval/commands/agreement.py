"""`dialeval agreement`: how far annotators agree, and metrics with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, say, say_warnings
from dialeval.commands.given import Given
from dialeval.commands.settings import with_settings
from dialeval.settings.people import StudySettings
from dialeval.settings.usage import SET

if TYPE_CHECKING:
    from dialeval.judgements import Judgement
    from dialeval.judgements.store import JudgementStore
    from dialeval.protocols.people import MetricScores


@with_settings(needs={"threshold": {"scores": SET}}, settings=StudySettings)
def agreement(
    settings: StudySettings,
    given: Given,
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
    discriminator: Annotated[
        list[str] | None,
        typer.Option(
            "--discriminator",
            "-d",
            help="With the folder of `dialeval annotate`: a saved discriminator that judges the "
            "same items. Repeatable.",
        ),
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="The run that the items were made from: its evaluators' decisions."),
    ] = None,
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
    from dialeval.run_folder import RunFolder

    if not any(_is_table(path) for path in files):
        given.refuse(["column", "scale"], "a project of `dialeval annotate` has its own columns")
    judgements = [row for path in files for row in _read(path, column or [], scale or [])]
    metrics: list[MetricScores] = [
        metric for path in scores or () for metric in read_scores(path, threshold)
    ]
    metrics += _on_the_same_items(files, discriminator or [], run)
    results = study_judgements(judgements, metrics, settings)
    with RunFolder(output_dir).lock():
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
    from dialeval.dialogues.columns import column_names
    from dialeval.judgements import read_judgements

    store = _store(path)
    if store is not None:
        return store.judgements()
    return read_judgements(path, column_names(columns), scales)


def _store(path: Path) -> JudgementStore | None:
    """The annotation project in a folder, if it is one."""
    from dialeval.commands.annotate import DATABASE
    from dialeval.judgements.store import JudgementStore

    if _is_table(path):
        return None
    return JudgementStore(path / DATABASE if path.is_dir() else path)


def _is_table(path: Path) -> bool:
    """Whether judgements are in a table, and not in an annotation project."""
    return not path.is_dir() and path.suffix != ".db"


def _on_the_same_items(
    files: list[Path], discriminators: list[str], run: Path | None
) -> list[MetricScores]:
    """Decisions of discriminators, and of a run's evaluators, about the annotated items."""
    from dialeval.dialogues import BadInput
    from dialeval.protocols.people import scores_of_run, scores_of_scorer

    if not discriminators and run is None:
        return []
    stores = [store for path in files if (store := _store(path)) is not None]
    items = [item for store in stores for item in store.items.values()]
    if not items:
        hint = "Give the folder of `dialeval annotate`, or --scores."
        raise BadInput("discriminators need the texts of the items.", hint=hint)
    metrics = scores_of_run(run, items) if run is not None else []
    if discriminators:
        from dialeval.scorers import load_scorer

        metrics += [scores_of_scorer(load_scorer(name), items) for name in discriminators]
    return metrics
