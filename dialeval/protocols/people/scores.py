"""Scores of metrics and discriminators on the items that people judged."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.errors import BadInput
from dialeval.judgements import Judgement

Key = tuple[str, str]
"""An item and a system."""
_NAMES = {"item": ("item", "id", "instanceid"), "system": ("system", "author", "systemid")}


@dataclass(frozen=True)
class MetricScores:
    """What one metric or discriminator says about replies.

    Args:
        name (`str`):
            Its name.
        values (`Mapping`):
            Score by item and system; the system is `""` where an item has one reply.
        threshold (`float`, *optional*):
            From which score on a reply counts as human; without one the scores are only
            correlated.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Direction of the scores.
        negative (`str`, *optional*):
            The kind of negative that a discriminator was trained on; any by default.
    """

    name: str
    values: Mapping[Key, float]
    threshold: float | None = None
    higher_is_human: bool = True
    negative: str | None = None

    def of(self, judgement: Judgement) -> float | None:
        """The score of the reply that a judgement is about."""
        return self.get(judgement.item, judgement.system)

    def get(self, item: str, system: str) -> float | None:
        """The score of a system's reply to an item.

        Readers call random replies `random`, whatever the corpus calls them, so a system's name in
        lower case counts too.
        """
        keys = ((item, name) for name in (system, system.lower(), ""))
        return next((self.values[key] for key in keys if key in self.values), None)

    def predicts_human(self, score: float) -> bool:
        """Whether a score means human."""
        assert self.threshold is not None
        return (score >= self.threshold) == self.higher_is_human or score == self.threshold


def read_scores(path: Path | str, threshold: float | None = 0.5) -> list[MetricScores]:
    """The columns of numbers in a table of items (`.jsonl`, `.csv`, `.tsv`, `.parquet`).

    Args:
        path (`Path` or `str`):
            A table with a column `item` (or `id`), optionally `system` (or `author`), and one
            column of numbers per metric.
        threshold (`float`, *optional*, defaults to 0.5):
            From which score on a reply counts as human.

    Returns:
        `list[MetricScores]`: One per column.

    Raises:
        BadInput: There is no item column, or no column of numbers.
    """
    path = Path(path)
    rows = list(_rows(path))
    if not rows:
        raise BadInput("there are no scores here.", path)
    columns = {
        name: next((column for column in rows[0] if column.lower() in names), None)
        for name, names in _NAMES.items()
    }
    if columns["item"] is None:
        hint = "Give a table with the columns item, system and a number per metric."
        raise BadInput(
            f"expected a column item or id, found {', '.join(rows[0])}.", path, hint=hint
        )
    metrics = [name for name in rows[0] if name not in columns.values() and _numeric(rows, name)]
    if not metrics:
        raise BadInput(f"found no column of numbers among {', '.join(rows[0])}.", path)
    keys = [
        (str(row[columns["item"]]), str(row[columns["system"]]) if columns["system"] else "")
        for row in rows
    ]
    return [
        MetricScores(
            name,
            {
                key: float(row[name])
                for key, row in zip(keys, rows, strict=True)
                if row.get(name) not in (None, "")
            },
            threshold,
        )
        for name in metrics
    ]


def matrices(
    ratings: Mapping[Key, float], metric: MetricScores
) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Scores and ratings as arrays `(systems, items)` with NaN for none, and their names.

    Higher scores mean human in the arrays, whatever they mean to the metric.
    """
    systems = sorted({system for _, system in ratings})
    items = sorted({item for item, _ in ratings})
    row = {name: index for index, name in enumerate(systems)}
    column = {name: index for index, name in enumerate(items)}
    shape = (len(systems), len(items))
    scores, rated = np.full(shape, np.nan), np.full(shape, np.nan)
    for (item, system), value in ratings.items():
        rated[row[system], column[item]] = value
        score = metric.get(item, system)
        if score is not None:
            scores[row[system], column[item]] = score if metric.higher_is_human else -score
    return scores, rated, systems, items


def _numeric(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    values = [row.get(name) for row in rows if row.get(name) not in (None, "")]
    try:
        return bool(values) and all(np.isfinite(float(value)) for value in values)  # type: ignore[arg-type]  # checked
    except (TypeError, ValueError):
        return False


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    if not path.is_file():
        raise BadInput("no such file.", path, hint="Check the name.")
    if path.suffix == ".parquet":
        import pyarrow.parquet as parquet

        yield from parquet.read_table(path).to_pylist()
        return
    with path.open(encoding="utf-8-sig", newline="") as file:
        if path.suffix in (".jsonl", ".json"):
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise BadInput(f"expected JSON, but {error}.", path, number) from None
        else:
            yield from csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",")
