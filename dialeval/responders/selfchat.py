"""Conversations that two responders go on with by themselves."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dialeval.dialogues import BadInput, Dialogue, Passage, Passages, Turn
from dialeval.dialogues.cutting import next_speaker
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.responders.base import Responder, respond

logger = logging.getLogger(__name__)


@dataclass
class _Chat:
    """A conversation that is going on."""

    start: Passage
    id: str
    speakers: tuple[str, str]  # of the first new turn, of the second
    turns: list[Turn] = field(default_factory=list)
    ended: bool = False

    @classmethod
    def after(cls, passage: Passage) -> "_Chat":
        """A conversation to be continued from a context."""
        spoken = tuple(turn for turn in passage.context if turn.speaker != "system")
        if not spoken:
            raise BadInput(
                f"passage {passage.id!r} has no turn to go on from.",
                hint="Give passages with at least one spoken turn of context.",
            )
        last = spoken[-1].speaker
        first = passage.speaker if passage.speaker not in ("", last) else next_speaker(spoken)
        id = passage.id or text_key(turn.text for turn in passage.context)
        return cls(passage, id, (first, last))

    def question(self) -> Passage:
        """What the next speaker answers: an id of its own, so that nothing is found by the old."""
        return replace(
            self.start,
            context=(*self.start.context, *self.turns),
            response="",
            author="",
            id=f"{self.id}+{len(self.turns)}",
            speaker=self._speaker,
            source_dialogue_id=None,
            following=None,
            extra={},
        )

    def hear(self, text: str, author: str) -> None:
        """Add an answer; an empty one ends the conversation."""
        self.ended = not text.strip()
        if not self.ended:
            self.turns.append(Turn(self._speaker, text, author))

    @property
    def _speaker(self) -> str:
        return self.speakers[len(self.turns) % 2]

    def dialogue(self, pair: str) -> Dialogue:
        """The context and what was said after it."""
        return Dialogue(
            turns=(*self.start.context, *self.turns),
            id=f"{self.id}@{pair}",
            corpus=self.start.corpus,
            language=self.start.language,
            extra={
                "context_turns": len(self.start.context),
                "from_passage": self.start.id,
                "from_dialogue": self.start.dialogue_id,
            },
        )


def self_chat(
    one: Responder, two: Responder, passages: Passages | Sequence[Passage], turns: int = 3
) -> Iterator[Dialogue]:
    """A dialogue for each passage: its context, then `turns` turns by two responders in turn.

    The responses of the passages are not used. All conversations go on together, a turn at a time,
    so that responders work in batches. Three turns are those of Li et al. (2017, sec. 5.2). The
    authors of new turns are the responders' names, and `extra["context_turns"]` says where the new
    turns begin.

    Args:
        one (`Responder`):
            Speaks first, as whoever is to answer the context.
        two (`Responder`):
            Speaks second, as whoever spoke last in the context; it may be the same responder.
    """
    if turns < 1:
        raise BadInput(f"A conversation goes on for at least 1 turn, but got {turns}.")
    chats = [_Chat.after(passage) for passage in iterate_passages(passages)]
    for turn in range(turns):
        _take_turn((one, two)[turn % 2], [chat for chat in chats if not chat.ended])
    ended = sum(chat.ended for chat in chats)
    if ended:
        logger.warning(
            "%d of %d conversations ended before %d turns, with an empty answer.",
            ended,
            len(chats),
            turns,
        )
    for chat in chats:
        yield chat.dialogue(f"{one.name}+{two.name}")


def _take_turn(responder: Responder, chats: list[_Chat]) -> None:
    """Let one responder answer in every conversation."""
    found = respond(responder, [chat.question() for chat in chats]) if chats else []
    if len(found) != len(chats):
        raise BadInput(
            f"{responder.name} gave {len(found)} answers to {len(chats)} contexts, and a "
            "conversation goes on from one.",
            hint="Let it give one answer to each context.",
        )
    for chat, said in zip(chats, found, strict=True):
        chat.hear(said.response, responder.name)
