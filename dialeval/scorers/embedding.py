"""Evaluator on frozen sentence vectors of context and response, with a linear model."""

import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.models.embedding import CachedEmbedder
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import labels_of
from dialeval.scorers.folders import decision_of

MODEL = "model.skops"
Embed = Callable[[Sequence[str]], np.ndarray]


class EmbeddingScorer:
    """P(human) by logistic regression over vectors of context and response.

    Not from a paper: it relates the response to the context, which a bag of words cannot, and is
    fitted in a second, where a network needs minutes. Features are the response's vector, its
    product with the context's and with the last turn's, and both cosines.

    Args:
        model (`Pipeline`):
            Scaler and regression.
        embed (`Callable`, *optional*):
            From texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default. Scorers that share one
            encode every text once.
    """

    kind = "embedding"
    higher_is_human = True

    def __init__(
        self,
        model: Pipeline,
        embed: Embed | None = None,
        n: int | None = None,
        name: str = "embedding",
        decision: Decision | None = None,
    ):
        self.model = model
        self.embed = embed or CachedEmbedder()
        self.n = n
        self.name = name
        self.decision = decision or Decision()

    @classmethod
    def fit(
        cls,
        pairs: Passages,
        seed: int = 0,
        embed: Embed | None = None,
        strength: float = 0.001,
        **options: Any,
    ) -> "EmbeddingScorer":
        """Fit it to passages with a column `label`.

        Args:
            pairs (`Passages`):
                Labelled pairs.
            seed (`int`, *optional*, defaults to 0):
                Seed of the solver.
            embed (`Callable`, *optional*):
                Sentence encoder.
            strength (`float`, *optional*, defaults to 0.001):
                `C` of the regression: less means more regularisation.
            options:
                Name and decision of the scorer.

        Returns:
            `EmbeddingScorer`: The fitted evaluator.
        """
        embed = embed or CachedEmbedder()
        regression = LogisticRegression(C=strength, max_iter=300, random_state=seed)
        model = make_pipeline(StandardScaler(), regression)
        model.fit(features(list(iterate_passages(pairs)), embed), labels_of(pairs))
        return cls(model, embed, len(pairs), **options)

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        strength = self.model[-1].C
        vectors = getattr(self.embed, "name", "embedder")
        parts = [f"disc:{self.name}", f"vectors:{vectors}", f"C:{strength:g}", f"n:{self.n}"]
        return "|".join([*parts, self.decision.signature])

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        rows = list(iterate_passages(passages))
        if not rows:
            return np.zeros(0)
        return self.model.predict_proba(features(rows, self.embed))[:, 1]

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the regression; the encoder comes from its package."""
        compression = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
        import skops.io  # slow: it imports every library it knows

        skops.io.dump(self.model, folder / MODEL, **compression)
        return {"n": self.n, "vectors": getattr(self.embed, "name", "embedder")}

    @classmethod
    def load(
        cls, folder: Path, settings: dict[str, Any], embed: Embed | None = None, **_: Any
    ) -> "EmbeddingScorer":
        """A scorer as `save` wrote it; an embedder other than MiniLM has to be given again.

        Args:
            folder (`Path`):
                The folder.
            settings (`dict`):
                What `save` returned, with name and decision.
            embed (`Callable`, *optional*):
                Sentence encoder.

        Returns:
            `EmbeddingScorer`: The scorer.
        """
        check_vectors(settings, embed, folder)
        import skops.io  # slow: it imports every library it knows

        model = skops.io.load(folder / MODEL, trusted=[])
        return cls(model, embed, settings["n"], settings["name"], decision_of(settings))


def check_vectors(settings: dict[str, Any], embed: Embed | None, folder: Path) -> None:
    """Refuse to load a scorer of other vectors than MiniLM's without their encoder.

    Args:
        settings (`dict`):
            What the scorer's `save` returned.
        embed (`Callable`, *optional*):
            Sentence encoder, where one is given.
        folder (`Path`):
            The scorer's folder, for the error message.
    """
    if embed is None and settings["vectors"] != "minilm":
        hint = "Pass it: load_scorer(folder, embed=...)."
        raise BadInput(f"it needs vectors of {settings['vectors']!r}.", folder, hint=hint)


def features(passages: Sequence[Passage], embed: Embed) -> np.ndarray:
    """Features of the regression, shape `(n, 3 d + 2)`."""
    response = embed([passage.response or " " for passage in passages])  # (n, d)
    context = embed(["\n".join(turn.text for turn in p.context) or " " for p in passages])
    last = embed([p.context[-1].text if p.context else " " for p in passages])
    with_context, with_last = response * context, response * last
    cosines = np.stack([with_context.sum(1), with_last.sum(1)], 1)
    scale = np.sqrt(response.shape[1])
    return np.hstack([response, with_context, with_last, cosines * scale])
