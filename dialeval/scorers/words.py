"""Texts as sets of words; every text is tokenized once."""

from array import array
from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from dialeval.dialogues.tokens import TOKEN


class WordCache:
    """Caches the words of every text, as numbers.

    Cross-fitting reads each text dozens of times. The matrices equal those of a
    `CountVectorizer(binary=True)` with the project's tokens.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words: dict[str, np.ndarray] = {}

    def vectorizer(self, texts: Iterable[str], min_count: int = 1) -> CountVectorizer:
        """A fitted vectorizer over the words of some texts, its columns in alphabetical order."""
        rows = [self._of(text) for text in texts]
        used, counts = np.unique(_joined(rows), return_counts=True)
        names = list(self._numbers)  # in the order of their numbers
        kept = sorted(names[number] for number in used[counts >= min_count])
        if not kept:
            raise ValueError("empty vocabulary; perhaps the texts only contain rare words")
        fitted = CountVectorizer(binary=True, token_pattern=TOKEN.pattern, min_df=min_count)
        fitted.set_params(vocabulary={word: column for column, word in enumerate(kept)})
        fitted._validate_vocabulary()
        return fitted

    def matrix(self, vectorizer: CountVectorizer, texts: Iterable[str]) -> csr_matrix:
        """The matrix that the vectorizer returns for texts, shape `(texts, words)`."""
        rows = [self._of(text) for text in texts]
        columns = np.full(len(self._numbers) + 1, -1)
        for word, column in vectorizer.vocabulary_.items():
            number = self._numbers.get(word)
            if number is not None:
                columns[number] = column
        sizes = [len(row) for row in rows]
        column_of = columns[_joined(rows)]
        row = np.repeat(np.arange(len(rows)), sizes)[column_of >= 0]
        column_of = column_of[column_of >= 0]
        shape = (len(rows), len(vectorizer.vocabulary_))
        return csr_matrix((np.ones(len(row), dtype=np.int64), (row, column_of)), shape=shape)

    def _of(self, text: str) -> np.ndarray:
        cached = self._words.get(text)
        if cached is None:
            words = dict.fromkeys(TOKEN.findall(text.lower()))
            numbers = [self._numbers.setdefault(word, len(self._numbers)) for word in words]
            cached = self._words[text] = np.array(numbers, dtype=np.int32)
        return cached


def word_matrix(vectorizer: CountVectorizer, texts: Iterable[str]) -> csr_matrix:
    """The matrix that the vectorizer returns for texts, in less time than it needs itself.

    Args:
        vectorizer (`CountVectorizer`):
            With the project's tokens, as an evaluator has it.
        texts (`Iterable[str]`):
            The texts.

    Returns:
        `csr_matrix`: Shape `(texts, words)`, with a one for each word of the text.
    """
    if vectorizer.token_pattern != TOKEN.pattern or not vectorizer.binary:
        return vectorizer.transform(texts)
    column_of, columns, bounds = vectorizer.vocabulary_.get, array("i"), array("q", [0])
    for text in texts:
        row = set(map(column_of, TOKEN.findall(text.lower())))
        row.discard(None)
        columns.extend(row)
        bounds.append(len(columns))
    indices, indptr = np.array(columns, dtype=np.int32), np.array(bounds)
    shape = (len(bounds) - 1, len(vectorizer.vocabulary_))
    matrix = csr_matrix((np.ones(len(columns), dtype=np.int64), indices, indptr), shape=shape)
    matrix.sort_indices()
    return matrix


def _joined(rows: list[np.ndarray]) -> np.ndarray:
    """All numbers of some rows, as integers."""
    return np.concatenate(rows).astype(int) if rows else np.zeros(0, int)
