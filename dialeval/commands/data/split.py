"""`dialeval data split`: disjoint parts, or folds, by dialogue."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dialeval.commands.console import out
from dialeval.commands.data import options as o
from dialeval.commands.given import Given
from dialeval.commands.settings import with_settings
from dialeval.settings.inputs import InputSettings

MOST_FOLDS = 1_000
"""Each fold is a file."""


@with_settings(inputs=InputSettings)
def split(
    inputs: InputSettings,
    given: Given,
    files: o.Files,
    output_dir: Annotated[
        Path, typer.Option("--output-dir", "-o", help="Folder for the parts and their card.")
    ] = Path("parts"),
    parts: Annotated[
        str, typer.Option(help="Names and shares; they sum to 1.")
    ] = "generator=0.5,evaluator=0.3,test=0.2",
    folds: Annotated[
        int | None, typer.Option(help="Split into this many equal folds instead.")
    ] = None,
    ending: Annotated[str, typer.Option(help="jsonl, csv, tsv or parquet.")] = "jsonl",
    seed: o.Seed = 0,
    author: o.Author = None,
) -> None:
    """Split a corpus by dialogue, from a hash, so that adding data never moves an example."""
    if folds is not None:
        given.refuse(["parts"], "--folds makes the parts")
    shares = _shares(parts, folds)
    options = o.read_options(inputs, author=author)
    passages, report = o.read_files(files, options)
    write_parts(passages, report, options, shares, seed, output_dir, ending)


def write_parts(
    passages: Any,
    report: Any,
    options: Any,
    shares: Mapping[str, float],
    seed: int,
    output_dir: Path,
    ending: str = "jsonl",
) -> dict[str, Any]:
    """Write the parts of a corpus with a dataset card, and print their sizes.

    Args:
        passages (`Passages`):
            The corpus.
        report (`ReadReport`):
            How it was read.
        options (`ReadOptions`):
            The settings of reading.
        shares (`Mapping[str, float]`):
            Share of each part, by name.
        seed (`int`):
            Seed of the split.
        output_dir (`Path`):
            Folder for the parts.
        ending (`str`, *optional*, defaults to `"jsonl"`):
            File format of the parts.

    Returns:
        `dict[str, Passages]`: The parts, by name.
    """
    from rich.table import Column, Table

    from dialeval.dialogues import split as split_passages
    from dialeval.dialogues import write_passages
    from dialeval.dialogues.splits import dialogue_ids
    from dialeval.hub.cards import write_dataset_card

    written = split_passages(passages, shares, seed)
    table = Table("part", "share", "dialogues", "passages", Column("file", overflow="fold"))
    counts = {}
    for name, part in written.items():
        path = write_passages(part, output_dir / f"{name}.{ending}")
        counts[name] = {"dialogues": len(dialogue_ids(part)), "passages": len(part)}
        numbers = [f"{count:,}" for count in counts[name].values()]
        table.add_row(name, f"{shares[name]:.3g}", *numbers, str(path))
    settings = {"shares": dict(shares), "seed": seed, "options": options}
    write_dataset_card(output_dir, report, counts, settings)
    out.print(table)
    return written


def _shares(parts: str, folds: int | None) -> dict[str, float]:
    from dialeval.dialogues import BadInput

    if folds is not None:
        if not 2 <= folds <= MOST_FOLDS:
            raise BadInput(
                f"Cross-validation needs at least 2 folds, and at most {MOST_FOLDS:,} files are "
                f"written, but got {folds}."
            )
        return {f"fold-{number}": 1 / folds for number in range(folds)}
    try:
        shares = {
            name.strip(): float(share)
            for name, share in (part.split("=") for part in parts.split(","))
        }
    except ValueError:
        hint = "Write it like generator=0.5,evaluator=0.3,test=0.2"
        raise BadInput(f"Cannot read the parts {parts!r}.", hint=hint) from None
    for name in shares:
        if not name or Path(name).name != name:
            hint = "Use names without slashes, such as train and test."
            raise BadInput(f"a part is named like a file, but got {name!r}.", hint=hint)
    return shares
