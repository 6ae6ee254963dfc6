"""Folds and feature matrices of support vector machines."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import coo_matrix, csr_matrix, hstack
from scipy.sparse.csgraph import connected_components
from sklearn.feature_extraction.text import CountVectorizer

from dialeval.dialogues import BadInput, Passages, folds, select
from dialeval.dialogues.contexts import joined_contexts
from dialeval.dialogues.storage import batches
from dialeval.dialogues.tokens import TOKEN
from dialeval.dialogues.types import text_hash
from dialeval.scorers.words import WordCache, word_matrix

Represent = Callable[[Passages], np.ndarray]
"""Gives each passage a vector, shape `(n, d)`."""
MIN_CLOSED = 3
"""Folds of dialogues that share no reply, from which they are used."""


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


@dataclass(frozen=True)
class Fold:
    """Rows to train on, and rows to predict, as masks."""

    learn: np.ndarray
    held_out: np.ndarray


def make_folds(pairs: Passages, labels: np.ndarray, settings: SvmSettings) -> list[Fold]:
    """Every row is held out once, together with its dialogue.

    A random reply is the human reply of another dialogue: learned as human there, it would be
    predicted human here, and a sigmoid fitted to such errors would invert the decision. So
    dialogues that share replies are held out together. Where that would put most of them into one
    fold, rows whose reply also occurs in the held-out rows are left out of training instead.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        labels (`np.ndarray`):
            Their labels.
        settings (`SvmSettings`):
            Number of folds and seed.

    Returns:
        `list[Fold]`: One per fold.
    """
    # A separate seed: a part that was split off with the same one would be a single fold.
    number = folds(pairs, settings.folds, text_hash(["svm", str(settings.seed)]) % 2**31)
    replies = _numbers_of(replies_of_dialogues(pairs))
    if _is_shared(replies, number):
        closed = closed_folds(dialogue_numbers(pairs), replies, settings.folds)
        number = number if closed is None else closed
    rotation = []
    for fold in np.unique(number):
        held_out = number == fold
        learn = ~held_out & ~np.isin(replies, replies[held_out])
        if len(np.unique(labels[learn])) < 2:
            raise BadInput(
                f"The {len(labels)} pairs come from too few dialogues: without fold {fold} of "
                f"{settings.folds} there is one class left, or nothing.",
                hint="Give more dialogues, and each passage its `dialogue_id`.",
            )
        rotation.append(Fold(learn, held_out))
    return rotation


def _is_shared(replies: np.ndarray, number: np.ndarray) -> bool:
    """Whether any reply stands in more than one fold."""
    first = np.zeros(int(replies.max()) + 1, dtype=number.dtype)
    first[replies] = number
    return bool((first[replies] != number).any())


def closed_folds(dialogues: np.ndarray, replies: np.ndarray, k: int) -> np.ndarray | None:
    """Folds of whole groups of dialogues, so that no reply is in two of them.

    The training part of a cross-fit has such groups: its random replies were drawn inside each of
    the other folds. Large groups come first, each into the fold that has the fewest rows.

    Args:
        dialogues (`np.ndarray`):
            Number of the dialogue of each row.
        replies (`np.ndarray`):
            Number of the reply of each row.
        k (`int`):
            Folds at most.

    Returns:
        `np.ndarray` or `None`: The fold of each row; `None` where this would be less than three
        folds, or one of them would have more than half of the rows.

    Examples:
        >>> closed_folds(np.array([0, 1, 2, 3, 4]), np.array([0, 0, 1, 2, 3]), 3)  # 0 and 1 share
        array([0, 0, 1, 2, 1])
        >>> closed_folds(np.array([0, 1, 2]), np.array([0, 0, 0]), 3) is None
        True
    """
    nodes = int(dialogues.max()) + 1
    edges = (np.ones(len(dialogues)), (dialogues, nodes + replies))
    size = nodes + int(replies.max()) + 1
    _, component = connected_components(coo_matrix(edges, (size, size)), directed=False)
    _, group, rows = np.unique(component[dialogues], return_inverse=True, return_counts=True)
    load, number = np.zeros(k, dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    for index in np.argsort(-rows, kind="stable"):
        number[index] = load.argmin()
        load[number[index]] += rows[index]
    if (load > 0).sum() < MIN_CLOSED or load.max() > len(dialogues) / 2:
        return None
    return number[group]


def replies_of_dialogues(pairs: Passages) -> list[pa.Array]:
    """Each reply with the dialogue that it comes from, as one text, batch by batch."""
    keys = []
    for batch in batches(pairs):
        source = batch["source_dialogue_id"]
        borrowed = pc.fill_null(pc.not_equal(source, ""), False)
        origin = pc.if_else(borrowed, source, pc.fill_null(batch["dialogue_id"], ""))
        response = pc.fill_null(batch["response"], "")
        keys.append(pc.binary_join_element_wise(origin, response, "\x1f"))
    return keys


def dialogue_numbers(pairs: Passages) -> np.ndarray:
    """A number for the dialogue of each pair, from 0 in the order of their first pairs."""
    return _numbers_of([pc.fill_null(batch["dialogue_id"], "") for batch in batches(pairs)])


def _numbers_of(parts: list[pa.Array]) -> np.ndarray:
    """The same number for equal texts."""
    column = pa.chunked_array(parts, pa.string()).combine_chunks()
    return column.dictionary_encode().indices.to_numpy()


def fit_vectorizers(
    pairs: Passages, settings: SvmSettings, words: WordCache | None
) -> dict[str, Any]:
    """Vectorizers fitted on all rows; a word that other folds lack gets no weight from them.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        settings (`SvmSettings`):
            Which words count.
        words (`WordCache`, *optional*):
            Words of texts that were read already.

    Returns:
        `dict[str, CountVectorizer]`: Of the response, and of the context if it counts.
    """
    parts = {"response": _vectorizer(_responses(pairs), settings, words)}
    if settings.use_context:
        parts["context"] = _vectorizer(_contexts(pairs), settings, words)
    return parts


def _vectorizer(
    texts: Iterator[str], settings: SvmSettings, words: WordCache | None
) -> CountVectorizer:
    # A pattern and not a function, so that the saved file holds no code.
    fitted = CountVectorizer(binary=True, token_pattern=TOKEN.pattern, min_df=settings.min_count)
    try:
        return words.vectorizer(texts, settings.min_count) if words else fitted.fit(texts)
    except ValueError as error:
        message = f"there are no words to learn from: {error}."
        raise BadInput(message, hint="Give longer texts, or lower `min_count`.") from None


def _responses(passages: Passages) -> Iterator[str]:
    for batch in batches(passages):
        yield from batch["response"].to_numpy(zero_copy_only=False)


def _contexts(passages: Passages) -> Iterator[str]:
    for batch in batches(passages):
        yield from joined_contexts(batch["context"], "\n").to_numpy(zero_copy_only=False)


def feature_matrix(
    parts: dict[str, Any], passages: Passages, dense: np.ndarray, words: WordCache | None = None
) -> csr_matrix:
    """Words of the response, words of the context, and dense columns, one row per passage.

    Args:
        parts (`dict`):
            Fitted vectorizers and scaler.
        passages (`Passages`):
            The passages.
        dense (`np.ndarray`):
            Dense columns, shape `(n, d)`.
        words (`WordCache`, *optional*):
            Words of texts that were read already.

    Returns:
        `csr_matrix`: Shape `(n, features)`.
    """

    def counts(part: str, texts: Iterator[str]) -> csr_matrix:
        return words.matrix(parts[part], texts) if words else word_matrix(parts[part], texts)

    blocks = [counts("response", _responses(passages))]
    if "context" in parts:
        blocks.append(counts("context", _contexts(passages)))
    if "scaler" in parts:
        blocks.append(csr_matrix(parts["scaler"].transform(dense)))
    return hstack(blocks, format="csr", dtype=np.float64)


def scorer_features(features: Mapping[str, Any], passages: Passages) -> np.ndarray:
    """One column per scorer, shape `(n, scorers)`."""
    columns = np.empty((len(passages), len(features)))
    for column, (name, scorer) in enumerate(features.items()):
        columns[:, column] = _finite(np.asarray(scorer(passages), dtype=float), name)
    return columns


def neural_features(
    represent: Represent, passages: Passages, width: int | None = None
) -> np.ndarray:
    """Neural representation of passages, checked for shape and finite values.

    Args:
        represent (`Callable`):
            Gives each passage a vector.
        passages (`Passages`):
            The passages.
        width (`int`, *optional*):
            Expected number of dimensions.

    Returns:
        `np.ndarray`: Finite vectors, shape `(n, d)`.
    """
    vectors = _finite(np.asarray(represent(passages), dtype=float), "neural")
    if vectors.ndim != 2 or vectors.shape != (len(passages), width or vectors.shape[-1]):
        raise BadInput(
            f"a representation has the shape {(len(passages), width or 'd')}, but this one has "
            f"{vectors.shape}.",
            hint="Pass the function that the scorer was fitted with.",
        )
    return vectors


def _finite(values: np.ndarray, name: str) -> np.ndarray:
    if not np.isfinite(values).all():
        raise BadInput(
            f"the feature {name!r} is not a finite number in {(~np.isfinite(values)).sum()} cases.",
            hint="Drop these passages, or use another scorer.",
        )
    return values


def out_of_fold_features(
    pairs: Passages, parts: list[Fold], factory: Callable[[Passages], Represent]
) -> np.ndarray:
    """Vectors of each fold by a network that was not trained on it, shape `(n, d)`.

    Args:
        pairs (`Passages`):
            Labelled pairs.
        parts (`list[Fold]`):
            The folds.
        factory (`Callable`):
            Trains a network on pairs and returns the function that represents passages.

    Returns:
        `np.ndarray`: Shape `(n, d)`.
    """
    features: np.ndarray | None = None
    for part in parts:
        width = None if features is None else features.shape[1]
        represent = factory(select(pairs, part.learn))
        vectors = neural_features(represent, select(pairs, part.held_out), width)
        if features is None:
            features = np.empty((len(pairs), vectors.shape[1]))
        features[part.held_out] = vectors
    return np.zeros((0, 0)) if features is None else features
