"""Results of a panel of evaluators: whether they agree on the order of systems."""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dialeval._version import __version__
from dialeval.metrics.results import Result, plain, signature, versions


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau between the rankings of two evaluators, with an interval over dialogues.

    Args:
        first, second (`str`):
            The evaluators.
        tau (`float`, *optional*):
            Tau-b; `None` where an evaluator finds all systems equal.
        low, high (`float`, *optional*):
            Bounds of the interval.
        reference (`bool`):
            Whether one of them is a random guess or uses lengths alone, and so is not of the panel.
    """

    first: str
    second: str
    tau: float | None
    low: float | None
    high: float | None
    reference: bool


@dataclass(frozen=True)
class Order:
    """Two systems that every evaluator of the panel puts in the same order.

    Args:
        above, below (`str`):
            The system with the higher AdverSuc, which is harder to detect, and the other.
        support (`float`, *optional*):
            Share of resamples in which all still agree.
    """

    above: str
    below: str
    support: float | None


@dataclass(frozen=True)
class PanelCell:
    """AdverSuc of one system by one evaluator.

    Args:
        value, low, high (`float`):
            AdverSuc with its interval.
        n (`int`):
            Number of responses, or of pairs.
        metric (`str`):
            `"adversuc"`, or for an LLM judge `"1 - pairwise_accuracy"`, so that only the order is
            comparable.
    """

    value: float
    low: float
    high: float
    n: int
    metric: str = "adversuc"


@dataclass(frozen=True)
class Panel:
    """Rankings of systems by a panel of evaluators, and their agreement.

    Args:
        systems (`list[str]`):
            Systems that all evaluators have evaluated.
        evaluators, references (`list[str]`):
            Evaluators of the panel; references are shown but do not count.
        table (`dict[str, dict[str, PanelCell]]`):
            By evaluator and system.
        warnings (`list[str]`):
            What a reader has to know before using the numbers.
        results (`list[Result]`):
            Pairwise accuracies of the LLM judges.
        settings (`dict`):
            Settings of the run.
        agreements (`list[Agreement]`, *optional*):
            Of every two evaluators.
        ranking (`list[str]`, *optional*):
            Those of the panel that do not find all systems equal; `mean` and `orders` are theirs.
        mean (`Agreement`, *optional*):
            The mean tau over all pairs of the panel.
        orders (`list[Order]`, *optional*):
            Systems on whose order the panel agrees.
        disputed (`list[tuple[str, str]]`, *optional*):
            Systems on whose order the panel does not agree.
    """

    systems: list[str]
    evaluators: list[str]
    references: list[str]
    table: dict[str, dict[str, PanelCell]]
    warnings: list[str]
    results: list[Result]
    settings: dict[str, Any]
    agreements: list[Agreement] = field(default_factory=list)
    ranking: list[str] = field(default_factory=list)
    mean: Agreement | None = None
    orders: list[Order] = field(default_factory=list)
    disputed: list[tuple[str, str]] = field(default_factory=list)

    @property
    def values(self) -> np.ndarray:
        """AdverSuc of the systems, the panel's rows first, shape `(evaluators, systems)`."""
        return np.array(
            [[row[system].value for system in self.systems] for row in self.table.values()]
        )

    def to_dict(self) -> dict[str, Any]:
        """The panel as JSON can hold it."""
        text = signature(metric="kendall_tau", **self.settings, v=__version__)
        return plain(asdict(self)) | {"versions": versions(), "signature": text}
