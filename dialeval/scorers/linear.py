"""Support vector machines over unigrams, alone or with likelihoods and neural features."""

import logging
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import skops.io
from scipy.sparse import csr_matrix, hstack
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from skops.io.exceptions import UntrustedTypesFoundException

from dialeval.dialogues import BadInput, Passage, Passages, folds, iterate, select
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import BATCH, as_table
from dialeval.dialogues.tokens import TOKEN
from dialeval.dialogues.types import text_hash
from dialeval.scorers.base import Decision
from dialeval.scorers.baselines import labels_of
from dialeval.scorers.folders import decision_of, load_scorer, save_scorer
from dialeval.scorers.representation import NeuralRepresentation
from dialeval.scorers.words import WordCache

logger = logging.getLogger(__name__)

Represent = Callable[[Passages], np.ndarray]
"""Gives each passage a vector, shape `(n, d)`."""

MODEL = "model.skops"
FEATURES, NETWORK = "features", "network"
TRUSTED = ("sklearn.calibration._CalibratedClassifier", "sklearn.calibration._SigmoidCalibration")
"""What a saved model may hold beside the types that skops trusts by itself."""


@dataclass(frozen=True)
class SvmSettings:
    """How a support vector machine is trained.

    Args:
        use_context (`bool`, *optional*, defaults to `True`):
            Whether words of the context count, apart from those of the response.
        strength (`float`, *optional*, defaults to 1.0):
            `C` of the machine: less means more regularisation.
        min_count (`int`, *optional*, defaults to 1):
            Passages that a word must stand in to count.
        folds (`int`, *optional*, defaults to 5):
            Groups of dialogues for calibration and for neural features out of fold.
        seed (`int`, *optional*, defaults to 0):
            Of the folds and of the solver.
    """

    use_context: bool = True
    strength: float = 1.0
    min_count: int = 1
    folds: int = 5
    seed: int = 0


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
        """Learn from passages with a column `label`.

        Args:
            features (`Mapping[str, Scorer]`, *optional*):
                Scorers that were not trained on these pairs, by the name of their column.
            represent_factory (`Callable`, *optional*):
                Trains a network on pairs and gives the function that represents passages. It is
                called without each fold and its replies in turn, to represent that fold, because a
                network overfits what it has seen; and once with all pairs, for use afterwards.
                Networks of several folds agree on what a dimension means only if it sees to
                that: start them from the same weights, or give their logit as the one dimension.
            words (`WordCache`, *optional*):
                Shared by scorers that read the same texts over and over.
            settings:
                Those of [`SvmSettings`].
        """
        settings = SvmSettings(seed=seed, **settings)
        labels = labels_of(pairs)
        rotation = _folds(pairs, labels, settings)
        parts = _vectorizers(pairs, settings, words)
        dense = [_numbers(features or {}, pairs)]
        represent = None
        if represent_factory:
            dense.append(_out_of_fold(pairs, rotation, represent_factory))
            represent = represent_factory(pairs)
        dense = np.hstack(dense)
        if dense.shape[1]:
            parts["scaler"] = StandardScaler().fit(dense)
        matrix = _matrix(parts, pairs, dense, words)
        parts["classifier"] = _classifier(matrix, labels, rotation, settings)
        kind = "svm" if not dense.shape[1] else "svm-features"
        found = cls(parts, settings, features, represent, len(labels), name or kind)
        found.words = words
        return found

    @property
    def signature(self) -> str:
        """How its numbers are made, and whose likelihoods it uses."""
        words = "context+response" if self.settings.use_context else "response"
        parts = [f"disc:{self.name}", f"unigrams:{words}", f"C:{self.settings.strength:g}"]
        parts += [f"{name}:{whose}" for name, whose in _names(self.features).items()]
        parts += [f"neural:{self.width}"] if self.represent else []
        parts += [f"folds:{self.settings.folds}", f"seed:{self.settings.seed}", f"n:{self.n}"]
        return "|".join([*parts, self.decision.signature])

    @property
    def width(self) -> int:
        """Dimensions of the neural representation."""
        scaler = self.parts.get("scaler")
        return scaler.n_features_in_ - len(self.features) if scaler else 0

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """P(human) of each passage, in their order."""
        found = [self._score(part) for part in _slices(as_table(passages))]
        return np.concatenate(found) if found else np.zeros(0)

    def _score(self, passages: Passages) -> np.ndarray:
        dense = [_numbers(self.features, passages)]
        if self.represent:
            dense.append(_vectors(self.represent, passages, self.width))
        matrix = _matrix(self.parts, passages, np.hstack(dense), self.words)
        return self.parts["classifier"].predict_proba(matrix)[:, 1]

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the linear part and what gives it features; give the settings to remember.

        Features that are plain functions cannot be written: `load` takes them as options.
        """
        for name, scorer in self.features.items():
            if hasattr(scorer, "save"):
                save_scorer(scorer, folder / FEATURES / name)
        if isinstance(self.represent, NeuralRepresentation):
            save_scorer(self.represent.scorer, folder / NETWORK)
        compression = {"compression": zipfile.ZIP_DEFLATED, "compresslevel": 9}
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
        """A scorer as `save` wrote it, given again the functions that could not be written."""
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
            SvmSettings(**settings["settings"]),
            features,
            represent if settings["represent"] else None,
            settings["n"],
            settings["name"],
            decision_of(settings),
        )


@dataclass(frozen=True)
class _Fold:
    """Rows to learn from, and rows to predict, as masks."""

    learn: np.ndarray
    held_out: np.ndarray


def _folds(pairs: Passages, labels: np.ndarray, settings: SvmSettings) -> list[_Fold]:
    """Every row is held out once, together with its dialogue.

    Rows with a reply that also stands in the held-out ones are not learnt from. A random reply is
    some other dialogue's human one: known as human there, it would be taken for human here, and a
    sigmoid fitted to such mistakes turns the judgement round.
    """
    # A seed of its own: a part that was split off by the same one would be a single fold.
    number = folds(pairs, settings.folds, text_hash(["svm", str(settings.seed)]) % 2**31)
    replies = _reply_keys(pairs)
    found = []
    for fold in np.unique(number):
        held_out = number == fold
        learn = ~held_out & ~np.isin(replies, replies[held_out])
        if len(np.unique(labels[learn])) < 2:
            raise BadInput(
                f"without fold {fold} of {settings.folds} there is one class left, or nothing: "
                f"the {len(labels)} pairs come from too few dialogues.",
                hint="Give more dialogues, and each passage its `dialogue_id`.",
            )
        found.append(_Fold(learn, held_out))
    return found


def _reply_keys(pairs: Passages) -> np.ndarray:
    """A number for each reply and the dialogue in which it was really said."""
    own = row_hashes(pairs, ["dialogue_id", "response"])
    source = row_hashes(pairs, ["source_dialogue_id", "response"])
    nowhere = row_hashes(pairs, ["source_dialogue_id"]) == text_hash([""])
    return np.where(nowhere, own, source)


def _classifier(
    matrix: csr_matrix, labels: np.ndarray, parts: list[_Fold], settings: SvmSettings
) -> CalibratedClassifierCV:
    """A machine fitted on everything, with a sigmoid fitted on what folds held out."""
    machine = LinearSVC(C=settings.strength, random_state=settings.seed, max_iter=10_000)
    cv = [(np.flatnonzero(part.learn), np.flatnonzero(part.held_out)) for part in parts]
    fitted = CalibratedClassifierCV(machine, method="sigmoid", cv=cv, ensemble=False)
    return fitted.fit(matrix, labels).set_params(cv=None)  # row numbers need not be saved


def _vectorizers(pairs: Passages, settings: SvmSettings, words: WordCache | None) -> dict[str, Any]:
    """Fitted on all rows: a word that the other folds do not have gets no weight from them."""
    parts = {"response": _vectorizer(_responses(pairs), settings, words)}
    if settings.use_context:
        parts["context"] = _vectorizer(_contexts(pairs), settings, words)
    return parts


def _vectorizer(
    texts: Iterator[str], settings: SvmSettings, words: WordCache | None
) -> CountVectorizer:
    # A pattern and not a function, so that the saved file holds no code.
    made = CountVectorizer(binary=True, token_pattern=TOKEN.pattern, min_df=settings.min_count)
    try:
        return words.vectorizer(texts, settings.min_count) if words else made.fit(texts)
    except ValueError as error:
        message = f"there are no words to learn from: {error}"
        raise BadInput(message, hint="Give longer texts, or lower `min_count`.") from None


def _responses(passages: Passages) -> Iterator[str]:
    return (passage.response for passage in iterate(passages))


def _contexts(passages: Passages) -> Iterator[str]:
    return ("\n".join(turn.text for turn in each.context) for each in iterate(passages))


def _matrix(
    parts: dict[str, Any], passages: Passages, dense: np.ndarray, words: WordCache | None = None
) -> csr_matrix:
    """Words of the response, words of the context, and dense columns, one row a passage."""

    def counted(part: str, texts: Iterator[str]) -> csr_matrix:
        return words.matrix(parts[part], texts) if words else parts[part].transform(texts)

    blocks = [counted("response", _responses(passages))]
    if "context" in parts:
        blocks.append(counted("context", _contexts(passages)))
    if "scaler" in parts:
        blocks.append(csr_matrix(parts["scaler"].transform(dense)))
    return hstack(blocks, format="csr", dtype=np.float64)


def _numbers(features: Mapping[str, Any], passages: Passages) -> np.ndarray:
    """One column for each scorer, shape `(n, scorers)`."""
    columns = np.empty((len(passages), len(features)))
    for place, (name, scorer) in enumerate(features.items()):
        columns[:, place] = _finite(np.asarray(scorer(passages), dtype=float), name)
    return columns


def _vectors(represent: Represent, passages: Passages, width: int | None = None) -> np.ndarray:
    found = _finite(np.asarray(represent(passages), dtype=float), "neural")
    if found.ndim != 2 or found.shape != (len(passages), width or found.shape[-1]):
        raise BadInput(
            f"a representation has the shape {(len(passages), width or 'd')}, but this one has "
            f"{found.shape}.",
            hint="Pass the function that the scorer was fitted with.",
        )
    return found


def _finite(values: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise BadInput(
            f"the feature {name!r} is not a finite number in {(~np.isfinite(values)).sum()} cases.",
            hint="Drop these passages, or use another scorer.",
        )
    return values


def _out_of_fold(
    pairs: Passages, parts: list[_Fold], factory: Callable[[Passages], Represent]
) -> np.ndarray:
    """Each fold represented by a network that has not seen it, shape `(n, d)`."""
    found = None
    for part in parts:
        width = None if found is None else found.shape[1]
        represent = factory(select(pairs, part.learn))
        vectors = _vectors(represent, select(pairs, part.held_out), width)
        if found is None:
            found = np.empty((len(pairs), vectors.shape[1]))
        found[part.held_out] = vectors
    return found


def _slices(passages: Passages) -> Iterator[Passages]:
    """The table in parts that fit in memory."""
    for start in range(0, len(passages), BATCH):
        yield passages.select(range(start, min(start + BATCH, len(passages))))


def _names(features: Mapping[str, Any]) -> dict[str, str]:
    """Whose numbers each feature is."""
    return {
        name: getattr(scorer, "name", None) or getattr(scorer, "__name__", type(scorer).__name__)
        for name, scorer in features.items()
    }


def _needed(settings: dict[str, Any], given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The scorers that a saved one uses, in the order of its columns."""
    needed = settings["features"]
    missing = [f"{name!r} (by {whose!r})" for name, whose in needed.items() if name not in given]
    if missing:
        raise BadInput(
            f"it uses the numbers of other scorers, of which {', '.join(missing)} is missing.",
            folder,
            hint="Pass them: load_scorer(folder, features={name: scorer}).",
        )
    features = {name: given[name] for name in needed}
    for name, whose in _names(features).items():
        if whose != needed[name]:
            logger.warning(
                "The feature %r was %r when the scorer was fitted, and is %r now.",
                name, needed[name], whose,
            )  # fmt: skip
    return features


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput(f"no {MODEL} here.", path.parent, hint="Copy the whole folder again.")
    try:
        return skops.io.load(path, trusted=list(TRUSTED))
    except UntrustedTypesFoundException as error:
        message = f"it holds what a scorer of ours never does: {error}"
        raise BadInput(message, path, hint="Do not use it.") from None
    except (zipfile.BadZipFile, KeyError, ValueError) as error:
        message = f"it cannot be read: {error}"
        raise BadInput(message, path, hint="Copy the whole folder again.") from None
