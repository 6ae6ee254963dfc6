"""Whole utterances put into other words by a model."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.types import Passage, Turn
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.differences import differences

Paraphraser = Callable[[Sequence[str]], Sequence[str]]
"""Puts texts into other words, one for each."""

Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""How alike two lists of texts are in meaning, pair by pair; 1 is the same."""

INSTRUCTION = (
    "Say the user's message again in other words. Keep its meaning and its form: a question stays "
    "a question. Write only the new message."
)
"""What a chat model is told when it has to paraphrase."""


@dataclass(frozen=True)
class GenerativeParaphrase(Perturbation):
    """Let a model say an utterance in other words (Niu & Bansal, 2018, sec. 3.1).

    The paper's is a pointer-generator trained on ParaNMT-5M; any sequence-to-sequence or chat model
    will do. `counts` says how many paraphrases were `made`, `same` as before, `empty`, of another
    `form`, or too `different`: then the original stays.

    Args:
        paraphrase (`Callable` or responder):
            Puts a list of texts into other words: a function, or anything that answers passages
            (`stream`), to which each text is the whole context.
        similarity (`Callable`, *optional*):
            Gives the likeness of two lists of texts, such as a sentence encoder's cosine.
        floor (`float`, *optional*, defaults to 0.7):
            Paraphrases less alike than this are not used; needs `similarity`.
        keep_form (`bool`, *optional*, defaults to `True`):
            Use no paraphrase that turns a question into a statement or the other way round, or
            that is much longer: small models like to answer, or to go on.

    Example:
        >>> GenerativeParaphrase(lambda texts: ["What's your age?" for _ in texts])("How old?")
        "What's your age?"
    """

    name = "generative-paraphrase"
    kind = "should_not_change"
    languages = None

    paraphrase: Any
    similarity: Similarity | None = None
    floor: float = 0.7
    keep_form: bool = True
    counts: Counter = field(default_factory=Counter, init=False, repr=False, compare=False)

    def __post_init__(self):
        if not callable(self.paraphrase) and not hasattr(self.paraphrase, "stream"):
            raise BadInput(
                f"expected a function or a responder, found {type(self.paraphrase).__name__}.",
                remedy="Pass a function of a list of texts, or a GeneratorResponder.",
            )
        if not -1.0 <= self.floor <= 1.0:
            raise BadInput(f"`floor` is a cosine, so it must lie in [-1, 1], but got {self.floor}.")

    def __repr__(self) -> str:
        likeness = f", similarity={_told(self.similarity)}, floor={self.floor}"
        told = _told(self.paraphrase)
        form = "" if self.keep_form else ", keep_form=False"
        likeness = likeness if self.similarity else ""
        return f"GenerativeParaphrase(paraphrase={told}{likeness}{form})"

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [0])[0]

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        filled = [text for text in dict.fromkeys(texts) if text.strip()]
        new = dict(zip(filled, self._kept(filled, self._paraphrases(filled)), strict=True))
        return [differences(text, new.get(text, text)) for text in texts]

    def _paraphrases(self, texts: Sequence[str]) -> list[str]:
        if not texts:
            return []
        ask = self.paraphrase if callable(self.paraphrase) else _asking(self.paraphrase)
        found = [text.strip() for text in ask(texts)]
        if len(found) != len(texts):
            raise BadInput(f"expected {len(texts)} paraphrases, found {len(found)}.")
        return found

    def _kept(self, texts: Sequence[str], new: Sequence[str]) -> list[str]:
        """The paraphrases, or the texts themselves where a paraphrase is of no use."""
        asked = self.similarity and texts
        alike = self.similarity(texts, new) if asked else [1.0] * len(texts)
        kept = []
        for text, other, likeness in zip(texts, new, alike, strict=True):
            near = float(likeness) >= self.floor or not self.similarity
            fate = _fate(text, other, near, self.keep_form)
            self.counts[fate] += 1
            kept.append(other if fate == "made" else text)
        return kept


def _fate(text: str, other: str, alike: bool, keep_form: bool) -> str:
    if not other:
        return "empty"
    if "".join(other.split()) == "".join(text.split()):
        return "same"
    if keep_form and not _same_form(text, other):
        return "form"
    return "made" if alike else "different"


def _same_form(text: str, other: str) -> bool:
    """Whether both ask or neither does, and the second is at most half as long again."""
    asks = [any(mark in each for mark in _QUESTION_MARKS) for each in (text, other)]
    return asks[0] == asks[1] and len(other) <= 1.5 * len(text) + _FREE


_QUESTION_MARKS = "?？؟"
_FREE = 12  # characters that even a short text may gain


def _asking(responder: Any) -> Paraphraser:
    """A responder as a paraphraser: each text is a context of one turn."""

    def ask(texts: Sequence[str]) -> list[str]:
        asked = [Passage((Turn("A", text),), "", id=text) for text in texts]
        found = dict(responder.stream(asked))
        return [found[place].response if place in found else "" for place in range(len(texts))]

    return ask


def _told(thing: Any) -> str:
    """What a function or a responder is called in a signature."""
    return str(getattr(thing, "signature", None) or getattr(thing, "__name__", None) or thing)
