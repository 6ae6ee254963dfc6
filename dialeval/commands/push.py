"""`dialeval push`: a judge, a generator, passages or an evaluation to the Hub."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dialeval.commands.console import err, out, say

License = Annotated[
    str | None, typer.Option("--license", help="Licence by its name on the Hub: apache-2.0.")
]
Dataset = Annotated[
    str | None,
    typer.Option("--dataset", help="Name on the Hub of the data it was tested on: owner/name."),
]

Results = Annotated[
    list[Path] | None,
    typer.Option("--results", help="Another run that measured this judge, for its card. Repeat."),
]
Called = Annotated[
    str | None, typer.Option("--called", help="The judge's name in --results; its own by default.")
]


def push(
    path: Annotated[Path, typer.Argument(help="Folder of a model or run, or a file of passages.")],
    name: Annotated[str, typer.Argument(help="Where it goes: owner/name.")],
    private: Annotated[bool, typer.Option("--private", help="For your own eyes.")] = False,
    revision: Annotated[str | None, typer.Option(help="Branch; made if it is not there.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace another architecture that stands there.")
    ] = False,
    license: License = None,
    dataset: Dataset = None,
    results: Results = None,
    called: Called = None,
) -> None:
    """Push a model or a run with its card; read the card first with `dialeval card`.

    The token comes from `hf auth login` or HF_TOKEN. The repository changes in a single commit: if
    the command is interrupted, what stood there still stands, and it can be given again.
    """
    from dialeval.hub.push import push as push_it

    about = {"license": license, "dataset": dataset, "results": results or (), "called": called}
    done = push_it(path, name, private, revision, force, _ask, **about)
    for place, why in done.left_out.items():
        say(f"[yellow]Left out[/] {escape(place)}: {why}")
    if done.kind in ("discriminator", "generator") and not _has_results(done.files):
        say("No .eval_results: the test data have no name on the Hub (say it with --dataset).")
    say(f"Pushed a {done.kind} of {len(done.files)} files, revision [bold]{done.revision[:12]}[/]")
    out.print(escape(done.url), soft_wrap=True)


def _has_results(files: list[str]) -> bool:
    return any(path.startswith(".eval_results/") for path in files)


def _ask(question: str) -> bool:
    """Ask on a terminal; nobody else can agree."""
    import sys

    return sys.stdin.isatty() and err.is_terminal and typer.confirm(question, err=True)
