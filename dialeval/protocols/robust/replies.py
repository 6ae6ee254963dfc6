"""Replies of a trained generator to the test contexts, and their numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dialeval.dialogues import Passage
from dialeval.metrics.actent_lexicon import ActEntLexicon
from dialeval.metrics.robustness_results import NORMAL
from dialeval.models.embedding import CachedEmbedder
from dialeval.protocols.robustness.answers import Answers, collect_answers
from dialeval.protocols.robustness.cases import Case
from dialeval.protocols.robustness.measuring import Measures
from dialeval.protocols.robustness.similarity import Embed, MeanEmbedding, text_similarity
from dialeval.responders.decoding import DECODINGS
from dialeval.responders.generators import Generator, load_generator
from dialeval.responders.language import GeneratorResponder
from dialeval.settings.robust import RobustRun


@dataclass(frozen=True)
class Measured:
    """What one trained generator did: replies and numbers by the contexts it was tested on."""

    replies: Mapping[str, list[str]]
    numbers: Mapping[str, dict[str, np.ndarray]]
    parameters: int
    vocabulary: int
    perplexity: float
    signature: str
    warnings: tuple[str, ...] = ()


class ReplyMeasurer:
    """Test contexts with their perturbed forms, and how replies to them are measured.

    Args:
        run (`RobustRun`):
            Settings of the run.
        passages (`Sequence[Passage]`):
            Normal test contexts with their references.
        lexicon (`ActEntLexicon`, *optional*):
            Word lists of the F1s, on technical contexts.
        embed (`Callable`, *optional*):
            Sentence encoder, all-MiniLM-L6-v2 by default.
    """

    def __init__(
        self,
        run: RobustRun,
        passages: Sequence[Passage],
        lexicon: ActEntLexicon | None = None,
        embed: Embed | None = None,
    ):
        self.run, self.passages, self.lexicon = run, passages, lexicon
        self.embed = embed or (CachedEmbedder() if run.similarity else None)

    def measure(self, model: Path, cases: Sequence[Case]) -> Measured:
        """Let a saved generator answer the normal contexts and those of some cases."""
        generator = load_generator(model)
        folder = model.with_name(f"{model.name}.replies")
        responder = GeneratorResponder(
            generator, DECODINGS["greedy"], 1, self.run.max_new_tokens, name=model.name
        )
        answers = collect_answers(responder, self.passages, cases, folder)
        measures = Measures(
            self.passages, answers, self.embed or _no_embedding, MeanEmbedding.of(generator),
            self.lexicon, self.run.skip, folder,
        )  # fmt: skip
        numbers = {NORMAL: self._numbers(measures, answers, None)}
        numbers |= {case.name: self._numbers(measures, answers, case) for case in cases}
        training = generator.training or {}
        return Measured(
            {NORMAL: answers.normal, **answers.perturbed},
            numbers,
            sum(parameter.numel() for parameter in generator.model.parameters()),
            len(generator.tokenizer),
            _perplexity(generator, self.passages),
            str(training.get("signature", "")),
            tuple(training.get("warnings", ())),
        )

    def context_gain(self, model: Path) -> np.ndarray:
        """log p per token of each reference given its context, minus given another dialogue's.

        NaN where all contexts are of one dialogue.
        """
        from dialeval.responders.decoding import likelihoods

        generator, passages = load_generator(model), self.passages
        others = other_rows([passage.dialogue_id for passage in passages])
        swapped = [
            replace(passage, context=passages[other].context)
            for passage, other in zip(passages, others, strict=True)
        ]
        sides = [likelihoods(generator, rows) for rows in (passages, swapped)]
        true, other = (sums / lengths for sums, lengths in sides)
        return np.where(np.array(others) == np.arange(len(others)), np.nan, true - other)

    def _numbers(
        self, measures: Measures, answers: Answers, case: Case | None
    ) -> dict[str, np.ndarray]:
        """Quality of the replies to normal contexts, or to those of a case."""
        name = case.name if case else NORMAL
        numbers = measures.quality(name)
        if self.embed is not None:
            replies = answers.perturbed[name] if case else answers.normal
            references = [passage.response for passage in self.passages]
            numbers["similarity"] = text_similarity(self.embed, replies, references)
        likelihood = measures.likelihood(case)
        return numbers | ({} if likelihood is None else {"likelihood": likelihood})


def _perplexity(generator: Generator, passages: Sequence[Passage]) -> float:
    from dialeval.responders.decoding import likelihoods

    sums, lengths = likelihoods(generator, passages)
    return float(np.exp(-sums.sum() / lengths.sum()))


def other_rows(groups: Sequence[str], seed: int = 0) -> list[int]:
    """For each row a random one of another group; the row itself if there is no other group.

    Examples:
        >>> groups = ["a", "a", "b", "c"]
        >>> all(groups[row] != groups[other] for row, other in enumerate(other_rows(groups)))
        True
    """
    order = np.random.default_rng(seed).permutation(len(groups)).tolist()
    others = list(range(len(groups)))
    for at, row in enumerate(order):
        candidates = (order[(at + shift) % len(order)] for shift in range(1, len(order)))
        others[row] = next((other for other in candidates if groups[other] != groups[row]), row)
    return others


def _no_embedding(texts: Sequence[str]) -> np.ndarray:
    raise RuntimeError("Expected no similarity to be measured.")
