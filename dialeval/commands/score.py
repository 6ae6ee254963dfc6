"""`dialeval score`: scores of stored responses by a saved discriminator."""

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import say
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import InputSettings


@with_settings(inputs=InputSettings)
def score(
    inputs: InputSettings,
    given: Given,
    discriminator: Annotated[
        str, typer.Option("--discriminator", "-d", help="Folder of a saved scorer, or Hub name.")
    ],
    data: Annotated[
        list[str], typer.Option(help="Files, folders or 'shards/*.parquet', of any format.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .jsonl, .csv, .tsv, .parquet")
    ] = Path("scored.jsonl"),
    author: o.Author = None,
    device: o.Device = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a batch, padding included.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="File of scores from which an interrupted run resumes.")
    ] = None,
) -> None:
    """Score stored responses: one row per passage with score, decision and tokens used."""
    from dialeval.dialogues.storage import batches, check_output, write_passages
    from dialeval.scorers.folders import check_scorer_name, load_scorer

    check_scorer_name(discriminator)
    o.check_exist(data)
    check_output(output)
    from dialeval.scorers.scoring import score_passages

    options = o.read_options(inputs, author=author, allow_empty=True, keep_duplicates=True)
    accelerator = _accelerator(device)
    neural = {"device": device, "max_tokens": max_tokens, "cache": cache, "progress": True}
    scorer = load_scorer(discriminator, neural=neural, accelerator=accelerator)
    check_neural(given, scorer, device)
    passages, _ = o.read_files(data, options)
    say(f"Scoring with [bold]{scorer.name}[/] on {getattr(scorer, 'device', 'cpu')}")
    scored = score_passages(scorer, passages)
    if accelerator is None or accelerator.is_main_process:
        write_passages(scored, output)
        humans = sum(batch["predicted_human"].true_count for batch in batches(scored))
        share = humans / max(1, len(scored))
        say(f"{len(scored):,} responses, {share:.1%} classified as human: [bold]{output}[/]")
        say(f"[dim]{scorer.signature}[/]")


def _accelerator(device: str | None) -> Any:
    """What divides the work between processes; `None` without Accelerate, which networks need."""
    if find_spec("accelerate") is None:
        return None
    from accelerate import Accelerator

    return Accelerator(cpu=device == "cpu")


def check_neural(given: Given, scorer: Any, device: str | None) -> None:
    """Refuse options of networks where the loaded evaluator is none and has none inside.

    Args:
        given (`Given`):
            What the user gave.
        scorer (`Scorer`):
            The evaluator.
        device (`str`, *optional*):
            Where it should run; anything does on the CPU.

    Raises:
        BadInput: Names the option.
    """
    from dialeval.scorers.folders import takes_neural

    if not takes_neural(scorer):
        names = ("max_tokens", "cache", *(() if device == "cpu" else ("device",)))
        given.refuse(names, f"{scorer.name} is no trained network")
