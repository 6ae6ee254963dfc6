"""`dialeval data pair`: the two classes that an evaluator is trained on."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import say
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import InputSettings


@with_settings(needs={"random": {"scenario": ("human_random",)}}, inputs=InputSettings)
def pair(
    inputs: InputSettings,
    files: o.Files,
    scenario: Annotated[
        str,
        typer.Option(
            help="human_machine, human_random, human_next, human_human or machine_machine."
        ),
    ] = "human_random",
    machine: Annotated[
        str | None, typer.Option(help="File with the system's responses, if it is a separate one.")
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="Name of the system, if the file has several authors.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")] = Path(
        "pairs.jsonl"
    ),
    unpaired: Annotated[
        bool, typer.Option("--unpaired", help="Each context in one class only (Kannan).")
    ] = False,
    random: Annotated[
        str, typer.Option(help="A random response (Bruni), or a dialogue of random turns (Li).")
    ] = "response",
    match_length: Annotated[
        int | None, typer.Option(help="Match response lengths in bins of so many tokens.")
    ] = None,
    seed: o.Seed = 0,
) -> None:
    """Make balanced pairs: human responses (label 1) and the other class (label 0)."""
    from dialeval.dialogues import BadInput, Pairing, by_author, write_passages

    pairing = Pairing(scenario, not unpaired, random, match_length, seed)  # type: ignore[arg-type]  # checked there
    if (machine or system) and "machine" not in scenario:
        hint = "Add --scenario human_machine, or leave out --machine and --system."
        raise BadInput(f"{scenario} pairs have no responses of a system.", hint=hint)
    options = o.read_options(inputs)
    passages, _ = o.read_files(files, options)
    other = o.read_files([machine], options)[0] if machine else None
    if system:
        other = by_author(passages if other is None else other, system)
    pairs = pairing(passages, other)
    write_passages(pairs, output)
    say(f"Wrote [bold]{len(pairs) // 2:,}[/] + {len(pairs) // 2:,} passages to [bold]{output}[/]")
    say(f"[dim]{pairing}[/]")
