"""Scores for every response by a judge that never saw its dialogue."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from dialeval.dialogues import PAIR_FEATURES, BadInput, Pairing, Passages, select
from dialeval.dialogues.splits import position
from dialeval.dialogues.storage import PassageFile, batches, whole_file
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
    scenario: str,
    human: Passages,
    machine: Passages | None,
    k: int,
    seed: int,
    match_length: int | None = None,
) -> list[Passages]:
    """The pairs of each fold of a scenario, drawn inside it, so that no reply is in two folds.

    Args:
        machine (`Passages`, *optional*):
            The system's answers, row by row on the human contexts.
        match_length (`int`, *optional*):
            Leave out pairs whose responses do not fall into one bin of so many tokens.
    """
    number = fold_numbers(human, k, seed)
    found = [
        _pairs(
            scenario,
            select(human, number == fold),
            None if machine is None else select(machine, number == fold),
            seed,
            match_length,
        )
        for fold in range(k)
    ]
    if sum(map(bool, map(len, found))) < 2:
        raise BadInput(
            f"less than two of {k} folds have responses for {scenario} to compare.",
            remedy="Give more dialogues.",
        )
    return found


def fold_numbers(passages: Passages, k: int, seed: int) -> np.ndarray:
    """The fold of each passage: dialogues in the order of a hash, dealt out in equal shares.

    It does not depend on the order of the rows. The hash has a seed of its own, so that parts that
    were split off with the run's seed are not single folds.
    """
    names, dialogue = np.unique(np.asarray(passages["dialogue_id"][:]), return_inverse=True)
    order = np.argsort([position(name, seed + 20_011) for name in names.tolist()], kind="stable")
    number = np.empty(len(names), dtype=np.int64)
    number[order] = np.arange(len(names)) * k // len(names)
    return number[dialogue]


def _pairs(
    scenario: str, human: Passages, machine: Passages | None, seed: int, match_length: int | None
) -> Passages:
    """The pairs of one fold; none where halves or lengths leave nothing to compare in it."""
    if scenario == "machine_random":
        return _machine_random(human, machine, seed)
    pairing = Pairing(scenario, match_length=match_length, seed=seed)
    needs = machine if scenario in ("human_machine", "machine_machine") else None
    may_lack = match_length or scenario in ("human_human", "machine_machine")
    try:
        return pairing(human, needs)
    except BadInput:
        if not may_lack:
            raise
        return PassageFile(PAIR_FEATURES).dataset()


def _machine_random(human: Passages, machine: Passages | None, seed: int) -> Passages:
    """Machine responses (class 1) against random human ones (class 0) on the same contexts.

    (Li et al., 2017, sec. 4.3.)
    """
    machines = Pairing("human_machine", seed=seed)(human, machine)
    random = Pairing("human_random", seed=seed)(human)
    with PassageFile(PAIR_FEATURES) as file:
        for pairs, label in ((machines, 1), (random, 0)):
            for batch in _with(_second_sides(pairs), label=label, scenario="machine_random"):
                file.write(batch)
    return file.dataset()


def _second_sides(pairs: Passages) -> Iterator[pa.RecordBatch]:
    for batch in batches(pairs):
        yield batch.filter(pc.equal(batch["label"], 0))


def _with(rows: Iterable[pa.RecordBatch], **values: Any) -> Iterator[pa.RecordBatch]:
    """Rows with one value in all of a column."""
    for batch in rows:
        for name, value in values.items():
            at = batch.schema.get_field_index(name)
            column = pa.repeat(pa.scalar(value, batch.schema.field(at).type), len(batch))
            batch = batch.set_column(at, name, column)
        yield batch


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
    scores = _finite(scorer, pairs)
    without = taken_without = shuffled = [None] * len(pairs)
    if blindfolds:
        without = _finite(ResponseOnlyScorer(scorer), pairs)
        taken_without = is_human(scorer, without)
        shuffled = is_human(scorer, _finite(ShuffledContextScorer(scorer), pairs))
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


def _finite(scorer: Any, pairs: Passages) -> np.ndarray:
    scores = np.asarray(scorer(pairs), dtype=float)
    if scores.shape != (len(pairs),):
        raise BadInput(f"{scorer.name} gave scores of shape {scores.shape} for {len(pairs)} texts.")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise BadInput(
            f"{scorer.name} gave no finite number for {len(bad)} of {len(pairs)} responses, "
            f"first for passage {pairs['id'][int(bad[0])]!r}.",
            remedy="Look at that passage, or choose another evaluator.",
        )
    return scores


def numbered(folds: Sequence[Passages]) -> Passages:
    """Pairs of several folds in one table, each pair with a number of its own."""
    with PassageFile(PAIR_FEATURES) as file:
        start = 0
        for fold in folds:
            for batch in batches(fold):
                at = batch.schema.get_field_index("pair")
                file.write(batch.set_column(at, "pair", pc.add(batch["pair"], start)))
            start += len(fold) // 2
    return file.dataset()


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
