"""Every reply of every system in its context, for the report."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.dialogues import iterate
from dialeval.dialogues.storage import Passages
from dialeval.files import atomic_write
from dialeval.metrics.results import REPLIES
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.responders.base import CUT

MOST_CONTEXTS = 2_000
"""Contexts of which the replies are kept; a random sample of more."""
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("system", pa.string()),
        ("context", pa.list_(pa.string())),
        ("human", pa.string()),
        ("response", pa.string()),
        ("cut", pa.bool_()),
    ]
)


def write_replies(folder: Path, data: EvaluationData, seed: int) -> Path:
    """Write `replies.parquet`, all or nothing.

    Args:
        folder (`Path`):
            The output folder.
        data (`EvaluationData`):
            Human passages and systems.
        seed (`int`):
            Seed of the sample.

    Returns:
        `Path`: The file.
    """
    count = len(data.human)
    rows = sorted(random.Random(seed).sample(range(count), min(count, MOST_CONTEXTS)))
    human = data.human.select(rows)
    tables = [
        pa.Table.from_pylist(list(_rows(system, human, answers.select(rows))), schema=SCHEMA)
        for system, answers in data.systems.items()
    ]
    with atomic_write(folder / REPLIES, "wb") as file:
        parquet.write_table(pa.concat_tables(tables or [SCHEMA.empty_table()]), file)
    return folder / REPLIES


def _rows(system: str, human: Passages, answers: Passages) -> Iterator[dict[str, Any]]:
    for passage, answer in zip(iterate(human), iterate(answers), strict=True):
        yield {
            "id": passage.id,
            "system": system,
            "context": [turn.text for turn in passage.context],
            "human": passage.response,
            "response": answer.response,
            "cut": bool(answer.extra.get(CUT)),  # stopped at the maximum length
        }
