"""Families of features of a context and a response; every text and pair is read once."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from datasets import Dataset
from scipy.sparse import hstack
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import batches
from dialeval.models.embedding import CachedEmbedder
from dialeval.scorers.baselines import NEUTRAL, labels_of
from dialeval.scorers.crossed import crossed_features
from dialeval.scorers.embedding import Embed
from dialeval.scorers.gaussian import SHRINKAGE
from dialeval.scorers.likelihoods import ContextLikelihood
from dialeval.scorers.linear_features import Fold, SvmSettings, dialogue_numbers, make_folds
from dialeval.scorers.matching import CORPUS, DIRECTIONS, default_matcher, matching_features
from dialeval.scorers.row_cache import FitCache, Matrix, RowCache

T = TypeVar("T")
Pair = tuple[tuple[str, ...], str]
"""The texts of a context, and the response."""
_NGRAM_BITS, _CROSSED_BITS = 18, 20
_CROSSED_TURNS = 2
INNER_FOLDS = 4
DENSITIES = 512
"""Gaussians that a store keeps: those of a system's folds and seeds, for the next system."""
OF_TOWERS = ("matching", "contrast", "affinity", "bilinear")
"""Families that read the towers, which were fitted in advance."""
SPACES = {"contrast": "towers", "affinity": "towers", "flow": "states", "style": "states"}
"""Families with the same features."""
_TOP = DIRECTIONS[0]
_TOP_BEFORE, _LOW_BEFORE = 40, 12  # main directions of the turn before the last one
_ODD_SPACE = re.compile(r"\s{2,}|[^\S ]|^\s|\s$")
"""White space that is no single space between words."""


@dataclass(frozen=True)
class Family:
    """What a family of features reads, and how strongly its regression is penalised.

    Args:
        reads_context (`bool`):
            Whether it is about the context and the response, or about the response alone.
        strength (`float`):
            Penalty of its regression: see [`fit_family`].
        needs_states (`bool`, *optional*, defaults to `False`):
            Whether it needs an embedder with `states`.
        model (`str`, *optional*, defaults to `"linear"`):
            `"linear"`; a Gaussian one: of both `"classes"`, or of the `"human"` pairs alone; or
            `"bilinear"`.
        shrinkage (`float`, *optional*):
            Weight of the variances alone in the covariances of a Gaussian model.
    """

    reads_context: bool
    strength: float = 0.0
    needs_states: bool = False
    model: Literal["linear", "classes", "human", "bilinear"] = "linear"
    shrinkage: float = SHRINKAGE


FAMILIES = {
    "ngrams": Family(False, 1e-3),
    "response": Family(False, 3.0),
    "vectors": Family(True, 3.0),
    "crossed": Family(True, 0.1),
    "matching": Family(True, 0.5, needs_states=True),
    "contrast": Family(True, needs_states=True, model="classes"),
    "affinity": Family(True, needs_states=True, model="human"),
    "bilinear": Family(True, needs_states=True, model="bilinear"),
    "flow": Family(True, needs_states=True, model="human", shrinkage=0.5),
    "style": Family(True, needs_states=True, model="classes"),
    "likelihood": Family(True, 0.1),
}
"""Every family by name.

- `ngrams` reads the response as it is written, case included: words and pairs of words, and runs
  of 2 to 4 characters.
- `response` has the sentence vector of the response.
- `vectors` adds products with the vectors of the context: is the response on topic?
- `crossed` multiplies words and marks of the last turns with those of the response: does it answer
  this very turn?
- `matching` asks the same of towers that were fitted in advance to another corpus.
- `contrast` and `affinity` are Gaussian models of the towers' outputs: how the classes differ, and
  how contexts and responses go together in human pairs.
- `bilinear` weights all products of the towers' outputs and of the encoder's lower layers by how
  the classes differ in them.
- `flow` and `style` are the same as `affinity` and `contrast`, of the main directions of the
  encoder's layers: which topics follow each other, and how a turn is put after one like this.
- `likelihood` asks a language model what the context adds to the likelihood of the response. It is
  slow, and only used where it is named: evaluator `stack+lm`.
"""


