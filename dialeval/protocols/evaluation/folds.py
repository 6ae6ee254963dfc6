"""The pairs of each fold of a scenario, and what is derived from them for every evaluator."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues import PAIR_FEATURES, BadInput, Pairing, Passages
from dialeval.dialogues.splits import position, row_hashes, select
from dialeval.dialogues.storage import PassageFile, batches
from dialeval.dialogues.tokens import count_tokens
from dialeval.dialogues.types import text_key
from dialeval.scorers.baselines import NEUTRAL, ConstantScorer, ShuffledContextScorer
from dialeval.scorers.linear_features import replies_of_dialogues

COLUMNS = {
    "id": pa.string(), "dialogue_id": pa.string(), "pair": pa.int64(), "label": pa.int8(),
    "fold": pa.int16(), "score": pa.float64(), "predicted_human": pa.bool_(),
    "response_only": pa.float64(), "response_only_predicted_human": pa.bool_(),
    "shuffled_predicted_human": pa.bool_(), "tokens": pa.int32(), "response": pa.string(),
    "author": pa.string(),
}  # fmt: skip
"""Columns of a table of scores, one row per response.

`response_only...` are those of the evaluator's twin, which was trained without any context;
`shuffled...` those of the evaluator itself after another dialogue's context. They are null where
they were not asked for, or could not be made.
"""

IN_A_FOLD = 3
"""Dialogues that a fold has at least, so that random replies can come from another one."""

Ablations = tuple[Passages, Passages | None]
"""Responses without a context, and after another dialogue's; `None` where that is impossible."""
_PARTS: WeakKeyDictionary[Passages, dict[tuple[int, bytes], list[Passages]]] = WeakKeyDictionary()
T = TypeVar("T")


class Folds(list[Passages]):
    """The pairs of each fold, with a cache of what is derived from them, shared by evaluators."""

    def __init__(self, pairs: Iterable[Passages], seed: int = 0):
        super().__init__(pairs)
        self.seed = seed
        self._cache: dict[tuple[Any, ...], Any] = {}

    def train(self, number: int, share: float = 1.0) -> Passages:
        """All pairs but those of a fold, or a subsample; a smaller one is part of a larger one.

        Where a system repeats human replies of other dialogues, rows with a reply that the fold has
        too are left out: an evaluator would know it, with the label of the other side.
        """

        def make() -> Passages:
            if share < 1:
                return _subsample(self.train(number), share, self.seed)
            others = [pairs for index, pairs in enumerate(self) if index != number and len(pairs)]
            train = others[0] if len(others) == 1 else concatenate_pairs(others)
            return _without_replies_of(self[number], train, self.seed) if self.borrows else train

        return self._cached(("train", number, share), make)

    def blind_train(self, number: int) -> Passages:
        """What `train` returns, without the contexts: what a response-only twin is fitted to."""
        return self._cached(("blind", number), lambda: without_contexts(self.train(number)))

    def pooled(self) -> Passages:
        """The pairs of all folds."""
        return self._cached(
            ("pooled",), lambda: concatenate_pairs([pairs for pairs in self if len(pairs)])
        )

    def context_ablations(self, number: int | None) -> Ablations:
        """The pairs of a fold, or of all, without their contexts and with shuffled contexts."""
        pairs = self.pooled() if number is None else self[number]
        return self._cached(
            ("context_ablations", number), lambda: _context_ablations(pairs, self.seed)
        )

    def response_columns(self, number: int | None) -> pa.Table:
        """The columns of a fold's table, or of all folds', that do not depend on an evaluator."""
        pairs = self.pooled() if number is None else self[number]
        return self._cached(("response_columns", number), lambda: response_columns(pairs))

    @property
    def borrows(self) -> bool:
        """Whether any reply is taken from a dialogue that is not in its own fold."""
        return self._cached(("borrows",), lambda: any(map(_borrows, self)))

    def _cached(self, key: tuple[Any, ...], make: Callable[[], T]) -> T:
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]


def _borrows(pairs: Passages) -> bool:
    """Whether any reply is taken from a dialogue of which no other row is."""
    sources, dialogues = (
        {name for batch in batches(pairs) for name in pc.unique(batch[column]).to_pylist() if name}
        for column in ("source_dialogue_id", "dialogue_id")
    )
    return not sources <= dialogues


