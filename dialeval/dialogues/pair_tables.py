"""Tables of pairs: the two classes as rows of other tables, and how they are written."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Features, Value

from dialeval.dialogues.storage import (
    FEATURES,
    SCHEMA,
    PassageFile,
    Passages,
    batches,
    gather,
)
from dialeval.dialogues.token_counts import token_counts

PAIR_FEATURES = Features(
    {**FEATURES, "label": Value("int8"), "pair": Value("int64"), "scenario": Value("string")}
)
"""Passages with a `label` (1 human, 0 the other side), the number of their pair, the scenario."""
_SCHEMA = PAIR_FEATURES.arrow_schema


@dataclass(frozen=True)
class PairSide:
    """One class of the pairs before it is written: rows of a table, and the source of their words.

    Args:
        table (`Passages`):
            Where contexts and responses are taken from.
        rows (`np.ndarray`):
            Rows of the contexts.
        author (`str`, *optional*):
            Author to write, if it is not the table's.
        replies (`np.ndarray`, *optional*):
            Rows of the responses, if they differ from `rows`.
        turns (`tuple[np.ndarray, ...]`, *optional*):
            For each position in the context, counted from its end, rows of the turns.
        column (`str`, *optional*, defaults to `"response"`):
            Column of the responses.
    """

    table: Passages
    rows: np.ndarray
    author: str | None = None
    replies: np.ndarray | None = None
    turns: tuple[np.ndarray, ...] = ()
    column: str = "response"

    @classmethod
    def all_rows(cls, table: Passages, **fields: Any) -> "PairSide":
        """A class that takes its contexts from all rows of a table."""
        return cls(table, np.arange(len(table)), **fields)

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: np.ndarray) -> "PairSide":
        """Some of these rows."""
        replies = None if self.replies is None else self.replies[chosen]
        turns = tuple(rows[chosen] for rows in self.turns)
        return replace(self, rows=self.rows[chosen], replies=replies, turns=turns)

    def lengths(self) -> np.ndarray:
        """Tokens of each response."""
        rows = self.rows if self.replies is None else self.replies
        return response_lengths(self.table, self.column)[rows]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Record batches as they will be written."""
        sources = [self._gather(self.rows)]
        if self.replies is not None:
            sources.append(self._gather(self.replies, ["response", "dialogue_id"]))
        sources += [self._gather(rows, ["context"]) for rows in self.turns]
        for batch, *others in zip(*sources, strict=True):
            yield self._edit(batch, others)

    def _gather(
        self, rows: np.ndarray, columns: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Batches of some rows."""
        if len(rows) == len(self.table) and (rows == np.arange(len(rows))).all():
            return batches(self.table)
        return gather(self.table, rows, columns)

    def _edit(self, batch: pa.RecordBatch, others: list[pa.RecordBatch]) -> pa.RecordBatch:
        columns = {name: batch[name] for name in FEATURES}
        if self.author:
            columns["author"] = pa.repeat(self.author, batch.num_rows)
            columns["following"] = columns["extra"] = pa.nulls(batch.num_rows, pa.string())
        if self.column != "response":
            columns["response"] = batch[self.column]
        if self.replies is not None:
            reply, *turns = others
            columns["response"] = reply["response"]
            columns["source_dialogue_id"] = reply["dialogue_id"]
            if turns:
                contexts = [turn["context"] for turn in turns]
                columns["context"] = _mix_turns(batch["context"], contexts)
        return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def _mix_turns(contexts: pa.Array, others: list[pa.Array]) -> pa.Array:
    """The contexts with the words of each turn taken from another context; speakers stay."""
    rows = zip(contexts.to_pylist(), *(other.to_pylist() for other in others), strict=True)
    return pa.array(
        [
            [
                {"speaker": turn["speaker"], "text": sources[back][-back - 1]["text"]}
                for back, turn in reversed(list(enumerate(reversed(context))))
            ]
            for context, *sources in rows
        ],
        type=contexts.type,
    )


def write_pairs(scenario: str, human: PairSide, other: PairSide) -> Passages:
    """The table of pairs of two classes.

    Args:
        scenario (`str`):
            Name to write in the column `scenario`.
        human (`PairSide`):
            The class with label 1.
        other (`PairSide`):
            The class with label 0; row k is the partner of row k of `human`.

    Returns:
        `Passages`: A table with the columns of [`PAIR_FEATURES`].
    """
    with PassageFile(PAIR_FEATURES) as file:
        start = 0
        for ones, zeros in zip(human.batches(), other.batches(), strict=True):
            for label, batch in ((1, ones), (0, zeros)):
                file.write(_add_labels(batch, label, start, scenario))
            start += ones.num_rows
    return file.dataset()


def _add_labels(batch: pa.RecordBatch, label: int, start: int, scenario: str) -> pa.RecordBatch:
    size = batch.num_rows
    added = {
        "label": pa.repeat(pa.scalar(label, pa.int8()), size),
        "pair": pa.array(np.arange(start, start + size)),
        "scenario": pa.repeat(scenario, size),
    }
    columns = {name: batch[name] for name in FEATURES} | added
    return pa.RecordBatch.from_pydict(columns, schema=_SCHEMA)


def response_lengths(passages: Passages, column: str) -> np.ndarray:
    """Number of tokens in a column, shape `(passages,)`."""
    counts = [
        token_counts(batch[column].fill_null("").cast(pa.string())) for batch in batches(passages)
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *counts])
