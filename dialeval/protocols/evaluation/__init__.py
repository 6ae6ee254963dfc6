"""Adversarial evaluation of systems (Li et al., 2017, sec. 4), with tests of the evaluators."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time lazily: input that is refused needs no statistics
    from dialeval.protocols.evaluation.inputs import EvaluationData, align, second_humans
    from dialeval.protocols.evaluation.study import EvaluationRun, evaluate

_MODULE_OF = {
    "EvaluationData": "inputs", "align": "inputs", "second_humans": "inputs",
    "EvaluationRun": "study", "evaluate": "study",
}  # fmt: skip

__all__ = ["EvaluationData", "EvaluationRun", "align", "evaluate", "second_humans"]


def __getattr__(name: str) -> Any:
    """Import the module of a name when the name is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
