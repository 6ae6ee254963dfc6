"""What the module scripts share: clear words where inputs are missing or keywords misspelt."""

import inspect
import logging
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any

_logger = logging.getLogger(__name__)


def chosen(config_name: str, **configurations: Any) -> Any:
    """The features of a configuration.

    Example:
        >>> chosen("default", default="numbers", texts="strings")
        'numbers'
    """
    if config_name not in configurations:
        choices = ", ".join(configurations)
        raise ValueError(f"Unknown configuration {config_name!r}. Choose one of {choices}.")
    return configurations[config_name]


def complete(batch: Mapping[str, Any], some: bool = False) -> Mapping[str, Any]:
    """The batch, if every input is there and all have one length.

    Args:
        some (`bool`, *optional*, defaults to `False`):
            Refuse an empty batch. `evaluate` looks at the first row where features are a choice.

    Example:
        >>> complete({"predictions": [0.9, 0.2], "references": None})
        Traceback (most recent call last):
        ...
        ValueError: Expected predictions and references, but references is missing. Pass it as a list.
    """  # noqa: E501
    missing = [name for name, values in batch.items() if values is None]
    if missing:
        verb, them = ("are", "them as lists") if len(missing) > 1 else ("is", "it as a list")
        raise ValueError(
            f"Expected {_listed(batch)}, but {_listed(missing)} {verb} missing. Pass {them}."
        )
    lengths = {name: len(values) for name, values in batch.items()}
    if len(set(lengths.values())) > 1:
        found = _listed(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"Expected inputs of one length, found {found}. Pass one of each a row.")
    if some and not any(lengths.values()):
        raise ValueError(f"Expected {_listed(batch)}, but they are empty. Pass at least one row.")
    return batch


def taken(keywords: Mapping[str, Any], function: Callable[..., Any]) -> dict[str, Any]:
    """Those keywords that a function has; `combine` hands every module the keywords of all.

    One that looks like a slip of the pen is an error, because a number that was made with another
    threshold than one believes is worse than none.

    Example:
        >>> def share(scores, *, threshold=0.5): ...
        >>> taken({"threshold": 0.7}, share)
        {'threshold': 0.7}
        >>> taken({"treshold": 0.7}, share)
        Traceback (most recent call last):
        ...
        ValueError: share has no keyword 'treshold'. Did you mean 'threshold'?
    """
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.default is not each.empty]
    for keyword in keywords.keys() - set(names):
        if close := get_close_matches(keyword, names, n=1, cutoff=0.75):
            raise ValueError(
                f"{function.__name__} has no keyword {keyword!r}. Did you mean {close[0]!r}?"
            )
        _logger.warning(
            f"{function.__name__} passes over {keyword!r}: its keywords are {_listed(names)}."
        )
    return {name: keywords[name] for name in names if name in keywords}


def _listed(names: Any) -> str:
    """Names as one says them."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else str(last)
