"""`dialeval transfer`: does a judge trained on one system tell the others from humans?"""

import re
from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o


def transfer(
    human: o.Human = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE of its responses, or who answers now. Repeatable."),
    ] = None,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            help="svm-unigram (default), embedding, hierarchical, ...; as it is: the folder of a "
            "saved one, zero-shot. Repeatable."
        ),
    ] = None,
    output_dir: o.OutputDir = Path("runs/transfer"),
    limit: Annotated[
        int | None, typer.Option(help="Contexts at most, drawn with the seed; 500 without --human.")
    ] = None,
    seed: o.Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="For programs, unrounded.")] = False,
    input_format: o.InputFormat = None,
    context_turns: o.ContextTurns = None,
    filter: o.Filter = "none",
    skip_bad: o.SkipBad = False,
) -> None:
    """Train a judge on random replies, on each system and on all; apply each to every system.

    Gives a matrix of accuracies, transfer.json, and a heat map as PNG and SVG.
    """
    from rich.markup import escape

    from dialeval.commands.evaluate import all_answers, check_asked, human_passages, progress
    from dialeval.protocols.evaluation import align
    from dialeval.protocols.transfer import transfer as run
    from dialeval.protocols.transfer import write_transfer
    from dialeval.reports.transfer import heat_map, transfer_table

    check_asked("json", limit, output_dir)
    options = o.read_options(
        input_format, skip_bad, context_turns=context_turns, filter=filter, allow_empty=True
    )
    passages, _ = human_passages(human, options, limit, seed)
    answering = (passages, options, output_dir, seed, "sampling", 40)
    systems, training = all_answers(system or ["parrot", "constant"], *answering)
    data = align(passages, systems, training=training)
    wanted = evaluator or ["svm-unigram"]
    with progress() as on_progress:
        found = [
            run(data, name, seed, on_progress=on_progress, folder=output_dir) for name in wanted
        ]
    path = write_transfer(found, output_dir)
    names = [re.sub(r"[^\w.-]+", "-", one.evaluator) for one in found]
    pictures = [
        str(each)
        for one, name in zip(found, names, strict=True)
        for each in heat_map(one, output_dir, f"transfer-{name}")
    ]
    if json:
        print(path.read_text("utf-8"), end="")
    else:
        for each in found:
            out.print(transfer_table(each))
    for warning in dict.fromkeys(warning for one in found for warning in one.warnings):
        say(f"[yellow]{escape(warning)}[/]")
    say(f"Numbers: [bold]{path}[/], heat maps: [bold]{', '.join(pictures)}[/]")
