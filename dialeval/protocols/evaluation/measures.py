"""From the scores of each response to numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.ere import GOLD, RANDOM_GUESS, ere, scenario_success
from dialeval.metrics.intervals import interval
from dialeval.metrics.lengths import stratified_accuracy
from dialeval.metrics.paired import paired_bootstrap
from dialeval.protocols.evaluation.verdict import ALPHA

MIN_CONTEXTS = 10
"""Contexts below which two accuracies are not compared."""
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


def context_gain(table: pa.Table) -> float:
    """Accuracy with the context minus accuracy without it, on responses that have both."""
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

    Without all four scenarios there is no ERE: the value is NaN, and the detail `missing` names
    the scenarios that have no table.

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
    if not missing:
        numbers = ere(*columns, names, groups=groups, seed=seed, threshold=threshold)
        return _to_measure("ere", dict(numbers))
    scenarios = scenario_success(*columns, names, groups=groups, seed=seed, threshold=threshold)
    nan = float("nan")
    details = {
        "noise_floor": nan,
        "random_guess": RANDOM_GUESS,
        "scenarios": scenarios,
        "missing": missing,
    }
    return Measure(nan, nan, nan, len(names), details)


def length_stratified(table: pa.Table) -> float | None:
    """Accuracy among responses of similar length."""
    labels, lengths = table["label"].to_numpy(), table["tokens"].to_numpy()
    return stratified_accuracy(correct(table), labels, lengths)["accuracy"]


def below_control(table: pa.Table, control: pa.Table, seed: int) -> bool:
    """Whether machine-vs-random is significantly below human-vs-random, context by context.

    Args:
        table (`pa.Table`):
            Scores of a system's responses and of random ones.
        control (`pa.Table`):
            Scores of human responses and of random ones.
        seed (`int`):
            Seed of the bootstrap.

    Returns:
        `bool`: `False` where too few contexts are in both.
    """
    system, human = _accuracy_by_context(table), _accuracy_by_context(control)
    common = sorted(system.keys() & human.keys())
    if len(common) < MIN_CONTEXTS:
        return False
    test = paired_bootstrap(
        [human[key] for key in common],
        [system[key] for key in common],
        groups=[dialogue for dialogue, _ in common],
        seed=seed,
    )
    return test["difference"] > 0 and test["p"] < ALPHA


def _to_measure(name: str, numbers: dict[str, Any]) -> Measure:
    value, low, high, n = (numbers.pop(key) for key in (name, "low", "high", "n"))
    return Measure(value, low, high, n, numbers)


def _accuracy_by_context(table: pa.Table) -> dict[tuple[str, str], float]:
    """The evaluator's accuracy on each context, by dialogue and id."""
    by_context: dict[tuple[str, str], list[float]] = {}
    keys = zip(table["dialogue_id"].to_pylist(), table["id"].to_pylist(), strict=True)
    for key, value in zip(keys, correct(table).tolist(), strict=True):
        by_context.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in by_context.items()}
