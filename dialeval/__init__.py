"""dialeval: can a system's replies be distinguished from a human's, and can that be trusted?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dialeval._version import __version__
from dialeval.registration import register_quietly

if TYPE_CHECKING:  # what editors and type checkers see; at run time names are imported lazily
    from dialeval.api import (
        evaluate,
        load_evaluator,
        load_generator,
        perturb,
        robustness,
        train_discriminator,
    )
    from dialeval.api_audit import audit
    from dialeval.dialogues import (
        Cut,
        Dialogue,
        Filters,
        Pairing,
        Passage,
        Passages,
        ReadOptions,
        Turn,
        folds,
        iterate,
        overlap,
        pair_folds,
        read,
        read_dialogues,
        read_passages,
        split,
        to_passages,
        warn_if_seen,
        write_passages,
    )
    from dialeval.errors import BadInput
    from dialeval.metrics.audit_results import AuditResults
    from dialeval.metrics.evaluation_results import EvaluationResults, Verdict
    from dialeval.metrics.registry import available, load
    from dialeval.metrics.results import Result, RunResults
    from dialeval.metrics.robustness_results import RobustnessResults
    from dialeval.metrics.unpaired_results import UnpairedResults
    from dialeval.perturbations import Perturbation
    from dialeval.protocols.comparison.checks import assert_metrics
    from dialeval.protocols.leaks import find_leaks
    from dialeval.responders.base import Responder
    from dialeval.responders.registry import load_responder
    from dialeval.scorers.base import Decision, Scorer
    from dialeval.scorers.folders import load_scorer, save_scorer
    from dialeval.scorers.reward_function import reward_function

_MODULES = {
    "api": (
        "evaluate", "load_evaluator", "load_generator", "perturb", "robustness",
        "train_discriminator",
    ),
    "api_audit": ("audit",),
    "dialogues": (
        "Cut", "Dialogue", "Filters", "Pairing", "Passage", "Passages", "ReadOptions", "Turn",
        "folds", "iterate", "overlap", "pair_folds", "read", "read_dialogues", "read_passages",
        "split", "to_passages", "warn_if_seen", "write_passages",
    ),
    "errors": ("BadInput",),
    "metrics.audit_results": ("AuditResults",),
    "metrics.evaluation_results": ("EvaluationResults", "Verdict"),
    "metrics.registry": ("available", "load"),
    "metrics.results": ("Result", "RunResults"),
    "metrics.robustness_results": ("RobustnessResults",),
    "metrics.unpaired_results": ("UnpairedResults",),
    "perturbations": ("Perturbation",),
    "protocols.comparison.checks": ("assert_metrics",),
    "protocols.leaks": ("find_leaks",),
    "responders.base": ("Responder",),
    "responders.registry": ("load_responder",),
    "scorers.base": ("Decision", "Scorer"),
    "scorers.folders": ("load_scorer", "save_scorer"),
    "scorers.reward_function": ("reward_function",),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "AuditResults",
    "BadInput",
    "Cut",
    "Decision",
    "Dialogue",
    "EvaluationResults",
    "Filters",
    "Pairing",
    "Passage",
    "Passages",
    "Perturbation",
    "ReadOptions",
    "Responder",
    "Result",
    "RobustnessResults",
    "RunResults",
    "Scorer",
    "Turn",
    "UnpairedResults",
    "Verdict",
    "__version__",
    "assert_metrics",
    "audit",
    "available",
    "evaluate",
    "find_leaks",
    "folds",
    "iterate",
    "load",
    "load_evaluator",
    "load_generator",
    "load_responder",
    "load_scorer",
    "overlap",
    "pair_folds",
    "perturb",
    "read",
    "read_dialogues",
    "read_passages",
    "reward_function",
    "robustness",
    "save_scorer",
    "split",
    "to_passages",
    "train_discriminator",
    "warn_if_seen",
    "write_passages",
]


def __getattr__(name: str) -> Any:
    """Import the module of a public name when the name is first used."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'dialeval' has no attribute {name!r}")
    value = getattr(import_module(f"dialeval.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


register_quietly()  # from here on, evaluate.load("dialeval/adversuc") works in any folder
