"""Which words distinguish two corpora: log-odds with an informative prior."""

from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from dialeval.metrics.significance import holm


@dataclass(frozen=True)
class LogOdds:
    """How much more frequent a word is on the first side.

    Args:
        word (`Hashable`):
            The word, or another feature.
        log_odds (`float`):
            Difference of the log-odds; positive where it is typical of the first side.
        z (`float`):
            The same in standard deviations.
        p_holm (`float`):
            Two-sided p-value, adjusted for the number of words.
        first, second (`int`):
            Counts of both sides.
    """

    word: Hashable
    log_odds: float
    z: float
    p_holm: float
    first: int
    second: int


def log_odds(
    first: Mapping[Hashable, int],
    second: Mapping[Hashable, int],
    prior: Mapping[Hashable, int] | None = None,
    prior_size: float | None = None,
    min_count: int = 1,
) -> list[LogOdds]:
    """Log-odds-ratios with an informative Dirichlet prior (Monroe et al., 2008, eq. 16, 19-22).

    Args:
        first, second (`Mapping`):
            Counts of words on both sides.
        prior (`Mapping`, *optional*):
            Counts of a background corpus; both sides together by default.
        prior_size (`float`, *optional*):
            Pseudo-counts in all; by default as many as the smaller side has words.
        min_count (`int`, *optional*, defaults to 1):
            Words that are rarer on both sides together are left out of the list.

    Returns:
        `list[LogOdds]`: Most typical of the first side first; p-values are Holm's.

    Examples:
        >>> rows = log_odds({"thanks": 30, "the": 100}, {"maybe": 25, "the": 110})
        >>> [row.word for row in rows]
        ['thanks', 'the', 'maybe']
    """
    background = Counter(prior) if prior is not None else Counter(first) + Counter(second)
    words = sorted(set(first) | set(second), key=repr)
    one, two = (np.array([side.get(word, 0) for word in words], float) for side in (first, second))
    if not one.sum() or not two.sum():
        raise ValueError("Both sides need words, but one has none. Pass counts of both.")
    total = sum(background.values())
    size = min(one.sum(), two.sum()) if prior_size is None else prior_size
    alpha = np.array([max(background.get(word, 0), 0.5) for word in words]) * size / total
    gap = _log_odds_of(one, alpha) - _log_odds_of(two, alpha)
    z = gap / np.sqrt(1 / (one + alpha) + 1 / (two + alpha))  # eq. 20 and 22
    kept = np.flatnonzero(one + two >= min_count)
    p_values = holm(2 * norm.sf(np.abs(z[kept])))
    rows = [
        LogOdds(words[index], float(gap[index]), float(z[index]), float(p), int(one[index]),
                int(two[index]))
        for index, p in zip(kept, p_values, strict=True)
    ]  # fmt: skip
    return sorted(rows, key=lambda row: -row.z)


def _log_odds_of(counts: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    posterior = counts + alpha
    with np.errstate(divide="ignore"):
        return np.log(posterior) - np.log(posterior.sum() - posterior)
