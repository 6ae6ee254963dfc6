"""Texts as sets of words, each text taken apart once."""

from collections.abc import Iterable

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer

from dialeval.dialogues.tokens import TOKEN


class WordCache:
    """Remembers the words of every text it has seen, as numbers.

    Cross-fitting reads each text dozens of times; what it is made of does not change. Gives the
    very matrices of a `CountVectorizer(binary=True)` with the project's tokens.
    """

    def __init__(self):
        self._numbers: dict[str, int] = {}
        self._words: dict[str, np.ndarray] = {}

    def vectorizer(self, texts: Iterable[str], min_count: int = 1) -> CountVectorizer:
        """A fitted vectorizer over the words of some texts, its columns in alphabetical order."""
        rows = [self._of(text) for text in texts]
        found, counts = np.unique(np.concatenate(rows or [[]]).astype(int), return_counts=True)
        names = list(self._numbers)  # in the order of their numbers
        kept = sorted(names[number] for number in found[counts >= min_count])
        if not kept:
            raise ValueError("empty vocabulary; perhaps the texts only contain rare words")
        made = CountVectorizer(binary=True, token_pattern=TOKEN.pattern, min_df=min_count)
        made.set_params(vocabulary={word: column for column, word in enumerate(kept)})
        made._validate_vocabulary()
        return made

    def matrix(self, vectorizer: CountVectorizer, texts: Iterable[str]) -> csr_matrix:
        """What the vectorizer would give, shape `(texts, words)`."""
        rows = [self._of(text) for text in texts]
        columns = np.full(len(self._numbers) + 1, -1)
        for word, column in vectorizer.vocabulary_.items():
            number = self._numbers.get(word)
            if number is not None:
                columns[number] = column
        sizes = [len(row) for row in rows]
        place = columns[np.concatenate(rows or [np.zeros(0, int)]).astype(int)]
        row = np.repeat(np.arange(len(rows)), sizes)[place >= 0]
        place = place[place >= 0]
        shape = (len(rows), len(vectorizer.vocabulary_))
        return csr_matrix((np.ones(len(place), dtype=np.int64), (row, place)), shape=shape)

    def _of(self, text: str) -> np.ndarray:
        found = self._words.get(text)
        if found is None:
            words = dict.fromkeys(TOKEN.findall(text.lower()))
            numbers = [self._numbers.setdefault(word, len(self._numbers)) for word in words]
            found = self._words[text] = np.array(numbers, dtype=np.int32)
        return found
