"""`dialeval transfer`: does an evaluator trained on one system detect the others?"""

import re
from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, progress_bar, say
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.live import check_live
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import SidedInputSettings
from dialeval.settings.live import LiveSettings


@with_settings(inputs=SidedInputSettings, live=LiveSettings)
def transfer(
    inputs: SidedInputSettings,
    live: LiveSettings,
    given: Given,
    human: o.Human = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=FILE of its responses, or a live system. Repeatable."),
    ] = None,
    evaluator: Annotated[
        list[str] | None,
        typer.Option(
            help="svm-unigram (default), embedding, hierarchical, ...; not retrained: the folder "
            "of a saved one, zero-shot. Repeatable."
        ),
    ] = None,
    output_dir: o.OutputDir = Path("runs/transfer"),
    limit: Annotated[
        int | None, typer.Option(help="Contexts at most, drawn with the seed; 500 without --human.")
    ] = None,
    seed: o.Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, unrounded.")] = False,
) -> None:
    """Train an evaluator on random replies, on each system and on all; apply each to every system.

    Writes a matrix of accuracies, transfer.json, and a heat map as PNG and SVG.
    """
    from rich.markup import escape

    from dialeval.commands.evaluate import check_options, read_data
    from dialeval.protocols.transfer import transfer as run
    from dialeval.protocols.transfer import write_transfer
    from dialeval.reports.transfer import heat_map, transfer_table
    from dialeval.run_folder import RunFolder

    check_options("json", limit, output_dir)
    systems = system or ["parrot", "constant"]
    check_live(given, () if inputs.pairs else systems)
    data = read_data(human, systems, inputs, output_dir, limit=limit, seed=seed, live=live)
    pictures: list[str] = []
    with RunFolder(output_dir).lock():
        with progress_bar() as on_progress:
            matrices = [
                run(data, name, seed, on_progress=on_progress, folder=output_dir)
                for name in evaluator or ["svm-unigram"]
            ]
        path = write_transfer(matrices, output_dir)
        for matrix in matrices:
            name = re.sub(r"[^\w.-]+", "-", matrix.evaluator)
            pictures += map(str, heat_map(matrix, output_dir, f"transfer-{name}"))
    if json:
        print(path.read_text("utf-8"), end="")
    else:
        for matrix in matrices:
            out.print(transfer_table(matrix))
    for warning in dict.fromkeys(text for matrix in matrices for text in matrix.warnings):
        say(f"[yellow]{escape(warning)}[/]")
    say(f"Numbers: [bold]{path}[/], heat maps: [bold]{', '.join(pictures)}[/]")