class FeatureStore:
    """Features of pairs, shared by the folds, seeds and scenarios of a run.

    Args:
        embed (`Callable`, *optional*):
            Sentence encoder, from texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default.
        likelihood (`Callable`, *optional*):
            From pairs to the features of `likelihood`; [`ContextLikelihood`] by default.
    """

    def __init__(self, embed: Embed | None = None, likelihood: Any = None):
        self.embed: Any = embed or CachedEmbedder()
        self._ngrams, self._crossed = RowCache(_ngram_rows), RowCache(_crossed_rows)
        self._vector_rows = RowCache(self._embedded)
        self._towers = RowCache(self._tower_rows)
        self._components = RowCache(self._component_rows)
        self._likelihood = RowCache(likelihood or ContextLikelihood())
        self.fits, self.densities = FitCache(), FitCache(DENSITIES)
        self._latest: dict[str, tuple[Sequence[Pair], Any]] = {}
        self._texts: WeakKeyDictionary[Passages, list[Pair]] = WeakKeyDictionary()
        self._folds: WeakKeyDictionary[Passages, dict[int, Any]] = WeakKeyDictionary()
        self._dialogues: WeakKeyDictionary[Passages, np.ndarray] = WeakKeyDictionary()

    @property
    def has_states(self) -> bool:
        """Whether the embedder gives the states that the family `matching` needs."""
        return hasattr(self.embed, "states") and getattr(self.embed, "has_states", True)

    def texts(self, passages: Passages | Iterable[Passage]) -> list[Pair]:
        """What `texts_of_pairs` gives; a table is read once."""
        if not isinstance(passages, Dataset):
            return texts_of_pairs(passages)
        if passages not in self._texts:
            self._texts[passages] = texts_of_pairs(passages)
        return self._texts[passages]

    def inner_folds(self, pairs: Passages, seed: int) -> tuple[np.ndarray, list[Fold]]:
        """Labels of pairs, and the folds in which families are compared; computed once."""
        folds = self._folds.setdefault(pairs, {})
        if seed not in folds:
            labels = labels_of(pairs)
            settings = SvmSettings(folds=INNER_FOLDS, seed=seed)
            folds[seed] = (labels, make_folds(pairs, labels, settings))
        return folds[seed]

    def dialogues(self, pairs: Passages) -> np.ndarray:
        """A number for the dialogue of each pair; computed once."""
        if pairs not in self._dialogues:
            self._dialogues[pairs] = dialogue_numbers(pairs)
        return self._dialogues[pairs]

    def matrix(self, family: str, pairs: Sequence[Pair]) -> Matrix:
        """The features of one family.

        Args:
            family (`str`):
                One of `FAMILIES`.
            pairs (`Sequence[Pair]`):
                Contexts and responses.

        Returns:
            `np.ndarray` or `csr_matrix`: One row per pair.
        """
        if family == "ngrams":
            return self._ngrams([response for _, response in pairs])
        if family == "crossed":
            return self._crossed([(turns[-_CROSSED_TURNS:], reply) for turns, reply in pairs])
        if family == "likelihood":
            return self._likelihood(pairs)
        if family == "response":
            return self.embed([response or " " for _, response in pairs])
        if family == "vectors":
            return self._vectors(pairs)
        if SPACES.get(family) == "states":
            return self._once("states", pairs, lambda: np.hstack(self._along_axes(pairs)))
        last, previous, response = self._once("towers", pairs, lambda: self._tower_outputs(pairs))
        if family == "matching":
            return matching_features(last, previous, response)
        if family == "bilinear":
            return np.hstack(self._bilinear_sides(pairs, last, previous, response))
        return np.hstack([last + previous, response])

    def _once(self, space: str, pairs: Sequence[Pair], make: Callable[[], T]) -> T:
        """What several families read of the same pairs, one after the other."""
        latest = self._latest.get(space)
        if latest is None or latest[0] is not pairs:
            latest = self._latest[space] = (pairs, make())
        made: T = latest[1]
        return made

    def _vectors(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Vectors of the response, their products with the context's, and cosines."""
        response, last, previous = self._turns(pairs, self._vector_rows)
        with_last, with_previous = response * last, response * previous
        cosines = np.stack([with_last.sum(1), with_previous.sum(1)], 1)
        scale = np.float32(np.sqrt(response.shape[1]))
        return np.hstack([response, with_last, with_previous, cosines * scale])

    def split(self, family: str) -> int:
        """How many columns of a Gaussian or bilinear family describe the context."""
        lower = sum(DIRECTIONS[1:])
        if SPACES.get(family) == "states":
            return lower + _TOP + _TOP_BEFORE + _LOW_BEFORE * len(DIRECTIONS[1:])
        width = default_matcher().width
        return width + lower if family == "bilinear" else width

    def _along_axes(self, pairs: Sequence[Pair]) -> tuple[np.ndarray, np.ndarray]:
        """Main directions of context and response: see [`Matcher.components`]."""
        self._require_states()
        response, last, previous = self._turns(pairs, self._components)
        starts = np.cumsum(DIRECTIONS)[:-1]
        before = [previous[:, :_TOP_BEFORE], *(previous[:, at : at + _LOW_BEFORE] for at in starts)]
        return np.hstack([last, *before]), response

    def _bilinear_sides(
        self, pairs: Sequence[Pair], last: np.ndarray, previous: np.ndarray, response: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Outputs of the towers' second task, with the encoder's lower layers."""
        half = response.shape[1] // 2
        reply, turn, _ = self._turns(pairs, self._components)
        context = np.hstack([last[:, half:], previous[:, half:], turn[:, _TOP:]])
        return context, np.hstack([response[:, half:], reply[:, _TOP:]])

    def _component_rows(self, texts: list[str]) -> np.ndarray:
        states = self.embed.states([text or " " for text in texts])
        return default_matcher().components(states)

    def _require_states(self) -> None:
        if not self.has_states:
            raise BadInput(
                "features of the towers need an embedder with `states`, as MiniLM's.",
                hint="Use the default embedder, or fit the evaluator again without them.",
            )

    def _tower_outputs(self, pairs: Sequence[Pair]) -> list[np.ndarray]:
        """Outputs of the last turn, the one before it, and the response, in their towers."""
        self._require_states()
        width = default_matcher().width
        response, last, previous = self._turns(pairs, self._towers)
        return [last[:, :width], previous[:, width : 2 * width], response[:, 2 * width :]]

    def _embedded(self, texts: list[str]) -> np.ndarray:
        return self.embed([text or " " for text in texts])

    def _tower_rows(self, texts: list[str]) -> np.ndarray:
        states = self.embed.states([text or " " for text in texts])
        return default_matcher()(texts, states).reshape(len(texts), -1)

    def _turns(self, pairs: Sequence[Pair], rows: Any) -> list[np.ndarray]:
        """Rows of the response, the last turn and the one before; zeros where there is none."""
        columns = [rows([response for _, response in pairs])]
        for at in (1, 2):
            present = np.array([len(turns) >= at for turns, _ in pairs], dtype=bool)
            column = np.zeros_like(columns[0])
            if present.any():
                column[present] = rows([turns[-at] for turns, _ in pairs if len(turns) >= at])
            columns.append(column)
        return columns


def texts_of_pairs(passages: Passages | Iterable[Passage]) -> list[Pair]:
    """Contexts and responses as texts, without decoding the other columns.

    Examples:
        >>> texts_of_pairs([Passage((), "Hello")])
        [((), 'Hello')]
    """
    if not isinstance(passages, Dataset):
        return [(tuple(turn.text for turn in p.context), p.response) for p in passages]
    pairs: list[Pair] = []
    for batch in batches(passages):
        contexts = batch["context"]
        texts = pa.array(contexts.flatten().field("text")).to_pylist()
        sizes = contexts.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        offsets = [0, *np.cumsum(sizes).tolist()]
        turns = (tuple(texts[start:stop]) for start, stop in pairwise(offsets))
        pairs += zip(turns, batch["response"].to_pylist(), strict=True)
    return pairs


def unseen_families(names: Sequence[str], parts: Sequence[Passages]) -> list[str]:
    """The families that were not fitted to these very dialogues in advance.

    On the embedded corpus the towers would recognise human replies that they were fitted to.

    Args:
        names (`Sequence[str]`):
            Families that are wanted.
        parts (`Sequence[Passages]`):
            Passages.

    Returns:
        `list[str]`: Without those of the towers where a passage is of their corpus.
    """
    seen = any(has_corpus(passages, CORPUS) for passages in parts)
    return [name for name in names if not (seen and name in OF_TOWERS)]


def has_corpus(passages: Passages, corpus: str) -> bool:
    """Whether any passage is of a corpus."""
    if "corpus" not in passages.column_names:
        return False
    return any(corpus in batch["corpus"].unique().to_pylist() for batch in batches(passages))


def usable_families(names: Sequence[str], pairs: Sequence[Pair], store: FeatureStore) -> list[str]:
    """The families that these pairs and this embedder allow.

    Where all contexts are empty, or the neutral turn that stands for none, only the response can
    be read: families of context and response are left out, and `vectors` becomes `response`.

    Args:
        names (`Sequence[str]`):
            Families that are wanted.
        pairs (`Sequence[Pair]`):
            Contexts and responses.
        store (`FeatureStore`):
            Features, with their embedder.

    Returns:
        `list[str]`: At least one name.

    Raises:
        BadInput: A name is unknown, or no family is left.
    """
    unknown = [name for name in names if name not in FAMILIES]
    if unknown or not names:
        given = repr(unknown[0]) if unknown else "none"
        raise BadInput(f"unknown family of features: {given}.",
                       hint=f"Choose from {', '.join(FAMILIES)}.")  # fmt: skip
    if any(text != NEUTRAL for turns, _ in pairs for text in turns):
        usable = [name for name in names if store.has_states or not FAMILIES[name].needs_states]
    else:
        blind = ["response" if name == "vectors" else name for name in names]
        usable = [name for name in dict.fromkeys(blind) if not FAMILIES[name].reads_context]
        usable = usable or ["response"]
    if not usable:
        raise BadInput(f"no features are left of {', '.join(names)}: the embedder has no `states`.",
                       hint="Add ngrams, vectors or crossed.")  # fmt: skip
    return usable


def _ngram_rows(texts: list[str]) -> Any:
    words = HashingVectorizer(
        n_features=1 << _NGRAM_BITS, lowercase=False, token_pattern=r"\w+|[^\w\s]",
        ngram_range=(1, 2), alternate_sign=False, dtype=np.float32,
    )  # fmt: skip
    characters = HashingVectorizer(
        n_features=1 << _NGRAM_BITS, lowercase=False, analyzer="char", ngram_range=(2, 4),
        alternate_sign=False, dtype=np.float32,
    )  # fmt: skip
    visible = [_ODD_SPACE.sub(_visible, text) for text in texts]  # the analyzer would merge them
    return hstack([words.transform(texts), characters.transform(visible)], format="csr")


def _visible(space: re.Match[str]) -> str:
    return "␣" * len(space[0])


def _crossed_rows(pairs: list[Pair]) -> Any:
    names = (crossed_features(turns, response) for turns, response in pairs)
    hasher = FeatureHasher(
        1 << _CROSSED_BITS, input_type="string", alternate_sign=False, dtype=np.float32
    )
    matrix = hasher.transform(names)
    matrix.data[:] = 1.0  # whether a feature is there, not how often
    return matrix
