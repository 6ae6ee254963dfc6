"""Paraphrases of whole utterances by a model."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.types import Passage, Turn
from dialeval.perturbations.base import Edit, Perturbation
from dialeval.perturbations.differences import differences
from dialeval.perturbations.fidelity import (
    is_same,
    keeps_form,
    keeps_meaning,
    repeats,
    strip_wrapping,
)

Paraphraser = Callable[[Sequence[str]], Sequence[str]]
"""Gives one paraphrase for each text."""

Similarity = Callable[[Sequence[str], Sequence[str]], Sequence[float]]
"""Semantic similarity of two lists of texts, pair by pair; 1 is the same meaning."""

INSTRUCTION = (
    "Say the user's message again in other words. Keep its meaning and its form: a question stays "
    "a question. Write only the new message."
)
"""System prompt for a chat model that paraphrases."""


@dataclass(frozen=True)
class GenerativeParaphrase(Perturbation):
    """Let a model paraphrase an utterance (Niu & Bansal, 2018, sec. 3.1).

    The paper's is a pointer-generator trained on ParaNMT-5M; any sequence-to-sequence or chat model
    works. Text around the paraphrase (`Here it is:`, quotes) is removed. `counts` has the number of
    paraphrases that were `made`, and of those rejected because they are the `same` except for
    punctuation and case, `empty`, have another `form` or `sense`, or are too `different`; the
    original stays in these cases.

    Args:
        paraphrase (`Callable` or responder):
            Paraphrases a list of texts: a function, or anything that replies to passages
            (`stream`), which gets each text as the whole context.
        similarity (`Callable`, *optional*):
            Gives the similarity of two lists of texts, such as a sentence encoder's cosine.
        floor (`float`, *optional*, defaults to 0.9):
            Paraphrases with a lower similarity are rejected; needs `similarity`. It is high because
            a wrong paraphrase counts against the evaluated system; a good model needs less.
        keep_form (`bool`, *optional*, defaults to `True`):
            Reject paraphrases that turn a question into a statement or the reverse, are cut short,
            are much longer or repeat a word: small models tend to answer, or to continue.
        keep_sense (`bool`, *optional*, defaults to `True`):
            Reject paraphrases in which English words refer to other persons, numbers or names, or
            that add or remove a negation.

    Examples:
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
    counts: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not callable(self.paraphrase) and not hasattr(self.paraphrase, "stream"):
            raise BadInput(
                f"expected a function or a responder, but got {type(self.paraphrase).__name__}.",
                hint="Pass a function of a list of texts, or a GeneratorResponder.",
            )
        if not -1.0 <= self.floor <= 1.0:
            raise BadInput(f"`floor` is a cosine, so it must lie in [-1, 1], but got {self.floor}.")

    def __repr__(self) -> str:
        similarity = f", similarity={_label(self.similarity)}, floor={self.floor}"
        label = _label(self.paraphrase)
        form = "" if self.keep_form else ", keep_form=False"
        sense = "" if self.keep_sense else ", keep_sense=False"
        similarity = similarity if self.similarity else ""
        return f"GenerativeParaphrase(paraphrase={label}{similarity}{form}{sense})"

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [0])[0]

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        filled = [text for text in dict.fromkeys(texts) if text.strip()]
        new = dict(zip(filled, self._usable(filled, self._paraphrases(filled)), strict=True))
        return [differences(text, new.get(text, text)) for text in texts]

    def _paraphrases(self, texts: Sequence[str]) -> list[str]:
        if not texts:
            return []
        ask = self.paraphrase if callable(self.paraphrase) else _as_paraphraser(self.paraphrase)
        paraphrases = list(ask(texts))
        if len(paraphrases) != len(texts):
            raise BadInput(f"expected {len(texts)} paraphrases, but got {len(paraphrases)}.")
        pairs = zip(paraphrases, texts, strict=True)
        return [strip_wrapping(other.strip(), text) for other, text in pairs]

    def _usable(self, texts: Sequence[str], new: Sequence[str]) -> list[str]:
        """The paraphrases, or the original text where a paraphrase is rejected."""
        kept = []
        for text, other, similar in zip(texts, new, self._are_similar(texts, new), strict=True):
            outcome = self._outcome(text, other, similar)
            self.counts[outcome] += 1
            kept.append(other if outcome == "made" else text)
        return kept

    def _are_similar(self, texts: Sequence[str], new: Sequence[str]) -> list[bool]:
        """Whether each paraphrase reaches the similarity floor; True without a similarity."""
        if self.similarity is None or not texts:
            return [True] * len(texts)
        return [float(value) >= self.floor for value in self.similarity(texts, new)]

    def _outcome(self, text: str, other: str, similar: bool) -> str:
        """The key in `counts` of one paraphrase."""
        if not other:
            return "empty"
        if is_same(text, other):
            return "same"
        if self.keep_form and (not keeps_form(text, other) or repeats(text, other)):
            return "form"
        if self.keep_sense and not keeps_meaning(text, other):
            return "sense"
        return "made" if similar else "different"


def _as_paraphraser(responder: Any) -> Paraphraser:
    """A responder as a paraphraser: each text is a context of one turn."""

    def ask(texts: Sequence[str]) -> list[str]:
        passages = [Passage((Turn("A", text),), "", id=text) for text in texts]
        replies = dict(responder.stream(passages))
        return [replies[index].response if index in replies else "" for index in range(len(texts))]

    return ask


def _label(thing: Any) -> str:
    """Name of a function or a responder in a signature."""
    return str(getattr(thing, "signature", None) or getattr(thing, "__name__", None) or thing)
