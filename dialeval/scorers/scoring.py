"""Score a file: passages with a score, a decision, and token counts."""

from typing import Any

import numpy as np
from datasets import Value

from dialeval.dialogues import Passages, iterate
from dialeval.dialogues.storage import chunks
from dialeval.scorers import is_human
from dialeval.scorers.baselines import ConstantScorer
from dialeval.scorers.calibration import warn_if_constant


def score_passages(scorer: Any, passages: Passages) -> Passages:
    """The passages with a score, a decision, and how many tokens were read and cut."""
    scores = scorer(passages)
    if not isinstance(scorer, ConstantScorer):
        warn_if_constant(scores, scorer.name)
    columns = {
        "score": (scores.tolist(), "float64"),
        "predicted_human": (is_human(scorer, scores).tolist(), "bool"),
    }
    if hasattr(scorer, "input_format"):
        used, cut = _tokens(scorer, passages)
        columns |= {"tokens": (used.tolist(), "int32"), "tokens_cut": (cut.tolist(), "int32")}
    for name, (values, kind) in columns.items():
        if name in passages.column_names:
            passages = passages.remove_columns(name)
        passages = passages.add_column(name, values, feature=Value(kind))
    return passages


def _tokens(scorer: Any, passages: Passages) -> tuple[np.ndarray, np.ndarray]:
    counts = [
        (len(encoded.ids), encoded.cut)
        for window in chunks(iterate(passages), 4096)
        for encoded in scorer.input_format(scorer.tokenizer, window)
    ]
    used, cut = np.array(counts or np.zeros((0, 2)), dtype=np.int64).T
    return used, cut
