"""Is a response told from a random one? Human-vs-random and machine-vs-random.

(Bruni and Fernández, 2017, Table 1; Li et al., 2017, sec. 4.3)
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import taken_for
from dialeval.metrics.checks import numbered, scores_and_labels, units_of
from dialeval.metrics.intervals import balanced_interval, interval

_KINDS = ("random", "true")


def versus_random(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    threshold: float = 0.5,
    higher_is_true: bool = True,
    groups: Sequence[Hashable] | None = None,
    candidates: Sequence[Hashable] | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """How well a judge tells responses to their context from random ones.

    Accuracy is the mean of both classes' accuracies, which is the plain one when they are of
    equal size (`balanced`); precision and F1 depend on the mix of classes as it is.

    Args:
        labels (`ArrayLike`):
            1 if the response was given to this context, by a human or a machine; 0 if drawn.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is taken for true; the threshold itself is.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the intervals. Without them contexts are, else responses.
        candidates (`Sequence`, *optional*):
            Context ids that tie one true response to the random ones it competes with; `None` for
            a response outside the choice.
        method (`str`, *optional*, defaults to `"auto"`):
            Of the intervals: see `dialeval.metrics.intervals.interval`.

    Returns:
        `dict[str, Any]`: `accuracy` with `low` and `high`; `n`, `n_true`, `n_random`, `n_groups`,
        `balanced`; `precision_true`, `recall_true`, `f1_true` and the same for `random` (precision
        is `None` when nothing was taken for that class); `n_choose_1`, the share of contexts whose
        true response scores highest, ties sharing it (Shao et al., 2017), with `n_choose_1_low`,
        `n_choose_1_high`, `n_contexts` and `n_choose_1_chance` (all `None` without candidates).

    Example:
        >>> found = versus_random([0.9, 0.3, 0.2, 0.6], [1, 1, 0, 0], candidates="abab")
        >>> found["accuracy"], found["f1_true"], found["n_choose_1"]  # b's random one scores higher
        (0.5, 0.5, 0.5)
    """
    scores, true = scores_and_labels(scores, labels, kinds=_KINDS)
    taken = taken_for(scores, threshold, higher_is_true)
    context = None
    if candidates is not None:
        context = numbered(candidates, len(scores), "candidates", missing=True)
    units = units_of(len(scores), groups, context)
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    low, high = balanced_interval(taken == true, true, units, **settings)
    found = {"true": _class(taken, true), "random": _class(~taken, ~true)}
    return {
        "accuracy": (found["true"]["recall"] + found["random"]["recall"]) / 2,
        "low": low,
        "high": high,
        "n": len(scores),
        "n_true": int(true.sum()),
        "n_random": int((~true).sum()),
        "n_groups": int(units.max()) + 1,
        "balanced": bool(2 * true.sum() == len(true)),
        **{f"{name}_{kind}": each for kind in found for name, each in found[kind].items()},
        **_choice(scores if higher_is_true else -scores, true, context, units, settings),
    }


def _class(taken: np.ndarray, truth: np.ndarray) -> dict[str, float | None]:
    hits, said, there = int((taken & truth).sum()), int(taken.sum()), int(truth.sum())
    return {
        "precision": hits / said if said else None,
        "recall": hits / there,
        "f1": 2 * hits / (said + there),
    }


def _choice(
    scores: np.ndarray,
    true: np.ndarray,
    context: np.ndarray | None,
    units: np.ndarray,
    settings: dict[str, Any],
) -> dict[str, Any]:
    names = ("n_choose_1", "n_choose_1_low", "n_choose_1_high", "n_choose_1_chance", "n_contexts")
    if context is None:
        return dict.fromkeys(names)
    inside = context >= 0
    scores, true, context, units = (each[inside] for each in (scores, true, context, units))
    best, sizes = _contests(scores, true, context)
    top = scores == best[context]
    tied = np.bincount(context, top)
    right = true & (sizes[context] > 0)  # the true response of each whole contest
    shares = top[right] / tied[context[right]]
    low, high = interval(shares, units[right], **settings)
    chance = float((1 / sizes[context[right]]).mean())
    return dict(zip(names, (float(shares.mean()), low, high, chance, len(shares)), strict=True))


def _contests(
    scores: np.ndarray, true: np.ndarray, context: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The best score and the number of candidates of each context, 0 where there is no choice."""
    sizes = np.bincount(context)
    trues = np.bincount(context, true, minlength=len(sizes))
    if (trues > 1).any():
        raise ValueError(
            f"{(trues > 1).sum()} contexts have more than one true response to choose. Pass ids "
            "in `candidates` that tie one true response to random ones."
        )
    whole = (trues == 1) & (sizes > 1)
    if not whole.any():
        raise ValueError(
            "No context has a true response and a random one. Pass the same id for those that "
            "compete, or leave `candidates` out."
        )
    best = np.full(len(sizes), -np.inf)
    np.maximum.at(best, context, scores)
    return best, np.where(whole, sizes, 0)
