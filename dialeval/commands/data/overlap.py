"""`dialeval data overlap`: has a system seen what it is evaluated on?"""

from typing import Annotated

import typer

from dialeval.commands.console import out
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import InputSettings


@with_settings(inputs=InputSettings)
def overlap(
    inputs: InputSettings,
    training: Annotated[str, typer.Argument(help="What the system was trained on.")],
    evaluation: Annotated[str, typer.Argument(help="What it is evaluated on.")],
) -> None:
    """List the evaluation dialogues that are in the training data; exit code 1 if any are."""
    from dialeval.dialogues import BadInput
    from dialeval.dialogues import overlap as overlap_of

    options = o.read_options(inputs, keep_duplicates=True)
    train, _ = o.read_files([training], options)
    test, _ = o.read_files([evaluation], options)
    for name, passages in ((training, train), (evaluation, test)):
        if not len(passages):
            raise BadInput("no passages are left to compare.", name, hint="Change the filters.")
    shared = overlap_of(test, train)
    out.print(f"dialogues in both: [bold]{len(shared.dialogue_ids):,}[/]")
    share = shared.passages / shared.of if shared.of else 0
    out.print(
        f"evaluation passages in the training data word for word: {shared.passages:,} ({share:.1%})"
    )
    for name in sorted(shared.dialogue_ids)[:10]:
        out.print(f"  {name}", markup=False)
    if shared:
        out.print("[red]The system has seen dialogues that it is evaluated on.[/]")
        raise typer.Exit(1)
    out.print("[green]No shared dialogues.[/]")
