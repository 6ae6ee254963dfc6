"""`dialeval evaluate`: can judges tell systems from humans, and can the judges be trusted?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import err, out, say
from dialeval.commands.data import options as o

FORMATS = ("table", "markdown", "latex", "json")
Formats = Annotated[str, typer.Option("--format", help=f"What to print: {', '.join(FORMATS)}.")]
Evaluators = Annotated[
    list[str] | None,
    typer.Option(
        help="svm-unigram, embedding, hierarchical, minilm, ..., or all; not retrained: the folder "
        "or Hub name of a saved one, NAME=FOLDER, zero-shot[:MEASURE[:MODEL]]. Repeatable."
    ),
]


def evaluate(
    human: o.Human = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="NAME=FILE of its responses, or a live system: parrot, random, smollm2, a "
            "generator's folder, model@http://host/v1, NAME=any of these. Repeatable."
        ),
    ] = None,
    evaluator: Evaluators = None,
    output_dir: o.OutputDir = Path("runs/evaluation"),
    limit: o.Limit = None,
    folds: o.Folds = 5,
    seeds: Annotated[int, typer.Option(help="Seeds whose spread stands beside AdverSuc.")] = 3,
    seed: o.Seed = 0,
    format: Formats = "table",
    input_format: o.InputFormat = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
    max_new_tokens: o.NewTokens = 40,
    decoding: o.DecodingName = "sampling",
    second_human: Annotated[
        bool, typer.Option(help="A row for a second human's replies, where the data have them.")
    ] = True,
    overwrite: o.Overwrite = False,
) -> None:
    """Evaluate systems: a table, results.json, scores.parquet and one report.html.

    With no options a parrot and a constant answer 500 contexts of the embedded corpus. The same
    command again finishes at once; one system more only adds its share.
    """
    from dialeval.protocols.evaluation import EvaluationRun, align
    from dialeval.protocols.evaluation import evaluate as run

    check_asked(format, limit, output_dir)
    settings = EvaluationRun(
        evaluators=evaluator, folds=folds, seeds=seeds, seed=seed, output_dir=str(output_dir),
        overwrite=overwrite,
    )  # fmt: skip
    options = o.read_options(
        input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
    )
    passages, second = human_passages(human, options, limit, seed)
    answering = (passages, options, output_dir, seed, decoding, max_new_tokens)
    systems, training = all_answers(system or ["parrot", "constant"], *answering)
    data = align(passages, systems, second if second_human else None, training)
    with progress() as on_progress:
        told = run(data, settings, on_progress=on_progress)
    show(told, output_dir, format)


def check_asked(format: str, limit: int | None, output_dir: Path) -> None:
    """Refuse what cannot be done before anything is read."""
    from dialeval.dialogues import BadInput

    if format not in FORMATS:
        raise BadInput(f"Unknown format {format!r}.", hint=f"Choose from {', '.join(FORMATS)}.")
    if limit is not None and limit < 1:
        raise BadInput(f"--limit counts contexts, so it is at least 1, but got {limit}.")
    if output_dir.exists() and not output_dir.is_dir():
        hint = "Choose another --output-dir."
        raise BadInput("expected a folder for the results, found a file.", output_dir, hint=hint)


def show(told: dict[str, Any], output_dir: Path, format: str) -> None:
    """Print the results in the wanted form, and write the report."""
    from rich.markup import escape

    from dialeval.reports.evaluation import evaluation_table, verdict_lines
    from dialeval.reports.evaluation_html import write_report

    path = write_report(output_dir)
    if format == "table":
        for line in verdict_lines(told):
            out.print(line)
        out.print(evaluation_table(told, out.width))
        for warning in told["warnings"]:
            say(f"[yellow]{escape(warning)}[/]")
    else:
        print(as_text(told, format))
    numbers = escape(str(output_dir / "results.json"))
    say(f"Report: [bold]{escape(str(path))}[/], numbers: [bold]{numbers}[/]")
    say(f"[dim]{escape(told['signature'])}[/]")


def as_text(told: dict[str, Any], format: str) -> str:
    """The results as Markdown, LaTeX or JSON."""
    import json

    from dialeval.reports.evaluation import to_latex, to_markdown

    if format == "json":
        return json.dumps(told, ensure_ascii=False, indent=2)
    return to_markdown(told) if format == "markdown" else to_latex(told)


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


def human_passages(
    files: list[str] | None, options: Any, limit: int | None, seed: int
) -> tuple[Any, Any]:
    """Human passages, of the embedded corpus where no file is named, and a second human's."""
    from dialeval.dialogues import BadInput, authors, by_author
    from dialeval.dialogues.splits import sample_dialogues
    from dialeval.protocols.evaluation import second_humans

    limit, files = limit or (None if files else 500), files or ["chitchat"]
    everyone = o.read_files(files, options)[0]
    found = by_author(everyone, "human")
    if not len(found):
        names = ", ".join(authors(everyone)) or "nobody"
        hint = "Give the file with the human ones."
        raise BadInput(f"no human responses, only those of {names}.", files[0], hint=hint)
    first = found if limit is None else sample_dialogues(found, limit, seed)
    return first, second_humans(everyone)


