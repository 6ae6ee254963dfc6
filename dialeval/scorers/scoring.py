"""Score a file: passages with a score, a decision, and token counts."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Features, Value

from dialeval.dialogues import Passages, iterate
from dialeval.dialogues.storage import PassageFile, windows
from dialeval.scorers import is_human
from dialeval.scorers.baselines import ConstantScorer
from dialeval.scorers.checks import warn_if_narrow

WINDOW = 1 << 14
"""Passages that are scored, and written to disk, at a time."""
_TYPES = {"score": "float64", "predicted_human": "bool", "tokens": "int32", "tokens_cut": "int32"}


def score_passages(scorer: Any, passages: Passages) -> Passages:
    """The passages with a score, a decision, and how many tokens were read and cut."""
    low, high = np.inf, -np.inf
    kinds = {name: Value(kind) for name, kind in _TYPES.items()}
    if not hasattr(scorer, "input_format"):
        del kinds["tokens"], kinds["tokens_cut"]
    given = {name: kind for name, kind in passages.features.items() if name not in kinds}
    with PassageFile(Features(given | kinds)) as file:
        for part, scores in _scored_windows(scorer, passages):
            columns = {"score": scores, "predicted_human": is_human(scorer, scores)}
            if "tokens" in kinds:
                columns["tokens"], columns["tokens_cut"] = _tokens(scorer, part)
            table = part.data.table.select(list(given))
            for name, values in columns.items():
                table = table.append_column(name, pa.array(values))
            for batch in table.combine_chunks().to_batches():
                file.write(batch)
            low, high = min(low, scores.min()), max(high, scores.max())
    if not isinstance(scorer, ConstantScorer):
        warn_if_narrow(low, high, len(passages), scorer.name)
    return file.dataset()


def _scored_windows(scorer: Any, passages: Passages) -> Iterator[tuple[Passages, np.ndarray]]:
    """Parts of the passages with their scores; some scorers need to see all of them at once."""
    scores = scorer(passages) if getattr(scorer, "takes_all_passages", False) else None
    start = 0
    for part in windows(passages, WINDOW):
        yield part, scorer(part) if scores is None else scores[start : start + len(part)]
        start += len(part)


def _tokens(scorer: Any, passages: Passages) -> tuple[np.ndarray, np.ndarray]:
    counts = [
        (len(encoded.ids), encoded.cut)
        for encoded in scorer.input_format(scorer.tokenizer, list(iterate(passages)))
    ]
    used, cut = np.array(counts, dtype=np.int64).T
    return used, cut
