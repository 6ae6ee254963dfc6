"""Does an evaluator react to a changed context, and only where it should?

(Niu and Bansal, 2018: over-sensitivity and over-stability)
"""

from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import predicted_human
from dialeval.metrics.checks import Ids, numbers, units_of, zeros_and_ones
from dialeval.metrics.intervals import IntervalSettings, interval, ratio_interval

_MISSING = (None, None, None)


class ChangeResult(TypedDict):
    """Changes of one set of rows; `None` without rows."""

    n: int
    decisions_changed: float | None
    decisions_changed_low: float | None
    decisions_changed_high: float | None
    score_change: float | None
    score_change_low: float | None
    score_change_high: float | None


class RobustnessResult(TypedDict):
    """What `robustness` returns; `None` without rows of that kind."""

    over_stability: float | None
    over_stability_low: float | None
    over_stability_high: float | None
    over_sensitivity: float | None
    over_sensitivity_low: float | None
    over_sensitivity_high: float | None
    all: ChangeResult
    should_change: ChangeResult
    should_not_change: ChangeResult


def robustness(
    normal: ArrayLike,
    perturbed: ArrayLike,
    should_change: ArrayLike | bool,
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Ids | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> RobustnessResult:
    """How changing the context changes decisions and scores of the same responses.

    Args:
        normal, perturbed (`ArrayLike`):
            Scores of the same responses in their context and in the perturbed one, aligned.
        should_change (`ArrayLike` or `bool`):
            Whether the perturbation should change the decision: one for all rows, or one per row.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted human, the threshold included.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether scores from the threshold up are predicted human, or those from it down.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the intervals.
        method (`str`, *optional*, defaults to `"auto"`):
            Method of the intervals of shares, as in `interval`; those of score changes draw
            dialogues, also by `"auto"`.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level of the intervals.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.

    Returns:
        `RobustnessResult`: `over_stability`, the share of should-change rows whose decision stayed,
        and `over_sensitivity`, the share of should-not-change rows whose decision changed, each
        with `_low` and `_high`; then under `all`, `should_change` and `should_not_change`: `n`,
        `decisions_changed` and `score_change` (perturbed minus normal, the mean), each with
        `_low` and `_high`. They are `None` without rows of that kind.

    Examples:
        >>> result = robustness([0.9, 0.8, 0.7, 0.9], [0.2, 0.8, 0.7, 0.4], [1, 1, 0, 0])
        >>> result["over_stability"], result["over_sensitivity"]
        (0.5, 0.5)
    """
    before = numbers(normal, "scores in the normal context")
    after = numbers(perturbed, "scores in the perturbed context", len(before))
    marks = np.full(len(before), should_change) if np.ndim(should_change) == 0 else should_change
    expected = zeros_and_ones(marks, "marks in `should_change`", len(before))
    decisions = (predicted_human(scores, threshold, higher_is_human) for scores in (before, after))
    changed, score_change = np.not_equal(*decisions), after - before
    units = units_of(len(before), groups)
    settings: IntervalSettings = {
        "method": method, "level": level, "resamples": resamples, "seed": seed
    }  # fmt: skip
    stability = _mean_and_interval(~changed[expected], units[expected], settings)
    sensitivity = _mean_and_interval(changed[~expected], units[~expected], settings)

    def part(rows: np.ndarray) -> ChangeResult:
        return _changes(changed[rows], score_change[rows], units[rows], settings)

    return {
        "over_stability": stability[0],
        "over_stability_low": stability[1],
        "over_stability_high": stability[2],
        "over_sensitivity": sensitivity[0],
        "over_sensitivity_low": sensitivity[1],
        "over_sensitivity_high": sensitivity[2],
        "all": part(np.ones(len(before), dtype=bool)),
        "should_change": part(expected),
        "should_not_change": part(~expected),
    }


def _changes(
    changed: np.ndarray, score_change: np.ndarray, units: np.ndarray, settings: IntervalSettings
) -> ChangeResult:
    decisions = _mean_and_interval(changed, units, settings)
    scores = _score_change(score_change, units, settings)
    return {
        "n": len(changed),
        "decisions_changed": decisions[0],
        "decisions_changed_low": decisions[1],
        "decisions_changed_high": decisions[2],
        "score_change": scores[0],
        "score_change_low": scores[1],
        "score_change_high": scores[2],
    }


def _mean_and_interval(
    values: np.ndarray, units: np.ndarray, settings: IntervalSettings
) -> tuple[float, float, float] | tuple[None, None, None]:
    if not len(values):
        return _MISSING
    return float(np.mean(values)), *interval(values, units, **settings)


def _score_change(
    changes: np.ndarray, units: np.ndarray, settings: IntervalSettings
) -> tuple[float, float, float] | tuple[None, None, None]:
    """The mean change of scores, which is no share: it may be negative."""
    if not len(changes):
        return _MISSING
    if settings["method"] == "wilson":
        settings = {**settings, "method": "auto"}
    bounds = ratio_interval(np.bincount(units, changes), np.bincount(units), **settings)
    return float(changes.mean()), *bounds
