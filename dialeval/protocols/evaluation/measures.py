"""From the scores of each response to numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.ere import GOLD, RANDOM_GUESS, THREE, ere, scenario_success
from dialeval.metrics.intervals import balanced_interval, interval
from dialeval.metrics.lengths import stratified_accuracy

PREDICTED = "predicted_human"
RESPONSE_ONLY = "response_only_predicted_human"
SHUFFLED = "shuffled_predicted_human"


@dataclass(frozen=True)
class Measure:
    """A number with its interval.

    Args:
        value, low, high (`float`):
            The number, and the bounds of its interval.
        n (`int`):
            Responses that it was computed on.
        details (`Mapping`, *optional*):
            Further numbers from the same responses.
    """

    value: float
    low: float
    high: float
    n: int
    details: Mapping[str, Any] = field(default_factory=dict)


def correct(table: pa.Table, column: str = PREDICTED) -> np.ndarray:
    """1 where the evaluator's decision about a response was correct, else 0.

    Rows without a decision are left out.
    """
    table = table.filter(pc.is_valid(table[column]))
    return (table[column].to_numpy() == (table["label"].to_numpy() == 1)).astype(float)


def accuracy(table: pa.Table, column: str = PREDICTED) -> float:
    """The share of correct decisions; NaN if there is none."""
    values = correct(table, column)
    return float(values.mean()) if len(values) else float("nan")


def accuracy_interval(table: pa.Table, seed: int) -> Measure:
    """The accuracy with its interval, clustered by dialogue."""
    values = correct(table)
    groups = table["dialogue_id"].to_pylist()
    low, high = interval(values, groups, method="auto", seed=seed)
    return Measure(float(values.mean()), low, high, len(values))


def accuracy_bounds(table: pa.Table, seed: int, level: float) -> tuple[float, float]:
    """The interval of the accuracy on both classes, at any level.

    Args:
        table (`pa.Table`):
            Scores of human and machine responses.
        seed (`int`):
            Seed of the bootstrap.
        level (`float`):
            Confidence level.

    Returns:
        `tuple[float, float]`: Lower and upper bound.
    """
    labels, groups = table["label"].to_numpy(), table["dialogue_id"].to_pylist()
    return balanced_interval(correct(table), labels, groups, level=level, seed=seed)


def context_gain(table: pa.Table) -> float:
    """Accuracy minus that of the twin that was trained without contexts, where there is one."""
    both = table.filter(pc.is_valid(table[RESPONSE_ONLY]))
    return accuracy(both) - accuracy(both, RESPONSE_ONLY)


def adversarial_success(table: pa.Table, seed: int, threshold: float = 0.5) -> Measure:
    """AdverSuc, with further numbers as details (Li et al., 2017, sec. 4.1).

    Args:
        table (`pa.Table`):
            Scores of human and machine responses.
        seed (`int`):
            Seed of the interval.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted to be human.

    Returns:
        `Measure`: The value is AdverSuc; the details are the other keys of [`adversuc`].
    """
    numbers = dict(
        adversuc(
            table["score"].to_numpy(),
            table["label"].to_numpy(),
            threshold=threshold,
            groups=table["dialogue_id"].to_pylist(),
            pairs=table["pair"].to_pylist(),
            folds=table["fold"].to_pylist(),
            seed=seed,
        )
    )
    return _to_measure("adversuc", numbers)


def reliability_error(parts: Mapping[str, pa.Table], seed: int, threshold: float = 0.5) -> Measure:
    """ERE from the table of each scenario (Li et al., 2017, sec. 4.2).

    Where only `human_next` has no table it is the mean over the other three: another quantity,
    with another value for guessing. Without any other scenario there is none: the value is NaN,
    and the detail `missing` names the scenarios that have no table.

    Args:
        parts (`Mapping[str, pa.Table]`):
            Scores by scenario.
        seed (`int`):
            Seed of the intervals.
        threshold (`float`, *optional*, defaults to 0.5):
            Score from which a response is predicted to be human.

    Returns:
        `Measure`: The value is ERE; the details are the other keys of [`ere`], and `missing`.
    """
    joined = pa.concat_tables(parts.values())
    columns = (joined["score"].to_numpy(), joined["label"].to_numpy())
    names = [name for name, table in parts.items() for _ in range(len(table))]
    groups = joined["dialogue_id"].to_pylist()
    missing = [name for name in GOLD if name not in parts]
    if missing in ([], ["human_next"]):
        gold = THREE if missing else GOLD
        numbers = ere(*columns, names, groups=groups, seed=seed, threshold=threshold, gold=gold)
        return _to_measure("ere", {**numbers, **({"missing": missing} if missing else {})})
    scenarios = scenario_success(*columns, names, groups=groups, seed=seed, threshold=threshold)
    nan = float("nan")
    details = {
        "noise_floor": nan,
        "random_guess": RANDOM_GUESS,
        "scenarios": scenarios,
        "missing": missing,
    }
    return Measure(nan, nan, nan, len(names), details)


def above_blind(error: Measure, table: pa.Table) -> dict[str, float]:
    """ERE with `human_next` measured above what its responses reveal without any context.

    The accuracy that the response-only twin has above .5 is not counted: it comes from the position
    of a turn in its dialogue, not from reading the context.

    Args:
        error (`Measure`):
            ERE over the four scenarios.
        table (`pa.Table`):
            Scores of `human_next`, with matched positions where possible, and of the twin.

    Returns:
        `dict[str, float]`: `ere`, and of `human_next` the `accuracy`, that of the `blind` twin, the
        `adversuc` above it, and `n`.
    """
    full, blind = accuracy(table), accuracy(table, RESPONSE_ONLY)
    success = 1 - full + max(0.0, blind - 0.5)
    deviations = {name: abs(part["deviation"]) for name, part in error.details["scenarios"].items()}
    deviations["human_next"] = success
    return {
        "ere": float(np.mean(list(deviations.values()))),
        "accuracy": full,
        "blind": blind,
        "adversuc": success,
        "n": len(table),
    }


def length_stratified(table: pa.Table) -> float | None:
    """Accuracy among responses of similar length."""
    labels, lengths = table["label"].to_numpy(), table["tokens"].to_numpy()
    return stratified_accuracy(correct(table), labels, lengths)["accuracy"]


def _to_measure(name: str, numbers: dict[str, Any]) -> Measure:
    value, low, high, n = (numbers.pop(key) for key in (name, "low", "high", "n"))
    return Measure(value, low, high, n, numbers)
