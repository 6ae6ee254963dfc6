"""`dialeval spaces`: the metric folders as Spaces, on the Hub or on this machine."""

from pathlib import Path
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
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Serve a metric's page on this machine."""
    from dialeval.hub.spaces import check_names, launch

    check_names([name])
    say(f"Serving [bold]{escape(name)}[/]; stop it with Ctrl-C")
    launch(name, server_name=host, server_port=port)


@app.command("annotate")
def annotate(
    project: Annotated[Path, typer.Argument(help="Output folder of `dialeval annotate`.")],
    name: Annotated[str, typer.Argument(help="owner/name of the Space.")],
    title: Annotated[str, typer.Option(help="Heading of the Space.")] = "",
    output_dir: Annotated[
        Path | None,
        typer.Option("--output-dir", "-o", help="Write the Space's files here instead."),
    ] = None,
) -> None:
    """Upload an annotation project: items to a private dataset, the page to a Space.

    The Space needs persistent storage and the secret HF_TOKEN, which reads the dataset. Its log
    has the invitation for annotators.
    """
    from dialeval.hub.annotation_space import push_annotation, write_space

    if output_dir is not None:
        say(f"Written: [bold]{escape(str(write_space(output_dir, f'{name}-items', title)))}[/]")
        return
    out.print(escape(push_annotation(project, name, title)), soft_wrap=True)
    say("Add persistent storage and the secret HF_TOKEN in the settings of the Space.")
