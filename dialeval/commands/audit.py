"""`dialeval audit`: how much of data that is said to be human did machines write?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialeval.commands.console import out, progress_bar, say, say_warnings
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.progress import quiet_libraries
from dialeval.settings.audit import AuditRun
from dialeval.settings.inputs import InputSettings
from dialeval.settings.usage import SET

if TYPE_CHECKING:
    from dialeval.dialogues import Passages

FORMATS = ("table", "json")
Reference = Annotated[
    list[str] | None,
    typer.Option(help="Files with replies that are known to be human. Repeatable."),
]
Machine = Annotated[
    list[str] | None,
    typer.Option(help="Files with replies of machines, such as yours may hold. Repeatable."),
]
MachineRole = Annotated[
    str | None, typer.Option(help="Role of the machine files, where it is not that of --role.")
]
Limit = Annotated[
    int | None, typer.Option(help="Maximum number of replies of each side, drawn by dialogue.")
]
Formats = Annotated[str, typer.Option("--format", help=f"What to print: {', '.join(FORMATS)}.")]


@with_settings(needs={"machine_role": {"machine": SET}}, run=AuditRun, inputs=InputSettings)
def audit(
    run: AuditRun,
    inputs: InputSettings,
    data: o.Files,
    reference: Reference = None,
    machine: Machine = None,
    machine_role: MachineRole = None,
    limit: Limit = None,
    format: Formats = "table",
) -> None:
    """How much of data that is said to be human did machines write?

    Gives a share with an interval, from an evaluator that is trained on replies of known origin.
    With --machine alone it gives the largest share that is possible, with --reference alone the
    least share that is unlike the reference. With --by it adds the share of each worker or
    source. It does not accuse anyone: see the report.

    Example: dialeval audit crowd.jsonl --reference clean.jsonl --machine bot.jsonl --by worker
    """
    import json

    from rich.markup import escape

    from dialeval.errors import BadInput
    from dialeval.settings.audit import NEEDED

    if format not in FORMATS:
        raise BadInput(f"Unknown format {format!r}.", hint=f"Choose from {', '.join(FORMATS)}.")
    if limit is not None and limit < 1:
        raise BadInput(f"--limit is a number of replies of at least 1, but got {limit}.")
    if not reference and not machine:
        message = "the data alone do not show what a human and what a machine writes there."
        raise BadInput(message, hint=NEEDED)
    o.check_exist([*data, *(reference or []), *(machine or [])])
    sides = [
        _read_human(data, inputs, limit, run.seed),
        _read_human(reference, inputs, limit, run.seed) if reference else None,
        _read_machine(machine, inputs, machine_role, limit, run.seed) if machine else None,
    ]
    from dialeval.protocols.audit import Audit
    from dialeval.reports.audit import audit_tables, write_audit_report

    quiet_libraries()
    assert sides[0] is not None
    with progress_bar() as on_progress:
        results = Audit(sides[0], sides[1], sides[2], run, on_progress=on_progress)()
    path = write_audit_report(Path(run.output_dir))
    if format == "json":
        print(json.dumps(results.to_dict(), ensure_ascii=False, indent=2))
    else:
        for part in audit_tables(results):
            out.print(part)
    say_warnings([text for text in results.warnings if text not in _check_texts(results.checks)])
    say(f"Report: [bold]{escape(str(path))}[/]")
    say(f"[dim]{escape(results.signature)}[/]")


def _check_texts(checks: tuple[object, ...]) -> list[str]:
    return [str(getattr(check, "text", "")) for check in checks]


def _read_human(files: list[str], inputs: InputSettings, limit: int | None, seed: int) -> Passages:
    """Replies of files that are given as human."""
    from dialeval.protocols.evaluation.systems import read_human

    return read_human(
        files, o.read_options(inputs), limit=limit, seed=seed,
        read_files=lambda paths, options: o.read_files(paths, options)[0],
    )[0]  # fmt: skip


def _read_machine(
    files: list[str], inputs: InputSettings, role: str | None, limit: int | None, seed: int
) -> Passages:
    """Replies of files that are given as a machine's; human ones in them are left out."""
    from dialeval.dialogues import BadInput
    from dialeval.dialogues.authors import machine_passages
    from dialeval.dialogues.splits import sample_dialogues

    options = o.read_options(inputs, side="machine")
    passages, _ = o.read_files(files, replace(options, role=role or inputs.role))
    chosen = machine_passages(passages)
    if not len(chosen):
        raise BadInput("it has no replies.", files[0], hint="Give replies of a machine.")
    return chosen if limit is None else sample_dialogues(chosen, limit, seed)
