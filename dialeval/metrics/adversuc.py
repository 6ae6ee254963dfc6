"""Adversarial success: how often machine responses pass as human (Li et al., 2017, sec. 4.1)."""

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.checks import Ids, encode_ids, scores_and_labels, units_of
from dialeval.metrics.intervals import IntervalSettings, balanced_interval, interval


class PairwiseResult(TypedDict):
    """Comparison of the two responses to each context; `None` without pairs."""

    pairwise_accuracy: float | None
    pairwise_low: float | None
    pairwise_high: float | None
    n_pairs: int | None


class RankingResult(TypedDict):
    """Measures that need no threshold; `None` where they are not defined."""

    auroc: float | None
    tpr_at_5_fpr: float | None
    tpr_at_1_fpr: float | None


class AdverSucResult(PairwiseResult, RankingResult):
    """What `adversuc` returns."""

    adversuc: float
    low: float
    high: float
    n: int
    n_human: int
    n_machine: int
    n_groups: int
    balanced: bool
    accuracy: float
    machines_predicted_human: float
    humans_predicted_machine: float


def adversuc(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Ids | None = None,
    pairs: Ids | None = None,
    folds: Ids | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> AdverSucResult:
    """One minus an evaluator's accuracy on held-out responses, with related measures.

    Accuracy is the mean of both classes' accuracies, which equals plain accuracy for classes of
    equal size (`balanced`). The interval is conditional on the trained evaluator.

    Args:
        scores (`ArrayLike`):
            The evaluator's score for each response, such as P(human).
        labels (`ArrayLike`):
            1 if a human wrote the response, 0 if a machine did.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted human, the threshold included.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether scores from the threshold up are predicted human, or those from it down.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the interval; by default the pairs, else the responses.
        pairs (`Sequence`, *optional*):
            Ids shared by the human and the machine response to a context; `None` for a response
            without a partner.
        folds (`Sequence`, *optional*):
            Which of several evaluators gave each score. Their scores have no common scale, so
            AUROC and TPR are computed within folds and averaged.
        method (`str`, *optional*, defaults to `"auto"`):
            Method of the interval: see `dialeval.metrics.intervals.interval`.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level of the intervals.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `AdverSucResult`: `adversuc` with `low` and `high`; `n`, `n_human`, `n_machine`, `n_groups`,
        `balanced`; `accuracy`; `machines_predicted_human`, `humans_predicted_machine`;
        `pairwise_accuracy` with `pairwise_low`, `pairwise_high`, `n_pairs` (ties count half; not
        comparable with `accuracy`; `None` without pairs); `auroc`; `tpr_at_5_fpr`, `tpr_at_1_fpr`
        (true positive rate, machines being positive, at a false positive rate of 5 % or 1 %;
        `None` with too few humans, or if any threshold exceeds that rate).

    Examples:
        >>> result = adversuc([0.9, 0.4, 0.6, 0.1], [1, 1, 0, 0], pairs=["a", "b", "a", "b"])
        >>> result["adversuc"], result["pairwise_accuracy"], result["auroc"]
        (0.5, 1.0, 0.75)
    """
    values, human = scores_and_labels(scores, labels)
    predicted = predicted_human(values, threshold, higher_is_human)
    humanness = values if higher_is_human else -values
    pair_index = None if pairs is None else encode_ids(pairs, len(values), "pairs", missing=True)
    units = units_of(len(values), groups, pair_index)
    settings: IntervalSettings = {
        "method": method, "level": level, "resamples": resamples, "seed": seed
    }  # fmt: skip
    low, high = balanced_interval(predicted != human, human, units, **settings)
    errors = float(predicted[~human].mean()), float((~predicted[human]).mean())
    error_rate = sum(errors) / 2
    return {
        "adversuc": error_rate,
        "low": low,
        "high": high,
        "n": len(values),
        "n_human": int(human.sum()),
        "n_machine": int((~human).sum()),
        "n_groups": int(units.max()) + 1,
        "balanced": bool(2 * human.sum() == len(human)),
        "accuracy": 1 - error_rate,
        "machines_predicted_human": errors[0],
        "humans_predicted_machine": errors[1],
        **_pairwise(humanness, human, pair_index, units, settings),
        **_ranking(humanness, human, folds),
    }


def predicted_human(scores: np.ndarray, threshold: float, higher: bool = True) -> np.ndarray:
    """Whether each response is predicted human, the threshold included.

    Args:
        scores (`np.ndarray`):
            One score per response.
        threshold (`float`):
            Score from which a response is predicted human.
        higher (`bool`, *optional*, defaults to `True`):
            Whether higher scores mean human, or lower ones.

    Returns:
        `np.ndarray`: Booleans, one per score.

    Examples:
        >>> predicted_human(np.array([0.4, 0.5, 0.6]), 0.5).tolist()
        [False, True, True]
    """
    return scores >= threshold if higher else scores <= threshold


def auroc(scores: ArrayLike, labels: ArrayLike) -> float:
    """The probability that a human response outscores a machine's, ties counting half.

    It is the area under the ROC curve whichever of the two classes is the positive one.

    Examples:
        >>> auroc([0.9, 0.6, 0.6, 0.1], [1, 1, 0, 0])  # 3.5 of 4 combinations
        0.875
    """
    from scipy.stats import rankdata

    values, human = scores_and_labels(scores, labels)
    humans, machines = int(human.sum()), int((~human).sum())
    above = rankdata(values)[human].sum() - humans * (humans + 1) / 2
    return float(above / (humans * machines))


def tpr_at_fpr(scores: ArrayLike, labels: ArrayLike, fpr: float) -> float | None:
    """The highest true positive rate at a false positive rate of at most `fpr`.

    Machines are the positive class: it is the share of machines below a threshold that flags at
    most `fpr` of the humans.

    Args:
        scores (`ArrayLike`):
            One score per response; higher means human.
        labels (`ArrayLike`):
            1 if a human wrote the response, 0 if a machine did.
        fpr (`float`):
            The greatest false positive rate allowed, such as 0.05.

    Returns:
        `float` or `None`: `None` if there are fewer than `1 / fpr` humans, or if too many of them
        share the lowest score.

    Examples:
        >>> tpr_at_fpr([0.1, 0.4, 0.6, 0.8, 0.3, 0.7], [0, 0, 0, 0, 1, 1], 0.5)  # may flag .3
        0.75
    """
    values, human = scores_and_labels(scores, labels)
    if not 0 < fpr <= 1:
        raise ValueError(f"`fpr` is a share above 0, such as 0.05, not {fpr:g}.")
    humans, machines = np.sort(values[human]), values[~human]
    if len(humans) < 1 / fpr:
        return None
    allowed = int(fpr * len(humans) + 1e-9)
    # All scores below the first human that must not be flagged can be, ties with it cannot.
    bound = humans[allowed] if allowed < len(humans) else np.inf
    flagged = values < bound
    return float((machines < bound).mean()) if flagged.any() else None


def _ranking(scores: np.ndarray, human: np.ndarray, folds: Ids | None) -> RankingResult:
    fold = (
        np.zeros(len(scores), dtype=int)
        if folds is None
        else encode_ids(folds, len(scores), "folds")
    )
    parts = [(scores[fold == k], human[fold == k]) for k in range(fold.max() + 1)]
    if any(labels.all() or not labels.any() for _, labels in parts):
        return {"auroc": None, "tpr_at_5_fpr": None, "tpr_at_1_fpr": None}
    return {
        "auroc": _mean([auroc(*part) for part in parts]),
        "tpr_at_5_fpr": _mean([tpr_at_fpr(*part, 0.05) for part in parts]),
        "tpr_at_1_fpr": _mean([tpr_at_fpr(*part, 0.01) for part in parts]),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean, or `None` if a value is missing."""
    present = [value for value in values if value is not None]
    return float(np.mean(present)) if len(present) == len(values) else None


def _pairwise(
    scores: np.ndarray,
    human: np.ndarray,
    pair_index: np.ndarray | None,
    units: np.ndarray,
    settings: IntervalSettings,
) -> PairwiseResult:
    if pair_index is None:
        return {
            "pairwise_accuracy": None, "pairwise_low": None, "pairwise_high": None, "n_pairs": None
        }  # fmt: skip
    human_rows, machine_rows = _complete_pairs(human, pair_index)
    wins = (1 + np.sign(scores[human_rows] - scores[machine_rows])) / 2
    low, high = interval(wins, units[human_rows], **settings)
    return {
        "pairwise_accuracy": float(wins.mean()),
        "pairwise_low": low,
        "pairwise_high": high,
        "n_pairs": len(wins),
    }


def _complete_pairs(human: np.ndarray, pair_index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the human and of the machine response of each complete pair."""
    rows = np.full((2, pair_index.max() + 2), -1)  # the last column is for those without a partner
    for row, is_class in zip(rows, (human, ~human), strict=True):
        row[pair_index[is_class]] = np.flatnonzero(is_class)
        if np.bincount(pair_index[is_class & (pair_index >= 0)], minlength=1).max() > 1:
            raise ValueError(
                "A pair has one human and one machine response, but an id occurs at two responses "
                "of the same class. Pass ids of contexts, and each system separately."
            )
    rows = rows[:, :-1]
    complete = (rows >= 0).all(axis=0)
    if not complete.any():
        raise ValueError(
            "No pair has both a human and a machine response. Pass the same id for the two "
            "responses to a context, or omit `pairs`."
        )
    return rows[0, complete], rows[1, complete]
