"""Collects the results of a run, with their signatures, and its warnings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow.compute as pc

from dialeval.dialogues import Passages
from dialeval.dialogues.storage import batches
from dialeval.metrics.results import REFERENCES, Result, plain, signature, versions
from dialeval.protocols.evaluation.measures import Measure

_TRAINED_ON = {
    "human_vs_random": "random", "machine_vs_random": "this system and random replies",
    "ere": "each scenario",
}  # fmt: skip
_LIBRARIES = ("numpy", "scikit-learn", "torch")


@dataclass(frozen=True)
class FitDetails:
    """How an evaluator was fitted, for the signature of its numbers.

    Args:
        folds (`int` or `str`):
            Folds of cross-fitting.
        threshold (`float` or `str`):
            Score from which a response is predicted to be human.
        n_train (`int` or `str`):
            Pairs that it was trained on.
        trained_on (`str`, *optional*):
            Data that it was trained on; follows from the metric by default.
    """

    folds: int | str
    threshold: float | str
    n_train: int | str
    trained_on: str = ""


@dataclass
class ResultCollector:
    """Results and warnings of one run.

    Args:
        context (`str`):
            Turns of the contexts: see [`turns_of`].
        seed (`int`):
            Seed of folds, draws and intervals.
        results (`list[Result]`, *optional*):
            Results so far.
        warnings (`list[str]`, *optional*):
            Warnings so far.
        missing (`dict`, *optional*):
            By the reason, what could not be computed, with the systems and evaluators concerned.
    """

    context: str
    seed: int
    results: list[Result] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    missing: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def add(
        self,
        metric: str,
        system: str,
        evaluator: str,
        measure: Measure,
        fit: FitDetails,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a number of an evaluator.

        Args:
            metric (`str`):
                Name of the metric.
            system (`str`):
                Name of the system.
            evaluator (`str`):
                Name of the evaluator.
            measure (`Measure`):
                The number with its interval; its own details are not added.
            fit (`FitDetails`):
                How the evaluator was fitted.
            details (`Mapping`, *optional*):
                Details of the result.
        """
        text = signature(
            metric=metric, evaluator=evaluator, system=system, ctx=self.context,
            trained_on=fit.trained_on or _TRAINED_ON.get(metric, "this system"),
            folds=fit.folds, thr=fit.threshold, n_train=fit.n_train, n=measure.n,
            interval="auto", seed=self.seed, **library_versions(),
        )  # fmt: skip
        numbers = (measure.value, measure.low, measure.high, measure.n)
        self.results.append(Result(metric, system, evaluator, *numbers, text, plain(details or {})))

    def describe(self, system: str, numbers: Mapping[str, Any], n: int) -> None:
        """Add numbers about a system's responses that need no evaluator.

        Args:
            system (`str`):
                Name of the system, or `"human"`.
            numbers (`Mapping[str, float]`):
                Values by metric.
            n (`int`):
                Number of responses.
        """
        nan = float("nan")
        for metric, value in numbers.items():
            text = signature(metric=metric, system=system, **library_versions())
            self.results.append(Result(metric, system, "", value, nan, nan, n, text))

    def warn(self, text: str) -> None:
        """Add a warning, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def warn_missing(self, what: str, evaluator: str, system: str, reason: Exception) -> None:
        """Note that something could not be computed; all that share a reason are one warning.

        Nobody misses a number of a reference such as the random guess.

        Args:
            what (`str`):
                What is missing.
            evaluator, system (`str`):
                Of whom; the system may be empty.
            reason (`Exception`):
                Why.
        """
        if evaluator not in REFERENCES:
            names = self.missing.setdefault(str(reason), {}).setdefault(what, [])
            names.append(f"{system} by {evaluator}" if system else evaluator)

    def all_warnings(self) -> tuple[str, ...]:
        """The warnings, and one for each reason why something is missing."""
        lines = []
        for reason, items in self.missing.items():
            parts = (f"{what} ({', '.join(dict.fromkeys(of))})" for what, of in items.items())
            reason = reason[:1].upper() + reason[1:]
            lines.append(f"Not measured: {', '.join(items)}. {reason} Missing: {', '.join(parts)}.")
        return (*self.warnings, *lines)


def library_versions() -> dict[str, str]:
    """Versions for signatures: of dialeval, and of the libraries that train evaluators."""
    installed = versions()
    libraries = {name: installed[name] for name in _LIBRARIES if name in installed}
    return {"v": installed["dialeval"], **libraries}


def turns_of(passages: Passages) -> str:
    """How many turns contexts have: one number, or the least and the most.

    Examples:
        >>> from dialeval.dialogues import Passage, Turn, to_passages
        >>> turns_of(to_passages([Passage((Turn("A", "hi"),) * n, "yes") for n in (1, 3)]))
        '1-3'
    """
    sizes = [pc.list_value_length(batch["context"]).to_numpy(False) for batch in batches(passages)]
    least, most = np.concatenate(sizes).min(), np.concatenate(sizes).max()
    return str(most) if least == most else f"{least}-{most}"
