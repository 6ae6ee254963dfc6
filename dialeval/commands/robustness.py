"""`dialeval robustness`: do replies change where they should, and only there?"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.live import LIVE, check_live
from dialeval.commands.settings import with_settings
from dialeval.commands.tracking import track
from dialeval.settings.inputs import InputSettings
from dialeval.settings.live import GreedySettings
from dialeval.settings.robustness import RobustnessRun
from dialeval.settings.tracking import TrackingSettings
from dialeval.settings.usage import SET

if TYPE_CHECKING:
    from dialeval.metrics.robustness_results import RobustnessResults

STRATEGIES = (
    "random-swap", "stopword-dropout", "data-paraphrase", "grammar-errors", "add-negation",
    "antonym",
)  # fmt: skip
"""Strategies of the paper that need no model and no further data."""
LIMIT = 60
_POOL = 300  # passages that an evaluator is fitted on


_OF_EDITS = ("limit", "preset", "turns", "lexicon", "set", *LIVE)
"""Options that stored replies have no use for."""


@with_settings(
    needs={"name": {"stored": SET}},
    run=RobustnessRun, inputs=InputSettings, live=GreedySettings, tracking=TrackingSettings,
)  # fmt: skip
def robustness(
    run: RobustnessRun,
    inputs: InputSettings,
    live: GreedySettings,
    tracking: TrackingSettings,
    given: Given,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "--system",
            "-m",
            help="System: smollm2, a folder, a .gguf file, a Hub name, model@http://host/v1, "
            "parrot, constant, retrieval. Repeatable.",
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(help="Files of contexts and human replies; chitchat by default."),
    ] = None,
    strategy: Annotated[
        list[str] | None,
        typer.Option(
            "--strategy",
            "-s",
            help="Strategy, or all. Repeatable; `dialeval perturb -s list` shows them.",
        ),
    ] = None,
    stored: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead of --model: normal=FILE and STRATEGY=FILE with stored replies, "
            "again=FILE for a second draw, NAME:should-change=FILE for another strategy. "
            "Repeatable.",
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="Name of the system with stored replies.")] = "stored",
    limit: Annotated[
        int | None,
        typer.Option(help=f"Maximum number of contexts, sampled; {LIMIT} without --data."),
    ] = None,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            help="Evaluator to perturb: a name such as embedding (fitted on other dialogues), "
            "the folder or Hub name of a saved one, zero-shot, or none. Repeatable."
        ),
    ] = None,
    preset: Annotated[str, typer.Option(help="Rates of the strategies: paper or released.")] = (
        "paper"
    ),
    turns: o.Turns = "all",
    lexicon: o.Lexicon = None,
    set: o.StrategySetting = None,
) -> None:
    """Compare replies to normal and perturbed contexts: verdicts, tables, one report.html.

    Without options SmolLM2 answers 60 contexts of the embedded corpus under six strategies. The
    same command resumes a run that was stopped.
    """
    from dialeval.commands.perturb import settings_of, turns_of
    from dialeval.perturbations import perturbations
    from dialeval.protocols.evaluation.systems import check_sources

    check_sources(data or [], model or ())
    run = replace(run, turns=turns_of(turns))
    options = o.read_options(inputs, allow_empty=True)
    if stored:
        _check_stored_only(model, strategy)
        given.refuse(_OF_EDITS, "stored replies are not edited or generated again")
        passages, strategies, systems = _read_stored(stored, name, data, options)
        pool = None
    else:
        check_live(given, model or ["smollm2"])
        names = strategy or list(STRATEGIES)
        selection = "all" if "all" in names else list(dict.fromkeys(names))
        strategies = perturbations(selection, preset, settings_of(lexicon or [], set or [], names))
        passages, pool = _read_contexts(data, options, limit, run.seed)  # after checking names
        systems = [_load_system(spec, pool, live, run.seed) for spec in model or ["smollm2"]]
    from dialeval.protocols.robustness import robustness as study

    output_dir = Path(run.output_dir)
    evaluators = _load_evaluators(evaluator, pool, passages, run.seed, output_dir)
    results = study(passages, systems, strategies, run, evaluators, on_progress=_print_progress)
    show(results, output_dir)
    track(results, tracking, output_dir)


def show(results: "RobustnessResults", output_dir: Path) -> None:
    """Print the verdicts and tables, and write the report."""
    from rich.markup import escape

    from dialeval.reports.robustness import (
        headlines,
        robustness_tables,
        write_robustness_report,
    )

    path = write_robustness_report(output_dir)
    for line in headlines(results):
        out.print(line)
    for table in robustness_tables(results):
        out.print()
        out.print(table)
    for warning in results.warnings:
        say(f"[yellow]{escape(warning)}[/]")
    numbers = escape(str(output_dir / "results.json"))
    say(f"Report: [bold]{escape(str(path))}[/], numbers: [bold]{numbers}[/]")
    say(f"[dim]{escape(results.signature)}[/]")


def _print_progress(name: str) -> None:
    from rich.markup import escape

    say(f"[bold]{escape(name)}[/] under perturbation")


def _check_stored_only(model: list[str] | None, strategy: list[str] | None) -> None:
    from dialeval.dialogues import BadInput

    if model or strategy:
        hint = "Leave out --model and --strategy, or --stored."
        raise BadInput("stored replies have their own system and strategies.", hint=hint)


def _read_contexts(
    files: list[str] | None, options: Any, limit: int | None, seed: int
) -> tuple[list[Any], Any]:
    """Contexts to answer, and all human passages."""
    from dialeval.commands.generate import contexts
    from dialeval.dialogues import BadInput, by_author

    if limit is not None and limit < 1:
        raise BadInput(f"--limit must be at least 1, but got {limit}.")
    limit = limit or (None if files else LIMIT)
    options = replace(options, side="human")
    passages = by_author(o.read_files(files or ["chitchat"], options)[0], "human")
    if not len(passages):
        hint = "Give a file with contexts and human replies."
        raise BadInput("no human responses.", (files or [""])[0], hint=hint)
    return contexts(passages, limit, seed), passages


def _load_system(spec: str, pool: Any, live: GreedySettings, seed: int) -> Any:
    """A responder; a parrot repeats the last turn, because a random one depends on the text."""
    from dialeval.commands.generate import load_and_say
    from dialeval.responders import parse_spec

    options = {"turn": -1} if parse_spec(spec).kind == "parrot" else {}
    return load_and_say(spec, seed=seed, pool=pool, **live.options(), **options)


def _read_stored(
    pairs: Sequence[str], name: str, data: list[str] | None, options: Any
) -> tuple[list[Any], list[Any], list[Any]]:
    """Contexts, cases and answers from files."""
    from dialeval.dialogues import BadInput, by_author, iterate
    from dialeval.protocols.robustness import stored_answers

    options = replace(options, keep_duplicates=True)
    stored = {}
    for pair in pairs:
        key, sign, path = pair.partition("=")
        if not sign or key in stored:
            hint = "Use --stored normal=FILE --stored add-negation=FILE, each name once."
            raise BadInput(f"expected NAME=FILE, but got {pair!r}.", hint=hint)
        stored[key] = list(iterate(o.read_files([path], options)[0]))
    human = list(iterate(by_author(o.read_files(data, options)[0], "human"))) if data else None
    contexts, cases, answers = stored_answers(name, stored, human)
    return contexts, cases, [answers]


def _load_evaluators(
    specs: list[str] | None, pool: Any, passages: Sequence[Any], seed: int, folder: Path
) -> list[Any]:
    """Saved evaluators, and those that are fitted on dialogues without the contexts."""
    from dialeval.dialogues import BadInput
    from dialeval.scorers.registry import fitted_names

    evaluators = []
    for spec in specs or ["embedding"]:
        if spec == "none":
            continue
        if spec not in fitted_names([spec]):
            evaluators.append(_load_frozen(spec, passages, folder))
            continue
        try:
            evaluators.append(_fit(spec, pool, passages, seed))
        except BadInput as error:
            if specs:
                raise
            say(f"[yellow]Without an evaluator: {error}[/]")
    return evaluators


def _load_frozen(spec: str, passages: Sequence[Any], folder: Path) -> Any:
    """A saved evaluator, or a zero-shot one, with a threshold."""
    from dialeval.dialogues import to_passages
    from dialeval.dialogues.types import text_key
    from dialeval.protocols.evaluation.frozen import evaluator_name, load_frozen
    from dialeval.run_folder import RunFolder

    evaluator = load_frozen(evaluator_name(spec, ()), spec.partition("=")[2] or spec)
    texts = [text for passage in passages for text in (passage.id, passage.response)]
    key = f"threshold-{text_key([evaluator.key, *texts])}"
    warning = evaluator.choose_threshold(to_passages(passages), RunFolder(folder), key)
    if warning:
        say(f"[yellow]{warning}[/]")
    return evaluator


def _fit(spec: str, pool: Any, passages: Sequence[Any], seed: int) -> Any:
    """An evaluator, fitted on other dialogues than those it is applied to."""
    import numpy as np

    from dialeval.dialogues import BadInput
    from dialeval.dialogues.splits import sample_dialogues
    from dialeval.protocols.robustness import fit_evaluator

    if pool is None:
        hint = "Give a saved evaluator: --evaluator FOLDER."
        raise BadInput("there are no dialogues to fit an evaluator with --stored.", hint=hint)
    used = {passage.dialogue_id for passage in passages}
    unused = pool.select(np.flatnonzero([name not in used for name in pool["dialogue_id"]]))
    sample = sample_dialogues(unused, _POOL, seed) if len(unused) > _POOL else unused
    return fit_evaluator(sample, seed, spec)
