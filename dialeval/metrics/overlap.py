"""Words that a reply shares with another text: BLEU and chrF, counted by sacreBLEU.

BLEU is a number of a whole corpus. What each reply adds to it is counted once, so that a resample
of replies costs a sum, not another count.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

ORDERS = 4
"""Longest n-gram of BLEU."""


def bleu_counts(texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """What each text adds to corpus BLEU, shape `(n, 10)`.

    The columns are n-grams of 1 to 4 words that are right, those that there are, then the lengths
    of text and reference.

    Example:
        >>> bleu_counts(["the cat sat"], ["the cat lay"])[0].astype(int).tolist()
        [2, 1, 0, 0, 3, 2, 1, 0, 3, 3]
    """
    _same(texts, references)
    found = (
        _bleu().sentence_score(text, [reference])
        for text, reference in zip(texts, references, strict=True)
    )
    rows = [[*each.counts, *each.totals, each.sys_len, each.ref_len] for each in found]
    return np.array(rows, dtype=float).reshape(-1, 2 * ORDERS + 2)


def bleu(counts: ArrayLike) -> np.ndarray:
    """Corpus BLEU in [0, 1] from summed counts `(..., 10)` (Papineni et al., 2002).

    Where no n-gram of a length is right, half as many as one is taken for right, then a quarter,
    and so on: sacreBLEU's `exp`.

    Example:
        >>> float(bleu(bleu_counts(["the cat sat on it"], ["the cat sat on it"]).sum(0)))
        1.0
    """
    counts = np.asarray(counts, dtype=float)
    right, totals = counts[..., :ORDERS], counts[..., ORDERS : 2 * ORDERS]
    length, wanted = counts[..., -2], counts[..., -1]
    none = right == 0
    halved = 1 / 2.0 ** np.cumsum(none, -1)  # (..., orders)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(np.where(none, halved, right) / totals)
        shortness = np.where(length < wanted, np.exp(1 - wanted / length), 1.0)
        found = shortness * np.exp(logs.mean(-1))
    # A text too short for the longest n-gram, or without a single right word, has no BLEU.
    return np.where((totals > 0).all(-1) & ~none.all(-1), found, 0.0)


def sentence_chrf(texts: Sequence[str], references: Sequence[str]) -> np.ndarray:
    """chrF of each text against its reference, in [0, 1] (Popović, 2015).

    Example:
        >>> sentence_chrf(["the cat", "dog"], ["the cat", "fish"]).tolist()
        [1.0, 0.0]
    """
    _same(texts, references)
    pairs = zip(texts, references, strict=True)
    return np.array([_chrf().sentence_score(text, [other]).score / 100 for text, other in pairs])


def overlap_signature() -> str:
    """How sacreBLEU counts, as its own signatures say."""
    from sacrebleu.metrics import BLEU

    whole, each = BLEU(), _chrf()
    whole.corpus_score(["a"], [["a"]])  # signatures are known after a first score
    each.sentence_score("a", ["a"])
    return f"bleu={whole.get_signature()} chrf={each.get_signature()}"


@cache
def _bleu() -> Any:
    from sacrebleu.metrics import BLEU  # takes a moment, so only when it is wanted

    return BLEU(effective_order=True)  # moves no count, but a warning for each sentence


@cache
def _chrf() -> Any:
    from sacrebleu.metrics import CHRF

    return CHRF()


def _same(texts: Sequence[str], references: Sequence[str]) -> None:
    if len(texts) != len(references):
        raise ValueError(
            f"There are {len(texts)} texts for {len(references)} references. Pass one for each."
        )
