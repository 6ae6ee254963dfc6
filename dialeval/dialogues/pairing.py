"""Pairs: the human responses and the others that an evaluator has to tell from them."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from datasets import Features, Value

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import folds, row_hashes, select
from dialeval.dialogues.storage import FEATURES, PassageFile, Passages, batches
from dialeval.dialogues.tokens import count_tokens
from dialeval.dialogues.types import text_hash

logger = logging.getLogger(__name__)

SCENARIOS = ("human_machine", "human_random", "human_next", "human_human", "machine_machine")
PAIR_FEATURES = Features(
    {**FEATURES, "label": Value("int8"), "pair": Value("int64"), "scenario": Value("string")}
)
"""Passages with a `label` (1 human, 0 the other side), the number of their pair, the scenario."""


@dataclass(frozen=True)
class Pairing:
    """Makes the balanced two-class data of a scenario; its `repr` is the signature.

    Args:
        scenario (`str`, *optional*, defaults to `"human_machine"`):
            `human_machine` sets a system's responses against the human ones; `human_random` the
            human responses of other dialogues; `human_next` the utterance after the true
            response; `human_human` and `machine_machine` split one author's responses into two
            disjoint halves that nobody can tell apart (Li et al., 2017, sec. 4.2).
        paired (`bool`, *optional*, defaults to `True`):
            Both classes on each context; otherwise each context in one class (Kannan and
            Vinyals, 2016, sec. 3.1), the dialogues being halved by a hash.
        random (`str`, *optional*, defaults to `"response"`):
            A random `"response"` after the true context (Bruni and Fernández, 2017), or a
            `"dialogue"` in which every turn is random (Li et al., 2017).
        match_length (`int`, *optional*):
            Give both classes the same histogram of response lengths, in bins of so many tokens.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.

    Random replies are a permutation of the human ones in which each goes to another dialogue. So
    both classes hold the very same responses, and a judge that ignores the context is right in
    exactly half of the cases: anything else is a leak.
    """

    scenario: str = "human_machine"
    paired: bool = True
    random: Literal["response", "dialogue"] = "response"
    match_length: int | None = None
    seed: int = 0

    def __post_init__(self):
        if self.scenario not in SCENARIOS:
            choices = ", ".join(SCENARIOS)
            raise BadInput(
                f"Unknown scenario {self.scenario!r}.", remedy=f"Choose one of {choices}."
            )
        if self.random not in ("response", "dialogue"):
            raise BadInput(f"A random response or dialogue, but got {self.random!r}.")
        if self.match_length is not None and self.match_length < 1:
            raise BadInput(f"Length bins are at least 1 token wide, but got {self.match_length}.")

    def __call__(self, passages: Passages, machine: Passages | None = None) -> Passages:
        """Pairs from human passages, and a system's where the scenario has one.

        Args:
            passages (`Passages`):
                Human passages, or passages of several authors.
            machine (`Passages`, *optional*):
                The system's; by default those in `passages` that are not human.
        """
        if self.scenario == "human_machine":
            sides = _join(_human(passages), _machine(passages, machine))
        elif self.scenario == "human_next":
            sides = _next(_human(passages))
        elif self.scenario == "human_random" and self.paired:
            sides = self._random(_human(passages))
        else:
            return self._in_halves(passages, machine)
        if self.paired:
            return _write(self.scenario, *self._same_lengths(*sides))
        return self._one_class_each(*sides)

    def _random(self, human: Passages) -> tuple["_Side", "_Side"]:
        groups, bins = row_hashes(human, ["dialogue_id"]), None
        if self.match_length:
            bins = _lengths(human, "response") // self.match_length
            human, groups, bins = _drop_unmatched(human, groups, bins)
        rng = np.random.default_rng(self.seed)
        replies = derangement(groups, rng, bins)
        turns = self._random_turns(human, np.arange(len(human)), rng)
        return _Side(human), _Side(human, "random", replies=replies, turns=turns)

    def _random_turns(
        self, human: Passages, rows: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """For each place in the context, from its end, the row whose turn stands there instead."""
        if self.random == "response":
            return ()
        groups = row_hashes(human, ["dialogue_id"])[rows]
        sizes = np.concatenate([pc.list_value_length(b["context"]) for b in batches(human)])[rows]
        places = []
        for place in range(sizes.max()):
            have = np.flatnonzero(sizes > place)
            source = rows.copy()
            source[have] = rows[have][derangement(groups[have], rng)]
            places.append(source)
        return tuple(places)

    def _in_halves(self, passages: Passages, machine: Passages | None) -> Passages:
        """Two disjoint halves of one author's passages, as the two classes."""
        is_machine = self.scenario == "machine_machine"
        author = _machine(passages, machine) if is_machine else _human(passages)
        first = _half(author, self.seed)
        side = _Side(author)
        ones, zeros = self._balanced(side, side, np.flatnonzero(first), np.flatnonzero(~first))
        other = _Side(author, rows=zeros)
        if self.scenario == "human_random":  # the second half gets the first half's responses
            rng = np.random.default_rng(self.seed)
            turns = self._random_turns(author, zeros, rng)
            other = _Side(author, "random", zeros, rng.permutation(ones), turns)
        return _write(self.scenario, _Side(author, rows=ones), other)

    def _one_class_each(self, human: "_Side", other: "_Side") -> Passages:
        first = _half(human.table, self.seed)[human.rows]
        ones, zeros = self._balanced(human, other, np.flatnonzero(first), np.flatnonzero(~first))
        return _write(self.scenario, human.take(ones), other.take(zeros))

    def _balanced(
        self, human: "_Side", other: "_Side", ones: np.ndarray, zeros: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """As many of each class; within each length bin where lengths are to be matched."""
        classes = ((human, ones), (other, zeros))
        matched = self.match_length and self.scenario != "human_random"  # one set of responses
        bins = [
            side.lengths()[rows] // self.match_length if matched else np.zeros_like(rows)
            for side, rows in classes
        ]
        rng = np.random.default_rng(self.seed)
        kept: list[list[np.ndarray]] = [[], []]
        for each in np.intersect1d(*bins):
            members = [
                rng.permutation(rows[bins[i] == each]) for i, (_, rows) in enumerate(classes)
            ]
            for chosen, member in zip(kept, members, strict=True):
                chosen.append(member[: min(map(len, members))])
        if not kept[0]:
            raise BadInput("The two classes have no responses to compare.", remedy=_MORE)
        ones, zeros = (np.sort(np.concatenate(chosen)) for chosen in kept)
        return ones, zeros

    def _same_lengths(self, human: "_Side", other: "_Side") -> tuple["_Side", "_Side"]:
        if not self.match_length or self.scenario == "human_random":
            return human, other
        same = human.lengths() // self.match_length == other.lengths() // self.match_length
        logger.info("Lengths match in %d of %d pairs.", same.sum(), len(same))
        if not same.any():
            raise BadInput("No pair has responses of like length.", remedy="Widen `match_length`.")
        return human.take(same), other.take(same)


_MORE = "Give more dialogues, or check that both authors answer the same contexts."


def pair_folds(
    passages: Passages,
    pairing: Pairing,
    k: int = 5,
    machine: Passages | None = None,
    seed: int = 0,
) -> list[Passages]:
    """The pairs of each fold, drawn inside it, so that no fold has seen another's replies."""
    number = folds(passages, k, seed)
    others = folds(machine, k, seed) if machine is not None else None
    return [
        pairing(
            select(passages, number == fold),
            select(machine, others == fold) if machine is not None else None,
        )
        for fold in range(k)
    ]


def derangement(
    groups: np.ndarray, rng: np.random.Generator, bins: np.ndarray | None = None
) -> np.ndarray:
    """A random permutation in which every item goes to another group, within its bin.

    Example:
        >>> groups = np.array([0, 0, 1, 1, 2])
        >>> order = derangement(groups, np.random.default_rng(0))
        >>> sorted(order.tolist()), bool((groups[order] == groups).any())
        ([0, 1, 2, 3, 4], False)
    """
    if bins is not None:
        order = np.arange(len(groups))
        by_bin = np.argsort(bins, kind="stable")
        for rows in np.split(by_bin, np.flatnonzero(np.diff(bins[by_bin])) + 1):
            order[rows] = rows[derangement(groups[rows], rng)]
        return order
    sizes = np.unique(groups, return_counts=True)[1]
    if not len(groups) or 2 * sizes.max() > len(groups):
        raise BadInput(
            f"Random replies come from another dialogue, but one dialogue holds "
            f"{sizes.max() if len(sizes) else 0} of the {len(groups)} passages.",
            remedy="Give more dialogues.",
        )
    order = rng.permutation(len(groups))
    for _ in range(50):
        clashes = np.flatnonzero(groups[order] == groups)
        if not len(clashes):
            return order
        for item, other in zip(clashes, rng.integers(len(groups), size=len(clashes)), strict=True):
            order[item], order[other] = order[other], order[item]
    return _rotation(groups, sizes.max(), rng)


def _rotation(groups: np.ndarray, step: int, rng: np.random.Generator) -> np.ndarray:
    """Groups in a row, each item taking what stands a largest group further: always possible."""
    shuffled = rng.permutation(len(groups))
    row = shuffled[np.argsort(groups[shuffled], kind="stable")]
    order = np.empty_like(row)
    order[row] = np.roll(row, -step)
    return order


@dataclass(frozen=True)
class _Side:
    """One class before it is written: rows of a table, and where their words come from.

    Args:
        author: Name to write, where it is not the table's own.
        rows: Rows that give contexts.
        replies: Rows that give responses, where they are others.
        turns: For each place in the context, from its end, rows that give the turn.
        column: Column that gives the response.
    """

    table: Passages
    author: str | None = None
    rows: np.ndarray | None = None
    replies: np.ndarray | None = None
    turns: tuple[np.ndarray, ...] = ()
    column: str = "response"

    def __post_init__(self):
        if self.rows is None:
            object.__setattr__(self, "rows", np.arange(len(self.table)))

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, chosen: np.ndarray) -> "_Side":
        """Some of these rows."""
        replies = None if self.replies is None else self.replies[chosen]
        turns = tuple(each[chosen] for each in self.turns)
        return _Side(self.table, self.author, self.rows[chosen], replies, turns, self.column)

    def lengths(self) -> np.ndarray:
        """Tokens of each response."""
        rows = self.rows if self.replies is None else self.replies
        return _lengths(self.table, self.column)[rows]

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as they are to be written."""
        sources = [self._gather(self.rows)]
        if self.replies is not None:
            sources.append(self._gather(self.replies, ["response", "dialogue_id"]))
        sources += [self._gather(each, ["context"]) for each in self.turns]
        for own, *others in zip(*sources, strict=True):
            yield self._edited(own, others)

    def _gather(
        self, rows: np.ndarray, columns: list[str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Some rows; jumping about in few columns keeps few pages of the file in memory."""
        if len(rows) == len(self.table) and (rows == np.arange(len(rows))).all():
            return batches(self.table)
        table = self.table.select_columns(columns) if columns else self.table
        return batches(table.select(rows, keep_in_memory=True))

    def _edited(self, batch: pa.RecordBatch, others: list[pa.RecordBatch]) -> pa.RecordBatch:
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
                columns["context"] = _mixed(batch["context"], [turn["context"] for turn in turns])
        return pa.RecordBatch.from_pydict(columns, schema=FEATURES.arrow_schema)


