"""Numbers of each context: what replies are worth against the reference, and how far they move."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import Passage, atomic_write
from dialeval.metrics.actent import actent_f1
from dialeval.metrics.actent_lexicon import ActEntLexicon, embedded_lexicon, extract
from dialeval.metrics.overlap import bleu_counts, sentence_chrf
from dialeval.perturbations.tagging import tags
from dialeval.protocols.robustness.answers import Answers
from dialeval.protocols.robustness.cases import NORMAL, Case, dialogues_of, file_name
from dialeval.protocols.robustness.similarity import (
    Embed,
    MeanEmbedding,
    context_text,
    likeness,
    unrelated_distance,
)

TECHNICAL = 0.3
"""Share of contexts that name an entity, from which on they count as technical talk."""


def technical_share(passages: Sequence[Passage]) -> float:
    """Share of contexts that name something of our embedded list.

    Measured on 600 passages each: Ubuntu threads .77, Ubuntu Dialogue Corpus .56, chitchat .09.
    """
    lexicon = embedded_lexicon()
    named = [bool(extract(context_text(each), lexicon).entities) for each in passages]
    return float(np.mean(named)) if named else 0.0


@dataclass
class Measures:
    """The numbers of one system, one for each context.

    Args:
        sentence (`Callable`):
            The sentence encoder.
        words (`MeanEmbedding`):
            Vectors whose mean stands for a text in Table 4.
        lexicon (`ActEntLexicon`, *optional*):
            Word lists, where Activity and Entity F1 are wanted.
        folder (`Path`, *optional*):
            Where likelihoods are remembered.
        likelihoods (`bool`, *optional*, defaults to `True`):
            Whether they are wanted at all.
    """

    passages: Sequence[Passage]
    answers: Answers
    sentence: Embed
    words: MeanEmbedding
    lexicon: ActEntLexicon | None = None
    skip: str = "none"
    folder: Path | None = None
    likelihoods: bool = True

    @cached_property
    def known(self) -> np.ndarray:
        """Which contexts have a reference, shape `(n,)`."""
        return np.array([bool(each.response.strip()) for each in self.passages], dtype=bool)

    @cached_property
    def unit(self) -> float | None:
        """How far replies of the system to contexts of other dialogues are apart; 1 of movement."""
        groups = dialogues_of(self.passages)
        found = unrelated_distance(self.sentence, self.answers.normal, groups)
        return found if found is not None and found > 1e-6 else None

    def movement(self, replies: Sequence[str]) -> np.ndarray:
        """How far each reply is from the normal one; 1 is the way to a reply for another context.

        Without a unit, as for a system that says one thing to everybody, it is 1 - cosine.
        """
        near = likeness(self.sentence, self.answers.normal, replies)
        return np.clip(1 - near, 0, None) / (self.unit or 1.0)

    def contexts_near(self, case: Case, embed: Embed) -> np.ndarray:
        """Cosine of each normal context and the perturbed one."""
        before, after = (list(map(context_text, each)) for each in (self.passages, case.passages))
        return likeness(embed, before, after)

    def quality(self, name: str) -> dict[str, np.ndarray]:
        """What the replies to a case, or the normal ones, are worth against the reference.

        `bleu` has a row of counts a context, everything else a number, NaN without a reference.
        """
        if not self.known.any():
            return {}
        said = self.answers.normal if name == NORMAL else self.answers.perturbed[name]
        rows = np.flatnonzero(self.known)
        texts = [said[row] for row in rows]
        gold = [self.passages[row].response for row in rows]
        found = {
            "bleu": self._spread(bleu_counts(texts, gold), 0.0),
            "chrf": self._spread(sentence_chrf(texts, gold)),
        }
        if self.lexicon is not None:
            both = [[extract(text, self.lexicon, tags) for text in some] for some in (texts, gold)]
            f1 = actent_f1(*both, self.skip)["rows"]
            found |= {"activity_f1": self._spread(f1[:, 0]), "entity_f1": self._spread(f1[:, 1])}
        return found

    def _spread(self, values: np.ndarray, nothing: float = float("nan")) -> np.ndarray:
        """Values of the contexts that have a reference, among all."""
        found = np.full((len(self.passages), *values.shape[1:]), nothing)
        found[self.known] = values
        return found

    def likelihood(self, case: Case | None = None) -> np.ndarray | None:
        """log p(reference | context) a token; `None` where the model is not at hand.

        Where a context was not edited it is the normal one.
        """
        if self.answers.generator is None or not (self.likelihoods and self.known.any()):
            return None
        normal = self._log_probs(NORMAL, self.passages, self.known)
        if case is None:
            return normal
        asked = self.known & case.edited
        return np.where(asked, self._log_probs(case.name, case.passages, asked), normal)

    def _log_probs(self, name: str, passages: Sequence[Passage], asked: np.ndarray) -> np.ndarray:
        path = self._path(name)
        found = np.full(len(passages), np.nan)
        if path is not None and path.is_file():
            found[asked] = json.loads(path.read_text("utf-8"))
        elif asked.any():
            from dialeval.responders.decoding import likelihoods

            some = [passages[row] for row in np.flatnonzero(asked)]
            sums, lengths = likelihoods(self.answers.generator, some)
            found[asked] = sums / lengths
            if path is not None:
                with atomic_write(path) as file:
                    json.dump(found[asked].tolist(), file)
        return found

    def _path(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        place = self.folder / "systems" / file_name(self.answers.name)
        return place / f"{file_name(name)}.likelihood.json"


def lexicon_for(
    passages: Sequence[Passage], wanted: bool | None, folder: str | None
) -> tuple[ActEntLexicon | None, float]:
    """Word lists, if they are wanted or the contexts are technical talk, and how far they are."""
    from dialeval.dialogues import BadInput
    from dialeval.metrics.actent_lexicon import read_lexicon

    share = technical_share(passages)
    if wanted is False or (wanted is None and folder is None and share < TECHNICAL):
        return None, share
    try:
        return (read_lexicon(folder) if folder else embedded_lexicon()), share
    except (OSError, ValueError) as error:
        raise BadInput(str(error)) from None


def facts(row: int, measures: "Measures", case: Case, numbers: dict[str, Any]) -> dict[str, Any]:
    """What `responses.jsonl` says about a context under a strategy."""
    before, after = measures.passages[row], case.passages[row]
    return {
        "system": measures.answers.name,
        "strategy": case.name,
        "kind": case.kind,
        "id": before.id,
        "dialogue_id": before.dialogue_id,
        "edited": bool(case.edited[row]),
        "context": [turn.text for turn in before.context],
        "perturbed_context": [turn.text for turn in after.context],
        "edits": [[list(edit) for edit in turn] for turn in case.edits[row]],
        "reference": before.response,
        "response": measures.answers.normal[row],
        "perturbed_response": measures.answers.perturbed[case.name][row],
        **{name: _plain(values[row]) for name, values in numbers.items()},
    }


def _plain(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
