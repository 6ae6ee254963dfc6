"""The evaluator reliability error: how far an evaluator is off where the answer is known.

(Li et al., 2017, sec. 4.2)
"""

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
from numpy.typing import ArrayLike

from dialeval.metrics.adversuc import predicted_human
from dialeval.metrics.checks import Ids, encode_ids, numbers, scores_and_labels, units_of
from dialeval.metrics.intervals import (
    IntervalSettings,
    balanced_interval,
    class_sums,
    mean_of_ratios,
    percentiles,
)
from dialeval.metrics.resampling import resampled_sums

GOLD = {"human_human": 0.5, "machine_machine": 0.5, "human_random": 0.0, "human_next": 0.0}
THREE = {name: value for name, value in GOLD.items() if name != "human_next"}
"""The scenarios that remain for data without a turn after the response."""
RANDOM_GUESS = 0.25  # guessing is .5 off in the two scenarios that are distinguishable
_ABSOLUTE = float(np.sqrt(2 / np.pi))  # mean absolute value of a normal error, per deviation


class ScenarioResult(TypedDict):
    """Adversarial success in one scenario."""

    adversuc: float
    low: float
    high: float
    gold: float
    deviation: float
    n: int
    n_groups: int
    noise_floor: float


class EreResult(TypedDict):
    """What `ere` returns."""

    ere: float
    low: float
    high: float
    n: int
    random_guess: float
    noise_floor: float
    scenarios: dict[str, ScenarioResult]


def ere(
    scores: ArrayLike,
    labels: ArrayLike,
    scenarios: Sequence[str],
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Ids | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
    gold: Mapping[str, float] = GOLD,
) -> EreResult:
    """The mean absolute deviation of adversarial success from its gold standard in four scenarios.

    All scenarios have the same weight, however many responses they have. The interval draws
    dialogues within each scenario. Deviations are absolute, so chance makes them larger on
    average: for a very reliable evaluator the interval is too high.

    Args:
        scores (`ArrayLike`):
            The evaluator's score for each response.
        labels (`ArrayLike`):
            1 for a scenario's positive examples, 0 for its negative ones.
        scenarios (`Sequence[str]`):
            `human_human`, `machine_machine`, `human_random` or `human_next` for each response.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted positive, the threshold included.
        higher_is_human (`bool`, *optional*, defaults to `True`):
            Whether scores from the threshold up are positive, or those from it down.
        groups (`Sequence`, *optional*):
            Dialogue ids, the units of the intervals.
        method (`str`, *optional*, defaults to `"auto"`):
            Method of the scenarios' intervals; the error's interval always uses percentiles, by
            `"auto"` further out where dialogues are few.
        level (`float`, *optional*, defaults to 0.95):
            Confidence level of the intervals.
        resamples (`int`, *optional*, defaults to 10000):
            Bootstrap draws.
        seed (`int`, *optional*, defaults to 0):
            Seed of the bootstrap.
        gold (`Mapping[str, float]`, *optional*):
            Scenarios and their gold standard; the paper's four by default. Over [`THREE`] it is
            another quantity, in which guessing is .167 off.

    Returns:
        `EreResult`: `ere`, `low`, `high`, `n`; `random_guess`, the error of guessing;
        `noise_floor`, the error expected of a perfect evaluator on responses that go together by
        dialogue as these do; and `scenarios`: for each its `adversuc`, `low`, `high`, `gold`,
        signed `deviation`, `n`, `n_groups` and `noise_floor` (.399 / sqrt(n) for n independent
        responses where gold is .5, and 0 where it is 0; the one above is their mean).

    Examples:
        >>> names = ["human_human", "machine_machine", "human_random", "human_next"]
        >>> result = ere([0.9, 0.1] * 4, [1, 0] * 4, [name for name in names for _ in "ab"])
        >>> result["ere"]  # never wrong, also where it should be half the time: .5, .5, 0, 0 off
        0.25
    """
    parts = _parts(scores, labels, scenarios, threshold, higher_is_human, groups)
    missing = [name for name in gold if name not in parts]
    if missing:
        raise ValueError(
            f"The reliability error is a mean over {', '.join(gold)}, but there is no response of "
            f"{', '.join(missing)}. Score that scenario too."
        )
    settings: IntervalSettings = {
        "method": method, "level": level, "resamples": resamples, "seed": seed
    }  # fmt: skip
    parts = {name: parts[name] for name in gold}
    results = {name: _scenario(gold[name], *part, settings) for name, part in parts.items()}
    errors = np.zeros(resamples)
    for index, (name, part) in enumerate(parts.items()):
        sums = resampled_sums(class_sums(*part), resamples, (seed, index))
        errors += np.abs(mean_of_ratios(sums) - gold[name]) / len(gold)
    fewest = min(result["n_groups"] for result in results.values())
    low, high = float("nan"), float("nan")
    if fewest > 1:
        low, high = percentiles(errors, level, fewest if method == "auto" else None)
    return {
        "ere": float(np.mean([abs(result["deviation"]) for result in results.values()])),
        "low": low,
        "high": high,
        "n": sum(result["n"] for result in results.values()),
        "random_guess": float(np.mean([abs(0.5 - value) for value in gold.values()])),
        "noise_floor": float(np.mean([result["noise_floor"] for result in results.values()])),
        "scenarios": results,
    }