def _mixed(own: pa.Array, others: list[pa.Array]) -> pa.Array:
    """Contexts with each turn's words taken from another context, speakers kept."""
    rows = zip(own.to_pylist(), *(other.to_pylist() for other in others), strict=True)
    return pa.array(
        [
            [
                {"speaker": turn["speaker"], "text": sources[place][-place - 1]["text"]}
                for place, turn in reversed(list(enumerate(reversed(context))))
            ]
            for context, *sources in rows
        ],
        type=own.type,
    )


def _write(scenario: str, human: _Side, other: _Side) -> Passages:
    with PassageFile(PAIR_FEATURES) as file:
        start = 0
        for ones, zeros in zip(human.batches(), other.batches(), strict=True):
            for label, batch in ((1, ones), (0, zeros)):
                file.write(_labelled(batch, label, start, scenario))
            start += ones.num_rows
    return file.dataset()


def _labelled(batch: pa.RecordBatch, label: int, start: int, scenario: str) -> pa.RecordBatch:
    size = batch.num_rows
    added = {
        "label": pa.repeat(pa.scalar(label, pa.int8()), size),
        "pair": pa.array(np.arange(start, start + size)),
        "scenario": pa.repeat(scenario, size),
    }
    columns = {name: batch[name] for name in FEATURES} | added
    return pa.RecordBatch.from_pydict(columns, schema=PAIR_FEATURES.arrow_schema)


