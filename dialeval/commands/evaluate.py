"""`dialeval evaluate`: can judges tell systems from humans, and can the judges be trusted?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import err, out, say
from dialeval.commands.data import options as o

Formats = Annotated[
    str, typer.Option("--format", help="What to print: table, markdown, latex or json.")
]


def evaluate(
    human: Annotated[
        list[str] | None, typer.Option(help="Files of human passages; the embedded corpus.")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FILE of its responses, or who answers now: parrot, random, smollm2, a "
            "generator's folder. Repeatable."
        ),
    ] = None,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(help="svm-unigram, embedding, hierarchical, minilm, ..., or all. Repeatable."),
    ] = None,
    output_dir: Annotated[Path, typer.Option("--output-dir", "-o", help="Where it goes.")] = Path(
        "runs/evaluation"
    ),
    limit: Annotated[
        int | None, typer.Option(help="Contexts at most, drawn with the seed; 500 without --human.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Folds of cross-fitting, by dialogue.")] = 5,
    seeds: Annotated[int, typer.Option(help="Seeds whose spread stands beside AdverSuc.")] = 3,
    seed: o.Seed = 0,
    format: Formats = "table",
    input_format: Annotated[
        str | None, typer.Option(help="Format of the files; guessed by default.")
    ] = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
    max_new_tokens: Annotated[int, typer.Option(help="Of systems that answer now.")] = 40,
    decoding: Annotated[str, typer.Option(help="Of systems that answer now.")] = "sampling",
) -> None:
    """Evaluate systems: a table, results.json, scores.parquet and one report.html.

    With no options a parrot and a constant answer 500 contexts of the embedded corpus. The same
    command again finishes at once; one system more only adds its share.
    """
    from dialeval.protocols.evaluation import EvaluationRun, align
    from dialeval.protocols.evaluation import evaluate as run

    options = o.read_options(
        input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
    )
    passages = _human(human or ["chitchat"], options, limit or (None if human else 500), seed)
    systems = {}
    for text in system or ["parrot", "constant"]:
        name, answers = _system(text, passages, options, output_dir, seed, decoding, max_new_tokens)
        systems[name] = answers
    settings = EvaluationRun(
        evaluators=evaluator, folds=folds, seeds=seeds, seed=seed, output_dir=str(output_dir)
    )
    with progress() as tell:
        told = run(align(passages, systems), settings, tell=tell)
    show(told, output_dir, format)


def show(told: dict[str, Any], output_dir: Path, format: str) -> None:
    """Print the results in the wanted form, and write the report."""
    import json

    from dialeval.reports.evaluation import evaluation_table, to_latex, to_markdown
    from dialeval.reports.evaluation_html import write_report

    path = write_report(output_dir)
    if format == "table":
        for row in headlines(told):
            out.print(f"[bold]{row['system']}[/]: [bold]{row['verdict']}[/]. {row['text']}")
        out.print(evaluation_table(told))
        for remark in told["remarks"]:
            say(f"[yellow]{remark}[/]")
    elif format == "markdown":
        print(to_markdown(told))
    elif format == "latex":
        print(to_latex(told))
    else:
        print(json.dumps(told, ensure_ascii=False, indent=2))
    say(f"Report: [bold]{path}[/], numbers: [bold]{output_dir / 'results.json'}[/]")
    say(f"[dim]{told['signature']}[/]")


def headlines(told: dict[str, Any]) -> list[dict[str, str]]:
    """The first verdict of each system: that of the judge whose control is best."""
    found: dict[str, dict[str, str]] = {}
    for row in told["verdicts"]:
        found.setdefault(row["system"], row)
    return list(found.values())


def progress():
    """A bar that knows the remaining time, as a context manager that gives what to call."""
    import os
    from contextlib import contextmanager

    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Remaining

    @contextmanager
    def bar():
        quiet = bool(os.environ.get("DIALEVAL_QUIET")) or not err.is_terminal
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), Remaining())
        with Progress(*columns, console=err, transient=True, disable=quiet) as shown:
            task = shown.add_task("judging", total=None)
            yield lambda done, total, what: shown.update(
                task, completed=done, total=total, description=what
            )

    return bar()


def _human(files: list[str], options: Any, limit: int | None, seed: int) -> Any:
    import numpy as np

    from dialeval.dialogues import by_author

    found = by_author(o.read_files(files, options)[0], "human")
    if limit is None or limit >= len(found):
        return found
    rows = np.sort(np.random.default_rng(seed).choice(len(found), limit, replace=False))
    return found.select(rows)


def _system(
    text: str, human: Any, options: Any, folder: Path, seed: int, decoding: str, tokens: int
) -> tuple[str, Any]:
    """A system's name and its answers: from a file, or given now by a responder."""
    from dialeval.dialogues import BadInput, authors, by_author

    name, sign, path = text.partition("=")
    if not sign:
        return _answered(text, human, folder, seed, decoding, tokens)
    found, _ = o.read_files([path], options)
    names = [each for each in authors(found) if each != "human"] or ["human"]
    if len(names) == 1:
        return name, _renamed(by_author(found, names[0]), name)
    if name in names:
        return name, by_author(found, name)
    raise BadInput(
        f"it holds several systems: {', '.join(names)}.",
        path,
        remedy=f"Name the one that is meant: --system {names[0]}={path}",
    )


def _renamed(passages: Any, name: str) -> Any:
    from dialeval.dialogues import iterate, to_passages

    return to_passages(each.with_response(each.response, name) for each in iterate(passages))


def _answered(
    text: str, human: Any, folder: Path, seed: int, decoding: str, tokens: int
) -> tuple[str, Any]:
    from dialeval.commands.generate import SIMPLE, model_responder, simple_responder
    from dialeval.dialogues import iterate, read
    from dialeval.dialogues.reading import ReadOptions
    from dialeval.protocols.generation import generate

    if text in SIMPLE:
        responder = simple_responder(text, human, None, "I don't know.", seed, None)
    else:
        responder = model_responder(
            text, decoding, {}, {"seed": seed}, tokens, None, None, None, None, None, None, None,
            True,
        )  # fmt: skip
    path = folder / "systems" / f"{responder.name.replace('/', '-')}.jsonl"
    done = generate(responder, list(iterate(human)), path, overwrite=True)
    return responder.name, read(str(done.path), ReadOptions(keep_duplicates=True))[0]
