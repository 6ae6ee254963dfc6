"""Which evaluators a run uses, from the names on the command line."""

import sys
from collections.abc import Hashable, Sequence
from functools import cache
from hashlib import blake2b
from inspect import getmodule
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialeval.errors import BadInput
from dialeval.metrics.results import REFERENCES
from dialeval.protocols.evaluation.frozen import evaluator_name, folder_hash, frozen_names
from dialeval.scorers.registry import (
    ALL_EVALUATORS,
    DEFAULT_EVALUATORS,
    ENCODER_PREFIX,
    EVALUATORS,
    Fit,
    fit_each,
    fit_function,
    fitted_names,
)

if TYPE_CHECKING:  # at run time lazily: names are checked without scikit-learn
    from dialeval.scorers.fitting import FitContext

__all__ = [
    "EVALUATORS",
    "REFERENCES",
    "Fit",
    "FitContext",
    "code_key",
    "fit_each",
    "fit_function",
    "fitted_names",
    "resolve_evaluators",
]


def __getattr__(name: str) -> Any:
    """Import what evaluators share when it is first used."""
    if name != "FitContext":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from dialeval.scorers.fitting import FitContext

    return FitContext


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


def code_key(name: str) -> str:
    """A hash of what a name alone does not tell about an evaluator that is trained in a run.

    Of dialeval's own the version says everything. Of others it is a hash of their Python files,
    because they change while one works on them, and of an encoder in a folder one of its files.

    Args:
        name (`str`):
            Name of the evaluator, or `package.module:object`.

    Returns:
        `str`: Empty for dialeval's own evaluators.
    """
    if name.startswith(ENCODER_PREFIX):
        folder = name.removeprefix(ENCODER_PREFIX)
        return folder_hash(folder) if Path(folder).is_dir() else ""
    entry = EVALUATORS.find(name)
    return "" if entry.source == "dialeval" else _code_hash(entry.load())


@cache
def _code_hash(target: Hashable) -> str:
    """A hash of the file of an object's module, or of all files of the package that it is in."""
    module = getmodule(target)
    file = getattr(module, "__file__", None)
    if module is None or file is None:
        return ""
    files = [Path(file)]
    package, dot, _ = module.__name__.partition(".")
    if dot and getattr(sys.modules.get(package), "__file__", None):
        files = sorted(Path(str(sys.modules[package].__file__)).parent.rglob("*.py"))
    digest = blake2b(digest_size=8)
    for path in files:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _check_installed(spec: str) -> None:
    """Refuse an evaluator whose packages are missing, and name those that need none of them."""
    entry = EVALUATORS.get(spec.partition(":")[0])
    try:
        if entry:
            entry.check_installed()
    except BadInput as error:
        hint = f"{error.hint}, or choose --evaluator surface --evaluator svm-unigram."
        raise BadInput(f"the evaluator {error.message}", hint=hint) from None