def authors(passages: Passages) -> dict[str, int]:
    """How many responses each author has."""
    found: dict[str, int] = {}
    for batch in batches(passages):
        for each in pc.value_counts(batch["author"]).to_pylist():
            found[each["values"]] = found.get(each["values"], 0) + each["counts"]
    return found


def by_author(passages: Passages, author: str) -> Passages:
    """The passages of one author."""
    if set(authors(passages)) == {author}:
        return passages
    mask = [pc.equal(batch["author"], author).to_numpy(False) for batch in batches(passages)]
    return select(passages, np.concatenate(mask) if mask else np.zeros(0, dtype=bool))


def _human(passages: Passages) -> Passages:
    found = by_author(passages, "human")
    if not len(found):
        names = ", ".join(map(repr, authors(passages))) or "nobody"
        raise BadInput(f"No human responses here, only those of {names}.", remedy=_MORE)
    return found


def _machine(passages: Passages, machine: Passages | None) -> Passages:
    pool = passages if machine is None else machine
    names = [name for name in authors(pool) if name != "human"]
    if machine is not None and not names:
        return machine  # a file that does not say who wrote it
    if len(names) != 1:
        found = ", ".join(map(repr, names)) or "none"
        raise BadInput(f"Expected one system, found {found}.", remedy="Pass one with by_author().")
    return by_author(pool, names[0])


