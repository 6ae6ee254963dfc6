"""From what a judge said about each response to numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.ere import RANDOM_GUESS, GOLD, ere, scenario_success
from dialeval.metrics.intervals import interval
from dialeval.metrics.lengths import stratified_accuracy
from dialeval.metrics.paired import paired_bootstrap
from dialeval.protocols.evaluation.verdict import ALPHA

FEWEST = 10
"""Contexts below which two accuracies are not compared."""


def right(table: pa.Table, column: str = "taken") -> np.ndarray:
    """1 where the judge was right about a response, else 0."""
    return (table[column].to_numpy() == (table["label"].to_numpy() == 1)).astype(float)


def accuracy(table: pa.Table, column: str = "taken") -> float:
    """The share of responses that the judge was right about."""
    return float(right(table, column).mean())


def accuracy_interval(table: pa.Table, seed: int) -> dict[str, Any]:
    """The interval of the accuracy, dialogues drawn, and on how many responses it rests."""
    values = right(table)
    groups = table["dialogue_id"].to_pylist()
    low, high = interval(values, groups, method="auto", seed=seed)
    return {"low": low, "high": high, "n": len(values)}


def adversarial_success(table: pa.Table, seed: int, threshold: float = 0.5) -> dict[str, Any]:
    """AdverSuc and what stands beside it (Li et al., 2017, sec. 4.1)."""
    return adversuc(
        table["score"].to_numpy(),
        table["label"].to_numpy(),
        threshold=threshold,
        groups=table["dialogue_id"].to_pylist(),
        pairs=table["pair"].to_pylist(),
        folds=table["fold"].to_pylist(),
        seed=seed,
    )


def reliability_error(
    parts: Mapping[str, pa.Table], seed: int, threshold: float = 0.5
) -> dict[str, Any]:
    """ERE from the table of each scenario (Li et al., 2017, sec. 4.2).

    Where a scenario has no table there is no error: it is not a number, and `missing` says why.
    """
    joined = pa.concat_tables(parts.values())
    columns = (joined["score"].to_numpy(), joined["label"].to_numpy())
    names = [name for name, table in parts.items() for _ in range(len(table))]
    groups = joined["dialogue_id"].to_pylist()
    missing = [name for name in GOLD if name not in parts]
    if not missing:
        return ere(*columns, names, groups=groups, seed=seed, threshold=threshold)
    told = scenario_success(*columns, names, groups=groups, seed=seed, threshold=threshold)
    nothing = dict.fromkeys(("ere", "low", "high", "noise_floor"), float("nan"))
    return {**nothing, "n": len(names), "random_guess": RANDOM_GUESS, "scenarios": told, "missing": missing}


def length_stratified(table: pa.Table) -> float | None:
    """Accuracy among responses of like length."""
    found = stratified_accuracy(right(table), table["label"].to_numpy(), table["tokens"].to_numpy())
    return found["accuracy"]


def below_control(table: pa.Table, control: pa.Table, seed: int) -> bool:
    """Whether machine-vs-random lies significantly below human-vs-random, context by context."""
    ours, theirs = _by_context(table), _by_context(control)
    common = sorted(ours.keys() & theirs.keys())
    if len(common) < FEWEST:
        return False
    found = paired_bootstrap(
        [theirs[key] for key in common],
        [ours[key] for key in common],
        groups=[dialogue for dialogue, _ in common],
        seed=seed,
    )
    return found["difference"] > 0 and found["p"] < ALPHA


def _by_context(table: pa.Table) -> dict[tuple[str, str], float]:
    """The judge's accuracy on each context, known by its dialogue and id."""
    found: dict[tuple[str, str], list[float]] = {}
    keys = zip(table["dialogue_id"].to_pylist(), table["id"].to_pylist(), strict=True)
    for key, value in zip(keys, right(table).tolist(), strict=True):
        found.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}
