"""Three families of features in one evaluator: surface n-grams, sentence vectors, crossed words.

Each family gets a regression of its own; a last regression over their out-of-fold decision values
learns how much each of them is worth on these data.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from scipy.sparse import hstack
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from dialeval.dialogues import Passage, Passages
from dialeval.dialogues.storage import iterate_passages
from dialeval.models.embedding import CachedEmbedder
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import labels_of
from dialeval.scorers.crossed import crossed_features
from dialeval.scorers.embedding import Embed, check_vectors
from dialeval.scorers.embedding import features as vector_features
from dialeval.scorers.folders import decision_of
from dialeval.scorers.linear_features import SvmSettings, make_folds

MODEL = "stack.skops"
FAMILIES = ("ngrams", "vectors", "crossed")
INNER_FOLDS = 3
_NGRAM_BITS, _CROSSED_BITS = 18, 20
_EPOCHS = 10
Matrix = Any
"""A dense or sparse matrix."""


class StackScorer:
    """P(human) by a stack of three regressions.

    - `ngrams` reads the response as it is written, case included: words and pairs of words, and
      runs of 2 to 4 characters. It recognises machines by their style.
    - `vectors` has the features of the `embedding` evaluator: is the response on topic?
    - `crossed` multiplies words and marks of the last turns with those of the response: does it
      answer this very turn?

    Not in any of the papers. The out-of-fold values come from groups of dialogues that share no
    reply, so that no family is rewarded for memorising one.

    Args:
        models (`dict[str, Any]`):
            The fitted regression of each family.
        combiner (`Pipeline`):
            The regression over their decision values.
        embed (`Callable`, *optional*):
            Sentence encoder, from texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default.
        n (`int`, *optional*):
            Number of training rows.
        name (`str`, *optional*, defaults to `"stack"`):
            Name in tables.
        decision (`Decision`, *optional*):
            From which score on a response counts as human.
    """

    kind = "stack"
    higher_is_human = True

    def __init__(
        self,
        models: dict[str, Any],
        combiner: Pipeline,
        embed: Embed | None = None,
        n: int | None = None,
        name: str = "stack",
        decision: Decision | None = None,
    ):
        self.models, self.combiner, self.n, self.name = models, combiner, n, name
        self.embed = embed or CachedEmbedder()
        self.decision = decision or Decision()

    @classmethod
    def fit(
        cls,
        pairs: Passages,
        seed: int = 0,
        embed: Embed | None = None,
        families: Sequence[str] = FAMILIES,
        **options: Any,
    ) -> "StackScorer":
        """Fit it to passages with a column `label`.

        Args:
            pairs (`Passages`):
                Labelled pairs.
            seed (`int`, *optional*, defaults to 0):
                Seed of the inner folds and of the solvers.
            embed (`Callable`, *optional*):
                Sentence encoder.
            families (`Sequence[str]`, *optional*):
                Which of `FAMILIES` to use; all by default.
            options:
                Name and decision of the scorer.

        Returns:
            `StackScorer`: The fitted evaluator.
        """
        embed = embed or CachedEmbedder()
        labels, rows = labels_of(pairs), list(iterate_passages(pairs))
        inner = make_folds(pairs, labels, SvmSettings(folds=INNER_FOLDS, seed=seed))
        values, models = np.empty((len(rows), len(families))), {}
        for column, family in enumerate(families):
            matrix = family_matrix(family, rows, embed)
            for fold in inner:
                model = _regression(family, seed).fit(matrix[fold.learn], labels[fold.learn])
                values[fold.held_out, column] = model.decision_function(matrix[fold.held_out])
            models[family] = _regression(family, seed).fit(matrix, labels)
        combiner = make_pipeline(StandardScaler(), LogisticRegression(random_state=seed))
        return cls(models, combiner.fit(values, labels), embed, len(rows), **options)

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        vectors = getattr(self.embed, "name", "embedder")
        families = "+".join(self.models)
        parts = [f"disc:{self.name}", f"families:{families}", f"vectors:{vectors}", f"n:{self.n}"]
        return "|".join([*parts, self.decision.signature])

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        rows = list(iterate_passages(passages))
        if not rows:
            return np.zeros(0)
        values = [
            model.decision_function(family_matrix(family, rows, self.embed))
            for family, model in self.models.items()
        ]
        return self.combiner.predict_proba(np.stack(values, 1))[:, 1]

    def weights(self) -> dict[str, float]:
        """The weight of each family, per standard deviation of its decision values."""
        return dict(zip(self.models, self.combiner[-1].coef_[0].tolist(), strict=True))

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the regressions; the encoder comes from its package."""
        models = {"combiner": self.combiner, **{f"family-{k}": v for k, v in self.models.items()}}
        compression = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
        skops.io.dump(models, folder / MODEL, **compression)
        return {"n": self.n, "vectors": getattr(self.embed, "name", "embedder")}

    @classmethod
    def load(
        cls, folder: Path, settings: dict[str, Any], embed: Embed | None = None, **_: Any
    ) -> "StackScorer":
        """A scorer as `save` wrote it; an embedder other than MiniLM has to be given again.

        Args:
            folder (`Path`):
                The folder.
            settings (`dict`):
                What `save` returned, with name and decision.
            embed (`Callable`, *optional*):
                Sentence encoder.

        Returns:
            `StackScorer`: The scorer.
        """
        check_vectors(settings, embed, folder)
        parts = skops.io.load(folder / MODEL, trusted=[])
        combiner = parts.pop("combiner")
        models = {name.removeprefix("family-"): model for name, model in parts.items()}
        return cls(models, combiner, embed, settings["n"], settings["name"], decision_of(settings))


