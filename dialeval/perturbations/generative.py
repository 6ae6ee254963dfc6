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
from dialeval.perturbations.fidelity import has_form, has_sense, is_same, repeats, unwrapped

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
    will do. What it says about its paraphrase (`Here it is:`, quotes) is taken off. `counts` says
    how many paraphrases were `made`, `same` as before but for marks and capitals, `empty`, of
    another `form` or `sense`, or too `different`: then the original stays.

    Args:
        paraphrase (`Callable` or responder):
            Puts a list of texts into other words: a function, or anything that answers passages
            (`stream`), to which each text is the whole context.
        similarity (`Callable`, *optional*):
            Gives the likeness of two lists of texts, such as a sentence encoder's cosine.
        floor (`float`, *optional*, defaults to 0.9):
            Paraphrases less alike than this are not used; needs `similarity`. It is high because a
            false paraphrase counts against the system that follows it; a good model needs less.
        keep_form (`bool`, *optional*, defaults to `True`):
            Use no paraphrase that turns a question into a statement or the other way round, is cut
            short, much longer or says a thing twice: small models like to answer, or to go on.
        keep_sense (`bool`, *optional*, defaults to `True`):
            Use no paraphrase in which English words tell of other persons, numbers or names, or
            that has a negation more or less.

    Example:
        >>> strategy = GenerativeParaphrase(lambda texts: ["What's your age?" for _ in texts])
        >>> strategy("How old are you?")
        "What's your age?"
    """

    name = "generative-paraphrase"
    kind = "should_not_change"
    languages = None

    paraphrase: Any
    similarity: Similarity | None = None
    floor: float = 0.9
    keep_form: bool = True
    keep_sense: bool = True
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
        sense = "" if self.keep_sense else ", keep_sense=False"
        likeness = likeness if self.similarity else ""
        return f"GenerativeParaphrase(paraphrase={told}{likeness}{form}{sense})"

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
        found = list(ask(texts))
        if len(found) != len(texts):
            raise BadInput(f"expected {len(texts)} paraphrases, found {len(found)}.")
        return [unwrapped(other.strip(), text) for other, text in zip(found, texts, strict=True)]

    def _kept(self, texts: Sequence[str], new: Sequence[str]) -> list[str]:
        """The paraphrases, or the texts themselves where a paraphrase is of no use."""
        asked = self.similarity and texts
        alike = self.similarity(texts, new) if asked else [1.0] * len(texts)
        kept = []
        for text, other, likeness in zip(texts, new, alike, strict=True):
            near = float(likeness) >= self.floor or not self.similarity
            fate = self._fate(text, other, near)
            self.counts[fate] += 1
            kept.append(other if fate == "made" else text)
        return kept

    def _fate(self, text: str, other: str, alike: bool) -> str:
        if not other:
            return "empty"
        if is_same(text, other):
            return "same"
        if self.keep_form and (not has_form(text, other) or repeats(text, other)):
            return "form"
        if self.keep_sense and not has_sense(text, other):
            return "sense"
        return "made" if alike else "different"


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
