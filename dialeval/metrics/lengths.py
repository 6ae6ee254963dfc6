"""Length control: how much of an evaluator's accuracy is explained by response length.

An evaluator may rely on length alone (Kannan and Vinyals, 2016, fig. 1).
"""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import auroc
from dialeval.metrics.checks import scores_and_labels, zeros_and_ones


class Stratum(TypedDict):
    """Accuracy among responses of similar length."""

    shortest: float
    longest: float
    accuracy: float
    n_human: int
    n_machine: int


class StratifiedResult(TypedDict):
    """What `stratified_accuracy` returns."""

    accuracy: float | None
    n: int
    used: float
    strata: list[Stratum]


def length_auroc(lengths: ArrayLike, labels: ArrayLike) -> float:
    """The probability that a human response is longer than a machine's, ties counting half.

    Examples:
        >>> length_auroc([5, 7, 3, 5], [1, 1, 0, 0])  # .5 + 1 + 1 + 1 of 4
        0.875
    """
    return auroc(*scores_and_labels(lengths, labels, "lengths"))


def stratified_accuracy(
    correct: ArrayLike, labels: ArrayLike, lengths: ArrayLike, bins: int | Sequence[float] = 10
) -> StratifiedResult:
    """Accuracy among responses of similar length, strata weighted by their smaller class.

    Within a stratum it is the mean of both classes' accuracies, so that an evaluator that uses
    only the length gets one half, as far as the lengths within a stratum are equal.

    Args:
        correct (`ArrayLike`):
            Whether the evaluator was correct about each response.
        labels (`ArrayLike`):
            1 if a human wrote the response, 0 if a machine did.
        lengths (`ArrayLike`):
            Length of each response.
        bins (`int` or `Sequence[float]`, *optional*, defaults to 10):
            How many strata of about equal size, or the lengths at which a new one begins.

    Returns:
        `StratifiedResult`: `accuracy` (`None` if no stratum has both classes); `n`, twice the
        smaller classes together; `used`, that as a share of all responses; `strata`, those with
        both classes, each with `shortest`, `longest`, `accuracy`, `n_human`, `n_machine`.

    Examples:
        >>> lengths = [2, 2, 9, 9, 30]
        >>> result = stratified_accuracy([1, 1, 1, 0, 1], [1, 0, 1, 0, 0], lengths, [5, 20])
        >>> result["accuracy"], result["n"]  # 1 and .5; only a machine has length 30
        (0.75, 4)
    """
    sizes, human = scores_and_labels(lengths, labels, "lengths")
    is_correct = zeros_and_ones(correct, "marks in `correct`", len(sizes))
    stratum_index = np.digitize(sizes, _edges(sizes, bins))
    strata = [
        _stratum(is_correct[rows], human[rows], sizes[rows])
        for rows in (stratum_index == index for index in np.unique(stratum_index))
        if 0 < human[rows].sum() < rows.sum()
    ]
    weights = [min(stratum["n_human"], stratum["n_machine"]) for stratum in strata]
    values = [stratum["accuracy"] for stratum in strata]
    return {
        "accuracy": float(np.average(values, weights=weights)) if strata else None,
        "n": 2 * sum(weights),
        "used": 2 * sum(weights) / len(sizes),
        "strata": strata,
    }


def match_histogram(
    lengths: ArrayLike, labels: ArrayLike, width: float = 1, seed: int = 0
) -> np.ndarray:
    """Which rows to keep so that both classes have the same histogram of lengths.

    In each bin of `width` random rows of the larger class are dropped. Apply it to training and
    test data.

    Args:
        lengths (`ArrayLike`):
            Length of each response.
        labels (`ArrayLike`):
            1 if a human wrote the response, 0 if a machine did.
        width (`float`, *optional*, defaults to 1):
            Width of a bin of lengths.
        seed (`int`, *optional*, defaults to 0):
            Seed of the choice of rows.

    Returns:
        `np.ndarray`: `True` for rows to keep.

    Examples:
        >>> match_histogram([3, 3, 8, 3, 8, 9], [1, 1, 1, 0, 0, 0], width=5, seed=0).sum()
        np.int64(4)
    """
    sizes, human = scores_and_labels(lengths, labels, "lengths")
    if not width > 0:
        raise ValueError(f"`width` is the width of a bin of lengths, above 0, not {width:g}.")
    _, bins = np.unique(np.floor(sizes / width), return_inverse=True)
    classes = (human, ~human)
    counts = [np.bincount(bins[is_class], minlength=bins.max() + 1) for is_class in classes]
    quota = np.minimum(*counts)
    keep = np.zeros(len(sizes), dtype=bool)
    rng = np.random.default_rng(seed)
    for is_class, count in zip(classes, counts, strict=True):
        rows = rng.permutation(np.flatnonzero(is_class))
        rows = rows[np.argsort(bins[rows], kind="stable")]  # by bin, in random order within one
        rank = np.arange(len(rows)) - (np.cumsum(count) - count)[bins[rows]]
        keep[rows[rank < quota[bins[rows]]]] = True
    return keep


def _edges(lengths: np.ndarray, bins: int | Sequence[float]) -> np.ndarray:
    edges = np.asarray(bins, dtype=float)
    if edges.ndim == 0:
        if edges < 1:
            raise ValueError(f"`bins` counts strata, so it is at least 1, not {bins}.")
        return np.unique(np.quantile(lengths, np.linspace(0, 1, int(edges) + 1)[1:-1]))
    if edges.ndim != 1 or (np.diff(edges) <= 0).any():
        raise ValueError("`bins` are lengths at which a stratum begins. Pass them in rising order.")
    return edges


def _stratum(correct: np.ndarray, human: np.ndarray, lengths: np.ndarray) -> Stratum:
    return {
        "shortest": float(lengths.min()),
        "longest": float(lengths.max()),
        "accuracy": float((correct[human].mean() + correct[~human].mean()) / 2),
        "n_human": int(human.sum()),
        "n_machine": int((~human).sum()),
    }
