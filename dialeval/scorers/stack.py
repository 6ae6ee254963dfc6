"""Families of features in one evaluator: surface n-grams, sentence vectors, context and response.

Each family gets a regression of its own; a last regression over their out-of-fold decision values
learns how much each of them is worth on these data.
"""

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

from dialeval.dialogues import Passage, Passages
from dialeval.scorers.base import Decision
from dialeval.scorers.bilinear import fit_bilinear
from dialeval.scorers.embedding import Embed, check_vectors
from dialeval.scorers.families import (
    FAMILIES,
    SPACES,
    FeatureStore,
    Pair,
    unseen_families,
    usable_families,
)
from dialeval.scorers.folders import decision_of
from dialeval.scorers.gaussian import (
    Association,
    DensityRatio,
    GaussianRows,
    QuadraticModel,
    fit_gaussian,
)
from dialeval.scorers.linear_solvers import (
    LinearModel,
    TrainingSet,
    fit_family,
    logistic_regression,
)

MODEL = "stack.skops"
SURFACE = ("ngrams",)
CONTEXT = (
    "vectors", "crossed", "matching", "contrast", "affinity", "bilinear", "flow", "style",
)  # fmt: skip
STACK = (*SURFACE, *CONTEXT)
"""Families of the evaluators `surface`, `context` and `stack`."""
Model = LinearModel | QuadraticModel | Association | DensityRatio
MIN_EVIDENCE = 2.0
"""Standard errors by which a family has to separate the classes of held-out dialogues. The
strongest one of several has to pass the level that is corrected for their number: else chance
alone lets one of them through in a fifth of null scenarios."""


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
                Seed of the inner folds.
            embed (`Callable`, *optional*):
                Sentence encoder.
            families (`Sequence[str]`, *optional*):
                Which of `FAMILIES` to use; those of `STACK` by default. `matching` is left out
                with an encoder that has no `states`, and families of the towers on the corpus that
                they were fitted to.
            store (`FeatureStore`, *optional*):
                Features that several evaluators share, with their encoder.
            options:
                Name and decision of the scorer.

        Returns:
            `StackScorer`: The fitted evaluator.
        """
        store = store or FeatureStore(embed)
        return cls.fit_each([pairs], seed, families, store, **options)[0]

    @classmethod
    def fit_each(
        cls,
        parts: Sequence[Passages],
        seed: int = 0,
        families: Sequence[str] = STACK,
        store: FeatureStore | None = None,
        **options: Any,
    ) -> "list[StackScorer]":
        """Fit one to each of several training sets that share rows, as the folds of a cross-fit.

        Args:
            parts (`Sequence[Passages]`):
                Labelled pairs of each.
            seed (`int`, *optional*, defaults to 0):
                See [`fit`].
            families (`Sequence[str]`, *optional*):
                See [`fit`].
            store (`FeatureStore`, *optional*):
                See [`fit`].
            options:
                Name and decision of the scorers.

        Returns:
            `list[StackScorer]`: What `fit` gives for each of them, in less time.
        """
        store = store or FeatureStore()
        texts = [store.texts(pairs) for pairs in parts]
        row: dict[Pair, int] = {}
        rows = [np.array([row.setdefault(pair, len(row)) for pair in pairs]) for pairs in texts]
        distinct = list(row)
        usable = usable_families(unseen_families(families, parts), distinct, store)
        sets = [TrainingSet(at, *store.inner_folds(pairs, seed))
                for pairs, at in zip(parts, rows, strict=True)]  # fmt: skip
        fitted = {name: _fit_family(name, store, distinct, sets) for name in usable}
        scorers = []
        for number, (pairs, one) in enumerate(zip(parts, sets, strict=True)):
            models = {name: fits[number][0] for name, fits in fitted.items()}
            values = np.stack([fits[number][1] for fits in fitted.values()], 1)
            combiner = _combine(values, one.labels, store.dialogues(pairs))
            scorers.append(cls(models, combiner, store, len(pairs), **options))
        return scorers

    @property
    def signature(self) -> str:
        """How its scores are computed, in one line."""
        vectors = getattr(self.store.embed, "name", "embedder")
        families = "+".join(self.models)
        parts = [f"disc:{self.name}", f"families:{families}", f"vectors:{vectors}", f"n:{self.n}"]
        return "|".join([*parts, self.decision.signature])

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        texts = self.store.texts(passages)
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
        arrays = {name: list(vars(_stored(model)).values()) for name, model in models.items()}
        compression = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
        import skops.io  # slow: it imports every library it knows

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
        import skops.io  # slow: it imports every library it knows

        arrays = skops.io.load(folder / MODEL, trusted=[])
        combiner, store = LinearModel(*arrays.pop("combiner")), FeatureStore(embed)
        models: dict[str, Model] = {
            name: LinearModel(*parts)
            if FAMILIES[name].model == "linear"
            else QuadraticModel(*parts)
            for name, parts in arrays.items()
        }
        return cls(models, combiner, store, settings["n"], settings["name"], decision_of(settings))


def _fit_family(
    name: str, store: FeatureStore, pairs: Sequence[Pair], sets: Sequence[TrainingSet]
) -> Sequence[tuple[Model, np.ndarray]]:
    """For each training set the model of a family, and the out-of-fold value of each row.

    Of a family that never reads the context, they are from the store where it has them: the
    evaluators `stack` and `surface` and their twins have such families in common.
    """
    family = FAMILIES[name]
    if not family.reads_context:
        pairs, sets = _by_response(pairs, sets)

    def fit() -> Sequence[tuple[Model, np.ndarray]]:
        matrix = store.matrix(name, pairs)
        if family.model == "linear":
            return fit_family(matrix, sets, family.strength)
        split = store.split(name)
        if family.model == "bilinear":
            return [fit_bilinear(matrix, one, split) for one in sets]
        numbers = np.array([hash(pair) for pair in pairs])
        space, cache = SPACES.get(name, name), store.densities
        rows = GaussianRows(matrix, numbers, space, cache, split, family.shrinkage)
        return [fit_gaussian(rows, one, human_only=family.model == "human") for one in sets]

    return fit() if family.reads_context else store.fits(_key_of(name, pairs, sets), fit)


def _stored(model: Model) -> LinearModel | QuadraticModel:
    """The same function as it is saved."""
    return model.quadratic() if isinstance(model, Association | DensityRatio) else model


def _by_response(
    pairs: Sequence[Pair], sets: Sequence[TrainingSet]
) -> tuple[list[Pair], list[TrainingSet]]:
    """The different responses without their contexts, and the sets with rows of these."""
    number: dict[str, int] = {}
    row = np.array([number.setdefault(response, len(number)) for _, response in pairs])
    return [((), text) for text in number], [replace(one, rows=row[one.rows]) for one in sets]


def _key_of(name: str, pairs: Sequence[Pair], sets: Sequence[TrainingSet]) -> str:
    """A key of everything that a family's models depend on, if they only read responses."""
    texts = "\0".join(response for _, response in pairs)
    parts = [name.encode(), texts.encode("utf-8", "surrogatepass")]
    for one in sets:
        parts += [one.rows.tobytes(), one.labels.tobytes()]
        parts += [mask.tobytes() for fold in one.folds for mask in (fold.learn, fold.held_out)]
    return hashlib.blake2b(b"\0".join(parts)).hexdigest()


