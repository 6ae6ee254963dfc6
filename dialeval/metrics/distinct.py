"""Diversity of responses, which dialogue papers report next to an evaluator's numbers."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np


class DistinctResult(TypedDict):
    """What `distinct` returns."""

    distinct_1: float
    distinct_2: float
    tokens: float
    most_frequent: float
    unique: float
    self_repetition: float
    n: int


def distinct(
    responses: Sequence[str],
    tokenise: Callable[[str], Sequence[str]] = str.split,
    repeat_n: int = 2,
) -> DistinctResult:
    """Distinct n-grams, length, the most frequent response and repetition within responses.

    Distinct-1 and distinct-2 are divided by the number of *tokens* (Li et al., 2016a, sec. 5.2),
    not of n-grams. They fall as text grows: compare systems on the same contexts.

    Args:
        responses (`Sequence[str]`):
            The texts, compared as they are, including their case.
        tokenise (`Callable`, *optional*, defaults to `str.split`):
            Returns the tokens of a response.
        repeat_n (`int`, *optional*, defaults to 2):
            The length of the n-grams of `self_repetition`.

    Returns:
        `DistinctResult`: `distinct_1`, `distinct_2`; `tokens` (mean per response); `most_frequent`
        (share of the most common response); `unique` (different responses over all);
        `self_repetition` (share of responses that repeat an n-gram of `repeat_n` tokens); `n`.

    Examples:
        >>> result = distinct(["yes i do", "yes i do", "no"])
        >>> result["distinct_1"] == 4 / 7, result["distinct_2"] == 2 / 7, result["tokens"] == 7 / 3
        (True, True, True)
    """
    if isinstance(responses, str) or not all(isinstance(text, str) for text in responses):
        raise ValueError("Expected a list of responses, each a string. Pass the texts themselves.")
    if not len(responses):
        raise ValueError("There are no responses. Pass at least one.")
    if repeat_n < 1:
        raise ValueError(f"`repeat_n` counts tokens, so it is at least 1, not {repeat_n}.")
    words = [tuple(tokenise(text)) for text in responses]
    tokens = sum(map(len, words))
    kinds = [len({gram for row in words for gram in _grams(row, n)}) for n in (1, 2)]
    repeats = [len(set(grams)) < len(grams) for grams in (_grams(row, repeat_n) for row in words)]
    texts = Counter(responses)
    return {
        "distinct_1": kinds[0] / max(1, tokens),
        "distinct_2": kinds[1] / max(1, tokens),
        "tokens": tokens / len(responses),
        "most_frequent": max(texts.values()) / len(responses),
        "unique": len(texts) / len(responses),
        "self_repetition": float(np.mean(repeats)),
        "n": len(responses),
    }


def _grams(words: tuple[str, ...], n: int) -> list[tuple[str, ...]]:
    return [words[start : start + n] for start in range(len(words) - n + 1)]
