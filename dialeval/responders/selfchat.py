"""Conversations that two responders continue."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dialeval.dialogues import BadInput, Dialogue, Passage, Passages, Turn
from dialeval.dialogues.cutting import next_speaker, spoken_turns
from dialeval.dialogues.storage import iterate_passages
from dialeval.dialogues.types import text_key
from dialeval.responders.base import CUT, Responder, cut_warning, respond

logger = logging.getLogger(__name__)


@dataclass
class _Chat:
    """A conversation in progress."""

    start: Passage
    id: str
    speakers: tuple[str, str]  # of the first new turn, of the second
    turns: list[Turn] = field(default_factory=list)
    ended: bool = False
    cut: int = 0  # new turns that were cut at the maximum length

    @classmethod
    def after(cls, passage: Passage) -> "_Chat":
        """A conversation that starts with the context of a passage."""
        spoken = spoken_turns(passage.context)
        if not spoken:
            raise BadInput(
                f"passage {passage.id!r} has no turn to continue from.",
                hint="Give passages with at least one spoken turn of context.",
            )
        last = spoken[-1].speaker
        first = passage.speaker if passage.speaker not in ("", last) else next_speaker(spoken)
        id = passage.id or text_key(turn.text for turn in passage.context)
        return cls(passage, id, (first, last))

    def next_passage(self) -> Passage:
        """The passage that the next speaker responds to, under a new id.

        A stored response to the original passage does not match it.
        """
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

    def add(self, answered: Passage, author: str) -> None:
        """Add a turn; an empty one ends the conversation."""
        self.ended = not answered.response.strip()
        if not self.ended:
            self.turns.append(Turn(self._speaker, answered.response, author))
            self.cut += bool(answered.extra.get(CUT))

    @property
    def _speaker(self) -> str:
        return self.speakers[len(self.turns) % 2]

    def dialogue(self, pair: str) -> Dialogue:
        """The context and the new turns."""
        return Dialogue(
            turns=(*self.start.context, *self.turns),
            id=f"{self.id}@{pair}",
            corpus=self.start.corpus,
            language=self.start.language,
            extra={
                "context_turns": len(self.start.context),
                "from_passage": self.start.id,
                "from_dialogue": self.start.dialogue_id,
                "turns_cut": self.cut,
            },
        )


def self_chat(
    one: Responder, two: Responder, passages: Passages | Sequence[Passage], turns: int = 3
) -> Iterator[Dialogue]:
    """One dialogue per passage: its context, then turns of two responders, alternating.

    The responses of the passages are not used. All conversations advance together, one turn at a
    time, so that responders work in batches. Li et al. (2017, sec. 5.2) use three turns. The
    authors of new turns are the responders' names, and `extra["context_turns"]` is the index of
    the first new turn.

    Args:
        one (`Responder`):
            Speaks first, in the role of the speaker who responds to the context.
        two (`Responder`):
            Speaks second, in the role of the context's last speaker; it may be the same responder.
        passages (`Passages` or sequence of `Passage`):
            Whose contexts start the conversations.
        turns (`int`, *optional*, defaults to 3):
            Number of new turns.

    Returns:
        `Iterator[Dialogue]`: In the order of the passages.
    """
    if turns < 1:
        raise BadInput(f"`turns` is at least 1, but got {turns}.")
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
    cut = sum(chat.cut for chat in chats)
    if cut:
        logger.warning("%s.", cut_warning(cut, sum(len(chat.turns) for chat in chats)))
    for chat in chats:
        yield chat.dialogue(f"{one.name}+{two.name}")


def _take_turn(responder: Responder, chats: list[_Chat]) -> None:
    """Add one responder's turn to every conversation."""
    responses = respond(responder, [chat.next_passage() for chat in chats]) if chats else []
    if len(responses) != len(chats):
        raise BadInput(
            f"{responder.name} gave {len(responses)} responses to {len(chats)} contexts; a "
            "conversation continues from exactly one.",
            hint="Configure it for one response per context.",
        )
    for chat, passage in zip(chats, responses, strict=True):
        chat.add(passage, responder.name)
