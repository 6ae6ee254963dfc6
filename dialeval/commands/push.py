"""`dialeval push`: upload a discriminator, a generator, passages or an evaluation to the Hub."""

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
    typer.Option("--dataset", help="Name on the Hub of the test data: owner/name."),
]

Results = Annotated[
    list[Path] | None,
    typer.Option(
        "--results", help="Run that evaluated with this discriminator, for its card. Repeat."
    ),
]
Evaluator = Annotated[
    str | None,
    typer.Option("--evaluator", help="The discriminator's name in --results, if it is another."),
]


def push(
    path: Annotated[Path, typer.Argument(help="Folder of a model or run, or a file of passages.")],
    name: Annotated[str, typer.Argument(help="Repository: owner/name.")],
    private: Annotated[
        bool, typer.Option("--private", help="Create a private repository.")
    ] = False,
    revision: Annotated[
        str | None, typer.Option(help="Branch; created if it does not exist.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a repository that holds something else.")
    ] = False,
    license: License = None,
    dataset: Dataset = None,
    results: Results = None,
    evaluator: Evaluator = None,
) -> None:
    """Push a model or a run with its card; read the card first with `dialeval card`.

    The token comes from `hf auth login` or HF_TOKEN. The repository changes in a single commit: if
    the command is interrupted, nothing has changed, and it can be run again.
    """
    from dialeval.hub.push import push as push_item

    done = push_item(
        path,
        name,
        private,
        revision,
        force,
        _confirm,
        license=license,
        dataset=dataset,
        results=results or (),
        evaluator=evaluator,
    )
    for file, reason in done.left_out.items():
        say(f"[yellow]Left out[/] {escape(file)}: {reason}")
    if done.kind in ("discriminator", "generator") and not _has_results(done.files):
        say("No .eval_results: the name of the test data on the Hub is unknown (use --dataset).")
    say(f"Pushed a {done.kind} of {len(done.files)} files, revision [bold]{done.revision[:12]}[/]")
    out.print(escape(done.url), soft_wrap=True)


def _has_results(files: list[str]) -> bool:
    return any(path.startswith(".eval_results/") for path in files)


def _confirm(question: str) -> bool:
    """Ask on a terminal; without one the answer is no."""
    import sys

    return sys.stdin.isatty() and err.is_terminal and typer.confirm(question, err=True)