def all_answers(texts: list[str], *answering: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The answers of each system by its name, and what is known about its training."""
    from dialeval.dialogues import BadInput

    found: dict[str, Any] = {}
    known: dict[str, Any] = {}
    for text in texts:
        name, answers, training = _answers(text, *answering)
        if name in found:
            hint = "Give each a name of its own: --system first=..."
            raise BadInput(f"two systems are called {name!r}.", hint=hint)
        found[name], known[name] = answers, training
    return found, known


def _answers(
    text: str, human: Any, options: Any, folder: Path, seed: int, decoding: str, tokens: int
) -> tuple[str, Any, dict[str, Any]]:
    """A system's name, its answers, from a file or given now, and how it was trained."""
    from dialeval.dialogues import BadInput, authors, by_author
    from dialeval.responders import parse_spec

    spec = parse_spec(text)
    if spec.kind != "stored" or "path" not in spec.options:
        return _answered(text, human, folder, seed, decoding, tokens)
    path = spec.options["path"]
    name = spec.name or Path(path).stem
    found, _ = o.read_files([path], options)
    if not len(found):
        raise BadInput("it holds no responses.", path, hint=f"Give what {name} answered.")
    names = [each for each in authors(found) if each != "human"] or ["human"]
    if len(names) == 1 or name in names:
        return name, by_author(found, name if name in names else names[0]), _told_by(path)
    raise BadInput(
        f"it holds several systems: {', '.join(names)}.",
        path,
        hint=f"Name the one that is meant: --system {names[0]}={path}",
    )


def _told_by(path: str) -> dict[str, Any]:
    """What the manifest beside a file of answers says about the generator's training."""
    import json

    try:
        found = json.loads(Path(f"{path}.run.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    found = found if isinstance(found, dict) else {}
    training = found.get("training")
    return {**found, **(training if isinstance(training, dict) else {})}


def _answered(
    text: str, human: Any, folder: Path, seed: int, decoding: str, tokens: int
) -> tuple[str, Any, dict[str, Any]]:
    """The name of a responder, its answers (a run that was stopped goes on), and its training."""
    from dialeval.commands.generate import load_and_say
    from dialeval.dialogues import ReadOptions, iterate, read
    from dialeval.responders.journal import generate, run_hash

    responder = load_and_say(text, seed=seed, decoding=decoding, max_new_tokens=tokens, pool=human)
    asked = list(iterate(human))
    # Answers to other contexts, or by other settings, have another name: nothing is replaced.
    key = run_hash(responder.signature, asked)[:8]
    path = folder / "systems" / f"{responder.name.replace('/', '-')}-{key}.jsonl"
    done = generate(responder, asked, path)
    options = ReadOptions(keep_duplicates=True, allow_empty=True)
    training = getattr(getattr(responder, "generator", None), "training", None)
    return responder.name, read(str(done.path), options)[0], training or {}
