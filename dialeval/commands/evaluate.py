"""`dialeval evaluate`: can an evaluator distinguish systems from humans, and is it reliable?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, progress_bar, say, say_warnings
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.settings.evaluation import EvaluationRun

if TYPE_CHECKING:
    from dialeval.dialogues import Passages, ReadOptions
    from dialeval.metrics.results import RunResults
    from dialeval.protocols.evaluation import EvaluationData

FORMATS = ("table", "markdown", "latex", "json")
Formats = Annotated[str, typer.Option("--format", help=f"What to print: {', '.join(FORMATS)}.")]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        help="NAME=FILE with its responses, or a live system: parrot, constant, smollm2, a "
        "generator's folder, a Hub name, model@http://host/v1, each perhaps as NAME=... By "
        "default parrot and constant; see: dialeval list responders. Repeatable."
    ),
]


@with_settings(run=EvaluationRun)
def evaluate(
    run: EvaluationRun,
    human: o.Human = None,
    system: Systems = None,
    limit: o.Limit = None,
    format: Formats = "table",
    input_format: o.InputFormat = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
    max_new_tokens: o.NewTokens = 40,
    decoding: o.DecodingName = "sampling",
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
    from dialeval.protocols.evaluation import evaluate as run_evaluation

    output_dir = Path(run.output_dir)
    check_options(format, limit, output_dir)
    options = o.read_options(
        input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
    )
    data = read_data(
        human, system or ["parrot", "constant"], options, output_dir, limit=limit, seed=run.seed,
        decoding=decoding, max_new_tokens=max_new_tokens, second_human=second_human,
    )  # fmt: skip
    with progress_bar() as on_progress:
        results = run_evaluation(data, run, on_progress=on_progress)
    show(results, output_dir, format)


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
    options: ReadOptions,
    output_dir: Path,
    *,
    limit: int | None = None,
    seed: int = 0,
    decoding: str = "sampling",
    max_new_tokens: int = 40,
    second_human: bool = False,
    allow_none: bool = False,
) -> EvaluationData:
    """Human passages and the systems' responses to them, with progress on the terminal.

    Args:
        human (`list[str]`, *optional*):
            Files with human responses.
        systems (`Sequence[str]`):
            Specifications of systems.
        options (`ReadOptions`):
            How files are read.
        output_dir (`Path`):
            Where the responses of live systems are kept.
        limit, seed, decoding, max_new_tokens:
            As in `read_human` and `collect_systems`.
        second_human (`bool`, *optional*, defaults to `False`):
            Whether responses of a second human are added.
        allow_none (`bool`, *optional*, defaults to `False`):
            Whether there may be no system.

    Returns:
        `EvaluationData`: Row by row on the same contexts.
    """
    from dialeval.commands.generate import load_and_say
    from dialeval.protocols.evaluation import align
    from dialeval.protocols.evaluation.systems import collect_systems, read_human

    passages, second = read_human(human, options, limit=limit, seed=seed, read_files=_read_files)
    collected = collect_systems(
        systems, passages, folder=output_dir, options=options, seed=seed, decoding=decoding,
        max_new_tokens=max_new_tokens, read_files=_read_files, load=load_and_say,
    )  # fmt: skip
    return align(
        passages, collected.answers, second if second_human else None, collected.training,
        allow_none,
    )  # fmt: skip


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
    from rich.markup import escape

    from dialeval.reports.evaluation import evaluation_table, verdict_lines, write_report

    path = write_report(output_dir)
    if format == "table":
        for line in verdict_lines(results):
            out.print(line)
        out.print(evaluation_table(results, out.width))
    else:
        print(as_text(results, format))
    say_warnings(results.warnings)
    numbers = escape(str(output_dir / "results.json"))
    say(f"Report: [bold]{escape(str(path))}[/], numbers: [bold]{numbers}[/]")
    say(f"[dim]{escape(results.signature)}[/]")


def as_text(results: RunResults, format: str) -> str:
    """The results as Markdown, LaTeX or JSON."""
    import json

    from dialeval.reports.evaluation import to_latex, to_markdown

    if format == "json":
        return json.dumps(results.to_dict(), ensure_ascii=False, indent=2)
    return to_markdown(results) if format == "markdown" else to_latex(results)
