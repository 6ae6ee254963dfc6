"""Responders without a model: parrot, random human reply, following turn, constant text."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages, by_author
from dialeval.dialogues.cutting import spoken_turns
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import BATCH, as_table, chunks, iterate_passages
from dialeval.dialogues.types import text_hash, text_key
from dialeval.responders.base import Responses, answer


@dataclass(frozen=True)
class ParrotResponder:
    """Repeats a turn of the context: relevant, but no answer (Gao et al., 2021, sec. 4).

    Args:
        turn (`int` or `"random"`, *optional*, defaults to -1):
            Index of the turn, as in a list; the paper samples one, which is `"random"`. Turns of
            the system and of tools are not spoken and do not count.
        seed (`int`, *optional*, defaults to 0):
            Seed of random turns.
        name (`str`, *optional*, defaults to `"parrot"`):
            Name in tables.
    """

    turn: int | Literal["random"] = -1
    seed: int = 0
    name: str = "parrot"

    def __post_init__(self) -> None:
        if self.turn != "random" and not isinstance(self.turn, int):
            raise BadInput(f"expected the index of a turn or `random`, but got {self.turn!r}.")

    @property
    def signature(self) -> str:
        """How the responses are made."""
        seed = f"|seed:{self.seed}" if self.turn == "random" else ""
        return f"responder:{self.name}|turn:{self.turn}{seed}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """A turn of each context."""
        for index, passage in enumerate(iterate_passages(passages)):
            yield index, answer(passage, self._choose(passage), self)

    def _choose(self, passage: Passage) -> str:
        texts = [turn.text for turn in spoken_turns(passage.context)]
        index = self.turn
        if index == "random" and texts:
            index = draw(f"parrot-{self.seed}", passage) % len(texts)
        if index == "random" or not -len(texts) <= index < len(texts):
            raise BadInput(
                f"the parrot cannot repeat turn {index} of passage {passage.id!r}, "
                f"whose context has {len(texts)} turns.",
                hint="Choose turn -1, which every context has, or `random`.",
            )
        return texts[index]


class RandomResponder:
    """A human reply from another dialogue (Li et al., 2017, sec. 4.3).

    Each reply of the pool that is not from the passage's dialogue is equally likely. The draw
    depends on the seed, the pool and the passage, not on the order of either.

    Args:
        pool (`Passages` or sequence of `Passage`):
            Where replies come from; only the human ones are used.
        seed (`int`, *optional*, defaults to 0):
            Seed of the draws.
        name (`str`, *optional*, defaults to `"random"`):
            Name in tables.
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
        """How the responses are made."""
        return f"responder:{self.name}|pool:{self._pool}|seed:{self.seed}"

    def __repr__(self) -> str:
        return self.signature

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """A reply from another dialogue for each passage."""
        for group in chunks(enumerate(iterate_passages(passages)), BATCH):
            replies = self._replies[[self._row(passage) for _, passage in group]].to_pylist()
            for (index, passage), reply in zip(group, replies, strict=True):
                response = answer(passage, reply["response"], self)
                yield index, replace(response, source_dialogue_id=reply["dialogue_id"])

    def _row(self, passage: Passage) -> int:
        """Row of the reply that a passage draws."""
        key = np.uint64(text_hash([passage.dialogue_id]))
        start, end = np.searchsorted(self._groups, key), np.searchsorted(self._groups, key, "right")
        others = len(self._groups) - int(end - start)
        if not others:
            raise BadInput(
                f"all {len(self._groups)} replies of the pool are from dialogue "
                f"{passage.dialogue_id!r}, like passage {passage.id!r}.",
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
        """How the responses are made."""
        return f"responder:{self.name}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """The following utterance of each passage.

        Raises:
            BadInput: Before the first response, if a passage has no following utterance.
        """
        last = [passage.id for passage in iterate_passages(passages) if not passage.following]
        if last:
            raise BadInput(
                f"{len(last)} of {len(passages)} passages are the end of their dialogue and "
                f"have no following utterance; the first is {last[0]!r}.",
                hint="Leave out passages whose `following` is empty.",
            )
        for index, passage in enumerate(iterate_passages(passages)):
            yield index, answer(passage, passage.following or "", self)


@dataclass(frozen=True)
class ConstantResponder:
    """The same text to every context, such as "I don't know"."""

    text: str
    name: str = "constant"

    @property
    def signature(self) -> str:
        """How the responses are made."""
        return f"responder:{self.name}|text:{text_key([self.text])}"

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """The text, once for each passage."""
        for index, passage in enumerate(iterate_passages(passages)):
            yield index, answer(passage, self.text, self)


def draw(purpose: str, passage: Passage) -> int:
    """A 64-bit number that depends on the purpose and the passage, not on other passages.

    The passage's id and its words both count, so each turn of a self-chat draws a new number.
    """
    return text_hash([purpose, passage.id, *(turn.text for turn in passage.context)])


def human_replies(pool: Passages | Sequence[Passage]) -> Passages:
    """The human passages of a pool.

    Raises:
        BadInput: There are none.
    """
    human = by_author(as_table(pool), "human")
    if not len(human):
        raise BadInput(
            f"the pool of {len(pool)} passages contains no human reply.",
            hint="Give passages whose author is `human`.",
        )
    return human


def pool_name(rows: np.ndarray) -> str:
    """Number of rows and a hash of their contents that does not depend on their order."""
    return f"{len(rows)}@{int(rows.sum(dtype=np.uint64)):016x}"
