"""Numbers per context: quality of the replies against the reference, and how far they move."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from dialeval.dialogues import BadInput, Passage, atomic_write
from dialeval.metrics.actent import actent_f1
from dialeval.metrics.actent_lexicon import ActEntLexicon, embedded_lexicon, extract, read_lexicon
from dialeval.metrics.overlap import bleu_counts, sentence_chrf
from dialeval.metrics.robustness_results import NORMAL, RobustnessExample
from dialeval.perturbations.tagging import tags
from dialeval.protocols.robustness.answers import Answers
from dialeval.protocols.robustness.cases import Case, dialogues_of, file_name
from dialeval.protocols.robustness.similarity import (
    Embed,
    MeanEmbedding,
    context_text,
    text_similarity,
    unrelated_distance,
)

TECHNICAL = 0.3
"""Share of contexts that name an entity from which on they count as technical."""


def technical_share(passages: Sequence[Passage]) -> float:
    """Share of contexts that name an entity of the embedded list.

    Measured on 600 passages each: Ubuntu threads .77, Ubuntu Dialogue Corpus .56, chitchat .09.
    """
    lexicon = embedded_lexicon()
    technical = [bool(extract(context_text(passage), lexicon).entities) for passage in passages]
    return float(np.mean(technical)) if technical else 0.0


@dataclass
class Measures:
    """The numbers of one system, one for each context.

    Args:
        passages (`Sequence[Passage]`):
            The normal contexts with their references.
        answers (`Answers`):
            The system's replies.
        sentence (`Callable`):
            The sentence encoder.
        words (`MeanEmbedding`):
            Word vectors of Table 4.
        lexicon (`ActEntLexicon`, *optional*):
            Word lists; without them there are no Activity and Entity F1.
        skip (`str`, *optional*, defaults to `"none"`):
            Which references these F1s leave out.
        folder (`Path`, *optional*):
            Where likelihoods are cached.
        likelihoods (`bool`, *optional*, defaults to `True`):
            Whether to compute them at all.
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
    def has_reference(self) -> np.ndarray:
        """Which contexts have a reference, shape `(n,)`."""
        return np.array([bool(passage.response.strip()) for passage in self.passages], dtype=bool)

    @cached_property
    def unit(self) -> float | None:
        """Mean distance between the system's replies in different dialogues: movement 1."""
        groups = dialogues_of(self.passages)
        distance = unrelated_distance(self.sentence, self.answers.normal, groups)
        return distance if distance is not None and distance > 1e-6 else None

    def movement(self, replies: Sequence[str]) -> np.ndarray:
        """Distance of each reply from the normal one; 1 is that of replies in other dialogues.

        Without a unit, as for a system that always gives the same reply, it is 1 - cosine.
        """
        similarity = text_similarity(self.sentence, self.answers.normal, replies)
        return np.clip(1 - similarity, 0, None) / (self.unit or 1.0)

    def context_similarity(self, case: Case, embed: Embed) -> np.ndarray:
        """Cosine of each normal context and the perturbed one."""
        before = [context_text(passage) for passage in self.passages]
        after = [context_text(passage) for passage in case.passages]
        return text_similarity(embed, before, after)

    def quality(self, name: str) -> dict[str, np.ndarray]:
        """Quality of the replies to a case, or the normal ones, against the reference.

        `bleu` has a row of counts for each context, all else a number, NaN without a reference.
        """
        if not self.has_reference.any():
            return {}
        replies = self.answers.normal if name == NORMAL else self.answers.perturbed[name]
        rows = np.flatnonzero(self.has_reference).tolist()
        texts = [replies[row] for row in rows]
        references = [self.passages[row].response for row in rows]
        numbers = {
            "bleu": self._spread(bleu_counts(texts, references), 0.0),
            "chrf": self._spread(sentence_chrf(texts, references)),
        }
        if self.lexicon is not None:
            extracted = [extract(text, self.lexicon, tags) for text in texts]
            wanted = [extract(text, self.lexicon, tags) for text in references]
            f1 = actent_f1(extracted, wanted, self.skip)["rows"]
            numbers |= {"activity_f1": self._spread(f1[:, 0]), "entity_f1": self._spread(f1[:, 1])}
        return numbers

    def _spread(self, values: np.ndarray, missing: float = float("nan")) -> np.ndarray:
        """Values of the contexts that have a reference, among all contexts."""
        spread = np.full((len(self.passages), *values.shape[1:]), missing)
        spread[self.has_reference] = values
        return spread

    def likelihood(self, case: Case | None = None) -> np.ndarray | None:
        """log p(reference | context) per token; `None` if the model is not in this process.

        For a context that was not edited it is that of the normal one.
        """
        if self.answers.generator is None or not (self.likelihoods and self.has_reference.any()):
            return None
        normal = self._log_probs(NORMAL, self.passages, self.has_reference)
        if case is None:
            return normal
        scored = self.has_reference & case.edited
        return np.where(scored, self._log_probs(case.name, case.passages, scored), normal)

    def _log_probs(self, name: str, passages: Sequence[Passage], scored: np.ndarray) -> np.ndarray:
        path = self._path(name)
        log_probs = np.full(len(passages), np.nan)
        cached = _cached_numbers(path, int(scored.sum()))
        if cached is not None:
            log_probs[scored] = cached
        elif scored.any():
            from dialeval.responders.decoding import likelihoods

            rows = np.flatnonzero(scored).tolist()
            sums, lengths = likelihoods(self.answers.generator, [passages[row] for row in rows])
            log_probs[scored] = sums / lengths
            if path is not None:
                with atomic_write(path) as file:
                    json.dump(log_probs[scored].tolist(), file)
        return log_probs

    def _path(self, name: str) -> Path | None:
        if self.folder is None:
            return None
        folder = self.folder / "systems" / file_name(self.answers.name)
        return folder / f"{file_name(name)}.likelihood.json"

    def example(self, row: int, case: Case, movement: np.ndarray) -> RobustnessExample:
        """A context under a strategy, with both replies.

        Args:
            row (`int`):
                Index of the context.
            case (`Case`):
                The perturbed contexts.
            movement (`ndarray`):
                Movement of each reply, shape `(n,)`.

        Returns:
            `RobustnessExample`: A line of `responses.jsonl`.
        """
        before, after = self.passages[row], case.passages[row]
        return RobustnessExample(
            system=self.answers.name,
            strategy=case.name,
            kind=case.kind,
            id=before.id,
            dialogue_id=before.dialogue_id,
            edited=bool(case.edited[row]),
            context=tuple(turn.text for turn in before.context),
            perturbed_context=tuple(turn.text for turn in after.context),
            edits=tuple(tuple(tuple(edit) for edit in turn) for turn in case.edits[row]),
            reference=before.response,
            response=self.answers.normal[row],
            perturbed_response=self.answers.perturbed[case.name][row],
            movement=float(movement[row]),
        )


def lexicon_for(
    passages: Sequence[Passage], wanted: bool | None, folder: str | None
) -> tuple[ActEntLexicon | None, float]:
    """Word lists of Activity and Entity F1, if these are to be measured.

    Args:
        passages (`Sequence[Passage]`):
            The contexts.
        wanted (`bool`, *optional*):
            Whether to measure them; by default only if the contexts are technical.
        folder (`str`, *optional*):
            Folder with word lists, in place of the embedded ones.

    Returns:
        `tuple[ActEntLexicon | None, float]`: The word lists, and the share of technical contexts.
    """
    share = technical_share(passages)
    if wanted is False or (wanted is None and folder is None and share < TECHNICAL):
        return None, share
    try:
        return (read_lexicon(folder) if folder else embedded_lexicon()), share
    except (OSError, ValueError) as error:
        raise BadInput(str(error)) from None


def _cached_numbers(path: Path | None, count: int) -> list[float] | None:
    """Numbers of a file, if it has so many; a torn file is computed again."""
    if path is None or not path.is_file():
        return None
    try:
        numbers = json.loads(path.read_text("utf-8"))
        return numbers if len(np.asarray(numbers, dtype=float)) == count else None
    except (ValueError, TypeError):
        return None
