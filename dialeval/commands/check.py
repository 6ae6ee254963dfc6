"""`dialeval check`: does a run meet conditions? Exit code 0 if so, 1 if not, 2 on bad input."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out

_SYSTEM = "Which system must meet them; all by default, but no second human. Repeatable."
_EVALUATOR = "Before which evaluator; all but coin and length by default. Repeatable."


def check(
    run: Annotated[Path, typer.Argument(help="Output folder of `dialeval evaluate`.")],
    min: Annotated[
        list[str] | None, typer.Option(help="At least: adversuc=0.2, adversuc.auroc=0.6.")
    ] = None,
    max: Annotated[list[str] | None, typer.Option(help="At most: ere=0.2. Repeatable.")] = None,
    system: Annotated[list[str] | None, typer.Option(help=_SYSTEM)] = None,
    evaluator: Annotated[list[str] | None, typer.Option(help=_EVALUATOR)] = None,
    bound: Annotated[str, typer.Option(help="What is tested: value, low or high end.")] = "value",
    conservative: Annotated[
        bool, typer.Option("--conservative", help="Test the low end for --min, high for --max.")
    ] = False,
) -> None:
    """Check a run against limits, for continuous integration."""
    from dialeval.dialogues.sources import BadInput
    from dialeval.protocols.comparison import check_run, read_results

    if conservative and bound != "value":
        raise BadInput("--conservative chooses the bound by itself.", hint="Leave out --bound.")
    checks = check_run(
        run,
        _limits(min, "--min"),
        _limits(max, "--max"),
        systems=system or _judged(read_results(run)["results"]),
        evaluators=evaluator or (),
        bound="conservative" if conservative else bound,
    )
    for each in checks:
        style = "green" if each.passed else "bold red"
        out.print(str(each), style=style, markup=False, soft_wrap=True)
    failed = sum(not each.passed for each in checks)
    if failed:
        out.print(f"{failed} of {len(checks)} conditions not met.", style="bold red")
        raise typer.Exit(1)


def _judged(rows: list[dict[str, Any]]) -> list[str]:
    """The systems of a run, without the second human, who has nothing to prove."""
    from dialeval.metrics.results import SECOND_HUMAN

    return sorted({row["system"] for row in rows if row["evaluator"]} - {"", SECOND_HUMAN})


def _limits(conditions: list[str] | None, option: str) -> dict[str, float]:
    """Conditions such as adversuc=0.2 as numbers by name."""
    from math import isfinite

    from dialeval.dialogues.sources import BadInput

    found: dict[str, float] = {}
    for condition in conditions or ():
        name, _, limit = condition.partition("=")
        name = name.strip()
        if name in found:
            raise BadInput(f"{option} names {name} twice.", hint="Give one limit for it.")
        try:
            found[name] = float(limit)
        except ValueError:
            found[name] = float("nan")
        if not name or not isfinite(found[name]):
            hint = f"Write {option} adversuc=0.2"
            raise BadInput(f"expected name=number, found {condition!r}.", hint=hint)
    return found
