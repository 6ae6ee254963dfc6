"""Word overlap of a reply with another text: BLEU and chrF, counted by sacreBLEU.

BLEU is a corpus-level number. The counts that each reply contributes are computed once, so that a
resample of replies costs a sum instead of another count.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

ORDERS = 4
"""Longest n-gram of BLEU."""


def bleu_counts(texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What each text contributes to corpus BLEU, shape `(n, 10)`.

    The columns are matching n-grams of 1 to 4 words, all n-grams of the text, then the lengths of
    text and reference.

    Examples:
        >>> bleu_counts(["the cat sat"], ["the cat lay"])[0].astype(int).tolist()
        [2, 1, 0, 0, 3, 2, 1, 0, 3, 3]
    """
    _check_lengths(texts, references)
    scores = (
        _bleu().sentence_score(text, [reference])
        for text, reference in zip(texts, references, strict=True)
    )
    rows = [[*score.counts, *score.totals, score.sys_len, score.ref_len] for score in scores]
    return np.array(rows, dtype=float).reshape(-1, 2 * ORDERS + 2)


def bleu(counts: ArrayLike) -> np.ndarray:
    """Corpus BLEU in [0, 1] from summed counts `(..., 10)` (Papineni et al., 2002).

    Where no n-gram of a length matches, half a match is counted, then a quarter, and so on:
    sacreBLEU's smoothing `exp`.

    Examples:
        >>> float(bleu(bleu_counts(["the cat sat on it"], ["the cat sat on it"]).sum(0)))
        1.0
    """
    sums = np.asarray(counts, dtype=float)
    matches, totals = sums[..., :ORDERS], sums[..., ORDERS : 2 * ORDERS]
    length, reference_length = sums[..., -2], sums[..., -1]
    unmatched = matches == 0
    smoothed = 1 / 2.0 ** np.cumsum(unmatched, -1)  # (..., orders)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(unmatched, smoothed, matches) / totals)
        shorter = length < reference_length
        brevity_penalty = np.where(shorter, np.exp(1 - reference_length / length), 1.0)
        scores = brevity_penalty * np.exp(logs.mean(-1))
    # A text too short for the longest n-gram, or without a single matching word, gets 0.
    return np.where((totals > 0).all(-1) & ~unmatched.all(-1), scores, 0.0)


def sentence_chrf(texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """chrF of each text against its reference, in [0, 1] (Popović, 2015).

    Examples:
        >>> sentence_chrf(["the cat", "dog"], ["the cat", "fish"]).tolist()
        [1.0, 0.0]
    """
    _check_lengths(texts, references)
    pairs = zip(texts, references, strict=True)
    return np.array([_chrf().sentence_score(text, [other]).score / 100 for text, other in pairs])


def overlap_signature() -> str:
    """The signatures of sacreBLEU's BLEU and chrF."""
    from sacrebleu.metrics import BLEU

    corpus_bleu, chrf = BLEU(), _chrf()
    corpus_bleu.corpus_score(["a"], [["a"]])  # signatures exist after a first score
    chrf.sentence_score("a", ["a"])
    return f"bleu={corpus_bleu.get_signature()} chrf={chrf.get_signature()}"


@cache
def _bleu() -> Any:
    from sacrebleu.metrics import BLEU  # slow import

    return BLEU(effective_order=True)  # changes no count, avoids a warning per sentence


@cache
def _chrf() -> Any:
    from sacrebleu.metrics import CHRF

    return CHRF()


def _check_lengths(texts: Sequence[str], references: Sequence[str]) -> None:
    if len(texts) != len(references):
        raise ValueError(
            f"There are {len(texts)} texts for {len(references)} references. Pass one for each."
        )
