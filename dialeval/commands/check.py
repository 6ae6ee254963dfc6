"""`dialeval check`: does a run meet conditions? Exit code 0 passed, 1 failed, 2 not measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, say

if TYPE_CHECKING:
    from dialeval.metrics.gate_results import AnyCheck

_SYSTEM = "Which system must meet them; all but a second human by default. Repeatable."
_EVALUATOR = "For which evaluator; all but coin and length by default. Repeatable."
_STYLES = {"passed": "green", "failed": "bold red", "not measured": "bold yellow"}


def check(
    run: Annotated[Path, typer.Argument(help="Output folder of a run.")],
    min: Annotated[
        list[str] | None, typer.Option(help="At least: adversuc=0.2, relevance=0.6. Repeatable.")
    ] = None,
    max: Annotated[
        list[str] | None, typer.Option(help="At most: ere=0.2, adversuc.auroc=0.7. Repeatable.")
    ] = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(
            help="Accepted verdict: indistinguishable, negligible, distinguishable, inconclusive. "
            "Repeatable."
        ),
    ] = None,
    system: Annotated[list[str] | None, typer.Option(help=_SYSTEM)] = None,
    evaluator: Annotated[list[str] | None, typer.Option(help=_EVALUATOR)] = None,
    bound: Annotated[
        str, typer.Option(help="What is tested: value, or the low or high bound.")
    ] = "value",
    conservative: Annotated[
        bool, typer.Option("--conservative", help="Test the low bound for --min, high for --max.")
    ] = False,
    either_way: Annotated[
        bool, typer.Option("--either-way", help="Accept limits that ask for a worse number.")
    ] = False,
    allow_unmeasured: Annotated[
        bool,
        typer.Option("--allow-unmeasured", help="Leave out conditions that were not measured."),
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Also write JUnit XML to this file.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(help="Also write a comment in Markdown to this file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a run against limits and verdicts, for continuous integration.

    The exit code is 0 if all conditions are met, 1 if one is not, and 2 if one was not measured (or
    the command cannot be used as it was given).

    Example: dialeval check runs/x --verdict indistinguishable --verdict negligible --max ere=0.2
    """
    from dialeval.errors import BadInput
    from dialeval.metrics.gate_results import EXIT_CODES, FAILED, PASSED, status_of

    if conservative and bound != "value":
        raise BadInput("--conservative already chooses the bound.", hint="Leave out --bound.")
    tested = "conservative" if conservative else bound
    checks = _checks(run, min, max, verdict, system, evaluator, tested, either_way)
    _write_files(checks, run, junit, markdown, allow_unmeasured)
    status = status_of(checks, allow_unmeasured)
    if json:
        _print_json(checks, run, allow_unmeasured)
        raise typer.Exit(EXIT_CODES[status])
    for result in checks:
        out.print(str(result), style=_STYLES[result.status], markup=False, soft_wrap=True)
    if status != PASSED:
        count = sum(result.status == status for result in checks)
        what = "not met" if status == FAILED else "not measured"
        out.print(f"{count} of {len(checks)} conditions {what}.", style=_STYLES[status])
        raise typer.Exit(EXIT_CODES[status])


def _checks(
    run: Path,
    min: list[str] | None,
    max: list[str] | None,
    verdict: list[str] | None,
    system: list[str] | None,
    evaluator: list[str] | None,
    bound: str,
    either_way: bool,
) -> list[AnyCheck]:
    """The outcomes of all conditions, those on verdicts first."""
    from dialeval.protocols.comparison import check_run, check_verdicts

    checks: list[AnyCheck] = []
    if verdict:
        checks += check_verdicts(run, verdict, system or ())
    if min or max or not verdict:
        checks += check_run(
            run, _limits(min, "--min"), _limits(max, "--max"), systems=system or (),
            evaluators=evaluator or (), bound=bound, either_way=either_way,
        )  # fmt: skip
    return checks


def _write_files(
    checks: list[AnyCheck], run: Path, junit: Path | None, markdown: Path | None, allow: bool
) -> None:
    """Write what other tools read."""
    from rich.markup import escape

    from dialeval.files import atomic_write_text

    if not junit and not markdown:
        return
    from dialeval.reports.gates import comment_markdown, junit_xml

    for path, make in ((junit, junit_xml), (markdown, comment_markdown)):
        if path is not None:
            atomic_write_text(path, make(checks, str(run), allow))
            say(f"Written: [bold]{escape(str(path))}[/]")


def _print_json(checks: list[AnyCheck], run: Path, allow_unmeasured: bool) -> None:
    import json

    from dialeval.reports.gates import gate_record

    print(json.dumps(gate_record(checks, str(run), allow_unmeasured), indent=2, allow_nan=False))


def _limits(conditions: list[str] | None, option: str) -> dict[str, float]:
    """Conditions such as adversuc=0.2 as numbers by name."""
    from math import isfinite

    from dialeval.errors import BadInput

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
