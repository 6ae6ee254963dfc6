"""What a run has found so far: numbers with their signatures, and warnings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dialeval.dialogues import Passages
from dialeval.dialogues.storage import batches
from dialeval.metrics.results import Result, signature, versions

_LEARNT = {
    "human_vs_random": "random", "machine_vs_random": "this system and random replies",
    "ere": "each scenario",
}  # fmt: skip
_LIBRARIES = ("numpy", "scikit-learn", "torch")


@dataclass
class ResultCollector:
    """Results and warnings of one run.

    Args:
        context (`str`):
            Turns of the contexts: see [`turns_of`].
        seed (`int`):
            Of folds, draws and intervals.
    """

    context: str
    seed: int
    results: list[Result] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(
        self,
        metric: str,
        system: str,
        evaluator: str,
        value: float,
        found: Mapping[str, Any],
        how: Mapping[str, Any],
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Note a number of a judge.

        Args:
            found (`Mapping`):
                Its interval as `low` and `high`, and `n`.
            how (`Mapping`):
                What of the judge moves it (see `Tables.how`): `folds`, `thr`, `n_train`, and
                `trained_on` where that is not this metric's own.
        """
        parts = {"trained_on": _LEARNT.get(metric, "this system"), **how}
        own = {name: parts[name] for name in ("trained_on", "folds", "thr", "n_train")}
        text = signature(
            metric=metric, evaluator=evaluator, system=system, ctx=self.context, **own, n=found["n"],
            seed=self.seed, **library_versions(),
        )  # fmt: skip
        ends = (found["low"], found["high"], found["n"])
        self.results.append(Result(metric, system, evaluator, value, *ends, text, details or {}))

    def describe(self, system: str, numbers: Mapping[str, Any], n: int) -> None:
        """Note what is known of a system's responses without a judge."""
        nothing = float("nan")
        for metric, value in numbers.items():
            text = signature(metric=metric, system=system, **library_versions())
            self.results.append(Result(metric, system, "", value, nothing, nothing, n, text))

    def warn(self, text: str) -> None:
        """Note what a reader has to know, once."""
        if text not in self.warnings:
            self.warnings.append(text)


def library_versions() -> dict[str, str]:
    """Versions as they stand in signatures: of dialeval, and of what judges learn with."""
    found = versions()
    return {"v": found["dialeval"], **{name: found[name] for name in _LIBRARIES if name in found}}


def turns_of(passages: Passages) -> str:
    """How many turns contexts have: one number, or the least and the most.

    Example:
        >>> from dialeval.dialogues import Passage, Turn, to_passages
        >>> turns_of(to_passages([Passage((Turn("A", "hi"),) * n, "yes") for n in (1, 3)]))
        '1-3'
    """
    sizes = [pc.list_value_length(batch["context"]).to_numpy(False) for batch in batches(passages)]
    least, most = np.concatenate(sizes).min(), np.concatenate(sizes).max()
    return str(most) if least == most else f"{least}-{most}"
