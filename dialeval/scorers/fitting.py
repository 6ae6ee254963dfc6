"""How evaluators without a training loop are fitted to pairs, and what all evaluators share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dialeval.dialogues import Passages
from dialeval.metrics.calibration import threshold_for_accuracy
from dialeval.models.embedding import CachedEmbedder
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import CoinScorer, LengthScorer
from dialeval.scorers.embedding import EmbeddingScorer
from dialeval.scorers.families import FeatureStore
from dialeval.scorers.linear import SvmScorer
from dialeval.scorers.stack import STACK, StackScorer
from dialeval.scorers.words import WordCache

if TYPE_CHECKING:
    from accelerate import Accelerator

    from dialeval.scorers.zeroshot import ZeroShotScorer


@dataclass
class FitContext:
    """What the evaluators of a run share.

    Args:
        embed (`Callable`, *optional*):
            Sentence encoder that reads every text once.
        words (`WordCache`, *optional*):
            Words of texts that were read already.
        accelerator (`Accelerator`, *optional*):
            Where networks run.
        max_length (`int`, *optional*, defaults to 128):
            Number of tokens that networks read at most.
        folds (`int`, *optional*, defaults to 3):
            Folds in which support vector machines are calibrated.
        validation (`Passages`, *optional*):
            Held-out pairs; without them, evaluators that need some set part of the pairs aside.
        encoders (`dict`, *optional*):
            Further sentence encoders by their folder or Hub name.
    """

    embed: Any = field(default_factory=CachedEmbedder)
    words: WordCache | None = field(default_factory=WordCache)
    accelerator: "Accelerator | None" = None
    max_length: int | None = 128
    folds: int = 3
    validation: Passages | None = None
    encoders: dict[str, CachedEmbedder] = field(default_factory=dict)

    def encoder(self, source: str) -> CachedEmbedder:
        """Another sentence encoder, loaded once, that reads every text once."""
        if source not in self.encoders:
            from dialeval.models.sentence_encoder import SentenceEncoder

            self.encoders[source] = CachedEmbedder(SentenceEncoder(source))
        return self.encoders[source]

    @cached_property
    def features(self) -> FeatureStore:
        """Features of texts and pairs, each computed once."""
        return FeatureStore(self.embed)


def fit_svm(
    pairs: Passages,
    seed: int,
    context: FitContext,
    *,
    name: str = "svm-unigram",
    use_context: bool = True,
) -> SvmScorer:
    """A support vector machine on unigrams.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        seed (`int`):
            Seed of the folds and of the solver.
        context (`FitContext`):
            What evaluators share.
        name (`str`, *optional*, defaults to `"svm-unigram"`):
            Name in tables.
        use_context (`bool`, *optional*, defaults to `True`):
            Whether the words of the context count.

    Returns:
        `SvmScorer`: The fitted evaluator.
    """
    return SvmScorer.fit(
        pairs,
        seed=seed,
        name=name,
        words=context.words,
        folds=context.folds,
        use_context=use_context,
    )


def fit_embedding(
    pairs: Passages, seed: int, context: FitContext, *, encoder: str = "", name: str = "embedding"
) -> EmbeddingScorer:
    """Logistic regression on sentence vectors, with the shared encoder or another one.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        seed (`int`):
            Seed of the solver.
        context (`FitContext`):
            What evaluators share.
        encoder (`str`, *optional*):
            Folder or Hub name of another sentence encoder, for instance a multilingual one.
        name (`str`, *optional*, defaults to `"embedding"`):
            Name in tables.

    Returns:
        `EmbeddingScorer`: The fitted evaluator.
    """
    embed = context.encoder(encoder) if encoder else context.embed
    return EmbeddingScorer.fit(pairs, seed, embed, name=name)


def fit_stack(
    pairs: Passages,
    seed: int,
    context: FitContext,
    *,
    name: str = "stack",
    families: Sequence[str] = STACK,
) -> StackScorer:
    """Families of features, stacked.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        seed (`int`):
            Seed of the inner folds.
        context (`FitContext`):
            What evaluators share.
        name (`str`, *optional*, defaults to `"stack"`):
            Name in tables.
        families (`Sequence[str]`, *optional*):
            Families of features; all by default.

    Returns:
        `StackScorer`: The fitted evaluator.
    """
    return StackScorer.fit(pairs, seed, families=families, store=context.features, name=name)


def fit_stacks(
    parts: Sequence[Passages],
    seed: int,
    context: FitContext,
    *,
    name: str = "stack",
    families: Sequence[str] = STACK,
) -> list[StackScorer]:
    """What `fit_stack` gives for each of several training sets, in less time.

    Args:
        parts (`Sequence[Passages]`):
            Labelled pairs of each.
        seed (`int`):
            Seed of the inner folds.
        context (`FitContext`):
            What evaluators share.
        name (`str`, *optional*, defaults to `"stack"`):
            Name in tables.
        families (`Sequence[str]`, *optional*):
            Families of features; all by default.

    Returns:
        `list[StackScorer]`: The fitted evaluators.
    """
    return StackScorer.fit_each(parts, seed, families, context.features, name=name)


fit_stack.together = fit_stacks  # type: ignore[attr-defined]


def fit_length(pairs: Passages, seed: int, context: FitContext) -> LengthScorer:
    """Logistic regression on the length of the response; it has no randomness.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        seed (`int`):
            Not used.
        context (`FitContext`):
            Not used.

    Returns:
        `LengthScorer`: The fitted baseline.
    """
    return LengthScorer.fit(pairs)


def fit_coin(pairs: Passages, seed: int, context: FitContext) -> CoinScorer:
    """A random guess; nothing is learned.

    Args:
        pairs (`Passages`):
            Not used.
        seed (`int`):
            Seed of the guesses.
        context (`FitContext`):
            Not used.

    Returns:
        `CoinScorer`: The baseline.
    """
    return CoinScorer(seed)


def fit_zero_shot(
    pairs: Passages,
    seed: int,
    context: FitContext,
    *,
    forward: str | None = None,
    measure: str = "fast-detectgpt",
) -> "ZeroShotScorer":
    """A language model's measure; only its threshold is chosen, on held-out pairs.

    Args:
        pairs (`Passages`):
            Labelled pairs, used where the context has no validation pairs.
        seed (`int`):
            Not used.
        context (`FitContext`):
            What evaluators share.
        forward (`str`, *optional*, defaults to SmolLM2):
            The language model: a folder, or a name on the Hub.
        measure (`str`, *optional*, defaults to `"fast-detectgpt"`):
            What is computed from the model's token probabilities.

    Returns:
        `ZeroShotScorer`: The evaluator with its threshold.
    """
    from dialeval.scorers.zeroshot import ZeroShotScorer

    scorer = ZeroShotScorer.from_pretrained(forward or "smollm2", measure)
    validation = pairs if context.validation is None else context.validation
    labels, scores = np.asarray(validation["label"]), scorer(validation)
    threshold, missed = threshold_for_accuracy(scores, labels, scorer.higher_is_human)
    scorer.decision = Decision(threshold, "validation", missed, len(labels))
    return scorer
