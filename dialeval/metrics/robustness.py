"""Does a judge notice a changed context, and only where it should?

(Niu and Bansal, 2018: over-sensitivity and over-stability)
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import taken_for
from dialeval.metrics.checks import numbers, truths, units_of
from dialeval.metrics.intervals import interval

_ENDS = ("", "_low", "_high")


def robustness(
    normal: ArrayLike,
    perturbed: ArrayLike,
    should_change: ArrayLike | bool,
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Sequence[Hashable] | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """What changing the context does to decisions and scores, the response staying the same.

    Args:
        normal, perturbed (`ArrayLike`):
            Scores of the same responses in their context and in the perturbed one, aligned.
        should_change (`ArrayLike` or `bool`):
            Whether the perturbation ought to change the decision: one for all, or one each.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the intervals.
        method (`str`, *optional*, defaults to `"auto"`):
            Of the shares' intervals, as in `interval`; that of score changes is by percentiles,
            unless it is `"bca"`.

    Returns:
        `dict[str, Any]`: `over_stability`, the share of should-change rows whose decision stayed,
        and `over_sensitivity`, the share of should-not-change rows whose decision changed, each
        with `_low` and `_high`; then under `all`, `should_change` and `should_not_change`: `n`,
        `decisions_changed` and `score_change` (perturbed minus normal, the mean), each with
        `_low` and `_high`. What has no rows is `None`.

    Example:
        >>> found = robustness([0.9, 0.8, 0.7, 0.9], [0.2, 0.8, 0.7, 0.4], [1, 1, 0, 0])
        >>> found["over_stability"], found["over_sensitivity"]
        (0.5, 0.5)
    """
    normal = numbers(normal, "scores in the normal context")
    perturbed = numbers(perturbed, "scores in the perturbed context", len(normal))
    wanted = np.full(len(normal), should_change) if np.ndim(should_change) == 0 else should_change
    wanted = truths(wanted, "marks in `should_change`", len(normal))
    before, after = (taken_for(each, threshold, higher_is_human) for each in (normal, perturbed))
    changed, moved = before != after, perturbed - normal
    units = units_of(len(normal), groups)
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    parts = {"all": wanted | True, "should_change": wanted, "should_not_change": ~wanted}
    return {
        **_share("over_stability", ~changed[wanted], units[wanted], settings),
        **_share("over_sensitivity", changed[~wanted], units[~wanted], settings),
        **{
            name: _part(changed[rows], moved[rows], units[rows], settings)
            for name, rows in parts.items()
        },
    }


def _part(
    changed: np.ndarray, moved: np.ndarray, units: np.ndarray, settings: dict[str, Any]
) -> dict[str, Any]:
    plain = settings | {"method": "bca" if settings["method"] == "bca" else "bootstrap"}
    return {
        "n": len(changed),
        **_share("decisions_changed", changed, units, settings),
        **_share("score_change", moved, units, plain),
    }


def _share(
    name: str, values: np.ndarray, units: np.ndarray, settings: dict[str, Any]
) -> dict[str, float | None]:
    if not len(values):
        return {name + end: None for end in _ENDS}
    found = float(np.mean(values)), *interval(values, units, **settings)
    return {name + end: each for end, each in zip(_ENDS, found, strict=True)}
