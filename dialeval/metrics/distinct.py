"""How various responses are: what dialogue papers report beside a judge's numbers."""

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np


def distinct(
    responses: Sequence[str],
    tokenise: Callable[[str], Sequence[str]] = str.split,
    repeat_n: int = 2,
) -> dict[str, float | int]:
    """Distinct n-grams, length, the most frequent response and repetition within one.

    Distinct-1 and distinct-2 are divided by the number of *tokens* (Li et al., 2016a, sec. 5.2),
    not of n-grams. They fall as text grows: compare systems on the same contexts.

    Args:
        tokenise (`Callable`, *optional*, defaults to `str.split`):
            Gives the tokens of a response; the texts are taken as they are, with their case.
        repeat_n (`int`, *optional*, defaults to 2):
            The length of the n-grams of `self_repetition`.

    Returns:
        `dict`: `distinct_1`, `distinct_2`; `tokens` (mean of a response); `most_frequent` (share of
        the commonest response); `unique` (different responses over all); `self_repetition` (share
        of responses that say an n-gram of `repeat_n` tokens twice); `n`.

    Example:
        >>> found = distinct(["yes i do", "yes i do", "no"])
        >>> found["distinct_1"] == 4 / 7, found["distinct_2"] == 2 / 7, found["tokens"] == 7 / 3
        (True, True, True)
    """
    if isinstance(responses, str) or not all(isinstance(each, str) for each in responses):
        raise ValueError("Expected a list of responses, each a string. Pass the texts themselves.")
    if not len(responses):
        raise ValueError("There are no responses. Pass at least one.")
    if repeat_n < 1:
        raise ValueError(f"`repeat_n` counts tokens, so it is at least 1, not {repeat_n}.")
    words = [tuple(tokenise(each)) for each in responses]
    tokens = sum(map(len, words))
    kinds = [len({gram for some in words for gram in _grams(some, n)}) for n in (1, 2)]
    repeats = [len(set(grams)) < len(grams) for grams in (_grams(some, repeat_n) for some in words)]
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
    return [words[at : at + n] for at in range(len(words) - n + 1)]
