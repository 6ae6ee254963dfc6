"""The normaliser: levels the format of texts and passages, so that only their words differ."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from dialeval.dialogues.contraction_steps import contract
from dialeval.dialogues.format_steps import (
    collapse,
    cut,
    drop_final,
    drop_markers,
    fix_encoding,
    join_contractions,
    straighten,
    tighten,
)
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.storage import Passages, iterate, to_passages
from dialeval.dialogues.types import Passage


@dataclass(frozen=True)
class Normaliser:
    """Levels the format of a text; its `repr` is the signature. Applying it twice changes nothing.

    Args:
        markers (`tuple[str, ...]`, *optional*):
            Tokens that `strip_markers` takes from the ends, besides those that look like markers.
        fix_encoding (`bool`, *optional*, defaults to `True`):
            HTML entities, UTF-8 read as CP-1252, replacement and control characters.
        straighten (`bool`, *optional*, defaults to `True`):
            Plain quotes and dashes, NFKC.
        join_contractions, contract (`bool`, *optional*, default to `True`):
            "do n't" and "do not" both become "don't".
        max_tokens (`int`, *optional*):
            Cut to so many words and punctuation marks, for data where one side was cut off.

    Examples:
        >>> Normaliser()("_go I do n't know , donâ€™t ask ! _eos")
        "i don't know, don't ask"
        >>> Normaliser(max_tokens=3)("I do n't know , do you ?")
        "i don't know"
    """

    lower: bool = True
    strip_markers: bool = True
    markers: tuple[str, ...] = ()
    fix_encoding: bool = True
    straighten: bool = True
    join_contractions: bool = True
    contract: bool = True
    tighten: bool = True
    collapse: bool = True
    drop_final: bool = True
    max_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.max_tokens < 1:
            raise BadInput(
                f"Responses are cut to at least 1 token, but got {self.max_tokens}.",
                hint="Omit `max_tokens` to keep them whole.",
            )

    def __call__(self, text: str) -> str:
        return _normalised(self, text)

    def _once(self, text: str) -> str:
        for step in self._steps():
            text = step(text)
        return text

    def _steps(self) -> Iterator[Callable[[str], str]]:
        if self.fix_encoding:
            yield fix_encoding
        if self.strip_markers:
            yield lambda text: drop_markers(text, self.markers)
        if self.straighten:
            yield straighten
        if self.join_contractions:
            yield join_contractions
        if self.contract:
            yield contract
        if self.tighten:
            yield tighten
        if self.collapse:
            yield collapse
        if self.lower:
            yield str.lower
        if self.drop_final:
            yield drop_final
        limit = self.max_tokens
        if limit is not None:
            yield lambda text: cut(text, limit)


@lru_cache(maxsize=1 << 16)  # a run normalises the human side again for every system
def _normalised(normaliser: Normaliser, text: str) -> str:
    # One step can create work for another ("&lt;s&gt;" is a marker): repeat until stable.
    while (changed := normaliser._once(text)) != text:
        text = changed
    return text


def normalise(text: str) -> str:
    """The text with its format levelled by the default [`Normaliser`].

    Examples:
        >>> normalise("Hello , you ?") == normalise("hello, you")
        True
    """
    return Normaliser()(text)


def normalise_passages(passages: Passages, normaliser: Normaliser | None = None) -> Passages:
    """Passages with every text levelled; only responses are cut to `max_tokens`."""
    normaliser = normaliser or Normaliser()
    uncut = replace(normaliser, max_tokens=None)
    return to_passages(
        _normalise_passage(passage, normaliser, uncut) for passage in iterate(passages)
    )


def _normalise_passage(passage: Passage, normaliser: Normaliser, uncut: Normaliser) -> Passage:
    response = normaliser(passage.response)
    flags = {"empty": not response, "no_context": not passage.context}  # to read it back
    return replace(
        passage.with_context(uncut(turn.text) for turn in passage.context),
        response=response,
        extra={**passage.extra, **{name: True for name, is_set in flags.items() if is_set}},
        following=None if passage.following is None else uncut(passage.following),
    )
