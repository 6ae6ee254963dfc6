"""`dialeval data leaks`: format and style traits that distinguish a system from humans."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from dialeval.commands.console import out, say
from dialeval.commands.data import options as o
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import RoleSettings
from dialeval.settings.usage import SET

if TYPE_CHECKING:
    from dialeval.dialogues import Passages


@with_settings(needs={"output_dir": {"normalise": SET}}, inputs=RoleSettings)
def leaks(
    inputs: RoleSettings,
    human: Annotated[str, typer.Argument(help="Human responses.")],
    system: Annotated[str, typer.Argument(help="A system's responses to the same contexts.")],
    only: Annotated[
        str | None, typer.Option(help="Name of the system, of a file with several authors.")
    ] = None,
    normalise: Annotated[
        bool,
        typer.Option("--normalise", help="Write both sides without format leaks, check again."),
    ] = False,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Where --normalise writes.")
    ] = Path("normalised"),
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    seed: o.Seed = 0,
) -> None:
    """Find format and style leaks: traits that distinguish a system without its meaning.

    Files with one response per line are compared line by line, each line as one dialogue;
    give passages with a dialogue_id where several lines come from one dialogue.
    """
    from dialeval.dialogues import write_passages
    from dialeval.dialogues.normaliser import normalise_passages
    from dialeval.protocols.leaks import find_leaks, normaliser_for
    from dialeval.reports.leaks import leak_tables

    human_side, system_side = _sides(human, system, only, inputs)
    report = find_leaks(human_side, system_side, seed=seed)
    reports = [report]
    if normalise:
        normaliser = normaliser_for(report)
        human_side, system_side = (
            normalise_passages(human_side, normaliser),
            normalise_passages(system_side, normaliser),
        )
        for passages, name in zip((human_side, system_side), _names(human, system), strict=True):
            path = write_passages(passages, output_dir / f"{name}.jsonl")
            say(f"Wrote [bold]{path}[/] ({normaliser})")
        reports.append(find_leaks(human_side, system_side, seed=seed))
    if as_json:
        print(json.dumps([result.to_dict() for result in reports], ensure_ascii=False, indent=2))
        return
    for title, result in zip(("As given", "Normalised"), reports, strict=False):
        out.rule(title)
        out.print(*leak_tables(result), sep="\n")


def _names(human: str, system: str) -> tuple[str, str]:
    """Names for the normalised files that do not clash."""
    one, other = (
        Path(path.removeprefix("hub:").replace(":", "-")).stem for path in (human, system)
    )
    return (one, other) if one != other else (f"{one}-human", f"{other}-system")


def _sides(
    human: str, system: str, only: str | None, inputs: RoleSettings
) -> tuple["Passages", "Passages"]:
    """Passages of the human and of the system; both may be in one file."""
    from dialeval.dialogues import BadInput, authors, by_author

    role, roles = inputs.system_roles()
    system_role = roles.get(only or "", role)
    human_side = _read(human, inputs, "human", inputs.human_role or inputs.role)
    system_side = _read(system, inputs, only or "system", system_role)
    names = [name for name in authors(system_side) if name != "human"]
    if only or len(names) > 1:
        if only not in names:
            raise BadInput(
                f"expected one system, but found {', '.join(names)}.",
                system,
                hint="Name it with --only.",
            )
        system_side = by_author(system_side, only)
    elif names:
        system_side = by_author(system_side, names[0])
    return (
        by_author(human_side, "human") if len(authors(human_side)) > 1 else human_side
    ), system_side


def _read(path: str, inputs: RoleSettings, side: str, role: str | None) -> "Passages":
    """Passages of a file; plain text in no other format is one response per line."""
    from dialeval.dialogues import BadInput, format_of

    format = inputs.input_format
    if format is None and Path(path).is_file():
        try:
            format_of(Path(path))
        except BadInput:
            name = escape(Path(path).name)
            say(f"Read [bold]{name}[/] as one response per line (else: --input-format NAME)")
            format = "lines"
    options = o.read_options(
        inputs, format=format, side=side, role=role, allow_empty=True, keep_duplicates=True
    )
    return o.read_files([path], options)[0]
