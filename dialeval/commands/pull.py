"""`dialeval pull`: a model, a data set or an evaluation from the Hub."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dialeval.commands.console import out, say


def pull(
    name: Annotated[str, typer.Argument(help="What to pull: owner/name.")],
    revision: Annotated[str | None, typer.Option(help="Branch, tag or commit.")] = None,
    output_dir: Annotated[
        Path | None, typer.Option(help="Copy it here, to carry it to a machine without a Hub.")
    ] = None,
    type: Annotated[
        str | None, typer.Option("--type", help="model or dataset; whichever there is.")
    ] = None,
    local_files_only: Annotated[
        bool, typer.Option("--local-files-only", help="Take it from the cache; do not ask the Hub.")
    ] = False,
) -> None:
    """Pull a model, a data set or an evaluation; says where it stands and which revision it is."""
    from dialeval.hub.pull import pull as pull_it

    done = pull_it(name, revision, output_dir, type, local_files_only)
    what = f"a {done.repo_type}" if done.kind == "unknown" else f"the {done.kind}"
    say(f"Pulled {what} [bold]{escape(name)}[/], revision [bold]{done.revision}[/]")
    out.print(escape(str(done.folder)), soft_wrap=True)
