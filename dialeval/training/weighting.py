"""Weights of training responses: generic ones count less."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from dialeval.dialogues.tokens import tokens


class TfIdfWeights:
    """Weights of the responses of a batch by their tf-idf (Li et al., 2017, footnote 6).

    Each response is a document, stop words are left out, also shortened ones ("it's", "don't"). A
    response scores the mean of `tf * log(N / df)` over its words; scores above `cap` times the
    smallest positive one of the batch are cut to that, and weights are scores scaled to a mean of
    one. A response without content words, which the paper does not mention, gets the smallest
    positive score.

    Args:
        responses (`Iterable[str]`):
            The training responses, from which document frequencies are counted.
        cap (`float`, *optional*, defaults to 3.0):
            L of the paper.

    Examples:
        >>> weights = TfIdfWeights(["the cat sat", "the dog sat", "the dog ran", "i do"])
        >>> weights(["cat ran", "dog sat", "i do"]).tolist()  # log 4 is twice log 2
        [1.5, 0.75, 0.75]
    """

    def __init__(
        self,
        responses: Iterable[str],
        cap: float = 3.0,
        stop_words: Iterable[str] = ENGLISH_STOP_WORDS,
    ):
        self.cap = cap
        self.stop_words = frozenset(stop_words)
        self.documents = 0
        self.frequency: Counter[str] = Counter()
        for response in responses:
            self.documents += 1
            self.frequency.update(set(self._content(response)))

    def score(self, response: str) -> float:
        """Mean tf-idf of a response's content words; 0 where it has none."""
        words = self._content(response)
        if not words:
            return 0.0
        times = Counter(words)
        return sum(times[word] * self._idf(word) for word in words) / len(words)

    def __call__(self, responses: Sequence[str]) -> np.ndarray:
        """Weights of a batch, their mean one."""
        return self.weights(np.array([self.score(response) for response in responses]))

    def weights(self, scores: np.ndarray) -> np.ndarray:
        """Weights from the scores of a batch."""
        if not (scores > 0).any():
            return np.ones(len(scores))
        smallest = scores[scores > 0].min()
        scores = np.clip(scores, smallest, self.cap * smallest)
        return scores * len(scores) / scores.sum()

    def _content(self, response: str) -> list[str]:
        words = (word.lower() for word in tokens(response))
        return [word for word in words if word[0].isalnum() and not self._is_stop(word)]

    def _is_stop(self, word: str) -> bool:
        head, mark, tail = word.replace("’", "'").partition("'")
        if mark and head.endswith("n") and tail == "t":
            return "not" in self.stop_words
        return head in self.stop_words or word in self.stop_words

    def _idf(self, word: str) -> float:
        return math.log(max(1, self.documents) / max(1, self.frequency[word]))
