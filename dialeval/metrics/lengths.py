"""Length control: how much of a judge's success is counting words?

A judge may rest on length alone (Kannan and Vinyals, 2016, fig. 1).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import auroc
from dialeval.metrics.checks import scores_and_labels, truths


def length_auroc(lengths: ArrayLike, labels: ArrayLike) -> float:
    """The chance that a human response is longer than a machine's, ties counting half.

    Example:
        >>> length_auroc([5, 7, 3, 5], [1, 1, 0, 0])  # .5 + 1 + 1 + 1 of 4
        0.875
    """
    return auroc(*scores_and_labels(lengths, labels, "lengths"))


def stratified_accuracy(
    right: ArrayLike, labels: ArrayLike, lengths: ArrayLike, bins: int | Sequence[float] = 10
) -> dict[str, Any]:
    """Accuracy among responses of like length, each stratum weighing as its smaller class.

    Within a stratum it is the mean of both classes' accuracies, so that a judge that goes by the
    length alone gets one half, as far as lengths within a stratum are alike.

    Args:
        right (`ArrayLike`):
            Whether the judge was right about each response.
        bins (`int` or `Sequence[float]`, *optional*, defaults to 10):
            How many strata of about equal numbers, or the lengths at which a new one begins.

    Returns:
        `dict[str, Any]`: `accuracy` (`None` when no stratum has both classes); `n`, twice the
        smaller classes together; `used`, that as a share of all responses; `strata`, those with
        both classes, each with `shortest`, `longest`, `accuracy`, `n_human`, `n_machine`.

    Example:
        >>> found = stratified_accuracy([1, 1, 1, 0, 1], [1, 0, 1, 0, 0], [2, 2, 9, 9, 30], [5, 20])
        >>> found["accuracy"], found["n"]  # 1 and .5; length 30 is the machine's alone
        (0.75, 4)
    """
    lengths, human = scores_and_labels(lengths, labels, "lengths")
    right = truths(right, "marks in `right`", len(lengths))
    stratum = np.digitize(lengths, _edges(lengths, bins))
    strata = [
        _stratum(right[rows], human[rows], lengths[rows])
        for rows in (stratum == number for number in np.unique(stratum))
        if 0 < human[rows].sum() < rows.sum()
    ]
    weights = [min(each["n_human"], each["n_machine"]) for each in strata]
    values = [each["accuracy"] for each in strata]
    return {
        "accuracy": float(np.average(values, weights=weights)) if strata else None,
        "n": 2 * sum(weights),
        "used": 2 * sum(weights) / len(lengths),
        "strata": strata,
    }


def match_histogram(
    lengths: ArrayLike, labels: ArrayLike, width: float = 1, seed: int = 0
) -> np.ndarray:
    """Which rows to keep so that both classes have the same histogram of lengths.

    In each bin of `width` the larger class gives up random rows. Apply it to training and test.

    Example:
        >>> match_histogram([3, 3, 8, 3, 8, 9], [1, 1, 1, 0, 0, 0], width=5, seed=0).sum()
        np.int64(4)
    """
    lengths, human = scores_and_labels(lengths, labels, "lengths")
    if not width > 0:
        raise ValueError(f"`width` is the width of a bin of lengths, above 0, not {width:g}.")
    _, place = np.unique(np.floor(lengths / width), return_inverse=True)
    counts = [np.bincount(place[kind], minlength=place.max() + 1) for kind in (human, ~human)]
    quota = np.minimum(*counts)
    keep = np.zeros(len(lengths), dtype=bool)
    rng = np.random.default_rng(seed)
    for kind in (human, ~human):
        rows = rng.permutation(np.flatnonzero(kind))
        rows = rows[np.argsort(place[rows], kind="stable")]  # by bin, in random order within one
        sizes = np.bincount(place[rows], minlength=len(quota))
        rank = np.arange(len(rows)) - (np.cumsum(sizes) - sizes)[place[rows]]
        keep[rows[rank < quota[place[rows]]]] = True
    return keep


def _edges(lengths: np.ndarray, bins: int | Sequence[float]) -> np.ndarray:
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError(f"`bins` counts strata, so it is at least 1, not {bins}.")
        return np.unique(np.quantile(lengths, np.linspace(0, 1, int(bins) + 1)[1:-1]))
    edges = np.asarray(bins, dtype=float)
    if edges.ndim != 1 or (np.diff(edges) <= 0).any():
        raise ValueError("`bins` are lengths at which a stratum begins. Pass them in rising order.")
    return edges


def _stratum(right: np.ndarray, human: np.ndarray, lengths: np.ndarray) -> dict[str, float | int]:
    return {
        "shortest": float(lengths.min()),
        "longest": float(lengths.max()),
        "accuracy": float((right[human].mean() + right[~human].mean()) / 2),
        "n_human": int(human.sum()),
        "n_machine": int((~human).sum()),
    }
