"""`dialeval list`: what can be named on the command line, with one line each."""

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import typer

from dialeval.commands.console import out

KINDS = ("evaluators", "responders", "decodings", "perturbations", "readers", "metrics")


class Listed(NamedTuple):
    """One row: the name, what it is, and the package it comes from."""

    name: str
    summary: str
    source: str = "dialeval"


def list_(
    kind: Annotated[str, typer.Argument(help=f"One of {', '.join(KINDS)}.")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List evaluators, responders, decodings, perturbations, readers or metrics.

    Installed packages can add to all but decodings and metrics: see docs/plugins.md.
    """
    from dialeval.errors import BadInput

    if kind not in KINDS:
        raise BadInput(f"unknown kind {kind!r}.", hint=f"Choose from {', '.join(KINDS)}.")
    rows = list(_ROWS[kind]())
    if json:
        from json import dumps

        print(dumps([row._asdict() for row in rows], ensure_ascii=False, indent=2))
        return
    _print_table(rows)


def _print_table(rows: list[Listed]) -> None:
    from rich.markup import escape
    from rich.table import Table

    plugins = any(row.source != "dialeval" for row in rows)
    table = Table("name", "what it is", *(["package"] if plugins else []), box=None)
    for row in rows:
        cells = [f"[bold]{escape(row.name)}[/]", escape(row.summary)]
        table.add_row(*cells, *([escape(row.source)] if plugins else []))
    out.print(table)


def _evaluators() -> Iterator[Listed]:
    from dialeval.scorers.registry import EVALUATORS

    for entry in EVALUATORS.values():
        yield Listed(entry.name, entry.summary, entry.source)


def _responders() -> Iterator[Listed]:
    from dialeval.responders.registry import RESPONDERS

    for entry in RESPONDERS.values():
        yield Listed(entry.name, entry.summary, entry.source)
    yield Listed("FOLDER", "A generator saved by `dialeval train-generator`, or any causal LM.")
    yield Listed("owner/name", "A model on the Hub.")
    yield Listed("model@http://host/v1", "A model behind an OpenAI-compatible server.")


def _decodings() -> Iterator[Listed]:
    from dialeval.responders.decoding import DECODINGS

    for name, decoding in DECODINGS.items():
        yield Listed(name, f"{_first_line(type(decoding))} {decoding!r}")


def _perturbations() -> Iterator[Listed]:
    from dialeval.perturbations.registry import strategies

    for name, strategy in strategies().items():
        yield Listed(name, f"{_first_line(strategy)} ({strategy.kind})", _package(strategy))


def _readers() -> Iterator[Listed]:
    from dialeval.dialogues.formats import formats

    for name, format in formats().items():
        yield Listed(name, format.summary, _package(format.read))


def _metrics() -> Iterator[Listed]:
    from dialeval.metrics.registry import available, script

    for name in available():
        yield Listed(name, script(name).read_text("utf-8").split('"""')[1].splitlines()[0])


_ROWS: dict[str, Callable[[], Iterator[Listed]]] = {
    "evaluators": _evaluators,
    "responders": _responders,
    "decodings": _decodings,
    "perturbations": _perturbations,
    "readers": _readers,
    "metrics": _metrics,
}


def _first_line(thing: object) -> str:
    return (thing.__doc__ or "").strip().partition("\n")[0]


def _package(thing: object) -> str:
    return getattr(thing, "__module__", "").partition(".")[0]
