"""Helpers of the module scripts: clear errors for missing inputs and misspelt keywords."""

import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

_logger = logging.getLogger(__name__)


def select_features(config_name: str, **configurations: Any) -> Any:
    """Return the features of a configuration, or list the choices for an unknown one.

    Examples:
        >>> select_features("default", default="numbers", texts="strings")
        'numbers'
    """
    if config_name not in configurations:
        choices = ", ".join(configurations)
        raise ValueError(f"Unknown configuration {config_name!r}. Choose one of {choices}.")
    return configurations[config_name]


def check_batch(batch: Mapping[str, Any], require_rows: bool = False) -> Mapping[str, Any]:
    """Return the batch if every input is present and all have the same length.

    Args:
        batch (`Mapping`):
            Lists of values by the name of the input.
        require_rows (`bool`, *optional*, defaults to `False`):
            Refuse an empty batch. `evaluate` reads the first row where features are a choice.

    Examples:
        >>> check_batch({"predictions": [0.9, 0.2], "references": None})
        Traceback (most recent call last):
        ...
        ValueError: Expected predictions and references, but references is missing. Pass it as a list.
    """  # noqa: E501
    missing = [name for name, values in batch.items() if values is None]
    if missing:
        verb, them = ("are", "them as lists") if len(missing) > 1 else ("is", "it as a list")
        raise ValueError(
            f"Expected {_enumeration(batch)}, but {_enumeration(missing)} {verb} missing. "
            f"Pass {them}."
        )
    lengths = {name: len(values) for name, values in batch.items()}
    if len(set(lengths.values())) > 1:
        sizes = _enumeration(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(
            f"Expected inputs of the same length, got {sizes}. Pass one value per row for each."
        )
    if require_rows and not any(lengths.values()):
        raise ValueError(
            f"Expected {_enumeration(batch)}, but they are empty. Pass at least one row."
        )
    return batch


def accepted_keywords(keywords: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Return the keywords that a function accepts; `combine` passes all keywords to all modules.

    A keyword that looks like a typo is an error: a silently ignored threshold would give a wrong
    number.

    Examples:
        >>> def share(scores, *, threshold=0.5): ...
        >>> accepted_keywords({"threshold": 0.7}, share)
        {'threshold': 0.7}
        >>> accepted_keywords({"treshold": 0.7}, share)
        Traceback (most recent call last):
        ...
        ValueError: share has no keyword 'treshold'. Did you mean 'threshold'?
    """
    parameters = inspect.signature(function).parameters.values()
    names = [parameter.name for parameter in parameters if parameter.default is not parameter.empty]
    for keyword in keywords.keys() - set(names):
        if close := get_close_matches(keyword, names, n=1, cutoff=0.75):
            raise ValueError(
                f"{function.__name__} has no keyword {keyword!r}. Did you mean {close[0]!r}?"
            )
        _logger.warning(
            f"{function.__name__} ignores {keyword!r}: its keywords are {_enumeration(names)}."
        )
    return {name: keywords[name] for name in names if name in keywords}


def _enumeration(names: Iterable[str]) -> str:
    """Names joined by commas and a final "and"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else str(last)
