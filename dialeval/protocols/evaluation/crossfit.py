"""Scores for every response by a judge that never saw its dialogue."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as parquet

from dialeval.dialogues import PAIR_FEATURES, BadInput, Pairing, Passages
from dialeval.dialogues.splits import position
from dialeval.dialogues.storage import PassageFile, atomic_write, batches
from dialeval.dialogues.tokens import count_tokens
from dialeval.protocols.evaluation.evaluators import Fit, FitContext
from dialeval.scorers import is_human
from dialeval.scorers.baselines import (
    ConstantScorer,
    ResponseOnlyScorer,
    ShuffledContextScorer,
)

COLUMNS = {
    "id": pa.string(), "dialogue_id": pa.string(), "pair": pa.int64(), "label": pa.int8(),
    "fold": pa.int16(), "score": pa.float64(), "taken": pa.bool_(), "response_only": pa.float64(),
    "response_only_taken": pa.bool_(), "shuffled_taken": pa.bool_(), "tokens": pa.int32(),
    "response": pa.string(), "author": pa.string(),
}  # fmt: skip
"""What is known of each response after a judge has read it."""


class Folds(list[Passages]):
    """The pairs of each fold; what is made of them is made once for all judges."""

    def __init__(self, pairs: Iterable[Passages], seed: int = 0):
        super().__init__(pairs)
        self.seed = seed
        self._made: dict[tuple[Any, ...], Any] = {}

    def train(self, number: int, share: float = 1.0) -> Passages:
        """All pairs but those of a fold, or a part of them; a smaller part lies in a larger."""

        def make() -> Passages:
            if share < 1:
                return _part(self.train(number), share, self.seed)
            return numbered([each for at, each in enumerate(self) if at != number and len(each)])

        return self._once(("train", number, share), make)

    def pooled(self) -> Passages:
        """The pairs of all folds."""
        return self._once(("pooled",), lambda: numbered([each for each in self if len(each)]))

    def blind(self, number: int | None) -> tuple[Passages, Passages]:
        """The responses of a fold, or of all, without a context, and after another dialogue's."""
        nobody, pairs = ConstantScorer(), self.pooled() if number is None else self[number]
        kinds = (ResponseOnlyScorer(nobody), ShuffledContextScorer(nobody))
        return self._once(("blind", number), lambda: tuple(each.edited(pairs) for each in kinds))

    def known(self, number: int | None) -> pa.Table:
        """What is known of the responses of a fold, or of all, before anybody judges them."""
        pairs = self.pooled() if number is None else self[number]
        return self._once(("known", number), lambda: known(pairs))

    def _once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]


def scenario_folds(
    scenario: str,
    human: Passages,
    machine: Passages | None,
    k: int,
    seed: int,
    match_length: int | None = None,
) -> Folds:
    """The pairs of each fold of a scenario, drawn inside it, so that no reply is in two folds.

    Args:
        machine (`Passages`, *optional*):
            The system's answers, row by row on the human contexts.
        match_length (`int`, *optional*):
            Leave out pairs whose responses do not fall into one bin of so many tokens.
    """
    number = fold_numbers(human, k, seed)
    made = (
        _pairs(
            scenario,
            _rows(human, number == fold),
            None if machine is None else _rows(machine, number == fold),
            seed,
            match_length,
        )
        for fold in range(k)
    )
    found = Folds(made, seed)
    if sum(map(bool, map(len, found))) < 2:
        raise BadInput(
            f"less than two of {k} folds have responses for {scenario} to compare.",
            hint="Give more dialogues.",
        )
    return found


def _rows(passages: Passages, rows: np.ndarray) -> Passages:
    """Some rows by a mask, without what is known beside the responses: judges do not read it."""
    with PassageFile(passages.features) as file:
        start = 0
        for batch in batches(passages):
            chosen = batch.filter(pa.array(rows[start : start + batch.num_rows]))
            at = batch.schema.get_field_index("extra")
            file.write(chosen.set_column(at, "extra", pa.nulls(len(chosen), pa.string())))
            start += batch.num_rows
    return file.dataset()


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
    folds: Folds,
    seed: int,
    fit_context: FitContext,
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
        scorer = fit(folds.train(number, share), seed, fit_context)
        blind = folds.blind(number) if blindfolds else None
        tables.append(judged(scorer, test, number, start, blind, folds.known(number)))
        start += len(test) // 2
        done()
    return pa.concat_tables(tables)


def applied(scorer: Any, folds: Folds, blindfolds: bool = True) -> pa.Table:
    """Every response of all folds judged by one that learnt elsewhere."""
    blind = folds.blind(None) if blindfolds else None
    return judged(scorer, folds.pooled(), 0, 0, blind, folds.known(None))


def judged(
    scorer: Any,
    pairs: Passages,
    fold: int = 0,
    first_pair: int = 0,
    blind: tuple[Passages, Passages] | None = None,
    facts: pa.Table | None = None,
) -> pa.Table:
    """What a judge says of each response.

    Args:
        blind (`tuple[Passages, Passages]`, *optional*):
            The same responses without the true context: see `Folds.blind`.
        facts (`pa.Table`, *optional*):
            What is `known` of the responses, where somebody has it already.
    """
    facts = known(pairs) if facts is None else facts
    scores = _finite(scorer, pairs)
    without = taken_without = shuffled = [None] * len(pairs)
    if blind is not None:
        without, other = (_finite(scorer, each) for each in blind)
        taken_without, shuffled = is_human(scorer, without), is_human(scorer, other)
    columns = {
        **{name: facts[name] for name in facts.column_names},
        "pair": pc.add(facts["pair"], first_pair),
        "fold": np.full(len(pairs), fold),
        "score": scores,
        "taken": is_human(scorer, scores),
        "response_only": without,
        "response_only_taken": taken_without,
        "shuffled_taken": shuffled,
    }
    return pa.table({name: columns[name] for name in COLUMNS}, pa.schema(COLUMNS))


def known(pairs: Passages) -> pa.Table:
    """What is known of each response before anybody judges it."""
    names = ("id", "dialogue_id", "pair", "label", "response", "author")
    parts = [pa.Table.from_batches([batch]).select(names) for batch in batches(pairs)]
    table = pa.concat_tables(parts)
    counts = [count_tokens(text) for text in table["response"].to_pylist()]
    return table.append_column("tokens", pa.array(counts, COLUMNS["tokens"]))


def _finite(scorer: Any, pairs: Passages) -> np.ndarray:
    scores = np.asarray(scorer(pairs), dtype=float)
    if scores.shape != (len(pairs),):
        raise BadInput(f"{scorer.name} gave scores of shape {scores.shape} for {len(pairs)} texts.")
    bad = np.flatnonzero(~np.isfinite(scores))
    if len(bad):
        raise BadInput(
            f"{scorer.name} gave no finite number for {len(bad)} of {len(pairs)} responses, "
            f"first for passage {pairs['id'][int(bad[0])]!r}.",
            hint="Look at that passage, or choose another evaluator.",
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
    numbers = np.asarray(pairs["pair"])
    count = max(2, round(share * len(numbers) / 2))
    chosen = np.random.default_rng(seed).permutation(np.unique(numbers))[:count]
    return pairs.select(np.flatnonzero(np.isin(numbers, chosen)))


def remembered(path: Path, make: Callable[[], pa.Table]) -> pa.Table:
    """A table from its file, made and written when it is not there yet."""
    if path.is_file():
        return parquet.read_table(path)
    table = make()
    with atomic_write(path, "wb") as file:
        parquet.write_table(table, file)
    return table