def scenario_success(
    scores: ArrayLike,
    labels: ArrayLike,
    scenarios: Sequence[str],
    *,
    threshold: float = 0.5,
    higher_is_human: bool = True,
    groups: Ids | None = None,
    method: str = "auto",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> dict[str, ScenarioResult]:
    """Adversarial success in the scenarios that occur, where `ere` would need all four.

    Args:
        scores, labels, scenarios (`ArrayLike`):
            As in `ere`.
        threshold, higher_is_human, groups, method, level, resamples, seed (*optional*):
            As in `ere`.

    Returns:
        `dict[str, ScenarioResult]`: What `ere` returns as `scenarios`.

    Examples:
        >>> results = scenario_success([0.9, 0.1], [1, 0], ["human_random"] * 2)
        >>> results["human_random"]["adversuc"], results["human_random"]["gold"]
        (0.0, 0.0)
    """
    parts = _parts(scores, labels, scenarios, threshold, higher_is_human, groups)
    settings: IntervalSettings = {
        "method": method, "level": level, "resamples": resamples, "seed": seed
    }  # fmt: skip
    return {name: _scenario(GOLD[name], *part, settings) for name, part in parts.items()}


Part = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of a scenario: whether each prediction was wrong, the positive examples, and the dialogues."""


def _parts(
    scores: ArrayLike,
    labels: ArrayLike,
    scenarios: Sequence[str],
    threshold: float,
    higher_is_human: bool,
    groups: Ids | None,
) -> dict[str, Part]:
    values, marks = numbers(scores, "scores"), np.asarray(labels)
    predicted = predicted_human(values, threshold, higher_is_human)
    units = units_of(len(values), groups)
    parts = {}
    for name, rows in _rows(scenarios, values, marks).items():
        positive = marks[rows].astype(bool)
        parts[name] = predicted[rows] != positive, positive, encode_ids(units[rows], rows.sum())
    return parts


def _rows(
    scenarios: Sequence[str], scores: np.ndarray, labels: np.ndarray
) -> dict[str, np.ndarray]:
    """A mask of the rows of each scenario, in the order of `GOLD`, once it has both labels."""
    column = np.asarray(scenarios, dtype=object)
    if not scores.shape == labels.shape == column.shape:
        raise ValueError(
            f"Expected a label and a scenario for each of {len(scores)} scores, got "
            f"{labels.size} labels and {column.size} scenarios. Pass lists of the same length."
        )
    present = set(column.tolist())
    unknown = sorted(map(str, present - GOLD.keys()))
    if unknown:
        raise ValueError(f"Unknown scenario {unknown[0]!r}. Choose from {', '.join(GOLD)}.")
    masks = {name: np.asarray(column == name) for name in GOLD if name in present}
    for name, mask in masks.items():
        try:
            scores_and_labels(scores[mask], labels[mask], kinds=("negative", "positive"))
        except ValueError as error:
            raise ValueError(f"In scenario {name}: {error}") from error
    return masks


def _scenario(
    gold: float,
    wrong: np.ndarray,
    positive: np.ndarray,
    unit: np.ndarray,
    settings: IntervalSettings,
) -> ScenarioResult:
    value = float((wrong[positive].mean() + wrong[~positive].mean()) / 2)
    low, high = balanced_interval(wrong, positive, unit, **settings)
    return {
        "adversuc": value,
        "low": low,
        "high": high,
        "gold": gold,
        "deviation": value - gold,
        "n": len(wrong),
        "n_groups": int(unit.max()) + 1,
        "noise_floor": _noise_floor(wrong, positive, unit) if gold else 0.0,
    }


def _noise_floor(wrong: np.ndarray, positive: np.ndarray, unit: np.ndarray) -> float:
    """The mean absolute deviation from .5 of an evaluator that guesses whole dialogues.

    Its errors go together within a dialogue as the observed ones do; for dialogues of one response
    this is the mean absolute error of a share of independent guesses.
    """
    weights = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    errors = np.bincount(unit, weights * (wrong - 0.5))  # (dialogues,)
    return _ABSOLUTE * float(np.sqrt(np.square(errors).sum()))
