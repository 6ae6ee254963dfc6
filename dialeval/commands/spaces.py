"""`dialeval spaces`: the metric folders as Spaces, on the Hub or on this machine."""

from typing import Annotated

import typer
from rich.markup import escape

from dialeval.commands.console import out, say

app = typer.Typer(
    help="Metrics as Spaces: push them, or serve one on this machine.", no_args_is_help=True
)


@app.command("push")
def push(
    names: Annotated[
        list[str] | None, typer.Argument(help="Metrics; all of them by default.")
    ] = None,
    namespace: Annotated[str, typer.Option(help="Owner of the Spaces.")] = "dialeval",
) -> None:
    """Upload metric folders with their cards and pages, and tag them with this version."""
    from dialeval.hub.spaces import push_all

    for space in push_all(names or None, namespace):
        out.print(f'evaluate.load("{escape(space)}")', soft_wrap=True)
    say("Pushed and tagged.")


@app.command("serve")
def serve(
    name: Annotated[str, typer.Argument(help="A metric, such as adversuc.")],
    port: Annotated[int | None, typer.Option(help="Port; the first free one from 7860.")] = None,
) -> None:
    """Serve a metric's page on this machine."""
    from dialeval.hub.spaces import check_names, launch

    check_names([name])
    say(f"Serving [bold]{escape(name)}[/]; stop it with Ctrl-C")
    launch(name, server_port=port)
