"""`dialeval compare`: which systems differ in AdverSuc, and which cannot be told apart."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out
from dialeval.commands.data import options as o


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of `dialeval evaluate`.")],
    evaluator: Annotated[
        list[str] | None,
        typer.Option(help="Whose decisions; all but coin and length by default. Repeatable."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Of bootstrap and randomisation.")] = 10_000,
    seed: o.Seed = 0,
    json: Annotated[bool, typer.Option("--json", help="For programs, unrounded.")] = False,
) -> None:
    """Compare every two systems, of one run or of several, on the contexts that both answered."""
    from json import dumps

    from dialeval.protocols.comparison import compare_runs
    from dialeval.reports.comparison import comparison_tables

    found = compare_runs(runs, evaluator or (), resamples=resamples, seed=seed)
    if json:
        print(dumps(found.to_dict(), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for part in comparison_tables(found):
        out.print(part)
