"""`dialeval ere`: can an evaluator be trusted, where the right answer is known?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.evaluate import Evaluators, Formats

NOBODY = "none"


def ere(
    human: o.Human = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="Whose replies are halved for machine_machine: NAME=FILE, or who answers now; "
            "parrot by default, none to leave that scenario out. Repeatable."
        ),
    ] = None,
    evaluator: Evaluators = None,
    scores: Annotated[
        Path | None,
        typer.Option(
            help="Or a table of scores (.jsonl, .csv, .parquet): score, label, scenario; also "
            "dialogue_id, evaluator, system."
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(help="Of --scores: from which one on a response is taken for human.")
    ] = 0.5,
    lower_is_human: Annotated[
        bool, typer.Option("--lower-is-human", help="Of --scores: humans are below it.")
    ] = False,
    transfer: Annotated[
        bool, typer.Option("--transfer", help="Of --scores: the judge did not learn the scenarios.")
    ] = False,
    output_dir: o.OutputDir = Path("runs/ere"),
    limit: o.Limit = None,
    folds: o.Folds = 5,
    seed: o.Seed = 0,
    format: Formats = "table",
    input_format: o.InputFormat = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
    max_new_tokens: o.NewTokens = 40,
    decoding: o.DecodingName = "sampling",
    overwrite: o.Overwrite = False,
) -> None:
    """Put evaluators where the right answer is known: the reliability error and its scenarios.

    Two halves of one author should not be told apart (.5); random and following replies should be
    told from true ones (0). With no options a parrot answers 500 contexts of the embedded corpus.
    """
    from dialeval.commands.evaluate import check_asked, progress
    from dialeval.dialogues import BadInput

    check_asked(format, limit, output_dir)
    if scores and (human or system or evaluator):
        hint = "Leave out --human, --system and --evaluator."
        raise BadInput("--scores brings everything along.", hint=hint)
    if scores:
        from dialeval.protocols.evaluation.scores import reliability_of_scores

        direction = {"higher_is_human": not lower_is_human, "retrained": not transfer}
        told = reliability_of_scores(scores, output_dir, threshold, seed=seed, overwrite=overwrite,
                                     **direction)  # fmt: skip
        _show(told, output_dir, format)
        return
    from dialeval.protocols.evaluation import EvaluationRun, reliability

    run = EvaluationRun(evaluator, folds, seed=seed, output_dir=str(output_dir),
                        overwrite=overwrite)  # fmt: skip
    options = o.read_options(
        input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
    )
    answering = (output_dir, seed, decoding, max_new_tokens)
    data = _material(human, system or ["parrot"], options, limit, *answering)
    with progress() as on_progress:
        told = reliability(data, run, on_progress=on_progress)
    _show(told, output_dir, format)


def _material(
    human: list[str] | None,
    wanted: list[str],
    options: Any,
    limit: int | None,
    folder: Path,
    seed: int,
    *how: Any,
) -> Any:
    """Human passages, and the systems' answers to them where there are systems."""
    from dialeval.commands.evaluate import all_answers, human_passages
    from dialeval.protocols.evaluation import align

    passages, _ = human_passages(human, options, limit, seed)
    wanted = [text for text in wanted if text != NOBODY]
    systems, training = all_answers(wanted, passages, options, folder, seed, *how)
    return align(passages, systems, training=training, allow_none=True)


def _show(told: dict[str, Any], output_dir: Path, format: str) -> None:
    from rich.markup import escape

    from dialeval.commands.evaluate import as_text
    from dialeval.reports.evaluation import evaluation_table

    if format == "table":
        out.print(evaluation_table(told, out.width))
    else:
        print(as_text(told, format))
    for warning in told["warnings"]:
        say(f"[yellow]{escape(warning)}[/]")
    say(f"Numbers: [bold]{escape(str(output_dir / 'results.json'))}[/]")