def family_matrix(family: str, passages: Sequence[Passage], embed: Embed) -> Matrix:
    """The features of one family, one row per passage.

    Args:
        family (`str`):
            One of `FAMILIES`.
        passages (`Sequence[Passage]`):
            Contexts and responses.
        embed (`Callable`):
            Sentence encoder, for `vectors`.

    Returns:
        `np.ndarray` or `csr_matrix`: Of shape `(n, features)`.
    """
    if family == "vectors":
        return vector_features(passages, embed)
    if family == "ngrams":
        texts = [passage.response for passage in passages]
        return hstack([_words().transform(texts), _characters().transform(texts)], format="csr")
    names = (
        crossed_features(tuple(turn.text for turn in passage.context), passage.response)
        for passage in passages
    )
    hasher = FeatureHasher(1 << _CROSSED_BITS, input_type="string", alternate_sign=False)
    matrix = hasher.transform(names)
    matrix.data[:] = 1.0  # whether a feature is there, not how often
    return matrix


def _words() -> HashingVectorizer:
    return HashingVectorizer(
        n_features=1 << _NGRAM_BITS, lowercase=False, token_pattern=r"\w+|[^\w\s]",
        ngram_range=(1, 2), alternate_sign=False,
    )  # fmt: skip


def _characters() -> HashingVectorizer:
    return HashingVectorizer(
        n_features=1 << _NGRAM_BITS, lowercase=False, analyzer="char", ngram_range=(2, 4),
        alternate_sign=False,
    )  # fmt: skip


def _regression(family: str, seed: int) -> Any:
    """A logistic regression with the regularisation that suits the family."""
    if family == "vectors":  # as in the embedding evaluator
        regression = LogisticRegression(C=0.001, max_iter=300, random_state=seed)
        return make_pipeline(StandardScaler(), regression)
    if family == "ngrams":
        return LogisticRegression(C=10.0, solver="liblinear", random_state=seed)
    return SGDClassifier(
        loss="log_loss", alpha=1e-4, average=True, max_iter=_EPOCHS, tol=None, random_state=seed
    )
