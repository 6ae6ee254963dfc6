"""Results of the transfer of an evaluator from one system to another."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dialeval.metrics.results import Result, plain


@dataclass(frozen=True)
class Transfer:
    """Accuracies of one evaluator, by training data and tested system.

    Args:
        evaluator (`str`):
            Name of the evaluator.
        trained_on, tested_on (`list[str]`):
            Rows and columns of the matrix.
        results (`list[Result]`):
            One per cell, row by row; `details["diagonal"]` is true where both are the same.
        warnings (`list[str]`, *optional*):
            What a reader has to know before using the numbers.
        settings (`Mapping`, *optional*):
            Settings of the run.
    """

    evaluator: str
    trained_on: list[str]
    tested_on: list[str]
    results: list[Result]
    warnings: list[str] = field(default_factory=list)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def matrix(self, part: str = "value") -> np.ndarray:
        """Accuracies, or the bounds `low` or `high`, shape `(trained on, tested on)`."""
        numbers = [getattr(result, part) for result in self.results]
        return np.array(numbers, dtype=float).reshape(len(self.trained_on), len(self.tested_on))

    def to_dict(self) -> dict[str, Any]:
        """The matrix as JSON can hold it, every cell with its interval and signature."""
        return plain(
            {
                "evaluator": self.evaluator,
                "trained_on": self.trained_on,
                "tested_on": self.tested_on,
                "matrix": self.matrix(),
                "results": [result.to_dict() for result in self.results],
                "warnings": self.warnings,
                "settings": self.settings,
            }
        )