def _combine(values: np.ndarray, labels: np.ndarray, dialogues: np.ndarray) -> LinearModel:
    """The regression over out-of-fold values, with weights that are not negative (Breiman, 1996).

    A family that does not separate the classes of held-out dialogues gets no weight. Where none
    does, every response gets .5: otherwise noise decides, and on held-out folds of balanced data
    noise is wrong more often than right.
    """
    scale = values.std(0) + 1e-12
    evidence = _evidence(values, labels, dialogues)
    used = np.flatnonzero(evidence > MIN_EVIDENCE)
    while len(used) and evidence.max() > needed_evidence(len(evidence)):
        fitted = logistic_regression(values[:, used] / scale[used], labels)
        if (fitted.weights >= 0).all():
            weights = np.zeros(values.shape[1])
            weights[used] = fitted.weights / scale[used]
            return LinearModel(weights, fitted.intercept)
        used = used[fitted.weights >= 0]
    return LinearModel(np.zeros(values.shape[1]), 0.0)


def needed_evidence(families: int) -> float:
    """Standard errors that the strongest of several families needs, by Bonferroni's correction.

    Examples:
        >>> round(needed_evidence(1), 2), round(needed_evidence(9), 2)
        (2.0, 2.8)
    """
    return float(norm.isf(norm.sf(MIN_EVIDENCE) / families))


def _evidence(values: np.ndarray, labels: np.ndarray, dialogues: np.ndarray) -> np.ndarray:
    """How many standard errors each family's values differ between classes, by dialogue."""
    centred = (values - values.mean(0)) * (labels - labels.mean())[:, None]
    sums = np.zeros((int(dialogues.max()) + 1, values.shape[1]))
    np.add.at(sums, dialogues, centred)
    return sums.sum(0) / (np.sqrt((sums**2).sum(0)) + 1e-12)
