"""Human-vs-random and machine-vs-random: true responses against randomly drawn ones.

(Bruni and Fernández, 2017, Table 1; Li et al., 2017, sec. 4.3)
"""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import predicted_human
from dialeval.metrics.checks import Ids, encode_ids, scores_and_labels, units_of
from dialeval.metrics.intervals import IntervalSettings, balanced_interval, interval

_KINDS = ("random", "true")


class ChoiceResult(TypedDict):
    """Choice of the true response among its candidates; `None` without candidates."""

    n_choose_1: float | None
    n_choose_1_low: float | None
    n_choose_1_high: float | None
    n_choose_1_chance: float | None
    n_contexts: int | None


class VersusRandomResult(ChoiceResult):
    """What `versus_random` returns."""

    accuracy: float
    low: float
    high: float
    n: int
    n_true: int
    n_random: int
    n_groups: int
    balanced: bool
    precision_true: float | None
    recall_true: float
    f1_true: float
    precision_random: float | None
    recall_random: float
    f1_random: float


def versus_random(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    threshold: float = 0.5,
    higher_is_true: bool = True,
    groups: Ids | None = None,
    candidates: Ids | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> VersusRandomResult:
    """How well an evaluator distinguishes responses to their context from random ones.

    Accuracy is the mean of both classes' accuracies, which equals plain accuracy for classes of
    equal size (`balanced`); precision and F1 depend on the class sizes.

    Args:
        scores (`ArrayLike`):
            The evaluator's score for each response.
        labels (`ArrayLike`):
            1 if the response was given to this context, by a human or a machine; 0 if drawn.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted true, the threshold included.
        higher_is_true (`bool`, *optional*, defaults to `True`):
            Whether scores from the threshold up are predicted true, or those from it down.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the intervals; by default the contexts, else the responses.
        candidates (`Sequence`, *optional*):
            Context ids shared by a true response and the random ones it competes with; `None` for
            a response that does not compete.
        method (`str`, *optional*, defaults to `"auto"`):
            Method of the intervals: see `dialeval.metrics.intervals.interval`.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level of the intervals.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `VersusRandomResult`: `accuracy` with `low` and `high`; `n`, `n_true`, `n_random`,
        `n_groups`, `balanced`; `precision_true`, `recall_true`, `f1_true` and the same for `random`
        (precision is `None` if that class was never predicted); `n_choose_1`, the share of contexts
        whose true response scores highest, ties split (Shao et al., 2017), with `n_choose_1_low`,
        `n_choose_1_high`, `n_contexts` and `n_choose_1_chance` (all `None` without candidates).

    Examples:
        >>> result = versus_random([0.9, 0.3, 0.2, 0.6], [1, 1, 0, 0], candidates="abab")
        >>> result["accuracy"], result["f1_true"], result["n_choose_1"]  # random wins in context b
        (0.5, 0.5, 0.5)
    """
    values, true = scores_and_labels(scores, labels, kinds=_KINDS)
    predicted = predicted_human(values, threshold, higher_is_true)
    context = None
    if candidates is not None:
        context = encode_ids(candidates, len(values), "candidates", missing=True)
    units = units_of(len(values), groups, context)
    settings: IntervalSettings = {
        "method": method, "level": level, "resamples": resamples, "seed": seed
    }  # fmt: skip
    low, high = balanced_interval(predicted == true, true, units, **settings)
    precision_true, recall_true, f1_true = _precision_recall_f1(predicted, true)
    precision_random, recall_random, f1_random = _precision_recall_f1(~predicted, ~true)
    return {
        "accuracy": (recall_true + recall_random) / 2,
        "low": low,
        "high": high,
        "n": len(values),
        "n_true": int(true.sum()),
        "n_random": int((~true).sum()),
        "n_groups": int(units.max()) + 1,
        "balanced": bool(2 * true.sum() == len(true)),
        "precision_true": precision_true,
        "recall_true": recall_true,
        "f1_true": f1_true,
        "precision_random": precision_random,
        "recall_random": recall_random,
        "f1_random": f1_random,
        **_choice(values if higher_is_true else -values, true, context, units, settings),
    }


def _precision_recall_f1(
    predicted: np.ndarray, actual: np.ndarray
) -> tuple[float | None, float, float]:
    hits = int((predicted & actual).sum())
    n_predicted, n_actual = int(predicted.sum()), int(actual.sum())
    precision = hits / n_predicted if n_predicted else None
    return precision, hits / n_actual, 2 * hits / (n_predicted + n_actual)


def _choice(
    scores: np.ndarray,
    true: np.ndarray,
    context: np.ndarray | None,
    units: np.ndarray,
    settings: IntervalSettings,
) -> ChoiceResult:
    if context is None:
        return {
            "n_choose_1": None, "n_choose_1_low": None, "n_choose_1_high": None,
            "n_choose_1_chance": None, "n_contexts": None,
        }  # fmt: skip
    competes = context >= 0
    scores, true, context, units = (column[competes] for column in (scores, true, context, units))
    best, sizes = _best_and_sizes(scores, true, context)
    top = scores == best[context]
    tied = np.bincount(context, top)
    answers = true & (sizes[context] > 0)  # the true response of each complete choice
    shares = top[answers] / tied[context[answers]]
    low, high = interval(shares, units[answers], **settings)
    return {
        "n_choose_1": float(shares.mean()),
        "n_choose_1_low": low,
        "n_choose_1_high": high,
        "n_choose_1_chance": float((1 / sizes[context[answers]]).mean()),
        "n_contexts": len(shares),
    }


def _best_and_sizes(
    scores: np.ndarray, true: np.ndarray, context: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best score and the number of candidates of each context, 0 where there is no choice."""
    sizes = np.bincount(context)
    trues = np.bincount(context, true, minlength=len(sizes))
    if (trues > 1).any():
        raise ValueError(
            f"{(trues > 1).sum()} contexts have more than one true response to choose. Pass ids "
            "in `candidates` that only one true response has."
        )
    complete = (trues == 1) & (sizes > 1)
    if not complete.any():
        raise ValueError(
            "No context has a true response and a random one. Pass the same id for those that "
            "compete, or omit `candidates`."
        )
    best = np.full(len(sizes), -np.inf)
    np.maximum.at(best, context, scores)
    return best, np.where(complete, sizes, 0)
