"""`dialeval check`: does a run meet conditions? Exit code 0 if so, 1 if not, 2 on bad input."""

from pathlib import Path
from typing import Annotated

import typer

from dialeval.commands.console import out

_SYSTEM = "Which system must meet them; all but a second human by default. Repeatable."
_EVALUATOR = "For which evaluator; all but coin and length by default. Repeatable."


def check(
    run: Annotated[Path, typer.Argument(help="Output folder of a run.")],
    min: Annotated[
        list[str] | None, typer.Option(help="At least: adversuc=0.2, adversuc.auroc=0.6.")
    ] = None,
    max: Annotated[list[str] | None, typer.Option(help="At most: ere=0.2. Repeatable.")] = None,
    system: Annotated[list[str] | None, typer.Option(help=_SYSTEM)] = None,
    evaluator: Annotated[list[str] | None, typer.Option(help=_EVALUATOR)] = None,
    bound: Annotated[
        str, typer.Option(help="What is tested: value, or the low or high bound.")
    ] = "value",
    conservative: Annotated[
        bool, typer.Option("--conservative", help="Test the low bound for --min, high for --max.")
    ] = False,
) -> None:
    """Check a run against limits, for continuous integration."""
    from dialeval.dialogues.sources import BadInput
    from dialeval.protocols.comparison import check_run

    if conservative and bound != "value":
        raise BadInput("--conservative already chooses the bound.", hint="Leave out --bound.")
    checks = check_run(
        run,
        _limits(min, "--min"),
        _limits(max, "--max"),
        systems=system or (),
        evaluators=evaluator or (),
        bound="conservative" if conservative else bound,
    )
    for result in checks:
        style = "green" if result.passed else "bold red"
        out.print(str(result), style=style, markup=False, soft_wrap=True)
    failed = sum(not result.passed for result in checks)
    if failed:
        out.print(f"{failed} of {len(checks)} conditions not met.", style="bold red")
        raise typer.Exit(1)


def _limits(conditions: list[str] | None, option: str) -> dict[str, float]:
    """Conditions such as adversuc=0.2 as numbers by name."""
    from math import isfinite

    from dialeval.dialogues.sources import BadInput

    limits: dict[str, float] = {}
    for condition in conditions or ():
        name, _, limit = condition.partition("=")
        name = name.strip()
        if name in limits:
            raise BadInput(f"{option} names {name} twice.", hint="Give one limit for it.")
        try:
            limits[name] = float(limit)
        except ValueError:
            limits[name] = float("nan")
        if not name or not isfinite(limits[name]):
            hint = f"Write {option} adversuc=0.2"
            raise BadInput(f"expected name=number, but got {condition!r}.", hint=hint)
    return limits
