"""Adversarial success: how often a machine's responses fool a judge (Li et al., 2017, sec. 4.1)."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from dialeval.metrics.checks import numbered, scores_and_labels, units_of
from dialeval.metrics.intervals import balanced_interval, interval


def adversuc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Sequence[Hashable] | None = None,
    pairs: Sequence[Hashable] | None = None,
    folds: Sequence[Hashable] | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """One minus a judge's accuracy on held-out responses, and what stands beside it.

    Accuracy is the mean of both classes' accuracies, which is the plain one when they are of
    equal size (`balanced`). The interval is conditional on the trained judge.

    Args:
        scores (`ArrayLike`):
            The judge's score for each response, such as P(human).
        labels (`ArrayLike`):
            1 if a human wrote the response, 0 if a machine did.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is taken for human; the threshold itself is.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether humans are from the threshold up, or from it down.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the interval. Without them the pairs are, else responses.
        pairs (`Sequence`, *optional*):
            Ids that tie a human and a machine response to one context; `None` for a response
            without a partner.
        folds (`Sequence`, *optional*):
            Which judge gave each score. Scores of several judges have no common scale, so AUROC
            and TPR are taken within folds and averaged.
        method (`str`, *optional*, defaults to `"auto"`):
            Of the interval: see `dialeval.metrics.intervals.interval`.

    Returns:
        `dict[str, Any]`: `adversuc` with `low` and `high`; `n`, `n_human`, `n_machine`, `n_groups`,
        `balanced`; `accuracy`; `machines_taken_for_humans`, `humans_taken_for_machines`;
        `pairwise_accuracy` with `pairwise_low`, `pairwise_high`, `n_pairs` (ties count half; not
        comparable with `accuracy`; `None` without pairs); `auroc`; `tpr_at_5_fpr`, `tpr_at_1_fpr`
        (share of machines found while at most so many humans are accused; `None` when there are
        too few humans to tell, or when flagging anything would accuse more).

    Example:
        >>> found = adversuc([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0], pairs=["a", "b", "a", "b"])
        >>> found["adversuc"], found["pairwise_accuracy"], found["auroc"]
        (0.5, 1.0, 0.75)
    """
    scores, human = scores_and_labels(scores, labels)
    taken = taken_for(scores, threshold, higher_is_human)
    scores = scores if higher_is_human else -scores
    couples = None if pairs is None else numbered(pairs, len(scores), "pairs", missing=True)
    units = units_of(len(scores), groups, couples)
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    low, high = balanced_interval(taken != human, human, units, **settings)
    shares = float(taken[~human].mean()), float((~taken[human]).mean())
    missed = sum(shares) / 2
    return {
        "adversuc": missed,
        "low": low,
        "high": high,
        "n": len(scores),
        "n_human": int(human.sum()),
        "n_machine": int((~human).sum()),
        "n_groups": int(units.max()) + 1,
        "balanced": bool(2 * human.sum() == len(human)),
        "accuracy": 1 - missed,
        "machines_taken_for_humans": shares[0],
        "humans_taken_for_machines": shares[1],
        **_pairwise(scores, human, couples, units, settings),
        **_ranking(scores, human, folds),
    }


def taken_for(scores: np.ndarray, threshold: float, higher: bool = True) -> np.ndarray:
    """Whether each score reaches the threshold, from below or from above; the threshold does.

    Example:
        >>> taken_for(np.array([0.4, 0.5, 0.6]), 0.5).tolist()
        [False, True, True]
    """
    return scores >= threshold if higher else scores <= threshold


def auroc(scores: ArrayLike, labels: ArrayLike) -> float:
    """The chance that a human response outscores a machine's, ties counting half.

    It is the area under the ROC curve whichever of the two classes is the positive one.

    Example:
        >>> auroc([0.9, 0.6, 0.6, 0.1], [1, 1, 0, 0])  # 3.5 of 4 couples
        0.875
    """
    scores, human = scores_and_labels(scores, labels)
    humans, machines = int(human.sum()), int((~human).sum())
    above = rankdata(scores)[human].sum() - humans * (humans + 1) / 2
    return float(above / (humans * machines))


def tpr_at_fpr(scores: ArrayLike, labels: ArrayLike, fpr: float) -> float | None:
    """The share of machines found by the boldest threshold that accuses at most `fpr` of humans.

    Returns:
        `float` or `None`: `None` when there are fewer than `1 / fpr` humans, or when even the
        lowest score is shared by too many of them.

    Example:
        >>> tpr_at_fpr([0.1, 0.4, 0.6, 0.8, 0.3, 0.7], [0, 0, 0, 0, 1, 1], 0.5)  # .3 may be accused
        0.75
    """
    scores, human = scores_and_labels(scores, labels)
    if not 0 < fpr <= 1:
        raise ValueError(f"`fpr` is a share above 0, such as 0.05, not {fpr:g}.")
    humans, machines = np.sort(scores[human]), scores[~human]
    if len(humans) < 1 / fpr:
        return None
    allowed = int(fpr * len(humans) + 1e-9)
    # Everything below the first human that may not be accused can be flagged, ties with it cannot.
    bound = humans[allowed] if allowed < len(humans) else np.inf
    flagged = scores < bound
    return float((machines < bound).mean()) if flagged.any() else None


def _ranking(
    scores: np.ndarray, human: np.ndarray, folds: Sequence[Hashable] | None
) -> dict[str, float | None]:
    fold = (
        np.zeros(len(scores), dtype=int) if folds is None else numbered(folds, len(scores), "folds")
    )
    parts = [(scores[fold == k], human[fold == k]) for k in range(fold.max() + 1)]
    if any(truth.all() or not truth.any() for _, truth in parts):
        return dict.fromkeys(("auroc", "tpr_at_5_fpr", "tpr_at_1_fpr"))
    return {
        "auroc": _mean([auroc(*part) for part in parts]),
        "tpr_at_5_fpr": _mean([tpr_at_fpr(*part, 0.05) for part in parts]),
        "tpr_at_1_fpr": _mean([tpr_at_fpr(*part, 0.01) for part in parts]),
    }


def _mean(values: list[float | None]) -> float | None:
    return None if None in values else float(np.mean(values))


def _pairwise(
    scores: np.ndarray,
    human: np.ndarray,
    couples: np.ndarray | None,
    units: np.ndarray,
    settings: dict[str, Any],
) -> dict[str, Any]:
    if couples is None:
        return dict.fromkeys(("pairwise_accuracy", "pairwise_low", "pairwise_high", "n_pairs"))
    first, second = _partners(human, couples)
    wins = (1 + np.sign(scores[first] - scores[second])) / 2
    low, high = interval(wins, units[first], **settings)
    return {
        "pairwise_accuracy": float(wins.mean()),
        "pairwise_low": low,
        "pairwise_high": high,
        "n_pairs": len(wins),
    }


def _partners(human: np.ndarray, couples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the human and of the machine response of each whole pair."""
    rows = np.full((2, couples.max() + 2), -1)  # the last column collects those without a partner
    for row, kind in zip(rows, (human, ~human), strict=True):
        row[couples[kind]] = np.flatnonzero(kind)
        if np.bincount(couples[kind & (couples >= 0)], minlength=1).max() > 1:
            raise ValueError(
                "A pair ties one human to one machine response, but an id stands at two responses "
                "of a kind. Pass ids of contexts, and each system by itself."
            )
    rows = rows[:, :-1]
    whole = (rows >= 0).all(axis=0)
    if not whole.any():
        raise ValueError(
            "No pair has both a human and a machine response. Pass the same id for the two "
            "responses to a context, or leave `pairs` out."
        )
    return rows[0, whole], rows[1, whole]
