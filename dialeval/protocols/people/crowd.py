"""Items as a file for crowd platforms, and their results."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from dialeval.files import atomic_write
from dialeval.judgements import Judgement, read_judgements
from dialeval.judgements.items import Item
from dialeval.judgements.store import JudgementStore

CROWD = "crowd"
"""Name that the order of pairs in a file is drawn for."""


def write_tasks(store: JudgementStore, path: Path | str) -> Path:
    """A CSV with one row per item and nothing about who wrote what.

    Pairs have the columns `left` and `right`, in random order; the other tasks `reply`.
    """
    names = ["item", "task", "context"] + (
        ["left", "right"] if store.project.is_pair else ["reply"]
    )
    with atomic_write(path) as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            _row(store, item, names) for item in store.items.values() if not item.identical
        )
    return Path(path)


def _row(store: JudgementStore, item: Item, names: list[str]) -> dict[str, str]:
    texts = ["\n".join(row.turns) for row in item.candidates]
    if item.swapped(CROWD):
        texts.reverse()
    context = "\n".join(f"{speaker}: {text}" for speaker, text in item.context)
    row = {"item": item.id, "task": store.project.task, "context": context}
    return {**row, **dict(zip(names[3:], texts, strict=True))}


def import_results(
    store: JudgementStore, path: Path | str, columns: dict[str, str] | None = None
) -> tuple[int, int]:
    """Add the results of a crowd platform, or an export of this project.

    Args:
        store (`JudgementStore`):
            The project.
        path (`Path` or `str`):
            A table with annotator, item and answer: `left`, `right` or `tie` for pairs.
        columns (`dict[str, str]`, *optional*):
            Names of columns by field.

    Returns:
        `tuple[int, int]`: Answers that are new, and that were there already.
    """
    scales = [name for name in store.project.fields if name]
    columns_of_scales = () if "answer" in (columns or {}) else _columns(path) & set(scales)
    rows = read_judgements(path, columns, sorted(columns_of_scales))
    return store.import_judgements(_unswapped(store, rows))


def _columns(path: Path | str) -> set[str]:
    """Columns of a table; none of JSON lines, which have one answer each."""
    if Path(path).suffix not in (".csv", ".tsv", ".txt") or not Path(path).is_file():
        return set()
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        delimiter = "," if Path(path).suffix == ".csv" else "\t"
        return set(next(csv.reader(file, delimiter=delimiter), ()))


def _unswapped(store: JudgementStore, rows: Iterable[Judgement]) -> Iterator[Judgement]:
    for row in rows:
        item = store.items.get(row.item)
        if item is not None and row.answer in ("left", "right"):
            first = (row.answer == "left") != item.swapped(CROWD)
            yield replace(row, answer="win" if first else "lose")
        else:
            yield row
