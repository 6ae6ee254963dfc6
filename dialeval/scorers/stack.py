"""Families of features in one evaluator: surface n-grams, sentence vectors, context and response.

Each family gets a regression of its own; a last regression over their out-of-fold decision values
learns how much each of them is worth on these data.
"""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from sklearn.linear_model import LogisticRegression

from dialeval.dialogues import Passage, Passages
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import labels_of
from dialeval.scorers.embedding import Embed, check_vectors
from dialeval.scorers.families import (
    FAMILIES,
    Family,
    FeatureStore,
    texts_of_pairs,
    usable_families,
)
from dialeval.scorers.folders import decision_of
from dialeval.scorers.gaussian import QuadraticModel, fit_gaussian
from dialeval.scorers.linear_features import Fold, SvmSettings, make_folds
from dialeval.scorers.linear_solvers import LinearModel, fit_family
from dialeval.scorers.row_cache import Matrix

MODEL = "stack.skops"
SURFACE = ("ngrams",)
CONTEXT = ("vectors", "crossed", "matching", "contrast", "affinity")
STACK = (*SURFACE, *CONTEXT)
"""Families of the evaluators `surface`, `context` and `stack`."""
Model = LinearModel | QuadraticModel
INNER_FOLDS = 3
MIN_EVIDENCE = 1.0
"""Standard errors by which a family has to separate the classes of held-out dialogues."""


class StackScorer:
    """P(human) by a stack of regressions, one for each family of features.

    See [`FAMILIES`]: `ngrams` recognises machines by their style, `vectors` asks whether the
    response is on topic, the others whether it answers this very turn. Not in any of the papers.
    The out-of-fold values come from groups of dialogues that share no reply, so that no family is
    rewarded for memorising one.

    Where no context has any text, only the response is read: a twin of the evaluator that is
    blind to the context.

    Args:
        models (`dict[str, Model]`):
            The fitted regression of each family.
        combiner (`LinearModel`):
            The regression over their decision values; its value is the log odds of human.
        store (`FeatureStore`, *optional*):
            Features and the sentence encoder; all-MiniLM-L6-v2 by default.
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
        models: dict[str, Model],
        combiner: LinearModel,
        store: FeatureStore | None = None,
        n: int | None = None,
        name: str = "stack",
        decision: Decision | None = None,
    ):
        self.models, self.combiner, self.n, self.name = models, combiner, n, name
        self.store = store or FeatureStore()
        self.decision = decision or Decision()

    @classmethod
    def fit(
        cls,
        pairs: Passages,
        seed: int = 0,
        embed: Embed | None = None,
        families: Sequence[str] = STACK,
        store: FeatureStore | None = None,
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
                Which of `FAMILIES` to use; those of `STACK` by default. `matching` is left out
                with an encoder that has no `states`.
            store (`FeatureStore`, *optional*):
                Features that several evaluators share, with their encoder.
            options:
                Name and decision of the scorer.

        Returns:
            `StackScorer`: The fitted evaluator.
        """
        store = store or FeatureStore(embed)
        labels, texts = labels_of(pairs), texts_of_pairs(pairs)
        usable = usable_families(families, texts, store)
        inner = make_folds(pairs, labels, SvmSettings(folds=INNER_FOLDS, seed=seed))
        models, values = {}, []
        for family in usable:
            matrix = store.matrix(family, texts)
            models[family], held_out = _fit(FAMILIES[family], matrix, labels, inner, seed)
            values.append(held_out)
        dialogues = np.unique(np.asarray(pairs["dialogue_id"][:]), return_inverse=True)[1]
        combiner = _combine(np.stack(values, 1), labels, dialogues)
        return cls(models, combiner, store, len(texts), **options)

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        vectors = getattr(self.store.embed, "name", "embedder")
        families = "+".join(self.models)
        parts = [f"disc:{self.name}", f"families:{families}", f"vectors:{vectors}", f"n:{self.n}"]
        return "|".join([*parts, self.decision.signature])

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        texts = texts_of_pairs(passages)
        if not texts:
            return np.zeros(0)
        values = [model(self.store.matrix(name, texts)) for name, model in self.models.items()]
        return 1 / (1 + np.exp(-self.combiner(np.stack(values, 1))))

    def weights(self) -> dict[str, float]:
        """The weight of each family's decision value in the log odds."""
        return dict(zip(self.models, self.combiner.weights.tolist(), strict=True))

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the weights; the encoder comes from its package."""
        models = {"combiner": self.combiner, **self.models}
        arrays = {name: list(vars(model).values()) for name, model in models.items()}
        compression = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
        skops.io.dump(arrays, folder / MODEL, **compression)
        return {"n": self.n, "vectors": getattr(self.store.embed, "name", "embedder")}

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
        arrays = skops.io.load(folder / MODEL, trusted=[])
        combiner, store = LinearModel(*arrays.pop("combiner")), FeatureStore(embed)
        models = {
            name: LinearModel(*parts)
            if FAMILIES[name].model == "linear"
            else QuadraticModel(*parts)
            for name, parts in arrays.items()
        }
        return cls(models, combiner, store, settings["n"], settings["name"], decision_of(settings))


def _model_class(family: Family) -> type[Model]:
    return LinearModel if family.model == "linear" else QuadraticModel


def _fit(
    family: Family, matrix: Matrix, labels: np.ndarray, inner: Sequence[Fold], seed: int
) -> tuple[Model, np.ndarray]:
    """The model of a family, and the out-of-fold value of each row."""
    if family.model == "linear":
        return fit_family(matrix, labels, inner, seed, family.strength)
    return fit_gaussian(matrix, labels, inner, human_only=family.model == "human")


def _combine(values: np.ndarray, labels: np.ndarray, dialogues: np.ndarray) -> LinearModel:
    """The regression over out-of-fold values, with weights that are not negative (Breiman, 1996).

    A family that does not separate the classes of held-out dialogues gets no weight. Where none
    does, every response gets .5: otherwise noise decides, and on held-out folds of balanced data
    noise is wrong more often than right.
    """
    scale = values.std(0) + 1e-12
    used = np.flatnonzero(_evidence(values, labels, dialogues) > MIN_EVIDENCE)
    while len(used):
        fitted = LogisticRegression().fit(values[:, used] / scale[used], labels)
        if (fitted.coef_[0] >= 0).all():
            weights = np.zeros(values.shape[1])
            weights[used] = fitted.coef_[0] / scale[used]
            return LinearModel(weights, float(fitted.intercept_[0]))
        used = used[fitted.coef_[0] >= 0]
    return LinearModel(np.zeros(values.shape[1]), 0.0)


def _evidence(values: np.ndarray, labels: np.ndarray, dialogues: np.ndarray) -> np.ndarray:
    """How many standard errors each family's values differ between classes, by dialogue."""
    centred = (values - values.mean(0)) * (labels - labels.mean())[:, None]
    sums = np.zeros((int(dialogues.max()) + 1, values.shape[1]))
    np.add.at(sums, dialogues, centred)
    return sums.sum(0) / (np.sqrt((sums**2).sum(0)) + 1e-12)
