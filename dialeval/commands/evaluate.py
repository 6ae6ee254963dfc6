"""`dialeval evaluate`: can an evaluator distinguish systems from humans, and is it reliable?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialeval.commands.console import (
    command_line,
    out,
    progress_bar,
    say,
    say_warnings,
)
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.live import check_live
from dialeval.commands.settings import with_settings
from dialeval.commands.tracking import track
from dialeval.progress import quiet_libraries
from dialeval.settings.evaluation import EvaluationRun
from dialeval.settings.inputs import SidedInputSettings
from dialeval.settings.live import LiveSettings
from dialeval.settings.tracking import TrackingSettings
from dialeval.terminal import printable

if TYPE_CHECKING:
    from dialeval.dialogues import Passages, ReadOptions
    from dialeval.metrics.results import RunResults
    from dialeval.protocols.evaluation import EvaluationData

FORMATS = ("table", "markdown", "latex", "json")
Formats = Annotated[str, typer.Option("--format", help=f"What to print: {', '.join(FORMATS)}.")]
HumanLabel = Annotated[
    str | None, typer.Option(help="Class that means human, of --evaluator hf:NAME.")
]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=FILE with its responses, or a live system: parrot, constant, smollm2, a "
        "generator's folder, a Hub name, model@http://host/v1, each perhaps as NAME=... By "
        "default parrot and constant; see: dialeval list responders. Repeatable."
    ),
]


_PAIRED = ("curve", "length_matched", "twins", "normalise", "second_human", "max_identical")
"""Options that need replies to the same contexts."""


@with_settings(
    run=EvaluationRun, inputs=SidedInputSettings, live=LiveSettings, tracking=TrackingSettings
)
def evaluate(
    run: EvaluationRun,
    inputs: SidedInputSettings,
    live: LiveSettings,
    tracking: TrackingSettings,
    given: Given,
    human: o.Human = None,
    system: Systems = None,
    limit: o.Limit = None,
    format: Formats = "table",
    human_label: HumanLabel = None,
    second_human: Annotated[
        bool, typer.Option(help="Add a row for a second human's replies, if the data have them.")
    ] = True,
) -> None:
    """Can the responses of dialogue systems be distinguished from those of humans?

    Trains evaluators (classifiers of human and machine responses) on your data, tests them on
    held-out dialogues, and prints a verdict on each system and a table. Writes report.html,
    results.json and scores.parquet to the output folder.

    Without options, two baselines (parrot repeats a turn, constant always says the same) respond
    to 500 contexts of the embedded corpus. A finished command is not computed again, and a
    stopped one resumes; if you add a system, only that one is computed.

    Example: dialeval evaluate --human human.jsonl --system my-bot=bot.jsonl -o runs/my-bot
    """
    output_dir = Path(run.output_dir)
    systems = system or ["parrot", "constant"]
    check_options(format, limit, output_dir)
    check_live(given, () if inputs.pairs else systems)
    data = read_data(
        human, systems, inputs, output_dir, limit=limit, seed=run.seed,
        live=live, second_human=second_human, unpaired=True,
    )  # fmt: skip
    from dialeval.protocols.evaluation import evaluate as run_evaluation
    from dialeval.protocols.evaluation.frozen import with_human_label
    from dialeval.protocols.unpaired import Piles

    run = replace(run, evaluators=with_human_label(run.evaluators, human_label))
    quiet_libraries()
    if isinstance(data, Piles):
        given.refuse(_PAIRED, "the files do not answer the same contexts")
        track(show_piles(data, run, format), tracking, output_dir)
        return
    data.command = command_line()
    with progress_bar() as on_progress:
        results = run_evaluation(data, run, on_progress=on_progress)
    show(results, output_dir, format)
    track(results, tracking, output_dir)


def check_options(format: str, limit: int | None, output_dir: Path) -> None:
    """Check options before anything is read.

    Args:
        format (`str`):
            What to print.
        limit (`int`, *optional*):
            Maximum number of contexts.
        output_dir (`Path`):
            Folder for the results.

    Raises:
        BadInput: One of them cannot be used.
    """
    from dialeval.dialogues import BadInput

    if format not in FORMATS:
        raise BadInput(f"Unknown format {format!r}.", hint=f"Choose from {', '.join(FORMATS)}.")
    if limit is not None and limit < 1:
        raise BadInput(f"--limit is a number of contexts of at least 1, but got {limit}.")
    if output_dir.exists() and not output_dir.is_dir():
        hint = "Choose another --output-dir."
        raise BadInput("expected a folder for the results, found a file.", output_dir, hint=hint)


def read_data(
    human: list[str] | None,
    systems: Sequence[str],
    inputs: SidedInputSettings,
    output_dir: Path,
    *,
    limit: int | None = None,
    seed: int = 0,
    live: LiveSettings | None = None,
    second_human: bool = False,
    allow_none: bool = False,
    unpaired: bool = False,
) -> EvaluationData:
    """Human passages and the systems' responses to them, with progress on the terminal.

    Args:
        human (`list[str]`, *optional*):
            Files with human responses.
        systems (`Sequence[str]`):
            Specifications of systems.
        inputs (`SidedInputSettings`):
            How files are read.
        output_dir (`Path`):
            Where the responses of live systems are kept.
        limit, seed:
            As in `read_human`.
        live (`LiveSettings`, *optional*):
            Settings of live systems.
        second_human (`bool`, *optional*, defaults to `False`):
            Whether responses of a second human are added.
        allow_none (`bool`, *optional*, defaults to `False`):
            Whether there may be no system.
        unpaired (`bool`, *optional*, defaults to `False`):
            Whether piles of conversations without shared contexts are accepted.

    Returns:
        `EvaluationData`: Row by row on the same contexts; `Piles` where contexts are not shared.
    """
    from dialeval.commands.generate import load_and_say
    from dialeval.dialogues.splits import sample_dialogues
    from dialeval.protocols.evaluation.systems import (
        check_sources,
        collect_systems,
        read_human,
    )

    check_sources([*(inputs.pairs or human or [])], () if inputs.pairs else systems)
    if inputs.pairs:
        from dialeval.protocols.evaluation import align

        passages, second, answers = _read_pairs(inputs, human, systems, limit, seed)
        return align(
            passages, answers, second if second_human else None, None, allow_none,
            inputs.max_identical,
        )  # fmt: skip
    options = o.read_options(inputs, allow_empty=True)
    role, roles = inputs.system_roles()
    everything, second = read_human(
        human, replace(options, role=inputs.human_role or inputs.role),
        limit=None if human else limit, seed=seed, read_files=_read_files,
    )  # fmt: skip
    passages = sample_dialogues(everything, limit, seed) if limit else everything
    collected = collect_systems(
        systems, passages, folder=output_dir, options=replace(options, role=role), roles=roles,
        seed=seed, live=(live or LiveSettings()).options(), read_files=_read_files,
        load=load_and_say,
    )  # fmt: skip
    from dialeval.protocols.evaluation import align

    if unpaired and collected.answers:
        from dialeval.protocols.unpaired import limited_piles, shares_contexts

        if not shares_contexts(passages, collected.answers):
            return limited_piles(everything, collected.answers, limit, seed)  # type: ignore[return-value]
    return align(
        passages, collected.answers, second if second_human else None, collected.training,
        allow_none, inputs.max_identical,
    )  # fmt: skip


def _read_pairs(
    inputs: SidedInputSettings,
    human: list[str] | None,
    systems: Sequence[str],
    limit: int | None,
    seed: int,
) -> tuple[Passages, Passages | None, dict[str, Passages]]:
    """The human answers, a second human's, and the systems', from one table."""
    from dialeval.dialogues import BadInput, by_author
    from dialeval.dialogues.authors import authors as count_authors
    from dialeval.dialogues.columns import FIELDS, column_names
    from dialeval.protocols.evaluation.systems import read_human

    named = {name: column for name, sign, column in (s.partition("=") for s in systems) if sign}
    if not human or len(named) < len(systems) or not named:
        hint = "For example --context prompt --human human_answer --system bot=bot_answer"
        raise BadInput("--pairs needs the columns of the human and of each system.", hint=hint)
    authors = {"human" if at == 0 else f"human_{at + 1}": name for at, name in enumerate(human)}
    columns = column_names(inputs.column or [], FIELDS) | {"context": inputs.context or "context"}
    options = o.read_options(
        inputs, allow_empty=True, columns=columns, answers={**authors, **named}
    )
    table = _read_files(inputs.pairs or [], options)
    answered = count_authors(table)
    for author, column in options.answers.items():
        if author not in answered:
            hint = "Check the name of the column in the table's first line."
            message = (
                f"no row has an answer of {author}: the column {column!r} is missing or empty."
            )
            raise BadInput(message, (inputs.pairs or [""])[0], hint=hint)
    passages, second = read_human(["table"], options, limit=limit, seed=seed,
                                  read_files=lambda *_: table)  # fmt: skip
    return passages, second, {name: by_author(table, name) for name in named}


def _read_files(files: list[str], options: ReadOptions) -> Passages:
    passages: Passages = o.read_files(files, options)[0]
    return passages


def show(results: RunResults, output_dir: Path, format: str) -> None:
    """Print the results, and write the report.

    Args:
        results (`RunResults`):
            Of an evaluation.
        output_dir (`Path`):
            Folder of the run.
        format (`str`):
            One of `FORMATS`.
    """
    from dialeval.reports.evaluation import print_evaluation, warning_lines, write_report

    path = write_report(output_dir)
    warnings: Sequence[str] = results.warnings
    if format == "table":
        print_evaluation(results, out)
        warnings = [f"Careful: {line}" for line in warning_lines(results)]
    else:
        print(printable(as_text(results, format)))
    say_warnings(warnings)
    say_files(path)


def say_files(page: Path) -> None:
    """Say where the page of a run and its numbers are."""
    from rich.markup import escape

    numbers = escape(str(page.with_name("results.json")))
    say(f"Report: [bold]{escape(str(page))}[/], numbers: [bold]{numbers}[/]")


def show_piles(data: Any, run: EvaluationRun, format: str) -> Any:
    """Evaluate piles without shared contexts, print the results and write the report.

    Args:
        data (`Piles`):
            The piles.
        run (`EvaluationRun`):
            Settings.
        format (`str`):
            One of `FORMATS`.

    Returns:
        `UnpairedResults`: What was printed.
    """
    from dialeval.protocols.unpaired import evaluate_piles
    from dialeval.reports.unpaired import print_piles, write_unpaired_report

    say("The files do not answer the same contexts: they are compared as two piles, by dialogue.")
    with progress_bar() as on_progress:
        results = evaluate_piles(data, run, on_progress=on_progress)
    path = write_unpaired_report(Path(run.output_dir))
    if format == "table":
        print_piles(results, out)
    else:
        print(printable(as_text(results, format)))
    say_warnings(results.warnings)
    say_files(path)
    return results


def as_text(results: RunResults, format: str) -> str:
    """The results as JSON; those of an evaluation also as Markdown or LaTeX."""
    import json

    from dialeval.metrics.unpaired_results import UnpairedResults
    from dialeval.reports import evaluation, unpaired_text

    if format == "json":
        return json.dumps(results.to_dict(), ensure_ascii=False, indent=2)
    if isinstance(results, UnpairedResults):
        of_piles = unpaired_text.to_markdown if format == "markdown" else unpaired_text.to_latex
        return of_piles(results)
    return (evaluation.to_markdown if format == "markdown" else evaluation.to_latex)(results)
