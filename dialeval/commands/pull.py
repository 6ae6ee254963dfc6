"""`dialeval pull`: download a model, a data set or an evaluation from the Hub."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dialeval.commands.console import out, say


def pull(
    name: Annotated[str, typer.Argument(help="Repository: owner/name.")],
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit.")] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Copy it here, for a machine without a network.")
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", help="model or dataset; by default whichever exists.")
    ] = None,
    local_files_only: Annotated[
        bool,
        typer.Option("--local-files-only", help="Use the cache, without a request to the Hub."),
    ] = False,
) -> None:
    """Pull a model, a data set or an evaluation, and print its folder and revision."""
    from dialeval.hub.pull import pull as pull_item

    done = pull_item(name, revision, output_dir, type, local_files_only)
    kind = f"a {done.repo_type}" if done.kind == "unknown" else f"the {done.kind}"
    say(f"Pulled {kind} [bold]{escape(name)}[/], revision [bold]{done.revision}[/]")
    out.print(escape(str(done.folder)), soft_wrap=True)
