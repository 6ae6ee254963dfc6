"""The evaluator reliability error: does a judge behave where the right answer is known?

(Li et al., 2017, sec. 4.2)
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import taken_for
from dialeval.metrics.checks import numbered, numbers, scores_and_labels, units_of
from dialeval.metrics.intervals import (
    balanced_interval,
    class_sums,
    mean_of_ratios,
    percentiles,
    resampled_sums,
)

GOLD = {"human_human": 0.5, "machine_machine": 0.5, "human_random": 0.0, "human_next": 0.0}
COIN = 0.25  # a coin is .5 off in the two scenarios that can be told apart
_NOISE = float(np.sqrt(2 / np.pi) / 2)  # E|p - .5| = _NOISE / sqrt(n) for the share p of n coins


def ere(
    scores: ArrayLike,
    labels: ArrayLike,
    scenarios: Sequence[str],
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Sequence[Hashable] | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, Any]:
    """The mean absolute deviation of adversarial success from its gold standard in four scenarios.

    Each scenario weighs the same, however many responses it has. The interval draws dialogues
    within each scenario. Deviations are absolute, so chance makes them larger on average: for a
    very reliable judge the interval lies rather too high.

    Args:
        labels (`ArrayLike`):
            1 for a scenario's positive examples, 0 for its negative ones.
        scenarios (`Sequence[str]`):
            `human_human`, `machine_machine`, `human_random` or `human_next` for each response.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the intervals.
        method (`str`, *optional*, defaults to `"auto"`):
            Of the scenarios' own intervals; that of the error is always by percentiles.

    Returns:
        `dict[str, Any]`: `ere`, `low`, `high`, `n`; `coin`, what guessing gets; `noise_floor`, the
        error expected of a perfect judge on this many independent responses; and `scenarios`:
        for each its `adversuc`, `low`, `high`, `gold`, signed `deviation`, `n` and `noise_floor`
        (.399 / sqrt(n) where gold is .5, and 0 where it is 0; the one above is their mean).

    Example:
        >>> names = ["human_human", "machine_machine", "human_random", "human_next"]
        >>> found = ere([0.9, 0.1] * 4, [1, 0] * 4, [name for name in names for _ in "ab"])
        >>> found["ere"]  # it tells apart what cannot be told apart: .5, .5, 0 and 0 off
        0.25
    """
    parts = _parts(scores, labels, scenarios, threshold, higher_is_human, groups)
    missing = [name for name in GOLD if name not in parts]
    if missing:
        raise ValueError(
            f"The reliability error is a mean over {', '.join(GOLD)}, but there is no response of "
            f"{', '.join(missing)}. Judge that scenario too."
        )
    settings = {"method": method, "level": level, "resamples": resamples, "seed": seed}
    told = {name: _scenario(name, *part, settings) for name, part in parts.items()}
    errors = np.zeros(resamples)
    for number, (name, part) in enumerate(parts.items()):
        drawn = resampled_sums(class_sums(*part), resamples, (seed, number))
        errors += np.abs(mean_of_ratios(drawn) - GOLD[name]) / len(GOLD)
    low, high = percentiles(errors, level) if _several(told) else (float("nan"),) * 2
    return {
        "ere": float(np.mean([abs(each["deviation"]) for each in told.values()])),
        "low": low,
        "high": high,
        "n": sum(each["n"] for each in told.values()),
        "coin": COIN,
        "noise_floor": float(np.mean([each["noise_floor"] for each in told.values()])),
        "scenarios": told,
    }


def scenario_success(
    scores: ArrayLike,
    labels: ArrayLike,
    scenarios: Sequence[str],
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Sequence[Hashable] | None = None,
    **settings: Any,
) -> dict[str, dict[str, Any]]:
    """What `ere` gives as `scenarios`, for those that there are: where some lack, all it can say.

    Example:
        >>> found = scenario_success([0.9, 0.1], [1, 0], ["human_random"] * 2)
        >>> found["human_random"]["adversuc"], found["human_random"]["gold"]
        (0.0, 0.0)
    """
    parts = _parts(scores, labels, scenarios, threshold, higher_is_human, groups)
    return {name: _scenario(name, *part, settings) for name, part in parts.items()}


Part = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of a scenario: whether each judgement was wrong, the positive examples, and the dialogues."""


def _parts(
    scores: ArrayLike,
    labels: ArrayLike,
    scenarios: Sequence[str],
    threshold: float,
    higher_is_human: bool,
    groups: Sequence[Hashable] | None,
) -> dict[str, Part]:
    scores, labels = numbers(scores, "scores"), np.asarray(labels)
    taken = taken_for(scores, threshold, higher_is_human)
    units, found = units_of(len(scores), groups), {}
    for name, rows in _rows(scenarios, scores, labels).items():
        positive = labels[rows].astype(bool)
        found[name] = taken[rows] != positive, positive, numbered(units[rows], rows.sum())
    return found


def _rows(
    scenarios: Sequence[str], scores: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """Which rows each scenario has, in the order of `GOLD`, once it has both labels."""
    scenarios = np.asarray(scenarios, dtype=object)
    if not scores.shape == labels.shape == scenarios.shape:
        raise ValueError(
            f"Expected a label and a scenario for each of {len(scores)} scores, found "
            f"{labels.size} labels and {scenarios.size} scenarios. Pass lists of the same length."
        )
    found, names = set(scenarios.tolist()), ", ".join(GOLD)
    unknown = sorted(map(str, found - GOLD.keys()))
    if unknown:
        raise ValueError(f"Unknown scenario {unknown[0]!r}. Choose from {names}.")
    rows = {name: scenarios == name for name in GOLD if name in found}
    for name, each in rows.items():
        try:
            scores_and_labels(scores[each], labels[each], kinds=("negative", "positive"))
        except ValueError as error:
            raise ValueError(f"In scenario {name}: {error}") from error
    return rows


def _scenario(
    name: str, wrong: np.ndarray, positive: np.ndarray, unit: np.ndarray, settings: dict[str, Any]
) -> dict[str, Any]:
    value = float((wrong[positive].mean() + wrong[~positive].mean()) / 2)
    low, high = balanced_interval(wrong, positive, unit, **settings)
    coins = 4 / (1 / positive.sum() + 1 / (~positive).sum())  # n, when the classes are equal
    return {
        "adversuc": value,
        "low": low,
        "high": high,
        "gold": GOLD[name],
        "deviation": value - GOLD[name],
        "n": len(wrong),
        "n_groups": int(unit.max()) + 1,
        "noise_floor": _NOISE / float(np.sqrt(coins)) if GOLD[name] else 0.0,
    }


def _several(told: dict[str, dict[str, Any]]) -> bool:
    return all(each["n_groups"] > 1 for each in told.values())