def _join(human: Passages, machine: Passages) -> tuple[_Side, _Side]:
    """The rows of two authors that answer the same question."""
    ones, zeros = partners(human, machine)
    if not len(ones):
        raise BadInput("The system answers none of the human contexts.", remedy=_MORE)
    left_out = max(len(human), len(machine)) - len(ones)
    if left_out:
        logger.warning(
            "%d contexts are answered by both authors; %d of one only are left out.",
            len(ones), left_out,
        )  # fmt: skip
    author = None if authors(machine).keys() != {"human"} else "machine"
    return _Side(human, rows=ones), _Side(machine, author, rows=zeros)


def partners(one: Passages, other: Passages) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of two authors' answers to the same questions, in the order of the first.

    They are matched by id, and what is left by the words of the context; the k-th answer to a
    question goes with the other's k-th.
    """
    left, right = _match(*(row_hashes(each, ["id"]) for each in (one, other)))
    lone = np.setdiff1d(np.arange(len(one)), left), np.setdiff1d(np.arange(len(other)), right)
    if all(map(len, lone)):
        contexts = (row_hashes(one, ["context"])[lone[0]], row_hashes(other, ["context"])[lone[1]])
        more_left, more_right = _match(*contexts)
        left = np.concatenate([left, lone[0][more_left]])
        right = np.concatenate([right, lone[1][more_right]])
    order = np.argsort(left)
    return left[order], right[order]


_EMPTY = np.uint64(text_hash([""]))


def _match(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of equal keys; the key of the empty text matches nothing."""
    rows = [np.flatnonzero(keys != _EMPTY) for keys in (first, second)]
    keys = [_occurrences(first[rows[0]]), _occurrences(second[rows[1]])]
    _, left, right = np.intersect1d(*keys, assume_unique=True, return_indices=True)
    return rows[0][left], rows[1][right]


def _occurrences(keys: np.ndarray) -> np.ndarray:
    """Keys made distinct by how often they stood before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    before = np.empty(len(keys), dtype=np.uint64)
    before[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return keys + before * np.uint64(0x9E3779B97F4A7C15)  # wraps around: a hash of both


def _next(human: Passages) -> tuple[_Side, _Side]:
    """The true response, and the utterance after it."""
    has_next = [pc.is_valid(batch["following"]).to_numpy(False) for batch in batches(human)]
    human = select(human, np.concatenate(has_next))
    dialogues = np.unique(row_hashes(human, ["dialogue_id"]))
    if not len(human):
        raise BadInput("No passage says what followed its response.", remedy=_EVERY)
    if len(dialogues) == len(human) > 1:
        raise BadInput("Each dialogue has one passage, so its place gives it away.", remedy=_EVERY)
    return _Side(human), _Side(human, "next", column="following")


_EVERY = "Cut every turn of whole dialogues: responses='every'."


def _half(passages: Passages, seed: int) -> np.ndarray:
    """Whether each passage's dialogue falls into the first half."""
    return folds(passages, 2, text_hash(["half", str(seed)]) % 2**31) == 0


def _lengths(passages: Passages, column: str) -> np.ndarray:
    return np.fromiter(
        (
            count_tokens(text or "")
            for batch in batches(passages)
            for text in batch[column].to_pylist()
        ),
        dtype=np.int64,
        count=len(passages),
    )


def _drop_unmatched(human: Passages, groups: np.ndarray, bins: np.ndarray):
    """Leave out lengths at which one dialogue has more than half of the responses."""
    keep = np.ones(len(bins), dtype=bool)
    for each in np.unique(bins):
        rows = bins == each
        if 2 * np.unique(groups[rows], return_counts=True)[1].max() > rows.sum():
            keep &= ~rows
    logger.info("Lengths match for %d of %d passages.", keep.sum(), len(keep))
    if not keep.any():
        raise BadInput("No length is shared by two dialogues.", remedy="Widen `match_length`.")
    return select(human, keep), groups[keep], bins[keep]
