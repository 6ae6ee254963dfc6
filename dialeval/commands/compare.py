"""`dialeval compare`: which systems differ significantly in AdverSuc."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.saved import expecting
from dialeval.settings.checks import MOST


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of `dialeval evaluate`.")],
    evaluator: Annotated[
        list[str] | None,
        typer.Option(help="Evaluators to use; all but coin and length by default. Repeatable."),
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=1, max=MOST, help="Resamples of bootstrap and randomisation.")
    ] = 10_000,
    seed: o.Seed = 0,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also write an HTML page to this file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON, unrounded.")] = False,
) -> None:
    """Compare every two systems, of one run or of several, on the contexts that both answered."""
    from json import dumps

    from dialeval.protocols.comparison import compare_runs
    from dialeval.reports.comparison import comparison_tables, write_comparison

    with expecting("the results of evaluations", ", ".join(map(str, runs))):
        comparison = compare_runs(runs, evaluator or (), resamples=resamples, seed=seed)
    if output:
        say(f"Page: {write_comparison(comparison, output)}")
    if json:
        print(dumps(comparison.to_dict(), ensure_ascii=False, indent=2, allow_nan=False))
        return
    for part in comparison_tables(comparison):
        out.print(part)