def _without_replies_of(test: Passages, train: Passages, seed: int) -> Passages:
    """Training rows whose reply is not in the test rows, from the same dialogue; balanced.

    Of the class that keeps more rows some are left out at random. The number of a pair then only
    joins one row of each class: to leave out both rows of a pair would cost twice as much.
    """
    tested = pa.chunked_array(replies_of_dialogues(test), pa.string()).combine_chunks()
    known = [pc.is_in(keys, value_set=tested) for keys in replies_of_dialogues(train)]
    unknown = ~np.concatenate([part.to_numpy(zero_copy_only=False) for part in known])
    if unknown.all():
        return train
    labels = np.concatenate([batch["label"].to_numpy() for batch in batches(train)])
    classes = [np.flatnonzero(unknown & (labels == label)) for label in (0, 1)]
    size, rng = min(map(len, classes)), np.random.default_rng(seed)
    if not size:
        raise BadInput(
            "the system repeats human replies of other dialogues: without those that are tested, "
            "none are left to train on.",
            hint="Give more dialogues, or let it take its replies from other data.",
        )
    pair = np.full(len(labels), -1)
    for rows in classes:
        pair[np.sort(rng.permutation(rows)[:size])] = np.arange(size)
    return renumbered(select(train, pair >= 0), pair[pair >= 0])


def renumbered(pairs: Passages, numbers: np.ndarray) -> Passages:
    """The rows with other numbers of pairs, one for each row."""
    with PassageFile(PAIR_FEATURES) as file:
        start = 0
        for batch in batches(pairs):
            index = batch.schema.get_field_index("pair")
            column = pa.array(numbers[start : start + len(batch)], batch.schema.field(index).type)
            file.write(batch.set_column(index, "pair", column))
            start += len(batch)
    return file.dataset()


def _context_ablations(pairs: Passages, seed: int) -> Ablations:
    """Both ablations; `None` for shuffled contexts where these pairs do not allow them.

    Contexts can only be shuffled if no dialogue has more than half of the passages.
    """
    try:
        shuffled = ShuffledContextScorer(ConstantScorer(), seed).edited(pairs)
    except BadInput:
        shuffled = None
    return without_contexts(pairs), shuffled


def without_contexts(pairs: Passages) -> Passages:
    """The same rows, each with one neutral turn as its context.

    Every scorer expects a turn; this one is the same everywhere, its speaker included.
    """
    with PassageFile(pairs.features) as file:
        for batch in batches(pairs):
            index = batch.schema.get_field_index("context")
            turn = pa.scalar([{"speaker": "A", "text": NEUTRAL}], batch.schema.field(index).type)
            file.write(batch.set_column(index, "context", pa.repeat(turn, len(batch))))
    return file.dataset()


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
        scenario (`str`):
            A scenario of [`Pairing`], `"human_next_matched"` (with matched positions), or
            `"machine_random"`.
        human (`Passages`):
            Human passages.
        machine (`Passages`, *optional*):
            The system's responses, row by row on the human contexts.
        k (`int`):
            Number of folds.
        seed (`int`):
            Seed of folds and draws.
        match_length (`int`, *optional*):
            Leave out pairs whose responses do not fall into one bin of this many tokens.

    Returns:
        `Folds`: The pairs of each fold; a fold may be empty.

    Raises:
        BadInput: Fewer than two folds have pairs.
    """
    number = fold_numbers(human, k, seed)
    humans = _parts(human, number, k)
    machines = [None] * k if machine is None else _parts(machine, number, k)
    sides = zip(humans, machines, strict=True)
    folds = Folds((_pairs(scenario, *both, seed, match_length) for both in sides), seed)
    if sum(map(bool, map(len, folds))) < 2:
        raise BadInput(
            f"less than two of {k} folds have responses for {scenario} to compare.",
            hint="Give more dialogues.",
        )
    return folds


def _parts(passages: Passages, number: np.ndarray, k: int) -> list[Passages]:
    """The rows of each fold, computed once: the scenarios of a run have the same folds."""
    parts = _PARTS.setdefault(passages, {})
    key = (k, number.tobytes())
    if key not in parts:
        parts[key] = [_rows(passages, number == fold) for fold in range(k)]
    return parts[key]


def _rows(passages: Passages, mask: np.ndarray) -> Passages:
    """The rows of a mask, without the column `extra`, which evaluators do not read."""
    with PassageFile(passages.features) as file:
        start = 0
        for batch in batches(passages):
            selected = batch.filter(pa.array(mask[start : start + batch.num_rows]))
            column = batch.schema.get_field_index("extra")
            file.write(selected.set_column(column, "extra", pa.nulls(len(selected), pa.string())))
            start += batch.num_rows
    return file.dataset()


def fold_numbers(passages: Passages, k: int, seed: int) -> np.ndarray:
    """The fold of each passage: dialogues sorted by a hash and divided into equal parts.

    It does not depend on the order of the rows. The hash has its own seed, so that a part that
    was split off with the run's seed is not a single fold.

    Args:
        passages (`Passages`):
            Passages with a `dialogue_id`.
        k (`int`):
            Number of folds.
        seed (`int`):
            Seed of the hash.

    Returns:
        `np.ndarray`: A number in [0, k) for each passage.
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
    matched = scenario == "human_next_matched"
    pairing = Pairing(
        "human_next" if matched else scenario, match_length=match_length, match_position=matched,
        single_replies=True, seed=seed,
    )  # fmt: skip
    second = machine if scenario in ("human_machine", "machine_machine") else None
    may_be_empty = match_length or matched or scenario in ("human_human", "machine_machine")
    try:
        return pairing(human, second)
    except BadInput:
        if not may_be_empty:
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
            for batch in _with_values(_second_sides(pairs), label=label, scenario="machine_random"):
                file.write(batch)
    return file.dataset()


