"""What a perturbation is: a seeded edit of a context's words that logs what it did."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Any, ClassVar, Literal, NamedTuple

from dialeval.dialogues.sources import BadInput

Kind = Literal["should_change", "should_not_change"]
"""Whether a system's answer should follow the edit or ignore it (Niu & Bansal, 2018)."""


class Edit(NamedTuple):
    """One replacement: `before`, which stands at `start` in the original text, became `after`."""

    start: int
    before: str
    after: str


class Edited(NamedTuple):
    """Perturbed texts, and the edits that made each of them."""

    texts: list[str]
    logs: list[Sequence[Edit]]


new_edit = tuple.__new__  # `new_edit(Edit, (...))` takes half the time of `Edit(...)`


class Perturbation(ABC):
    """A seeded edit of one utterance.

    Subclasses are frozen dataclasses, so that `repr()` is the signature that reports print:
    `RandomSwap(words_per_swap=4)`. A new strategy is one subclass with a `name` in any module of
    this room; the registry finds it there.
    """

    name: ClassVar[str] = ""
    kind: ClassVar[Kind]
    languages: ClassVar[tuple[str, ...] | None] = ("en",)  # None: any language
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}  # by name, what differs from the paper

    @abstractmethod
    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        """The replacements that make the perturbed text, in order and without overlaps."""

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        """[`edits`] of many texts, each with a seed of 64 bits; here a strategy may batch them.

        What a text becomes depends on its own seed alone, not on the texts beside it.
        """
        return [self.edits(text, Random(seed)) for text, seed in zip(texts, seeds, strict=True)]

    def edited(self, texts: Sequence[str], seeds: Sequence[int]) -> Edited:
        """The perturbed texts with [`edits_of`] them, which a strategy may make in one go."""
        logs = self.edits_of(texts, seeds)
        return Edited([replay(*each) for each in zip(texts, logs, strict=True)], logs)

    def __call__(self, text: str, rng: Random | int = 0) -> str:
        """The perturbed text."""
        return replay(text, self.edits(text, rng if isinstance(rng, Random) else Random(rng)))


def replay(text: str, edits: Iterable[Edit]) -> str:
    """The text with its edits made.

    Example:
        >>> replay("I like tea.", [Edit(2, "like", "do not like")])
        'I do not like tea.'
    """
    parts, end = [], 0
    for start, before, after in edits:
        if start < end or not text.startswith(before, start):
            raise BadInput(f"the edit log does not fit the text: {before!r} at {start}.")
        parts.append(text[end:start])
        parts.append(after)
        end = start + len(before)
    parts.append(text[end:])
    return "".join(parts)
