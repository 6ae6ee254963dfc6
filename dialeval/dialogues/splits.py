"""Splits and folds by dialogue, from a hash: adding data never moves an example."""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.dialogues.contexts import joined_contexts
from dialeval.dialogues.row_file import RowFile
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.storage import PassageFile, Passages, batches
from dialeval.dialogues.types import SEPARATOR, hash_of, text_hash

PARTS = {"generator": 0.5, "evaluator": 0.3, "test": 0.2}
"""Three disjoint parts: generator and evaluator never learn from the same dialogue, and both are
measured on dialogues new to them (Kannan and Vinyals, 2016, sec. 3.1)."""


class SeenDialogues(UserWarning):
    """A system was trained on dialogues that it is evaluated on."""


def position(dialogue_id: str, seed: int = 0) -> float:
    """A dialogue's position in `[0, 1)`, the same on every machine and in every corpus.

    Examples:
        >>> 0 <= position("d1") < 1, position("d1") == position("d1"), position("d1", seed=1)
        (True, True, 0.41144441722598096)
    """
    return text_hash([str(seed), dialogue_id]) / 2**64


def part_of(dialogue_id: str, parts: Mapping[str, float] = PARTS, seed: int = 0) -> str:
    """Name of the part that a dialogue falls into.

    Args:
        dialogue_id (`str`):
            The dialogue.
        parts (`Mapping[str, float]`, *optional*, defaults to `PARTS`):
            Share of the dialogues for each name; the shares sum to 1.
        seed (`int`, *optional*, defaults to 0):
            Seed of the hash.

    Returns:
        `str`: One of the names in `parts`.
    """
    return list(parts)[int(_part_numbers(np.array([position(dialogue_id, seed)]), parts)[0])]


def split(
    passages: Passages, parts: Mapping[str, float] = PARTS, seed: int = 0
) -> dict[str, Passages]:
    """Passages in disjoint parts by dialogue.

    Args:
        passages (`Passages`):
            What to split.
        parts (`Mapping[str, float]`, *optional*, defaults to `PARTS`):
            Share of the dialogues for each name; the shares sum to 1.
        seed (`int`, *optional*, defaults to 0):
            Seed of the hash.

    Returns:
        `dict[str, Passages]`: The passages of each part, by its name.
    """
    numbers = _part_numbers(_positions(passages, seed), parts)
    return {name: select(passages, numbers == number) for number, name in enumerate(parts)}


def folds(passages: Passages, k: int = 5, seed: int = 0) -> np.ndarray:
    """Number of the fold of each passage, from 0; all passages of a dialogue share one.

    Args:
        passages (`Passages`):
            What to divide.
        k (`int`, *optional*, defaults to 5):
            Number of folds.
        seed (`int`, *optional*, defaults to 0):
            Seed of the hash.

    Returns:
        `np.ndarray`: The number of each passage's fold, shape `(passages,)`.
    """
    if k < 2:
        raise BadInput(f"Cross-validation needs at least 2 folds, but got {k}.")
    return (_positions(passages, seed) * k).astype(np.int64)


def select(passages: Passages, rows: np.ndarray) -> Passages:
    """The rows of a mask, streamed into a new table."""
    with PassageFile(passages.features) as file:
        start = 0
        for batch in batches(passages):
            file.write(batch.filter(pa.array(rows[start : start + batch.num_rows])))
            start += batch.num_rows
    return file.dataset()


def subsample(passages: Passages, limit: int, seed: int | Sequence[int]) -> Passages:
    """A random part of passages, in their order.

    Args:
        passages (`Passages`):
            The passages.
        limit (`int`):
            How many; all if it is below 1.
        seed (`int` or `Sequence[int]`):
            Seed of the choice.

    Returns:
        `Passages`: At most `limit` of them.
    """
    if not 0 < limit < len(passages):
        return passages
    chosen = np.random.default_rng(seed).choice(len(passages), limit, replace=False)
    return passages.select(np.sort(chosen))


def sample_dialogues(
    passages: Passages, limit: int, seed: int = 0, per_dialogue: int = 5
) -> Passages:
    """At most `limit` passages: the first ones of dialogues that are drawn at random.

    Passages drawn one by one would hardly ever share a dialogue, and what compares a response
    with the next turn needs neighbours. Dialogues still are the units of every interval.

    Args:
        passages (`Passages`):
            What to sample from.
        limit (`int`):
            Most passages to keep.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draw.
        per_dialogue (`int`, *optional*, defaults to 5):
            Most passages of one dialogue, the first ones.

    Returns:
        `Passages`: The sample, in the order of `passages`; all of them if there are few enough.
    """
    if limit >= len(passages):
        return passages
    rng = np.random.default_rng(seed)
    with RowFile([("dialogue", "u8")]) as rows:
        for hashes in hash_batches(passages, ["dialogue_id"]):
            rows.write(dialogue=hashes)
        counts = [len(np.unique(part["dialogue"])) for _, part in rows.buckets("dialogue")]
        rank = np.arange(sum(counts), dtype=np.uint32)  # of every dialogue, by its hash
        rng.shuffle(rank)
        ranks = np.split(rank, np.cumsum(counts)[:-1])
        drawn = [np.zeros((0, 2), dtype=np.int64)]
        for (index, part), of_bucket in zip(rows.buckets("dialogue"), ranks, strict=True):
            _, unit = np.unique(part["dialogue"], return_inverse=True)
            possible = np.flatnonzero(of_bucket[unit] < limit)  # a dialogue has a passage or more
            possible = possible[_occurrence(unit[possible]) < per_dialogue]
            drawn.append(np.column_stack([of_bucket[unit[possible]], index[possible]]))
    order, row = np.concatenate(drawn).T
    return passages.select(np.sort(row[np.lexsort([row, order])][:limit]))


