"""Which evaluators a run uses, from the names on the command line."""

from collections.abc import Sequence

from dialeval.errors import BadInput
from dialeval.metrics.results import REFERENCES
from dialeval.protocols.evaluation.frozen import evaluator_name, frozen_names
from dialeval.scorers.fitting import FitContext
from dialeval.scorers.registry import (
    ALL_EVALUATORS,
    DEFAULT_EVALUATORS,
    EVALUATORS,
    Fit,
    fit_each,
    fit_function,
    fitted_names,
)

__all__ = [
    "EVALUATORS",
    "REFERENCES",
    "Fit",
    "FitContext",
    "fit_each",
    "fit_function",
    "fitted_names",
    "resolve_evaluators",
]


def resolve_evaluators(names: Sequence[str] | None) -> list[str]:
    """Names of the evaluators to use: the default ones, all, or those given; baselines come last.

    Saved and untrained evaluators are called what [`evaluator_name`] returns.

    Raises:
        BadInput: A name is unknown, or `package.module:Class` cannot be imported.
    """
    specs = [
        spec
        for text in names or DEFAULT_EVALUATORS
        for spec in (ALL_EVALUATORS if text == "all" else [text])
    ]
    fitted = fitted_names(specs)
    frozen_names(specs, fitted)  # refuses unknown names
    for spec in specs:
        _check_installed(spec)
        if spec in fitted and spec not in EVALUATORS:
            fit_function(spec)  # refuses what cannot be imported or fitted
    resolved = (evaluator_name(spec, fitted) for spec in specs)
    return [*dict.fromkeys(name for name in resolved if name not in REFERENCES), *REFERENCES]


def _check_installed(spec: str) -> None:
    """Refuse an evaluator whose packages are missing, and name those that need none of them."""
    entry = EVALUATORS.get(spec.partition(":")[0])
    try:
        if entry:
            entry.check_installed()
    except BadInput as error:
        hint = f"{error.hint}, or choose --evaluator surface --evaluator svm-unigram."
        raise BadInput(f"the evaluator {error.message}", hint=hint) from None
