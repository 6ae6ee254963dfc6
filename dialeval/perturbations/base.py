"""The interface of a perturbation: a seeded edit of a text that logs its replacements."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple

from dialeval.dialogues.sources import BadInput

Kind = Literal["should_change", "should_not_change"]
"""Whether a system's reply should change with the edit or not (Niu & Bansal, 2018)."""


class Edit(NamedTuple):
    """One replacement: `before`, at offset `start` of the original text, became `after`."""

    start: int
    before: str
    after: str


class Edited(NamedTuple):
    """Perturbed texts, and the edits of each of them."""

    texts: list[str]
    logs: list[Sequence[Edit]]


new_edit = tuple.__new__  # `new_edit(Edit, (...))` takes half the time of `Edit(...)`


class Perturbation(ABC):
    """A seeded edit of one utterance.

    A subclass is a frozen dataclass whose fields are its options, has a `name` and a `kind`, and
    implements [`edits`]. The registry finds subclasses in the modules of this package, and in
    installed packages through the entry-point group `dialeval.perturbations`; other classes are
    named as `package.module:Class`.

    Attributes:
        name (`str`):
            Name on the command line and in reports; a class without one is not registered. It is
            part of what seeds the random numbers.
        kind (`str`):
            `"should_change"` if a system's reply should change with the edit, else
            `"should_not_change"`.
        languages (`tuple[str, ...]`, *optional*, defaults to `("en",)`):
            ISO 639-1 codes of the languages that it can edit; `None` for any language.
        presets (`Mapping[str, Mapping[str, Any]]`, *optional*):
            Options by preset (`"paper"`, `"released"`), where they differ from the defaults.

    Examples:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Shout(Perturbation):
        ...     kind = "should_not_change"
        ...     mark: str = "!"
        ...
        ...     def edits(self, text, rng):
        ...         return [Edit(len(text), "", self.mark)]
        >>> Shout()("I like tea"), Shout("!!").signature
        ('I like tea!', "Shout(mark='!!')")
    """

    name: ClassVar[str] = ""
    kind: ClassVar[Kind]
    languages: ClassVar[tuple[str, ...] | None] = ("en",)
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}

    @property
    def signature(self) -> str:
        """The strategy with its options, as reports print it: `RandomSwap(words_per_swap=4)`."""
        return repr(self)

    @abstractmethod
    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        """The replacements that make the perturbed text, in order and without overlaps."""

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        """[`edits`] of many texts, each with a 64-bit seed; a strategy may batch them.

        The edits of a text depend on its seed alone, not on the other texts.
        """
        return [self.edits(text, Random(seed)) for text, seed in zip(texts, seeds, strict=True)]

    def apply(self, texts: Sequence[str], seeds: Sequence[int]) -> Edited:
        """The perturbed texts with their edits; a strategy may compute both in one step."""
        logs = self.edits_of(texts, seeds)
        return Edited([replay(text, log) for text, log in zip(texts, logs, strict=True)], logs)

    def __call__(self, text: str, rng: Random | int = 0) -> str:
        """The perturbed text."""
        return replay(text, self.edits(text, rng if isinstance(rng, Random) else Random(rng)))


def replay(text: str, edits: Iterable[Edit]) -> str:
    """The text after its edits.

    Examples:
        >>> replay("I like tea.", [Edit(2, "like", "do not like")])
        'I do not like tea.'
    """
    parts: list[str] = []
    end = 0
    for start, before, after in edits:
        if start < end or not text.startswith(before, start):
            raise BadInput(f"the edit log does not fit the text: {before!r} at {start}.")
        parts.append(text[end:start])
        parts.append(after)
        end = start + len(before)
    parts.append(text[end:])
    return "".join(parts)
