"""Responders without a model: an echo, another human's reply, the turn after next, one phrase."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, by_author
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import BATCH, as_table, chunks, iterate_passages
from dialeval.dialogues.types import text_hash, text_key
from dialeval.responders.base import answer

Answers = Iterator[tuple[int, Passage]]
"""Answers with the places of their passages."""


@dataclass(frozen=True)
class ParrotResponder:
    """Says a turn of the context again: relevant, and no answer (Gao et al., 2021, sec. 4).

    Args:
        turn (`int` or `"random"`, *optional*, defaults to -1):
            Which turn, counted as in a list; the paper samples one, which is `"random"`. Turns of
            the speaker `"system"` were not spoken and do not count.
    """

    turn: int | Literal["random"] = -1
    seed: int = 0
    name: str = "parrot"

    def __post_init__(self):
        if self.turn != "random" and not isinstance(self.turn, int):
            raise BadInput(f"A parrot says a turn by its number or `random`, not {self.turn!r}.")

    @property
    def signature(self) -> str:
        """How its answers are made."""
        seed = f"|seed:{self.seed}" if self.turn == "random" else ""
        return f"responder:{self.name}|turn:{self.turn}{seed}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Answers:
        """A turn of each context."""
        for place, passage in enumerate(iterate_passages(passages)):
            yield place, answer(passage, self._choose(passage), self)

    def _choose(self, passage: Passage) -> str:
        said = [turn.text for turn in passage.context if turn.speaker != "system"]
        at = self.turn
        if at == "random" and said:
            at = draw(f"parrot-{self.seed}", passage) % len(said)
        if at == "random" or not -len(said) <= at < len(said):
            raise BadInput(
                f"the parrot is to say turn {at} of passage {passage.id!r}, "
                f"whose context has {len(said)}.",
                hint="Choose turn -1, which every context has, or `random`.",
            )
        return said[at]


class RandomResponder:
    """A human's reply to something else, from another dialogue (Li et al., 2017, sec. 4.3).

    Each reply of the pool that is not of the passage's own dialogue is equally likely. What a
    passage gets depends on the seed, the pool and the passage, and on no order.

    Args:
        pool (`Passages` or sequence of `Passage`):
            Where replies come from; only the human ones are used.
    """

    def __init__(
        self, pool: Passages | Sequence[Passage], seed: int = 0, name: str = "random"
    ) -> None:
        self.seed, self.name = seed, name
        human = human_replies(pool)
        groups = row_hashes(human, ["dialogue_id"])
        replies = row_hashes(human, ["dialogue_id", "id", "response"])
        self._order = np.lexsort((replies, groups))  # whatever the order of the pool
        self._groups = groups[self._order]
        self._replies = human.select_columns(["response", "dialogue_id"]).with_format("arrow")
        self._pool = pool_name(replies)

    @property
    def signature(self) -> str:
        """How its answers are made."""
        return f"responder:{self.name}|pool:{self._pool}|seed:{self.seed}"

    def __repr__(self) -> str:
        return self.signature

    def stream(self, passages: Passages | Sequence[Passage]) -> Answers:
        """A reply from another dialogue for each passage."""
        for group in chunks(enumerate(iterate_passages(passages)), BATCH):
            found = self._replies[[self._row(passage) for _, passage in group]].to_pylist()
            for (place, passage), reply in zip(group, found, strict=True):
                said = answer(passage, reply["response"], self)
                yield place, replace(said, source_dialogue_id=reply["dialogue_id"])

    def _row(self, passage: Passage) -> int:
        own = np.uint64(text_hash([passage.dialogue_id]))
        start, end = np.searchsorted(self._groups, own), np.searchsorted(self._groups, own, "right")
        others = len(self._groups) - int(end - start)
        if not others:
            raise BadInput(
                f"all {len(self._groups)} replies of the pool are of dialogue "
                f"{passage.dialogue_id!r}, of which passage {passage.id!r} is a part.",
                hint="Give a pool with more dialogues.",
            )
        drawn = draw(f"random-{self.seed}", passage) % others
        return int(self._order[drawn if drawn < start else drawn + int(end - start)])


@dataclass(frozen=True)
class NextResponder:
    """The utterance right after the true response (Li et al., 2017, sec. 4.2, scenario 4)."""

    name: str = "next"

    @property
    def signature(self) -> str:
        """How its answers are made."""
        return f"responder:{self.name}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Answers:
        """The following utterance of each passage.

        Raises:
            BadInput: Before the first answer, where a passage has nothing following it.
        """
        without = [each.id for each in iterate_passages(passages) if not each.following]
        if without:
            raise BadInput(
                f"{len(without)} of {len(passages)} passages are the end of their dialogue and "
                f"have no following utterance; the first is {without[0]!r}.",
                hint="Leave out passages whose `following` is empty.",
            )
        for place, passage in enumerate(iterate_passages(passages)):
            yield place, answer(passage, passage.following, self)


@dataclass(frozen=True)
class ConstantResponder:
    """The same words to everybody, such as "I don't know"."""

    text: str
    name: str = "constant"

    @property
    def signature(self) -> str:
        """How its answers are made."""
        return f"responder:{self.name}|text:{text_key([self.text])}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Answers:
        """The text, once for each passage."""
        for place, passage in enumerate(iterate_passages(passages)):
            yield place, answer(passage, self.text, self)


def draw(purpose: str, passage: Passage) -> int:
    """A 64-bit number that a passage always draws, whatever stands around it.

    Both its id and its words count, so that a conversation that goes on draws anew.
    """
    return text_hash([purpose, passage.id, *(turn.text for turn in passage.context)])


def human_replies(pool: Passages | Sequence[Passage]) -> Passages:
    """The human passages of a pool.

    Raises:
        BadInput: Where there are none.
    """
    human = by_author(as_table(pool), "human")
    if not len(human):
        raise BadInput(
            f"the pool of {len(pool)} passages holds no human reply.",
            hint="Give passages whose author is `human`.",
        )
    return human


def pool_name(rows: np.ndarray) -> str:
    """How many rows there are and what they hold, from a hash of each row; in any order."""
    return f"{len(rows)}@{int(rows.sum(dtype=np.uint64)):016x}"
