"""`dialeval transfer`: does a judge trained on one system tell the others from humans?"""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o


def transfer(
    human: Annotated[
        list[str] | None, typer.Option(help="Files of human passages; the embedded corpus.")
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE of its responses, or who answers now. Repeatable."),
    ] = None,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(help="svm-unigram (default), embedding, hierarchical, ... Repeatable."),
    ] = None,
    output_dir: Annotated[Path, typer.Option("--output-dir", "-o", help="Where it goes.")] = Path(
        "runs/transfer"
    ),
    limit: Annotated[
        int | None, typer.Option(help="Contexts at most, drawn with the seed; 500 without --human.")
    ] = None,
    seed: o.Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="For programs, unrounded.")] = False,
    input_format: Annotated[
        str | None, typer.Option(help="Format of the files; guessed by default.")
    ] = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
) -> None:
    """Train a judge on random replies, on each system and on all; apply each to every system.

    Gives a matrix of accuracies, transfer.json, and a heat map as PNG and SVG.
    """
    from rich.markup import escape

    from dialeval.commands.evaluate import human_passages, progress, system_answers
    from dialeval.protocols.evaluation import align
    from dialeval.protocols.transfer import transfer as run
    from dialeval.protocols.transfer import write_transfer
    from dialeval.reports.transfer import heat_map, transfer_table

    options = o.read_options(
        input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
    )
    passages = human_passages(
        human or ["chitchat"], options, limit or (None if human else 500), seed
    )
    wanted = system or ["parrot", "constant"]
    systems = dict(
        system_answers(text, passages, options, output_dir, seed, "sampling", 40) for text in wanted
    )
    material = align(passages, systems)
    with progress() as tell:
        found = [run(material, name, seed, tell=tell) for name in evaluator or ["svm-unigram"]]
    path = write_transfer(found, output_dir)
    pictures = [str(each) for one in found for each in heat_map(one, output_dir)]
    if json:
        print(path.read_text("utf-8"), end="")
    else:
        for each in found:
            out.print(transfer_table(each))
    for remark in material.remarks:
        say(f"[yellow]{escape(remark)}[/]")
    say(f"Numbers: [bold]{path}[/], heat maps: [bold]{', '.join(pictures)}[/]")
