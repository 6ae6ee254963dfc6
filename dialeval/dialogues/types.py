"""What a conversation is: turns, dialogues, and the passages cut from them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

NOTHING: Mapping[str, Any] = MappingProxyType({})

UNKNOWN_SPEAKERS = ("", "?")
"""What the speaker of a turn is called where the source does not say who it was."""

TRAINED_AGAINST = "discriminator_fingerprint"
"""Key in a system's training, or in `extra` of a response, that names its discriminator."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance by one speaker.

    `speaker` is the role in the conversation (`"A"`, `"user"`); `author` is the writer: `"human"`
    or the name of a system.
    """

    speaker: str
    text: str
    author: str = "human"


@dataclass(frozen=True, slots=True)
class Reply:
    """What one author answered at the end of a dialogue.

    Args:
        id (`str`, *optional*):
            The question's key. Replies to one context by several authors share it.
        extra (`Mapping`, *optional*):
            Other facts about this reply from the source, such as a rating.
    """

    author: str
    text: str
    id: str = ""
    speaker: str = ""
    source_dialogue_id: str | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation, or the context of one with the replies that several authors gave to it.

    Args:
        turns (`tuple[Turn, ...]`):
            The turns, in order.
        id (`str`, *optional*):
            Key from the source. Left empty it becomes a hash of the words, so that it does not
            change when lines are added to the file.
        replies (`tuple[Reply, ...]`, *optional*):
            Given when the source is already cut: the turns are then a context, and only the
            replies are responses to evaluate.
        units (`int`, *optional*, defaults to 0):
            How many messages of the source were merged into the turns; 0 if none were.
        by_role (`bool`, *optional*, defaults to `False`):
            Whether the source names roles only, so that the authors are a convention (`user` is
            human, `assistant` a machine) and not a fact.
    """

    turns: tuple[Turn, ...]
    id: str = ""
    corpus: str = ""
    language: str | None = None
    replies: tuple[Reply, ...] = ()
    units: int = 0
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    by_role: bool = False

    def __post_init__(self) -> None:
        if not self.id:
            prefix = f"{self.corpus}-" if self.corpus else ""
            object.__setattr__(self, "id", prefix + text_key(turn.text for turn in self.turns))

    @classmethod
    def from_texts(cls, texts: Iterable[str], id: str = "", **fields: Any) -> "Dialogue":
        """Alternate the speakers `"A"` and `"B"` over plain texts.

        Examples:
            >>> [turn.speaker for turn in Dialogue.from_texts(["hi", "hello", "bye"]).turns]
            ['A', 'B', 'A']
        """
        return cls(alternate(texts), id, **fields)


@dataclass(frozen=True, slots=True)
class Passage:
    """A context of one or more turns, and the response to evaluate.

    Args:
        author (`str`, *optional*, defaults to `"human"`):
            Who wrote the response: `"human"`, `"random"`, or a system's name.
        id (`str`, *optional*):
            The question's key, shared by all authors who answer this context.
        dialogue_id (`str`, *optional*):
            The dialogue it was cut from. Splits, folds and bootstrap clusters go by it.
        source_dialogue_id (`str`, *optional*):
            The dialogue the response was taken from, where it is another one.
        following (`str`, *optional*):
            The utterance right after the true response, where there is one.
    """

    context: tuple[Turn, ...]
    response: str
    author: str = "human"
    id: str = ""
    dialogue_id: str = ""
    corpus: str = ""
    language: str | None = None
    speaker: str = ""
    source_dialogue_id: str | None = None
    following: str | None = None
    extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    def with_response(self, text: str, author: str) -> "Passage":
        """The same context with another author's response."""
        return replace(self, response=text, author=author, source_dialogue_id=None)

    def reversed(self) -> "Passage":
        """The passage that a backward model p(s|t) learns: the last turn answers the response."""
        last = self.context[-1].text if self.context else ""
        return replace(self, context=(Turn(self.speaker, self.response),), response=last)

    def with_context(self, texts: Iterable[str]) -> "Passage":
        """The same response and speakers with other words in the context."""
        turns = zip(self.context, texts, strict=True)
        return replace(self, context=tuple(replace(turn, text=text) for turn, text in turns))


def alternate(texts: Iterable[str], author: str = "human") -> tuple[Turn, ...]:
    """Turns of two speakers, `"A"` and `"B"`, who alternate."""
    return tuple(Turn("AB"[i % 2], text, author) for i, text in enumerate(texts))


def merge_by_speaker(turns: Iterable[Turn]) -> tuple[Turn, ...]:
    """Join what one speaker says in a row into one turn.

    Examples:
        >>> [turn.text for turn in merge_by_speaker([Turn("A", "hi"), Turn("A", "there")])]
        ['hi there']
    """
    merged: list[Turn] = []
    for turn in turns:
        if merged and merged[-1].speaker == turn.speaker:
            merged[-1] = replace(turn, text=f"{merged[-1].text} {turn.text}")
        else:
            merged.append(turn)
    return tuple(merged)


SEPARATOR = "\x1f"
"""What joins texts of which a key is made."""


def text_key(texts: Iterable[str]) -> str:
    """A short key for a sequence of texts: equal texts have equal keys, on every machine."""
    return key_of(SEPARATOR.join(texts).encode("utf-8", "surrogatepass"))


def key_of(text: bytes) -> str:
    """[`text_key`] of texts that are joined already."""
    return blake2b(text, digest_size=8).hexdigest()


def text_hash(texts: Iterable[str]) -> int:
    """[`text_key`] as an unsigned 64-bit number, for arrays."""
    return hash_of(SEPARATOR.join(texts).encode("utf-8", "surrogatepass"))


def hash_of(text: bytes) -> int:
    """[`text_hash`] of texts that are joined already."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")