def _occurrence(values: np.ndarray) -> np.ndarray:
    """How often the value of each row occurred before it."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    before = np.empty(len(values), dtype=np.int64)
    before[order] = np.arange(len(values)) - np.searchsorted(ordered, ordered)
    return before


@dataclass(frozen=True)
class Overlap:
    """What two sets of passages share: ids of dialogues, and passages word for word.

    True when dialogues are shared. Some passages occur everywhere (3 % of DailyDialog's test part
    are in its training part), so only more than a tenth of them means a shared source.
    """

    dialogue_ids: frozenset[str]
    passages: int
    of: int

    def __bool__(self) -> bool:
        return bool(self.dialogue_ids) or self.passages > 0.1 * self.of


def overlap(evaluation: Passages, training: Passages) -> Overlap:
    """What an evaluation set shares with a training set.

    The dialogues that random replies were taken from count as well.
    """
    seen = np.unique(_passage_hashes(training))
    shared = dialogue_ids(evaluation) & dialogue_ids(training)
    again = int(np.isin(_passage_hashes(evaluation), seen).sum())
    return Overlap(frozenset(shared), again, len(evaluation))


def warn_if_seen(evaluation: Passages, training: Passages, system: str = "the generator") -> None:
    """Warn when a system was trained on dialogues that it is evaluated on.

    Args:
        evaluation (`Passages`):
            What the system is evaluated on.
        training (`Passages`):
            What it was trained on.
        system (`str`, *optional*, defaults to `"the generator"`):
            Its name in the warning.

    Returns:
        `None`: The warning is a [`SeenDialogues`].
    """
    shared = overlap(evaluation, training)
    if shared:
        warnings.warn(
            f"{system} was trained on {len(shared.dialogue_ids)} dialogue(s) of the evaluation, "
            f"and {shared.passages} of its {shared.of} passages are in the training data word for "
            "word. Split by dialogue first: dialeval data split",
            SeenDialogues,
            stacklevel=2,
        )


def dialogue_ids(passages: Passages) -> set[str]:
    """All dialogues that passages come from, those of borrowed replies included."""
    ids: set[str | None] = set()
    for batch in batches(passages):
        for name in ("dialogue_id", "source_dialogue_id"):
            ids.update(pc.unique(batch[name]).to_pylist())
    return {name for name in ids if name}


def row_hashes(passages: Passages, columns: Iterable[str]) -> np.ndarray:
    """A 64-bit number for the texts in some columns of each row."""
    hashes = np.empty(len(passages), dtype=np.uint64)
    start = 0
    for part in hash_batches(passages, columns):
        hashes[start : start + len(part)] = part
        start += len(part)
    return hashes


def hash_batches(passages: Passages, columns: Iterable[str]) -> Iterator[np.ndarray]:
    """[`row_hashes`] of one batch of rows after the other."""
    columns = list(columns)
    for batch in batches(passages):
        texts = pc.binary_join_element_wise(*(_texts(batch[name]) for name in columns), SEPARATOR)
        distinct = texts.cast(pa.binary()).dictionary_encode()
        hashes = np.fromiter(map(hash_of, distinct.dictionary.to_pylist()), dtype=np.uint64)
        yield hashes[distinct.indices.to_numpy()]


def _texts(column: pa.Array) -> pa.Array:
    """The texts of a column, those of a context as one."""
    if pa.types.is_string(column.type):
        return column.fill_null("")
    return joined_contexts(column, "\x1e")


def _passage_hashes(passages: Passages) -> np.ndarray:
    return row_hashes(passages, ("context", "response"))


def _positions(passages: Passages, seed: int) -> np.ndarray:
    positions = np.empty(len(passages))
    start = 0
    for batch in batches(passages):
        ids = batch["dialogue_id"].dictionary_encode()  # each id is hashed once a batch
        distinct = np.array([position(name, seed) for name in ids.dictionary.to_pylist()])
        positions[start : start + batch.num_rows] = distinct[ids.indices.to_numpy()]
        start += batch.num_rows
    return positions


def _part_numbers(positions: np.ndarray, parts: Mapping[str, float]) -> np.ndarray:
    shares = np.array(list(parts.values()), dtype=float)
    if (shares < 0).any() or abs(shares.sum() - 1) > 1e-6:
        raise BadInput(
            f"The shares of the parts must sum to 1, but {dict(parts)} sums to {shares.sum():g}."
        )
    bounds = np.cumsum(shares)[:-1]
    return np.searchsorted(bounds, positions, side="right")
