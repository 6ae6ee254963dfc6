"""Scores for every response by a judge that never saw its dialogue."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from datasets import concatenate_datasets

from dialeval.dialogues import Pairing, Passages, pair_folds
from dialeval.dialogues.storage import whole_file
from dialeval.dialogues.tokens import count_tokens
from dialeval.protocols.evaluation.judges import Bench, Fit
from dialeval.scorers import is_human
from dialeval.scorers.baselines import ResponseOnlyScorer, ShuffledContextScorer

COLUMNS = {
    "id": pa.string(), "dialogue_id": pa.string(), "pair": pa.int64(), "label": pa.int8(),
    "fold": pa.int16(), "score": pa.float64(), "taken": pa.bool_(), "response_only": pa.float64(),
    "response_only_taken": pa.bool_(), "shuffled_taken": pa.bool_(), "tokens": pa.int32(),
    "response": pa.string(), "author": pa.string(),
}  # fmt: skip
"""What is known of each response after a judge has read it."""


def scenario_folds(
    scenario: str, human: Passages, machine: Passages | None, k: int, seed: int
) -> list[Passages]:
    """The pairs of each fold of a scenario, drawn inside it."""
    if scenario == "machine_random":
        return _machine_random(human, machine, k, seed)
    pairing = Pairing(scenario, seed=seed)
    needs = machine if scenario in ("human_machine", "machine_machine") else None
    return pair_folds(human, pairing, k, needs, fold_seed(seed))


def fold_seed(seed: int) -> int:
    """A seed of the folds' own, so that parts split off with the run's are not single folds."""
    return seed + 20_011


def _machine_random(human: Passages, machine: Passages | None, k: int, seed: int) -> list[Passages]:
    """Machine responses (class 1) against random human ones (class 0) on the same contexts.

    (Li et al., 2017, sec. 4.3.)
    """
    random = pair_folds(human, Pairing("human_random", seed=seed), k, None, fold_seed(seed))
    true = pair_folds(human, Pairing("human_machine", seed=seed), k, machine, fold_seed(seed))
    found = []
    for negatives, positives in zip(random, true, strict=True):
        sides = [np.flatnonzero(np.asarray(side["label"]) == 0) for side in (positives, negatives)]
        size = min(map(len, sides))
        ours, theirs = (
            _relabelled(table.select(rows[:size]), label)
            for table, rows, label in ((positives, sides[0], 1), (negatives, sides[1], 0))
        )
        found.append(concatenate_datasets([ours, theirs]))
    return found


def _relabelled(rows: Passages, label: int) -> Passages:
    features = rows.features
    count = len(rows)
    columns = {"label": [label] * count, "pair": list(range(count)),
               "scenario": ["machine_random"] * count}  # fmt: skip
    for name, values in columns.items():
        feature = features[name]
        rows = rows.remove_columns(name).add_column(name, values, feature=feature)
    return rows.select_columns(list(features))


def crossfit(
    fit: Fit,
    folds: Sequence[Passages],
    seed: int,
    bench: Bench,
    share: float = 1.0,
    done: Callable[[], Any] = lambda: None,
    blindfolds: bool = True,
) -> pa.Table:
    """Every response judged by one that learnt from the other folds.

    Args:
        blindfolds (`bool`, *optional*, defaults to `True`):
            Whether the judges also read without the true context; else those columns are empty.
        share (`float`, *optional*, defaults to 1.0):
            Part of the training pairs that is used, for a learning curve.
        done (`Callable`, *optional*):
            Called after each fold.
    """
    tables, start = [], 0
    for number, test in enumerate(folds):
        if not len(test):
            continue
        train = numbered([fold for at, fold in enumerate(folds) if at != number and len(fold)])
        scorer = fit(_part(train, share, seed), seed, bench)
        tables.append(judged(scorer, test, number, start, blindfolds))
        start += len(test) // 2
        done()
    return pa.concat_tables(tables)


def judged(
    scorer: Any, pairs: Passages, fold: int, first_pair: int = 0, blindfolds: bool = True
) -> pa.Table:
    """What a judge says of each response, with and without the context."""
    scores = np.asarray(scorer(pairs), dtype=float)
    without = taken_without = shuffled = [None] * len(pairs)
    if blindfolds:
        without = np.asarray(ResponseOnlyScorer(scorer)(pairs), dtype=float)
        taken_without = is_human(scorer, without)
        shuffled = is_human(scorer, np.asarray(ShuffledContextScorer(scorer)(pairs), dtype=float))
    responses = pairs["response"][:]
    columns = {
        "id": pairs["id"][:],
        "dialogue_id": pairs["dialogue_id"][:],
        "pair": np.asarray(pairs["pair"]) + first_pair,
        "label": pairs["label"][:],
        "fold": np.full(len(pairs), fold),
        "score": scores,
        "taken": is_human(scorer, scores),
        "response_only": without,
        "response_only_taken": taken_without,
        "shuffled_taken": shuffled,
        "tokens": [count_tokens(text) for text in responses],
        "response": responses,
        "author": pairs["author"][:],
    }
    return pa.table({name: pa.array(columns[name], kind) for name, kind in COLUMNS.items()})


def numbered(folds: Sequence[Passages]) -> Passages:
    """Pairs of several folds in one table, each pair with a number of its own."""
    parts, start = [], 0
    for fold in folds:
        feature = fold.features["pair"]
        numbers = (np.asarray(fold["pair"]) + start).tolist()
        columns = fold.column_names
        fold = fold.remove_columns("pair").add_column("pair", numbers, feature=feature)
        parts.append(fold.select_columns(columns))
        start += len(fold) // 2
    return concatenate_datasets(parts)


def _part(pairs: Passages, share: float, seed: int) -> Passages:
    if share >= 1:
        return pairs
    numbers = np.asarray(pairs["pair"])
    count = max(2, round(share * len(numbers) / 2))
    chosen = np.random.default_rng(seed).permutation(np.unique(numbers))[:count]
    return pairs.select(np.flatnonzero(np.isin(numbers, chosen)))


def remembered(path: Path, make: Callable[[], pa.Table]) -> pa.Table:
    """A table from its file, made and written when it is not there yet."""
    if path.is_file():
        return parquet.read_table(path)
    table = make()
    with whole_file(path, "wb") as file:
        parquet.write_table(table, file)
    return table
