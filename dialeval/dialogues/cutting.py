"""From dialogues to passages: which turns are context, which are responses, which are kept."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.tokens import count_tokens
from dialeval.dialogues.types import Dialogue, Passage, Reply, Turn, text_hash, text_key

NOT_SPOKEN = frozenset(
    {
        "system", "developer", "tool", "function", "function_call", "tool_call", "tool_calls",
        "tool_result", "tool_response", "observation", "ipython",
    }
)  # fmt: skip
"""Roles of messages that nobody says."""

ANY_ROLE = "any"
"""In place of a role: every turn is a response."""

_ALIASES = {
    "user": ("user", "human", "prompter"),
    "assistant": ("assistant", "gpt", "chatgpt", "bot", "chatbot", "model", "ai"),
}
_CANONICAL = {alias: role for role, aliases in _ALIASES.items() for alias in aliases}


def canonical_role(name: str) -> str:
    """One name for each role: chat formats call the same role by different names.

    Examples:
        >>> canonical_role("gpt"), canonical_role("Human"), canonical_role("Alice")
        ('assistant', 'user', 'alice')
    """
    folded = name.strip().casefold()
    return _CANONICAL.get(folded, folded)


@dataclass(frozen=True)
class Cut:
    """Which passages are cut from a dialogue.

    Args:
        context_turns (`int`, *optional*):
            The context is the last so many turns. By default 2 for whole dialogues (Li et al.,
            2017, footnote 1), and all there are where the source gives a context and replies.
        responses (`str`, *optional*, defaults to `"every"`):
            Every turn after the first is a response, or only the `"last"`, or `"one"` that a hash
            of the dialogue chooses.
        full_context (`bool`, *optional*, defaults to `False`):
            Leave out responses that have fewer than `context_turns` turns before them, as Bruni
            and Fernández (2017) do with sequences of three utterances.
        role (`str`, *optional*):
            Only the turns of this role are responses (`"user"`, `"assistant"`, a speaker's name);
            the others are context. By default, and for `"any"`, those of every speaker.
        openings (`bool`, *optional*, defaults to `False`):
            First turns are responses too, without a context.
    """

    context_turns: int | None = None
    responses: Literal["every", "last", "one"] = "every"
    full_context: bool = False
    role: str | None = None
    openings: bool = False

    def __post_init__(self) -> None:
        if self.context_turns is not None and self.context_turns < 1:
            raise BadInput(f"A context has at least 1 turn, but got {self.context_turns}.")
        if self.responses not in ("every", "last", "one"):
            raise BadInput(f"Responses are every, last or one, but got {self.responses!r}.")

    def __call__(self, dialogue: Dialogue) -> Iterator[Passage]:
        if dialogue.replies:
            replies = (reply for reply in dialogue.replies if self._has_role(reply.speaker))
            return (self._from_reply(dialogue, reply) for reply in replies)
        return (self._at(dialogue, position) for position in self._positions(dialogue))

    def _from_reply(self, dialogue: Dialogue, reply: Reply) -> Passage:
        context = dialogue.turns[-self.context_turns :] if self.context_turns else dialogue.turns
        extra = {**dialogue.extra, **reply.extra}
        return Passage(
            context=context,
            response=reply.text,
            author=reply.author,
            id=reply.id or text_key(turn.text for turn in dialogue.turns),
            dialogue_id=dialogue.id,
            corpus=dialogue.corpus,
            language=dialogue.language,
            speaker=reply.speaker or next_speaker(dialogue.turns),
            source_dialogue_id=reply.source_dialogue_id,
            following=extra.pop("following", None),
            extra=extra,
        )

    def _has_role(self, speaker: str) -> bool:
        """Whether a speaker has the role; a reply without a speaker was marked as one already."""
        if not self.role or not speaker or canonical_role(self.role) == ANY_ROLE:
            return True
        return canonical_role(speaker) == canonical_role(self.role)

    def _positions(self, dialogue: Dialogue) -> list[int]:
        turns, shortest = dialogue.turns, (self.context_turns or 2) if self.full_context else 1
        positions = [
            at
            for at in range(0 if self.openings else shortest, len(turns))
            if turns[at].speaker not in NOT_SPOKEN
            and self._has_role(turns[at].speaker)
            and (self.openings or self._has_context(turns, at))
        ]
        if self.responses == "last":
            return positions[-1:]
        if self.responses == "one" and positions:
            return [positions[text_hash(["one", dialogue.id]) % len(positions)]]
        return positions

    def _has_context(self, turns: tuple[Turn, ...], at: int) -> bool:
        return any(turn.speaker not in NOT_SPOKEN for turn in self._context(turns, at))

    def _context(self, turns: tuple[Turn, ...], at: int) -> tuple[Turn, ...]:
        return turns[max(0, at - (self.context_turns or 2)) : at]

    def _at(self, dialogue: Dialogue, at: int) -> Passage:
        turns = dialogue.turns
        return Passage(
            context=self._context(turns, at),
            response=turns[at].text,
            author=turns[at].author,
            id=f"{dialogue.id}#{at}",
            dialogue_id=dialogue.id,
            corpus=dialogue.corpus,
            language=dialogue.language,
            speaker=turns[at].speaker,
            following=turns[at + 1].text if at + 1 < len(turns) else None,
            extra=dialogue.extra,
        )


@dataclass(frozen=True)
class Filters:
    """Which passages the papers leave out. Lengths are inclusive token counts; `None` is no limit.

    A pair is kept or dropped whole: when one author's response to a context fails, the other
    authors' responses to it are dropped as well, so that no filter separates the classes.
    """

    min_response: int | None = None
    max_response: int | None = None
    min_context: int | None = None
    max_context: int | None = None
    forbidden: tuple[str, ...] = ()

    def __call__(self, passage: Passage) -> bool:
        words = " ".join(turn.text for turn in passage.context)
        return (
            _within(passage.response, self.min_response, self.max_response)
            and _within(words, self.min_context, self.max_context)
            and not any(token in passage.response or token in words for token in self.forbidden)
        )


FILTERS = {
    "none": Filters(),
    "li": Filters(min_response=5),
    "bruni": Filters(3, 25, 3, 25, forbidden=("<unk>",)),
}
"""Presets: `li` for training generators (Li et al., 2017, sec. 3.3), `bruni` for whole passages
(Bruni and Fernández, 2017, sec. 2.2; we read "the context" as all its turns together)."""


def check_passage(
    passage: Passage, needs_context: bool = True, allow_empty: bool = False
) -> Passage:
    """The passage itself, if its context and response have words in them.

    A record marked `empty` or `no_context` is accepted: a system did answer with nothing, or a file
    of responses alone was normalised.

    Args:
        passage (`Passage`):
            What to check.
        needs_context (`bool`, *optional*, defaults to `True`):
            Whether an empty context is an error.
        allow_empty (`bool`, *optional*, defaults to `False`):
            Whether an empty response is accepted.

    Returns:
        `Passage`: The same passage.
    """
    if needs_context and not passage.context and not passage.extra.get("no_context"):
        raise BadInput("the context is empty.")
    for number, turn in enumerate(passage.context, 1):
        if not turn.text.strip():
            raise BadInput(f"turn {number} of the context is empty.")
    if not (allow_empty or passage.extra.get("empty") or passage.response.strip()):
        raise BadInput(f"the response of {passage.author!r} is empty.")
    return passage


def spoken_turns(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """The turns that somebody says, without prompts of the system and messages of tools."""
    return tuple(turn for turn in turns if turn.speaker not in NOT_SPOKEN)


def next_speaker(turns: tuple[Turn, ...]) -> str:
    """The speaker of the next turn: the latest one who is not the last speaker.

    Examples:
        >>> next_speaker((Turn("user", "Hi!"), Turn("assistant", "Hello."), Turn("user", "Well?")))
        'assistant'
        >>> next_speaker((Turn("system", "Be kind."), Turn("A", "Hi!")))
        'B'
    """
    spoken = [turn.speaker for turn in spoken_turns(turns)]
    others = [speaker for speaker in spoken if speaker != spoken[-1]]
    return others[-1] if others else "B" if spoken[-1:] == ["A"] else "A"


def with_author(dialogue: Dialogue, author: str) -> Dialogue:
    """The same dialogue with every response by `author`."""
    return replace(
        dialogue,
        turns=tuple(replace(turn, author=author) for turn in dialogue.turns),
        replies=tuple(replace(reply, author=author) for reply in dialogue.replies),
    )


def _within(text: str, low: int | None, high: int | None) -> bool:
    if low is None and high is None:
        return True
    length = count_tokens(text)
    return (low is None or length >= low) and (high is None or length <= high)
