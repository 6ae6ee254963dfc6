"""Support vector machines on unigrams, alone or with likelihoods and neural features."""

import logging
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.calibration import CalibratedClassifierCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import BATCH, as_table
from dialeval.saved import from_saved
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import labels_of
from dialeval.scorers.folders import decision_of, load_scorer, save_scorer
from dialeval.scorers.linear_features import (
    Fold,
    Represent,
    SvmSettings,
    feature_matrix,
    fit_vectorizers,
    make_folds,
    neural_features,
    out_of_fold_features,
    scorer_features,
)
from dialeval.scorers.representation import NeuralRepresentation
from dialeval.scorers.words import WordCache

logger = logging.getLogger(__name__)

MODEL = "model.skops"
FEATURES, NETWORK = "features", "network"
TRUSTED = ("sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration")
"""Types that a saved model may contain in addition to those that skops trusts."""


class SvmScorer:
    """P(human) by a linear support vector machine (Li et al., 2017, sec. 5.1).

    Its unigrams are binary, and a word of the response is another one than the same word of the
    context; the paper does not say whether theirs were. Other scorers' numbers, such as
    log-likelihoods in both directions, and a neural representation may stand beside the unigrams
    ("SVM + neural + multi-lex features"). Probabilities come from a sigmoid fitted on dialogues
    that the machine did not see.

    Args:
        parts (`dict`):
            The fitted parts: `context`, `response`, `scaler` and `classifier`.
        settings (`SvmSettings`):
            How they were fitted.
        features (`Mapping[str, Scorer]`, *optional*):
            Scorers whose numbers are features.
        represent (`Callable`, *optional*):
            Gives passages their neural representation, shape `(n, d)`.
        n (`int`, *optional*):
            Passages it was fitted on.
    """

    kind = "svm"
    higher_is_human = True

    def __init__(
        self,
        parts: dict[str, Any],
        settings: SvmSettings,
        features: Mapping[str, Any] | None = None,
        represent: Represent | None = None,
        n: int | None = None,
        name: str = "svm",
        decision: Decision | None = None,
    ):
        self.parts = parts
        self.settings = settings
        self.features = dict(features or {})
        self.represent = represent
        self.n = n
        self.name = name
        self.decision = decision or Decision()
        self.words: WordCache | None = None

    @classmethod
    def fit(
        cls,
        pairs: Passages,
        seed: int = 0,
        features: Mapping[str, Any] | None = None,
        represent_factory: Callable[[Passages], Represent] | None = None,
        name: str = "",
        words: WordCache | None = None,
        **settings: Any,
    ) -> "SvmScorer":
        """Fit it to passages with a column `label`.

        Args:
            pairs (`Passages`):
                Labelled pairs.
            seed (`int`, *optional*, defaults to 0):
                Seed of the folds and of the solver.
            features (`Mapping[str, Scorer]`, *optional*):
                Scorers that were not trained on these pairs, by the name of their column.
            represent_factory (`Callable`, *optional*):
                Trains a network on pairs and returns the function that represents passages. It is
                called once per fold without that fold and its replies, because a network overfits
                its training data, and once with all pairs for later use. It has to make sure that
                a dimension means the same in every fold: start from the same weights, or return
                the logit as the only dimension.
            name (`str`, *optional*):
                Name in tables.
            words (`WordCache`, *optional*):
                Shared by scorers that read the same texts repeatedly.
            settings:
                Settings of [`SvmSettings`].

        Returns:
            `SvmScorer`: The fitted evaluator.
        """
        chosen = SvmSettings(seed=seed, **settings)
        labels = labels_of(pairs)
        rotation = make_folds(pairs, labels, chosen)
        parts = fit_vectorizers(pairs, chosen, words)
        blocks = [scorer_features(features or {}, pairs)]
        represent = None
        if represent_factory:
            blocks.append(out_of_fold_features(pairs, rotation, represent_factory))
            represent = represent_factory(pairs)
        dense = np.hstack(blocks)
        if dense.shape[1]:
            parts["scaler"] = StandardScaler().fit(dense)
        matrix = feature_matrix(parts, pairs, dense, words)
        parts["classifier"] = _classifier(matrix, labels, rotation, chosen)
        kind = "svm" if not dense.shape[1] else "svm-features"
        scorer = cls(parts, chosen, features, represent, len(labels), name or kind)
        scorer.words = words
        return scorer

    @property
    def signature(self) -> str:
        """How its scores are computed, and which likelihoods it uses, in one line."""
        words = "context+response" if self.settings.use_context else "response"
        parts = [f"disc:{self.name}", f"unigrams:{words}", f"C:{self.settings.strength:g}"]
        parts += [f"{name}:{scorer}" for name, scorer in _names(self.features).items()]
        parts += [f"neural:{self.width}"] if self.represent else []
        parts += [f"folds:{self.settings.folds}", f"seed:{self.settings.seed}", f"n:{self.n}"]
        return "|".join([*parts, self.decision.signature])

    @property
    def inner(self) -> list[Any]:
        """The scorers that a saved one has in its folder."""
        network = (
            [self.represent.scorer] if isinstance(self.represent, NeuralRepresentation) else []
        )
        return [*network, *(item for item in self.features.values() if hasattr(item, "load"))]

    @property
    def width(self) -> int:
        """Dimensions of the neural representation."""
        scaler = self.parts.get("scaler")
        return scaler.n_features_in_ - len(self.features) if scaler else 0

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        scores = [self._score(part) for part in _slices(as_table(passages))]
        return np.concatenate(scores) if scores else np.zeros(0)

    def _score(self, passages: Passages) -> np.ndarray:
        dense = [scorer_features(self.features, passages)]
        if self.represent:
            dense.append(neural_features(self.represent, passages, self.width))
        matrix = feature_matrix(self.parts, passages, np.hstack(dense), self.words)
        return self.parts["classifier"].predict_proba(matrix)[:, 1]

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the linear part and the scorers of its features; return the settings for `load`.

        Features that are plain functions cannot be written: `load` takes them as options.
        """
        for name, scorer in self.features.items():
            if hasattr(scorer, "save"):
                save_scorer(scorer, folder / FEATURES / name)
        if isinstance(self.represent, NeuralRepresentation):
            save_scorer(self.represent.scorer, folder / NETWORK)
        compression = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
        import skops.io  # slow: it imports every library it knows

        skops.io.dump(self.parts, folder / MODEL, **compression)
        return {
            "settings": asdict(self.settings),
            "features": _names(self.features),
            "represent": self.width if self.represent else 0,
            "n": self.n,
        }

    @classmethod
    def load(
        cls,
        folder: Path,
        settings: dict[str, Any],
        features: Mapping[str, Any] | None = None,
        represent: Represent | None = None,
        **options: Any,
    ) -> "SvmScorer":
        """A scorer as `save` wrote it; features that are plain functions have to be passed again.

        Args:
            folder (`Path`):
                The folder.
            settings (`dict`):
                What `save` returned.
            features (`Mapping[str, Scorer]`, *optional*):
                Scorers of features, by name.
            represent (`Callable`, *optional*):
                Neural representation.
            options:
                Options of the scorers inside the folder.

        Returns:
            `SvmScorer`: The scorer.
        """
        saved = {
            name: load_scorer(folder / FEATURES / name, **options)
            for name in settings["features"]
            if name not in (features or {}) and (folder / FEATURES / name).is_dir()
        }
        features = _needed(settings, {**saved, **(features or {})}, folder)
        if represent is None and (folder / NETWORK).is_dir():
            represent = NeuralRepresentation(load_scorer(folder / NETWORK, **options))
        if settings["represent"] and represent is None:
            raise BadInput(
                f"it needs a neural representation of {settings['represent']} dimensions.",
                folder,
                hint="Pass it: load_scorer(folder, represent=...).",
            )
        return cls(
            _read(folder / MODEL),
            from_saved(SvmSettings, settings["settings"]),
            features,
            represent if settings["represent"] else None,
            settings["n"],
            settings["name"],
            decision_of(settings),
        )


def _classifier(
    matrix: csr_matrix, labels: np.ndarray, parts: list[Fold], settings: SvmSettings
) -> CalibratedClassifierCV:
    """A machine fitted on all rows, with a sigmoid fitted on held-out rows."""
    machine = LinearSVC(C=settings.strength, random_state=settings.seed, max_iter=10_000)
    cv = [(np.flatnonzero(part.learn), np.flatnonzero(part.held_out)) for part in parts]
    fitted = CalibratedClassifierCV(machine, method="sigmoid", cv=cv, ensemble=False)
    return fitted.fit(matrix, labels).set_params(cv=None)  # row numbers need not be saved


def _slices(passages: Passages) -> Iterator[Passages]:
    """The table in parts that fit in memory."""
    for start in range(0, len(passages), BATCH):
        yield passages.select(range(start, min(start + BATCH, len(passages))))


def _names(features: Mapping[str, Any]) -> dict[str, str]:
    """Name of the scorer of each feature."""
    return {
        name: str(getattr(scorer, "name", "") or getattr(scorer, "__name__", type(scorer).__name__))
        for name, scorer in features.items()
    }


def _needed(settings: dict[str, Any], given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The scorers of a saved scorer's features, in the order of its columns."""
    needed = settings["features"]
    missing = [f"{name!r} (by {by!r})" for name, by in needed.items() if name not in given]
    if missing:
        raise BadInput(
            f"it uses the scores of other scorers, of which {', '.join(missing)} is missing.",
            folder,
            hint="Pass them: load_scorer(folder, features={name: scorer}).",
        )
    features = {name: given[name] for name in needed}
    for name, current in _names(features).items():
        if current != needed[name]:
            logger.warning(
                "The feature %r was %r when the scorer was fitted, and is %r now.",
                name, needed[name], current,
            )  # fmt: skip
    return features


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput(f"no {MODEL} here.", path.parent, hint="Copy the whole folder again.")
    import skops.io  # slow: it imports every library it knows
    from skops.io.exceptions import UntrustedTypesFoundException

    try:
        return skops.io.load(path, trusted=list(TRUSTED))
    except UntrustedTypesFoundException as error:
        message = f"it contains types that dialeval never saves: {error}"
        raise BadInput(message, path, hint="Do not use it.") from None
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        message = f"could not read it: {error}."
        raise BadInput(message, path, hint="Copy the whole folder again.") from None