def _second_sides(pairs: Passages) -> Iterator[pa.RecordBatch]:
    for batch in batches(pairs):
        yield batch.filter(pc.equal(batch["label"], 0))


def _with_values(rows: Iterable[pa.RecordBatch], **values: Any) -> Iterator[pa.RecordBatch]:
    """Rows with columns replaced by one value each."""
    for batch in rows:
        for name, value in values.items():
            index = batch.schema.get_field_index(name)
            column = pa.repeat(pa.scalar(value, batch.schema.field(index).type), len(batch))
            batch = batch.set_column(index, name, column)
        yield batch


def response_columns(pairs: Passages) -> pa.Table:
    """The columns of a table of scores that do not depend on an evaluator."""
    names = ("id", "dialogue_id", "pair", "label", "response", "author")
    parts = [pa.Table.from_batches([batch]).select(names) for batch in batches(pairs)]
    table = pa.concat_tables(parts)
    counts = [count_tokens(text) for text in table["response"].to_pylist()]
    return table.append_column("tokens", pa.array(counts, COLUMNS["tokens"]))


def concatenate_pairs(folds: Sequence[Passages]) -> Passages:
    """Pairs of several folds in one table, numbered consecutively."""
    with PassageFile(PAIR_FEATURES) as file:
        start = 0
        for fold in folds:
            for batch in batches(fold):
                column = batch.schema.get_field_index("pair")
                file.write(batch.set_column(column, "pair", pc.add(batch["pair"], start)))
            start += len(fold) // 2
    return file.dataset()


def _subsample(pairs: Passages, share: float, seed: int) -> Passages:
    numbers = np.concatenate([batch["pair"].to_numpy() for batch in batches(pairs)])
    count = max(2, round(share * len(numbers) / 2))
    selected = np.random.default_rng(seed).permutation(np.unique(numbers))[:count]
    return select(pairs, np.isin(numbers, selected))


def fitting_folds(human: Passages, wanted: int) -> int:
    """As many folds as wanted, or as many as have enough dialogues each, and at least 2."""
    dialogues = len(np.unique(row_hashes(human, ["dialogue_id"])))
    return max(2, min(wanted, dialogues // IN_A_FOLD))


def content_key(human: Passages, answers: Passages | None = None) -> str:
    """A hash of everything in passages, human ones or a system's, that affects a number."""
    passages = human if answers is None else answers
    columns = ["id", "dialogue_id", "context", "response", "following"]
    if any(passages["source_dialogue_id"][:]):  # these replies are left out of some training sets
        columns.append("source_dialogue_id")
    return text_key([row_hashes(passages, columns).tobytes().hex()])
