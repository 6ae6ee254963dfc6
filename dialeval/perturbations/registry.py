"""The registry of strategies is the room itself: every named subclass in any of its modules."""

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Kind, Perturbation

PRESETS = ("paper", "released")


@cache
def _modules() -> tuple[str, ...]:
    """Modules of the room, each imported once."""
    room = import_module("dialeval.perturbations")
    names = tuple(f"{room.__name__}.{each.name}" for each in pkgutil.iter_modules(room.__path__))
    for name in names:
        import_module(name)
    return names


def strategies() -> dict[str, type[Perturbation]]:
    """Every strategy that has a name, in alphabetical order."""
    _modules()
    found = {cls.name: cls for cls in _subclasses(Perturbation)}
    return dict(sorted(found.items()))


def _subclasses(cls: type[Perturbation]) -> Iterator[type[Perturbation]]:
    for each in cls.__subclasses__():
        if isinstance(each.name, str) and each.name:
            yield each
        yield from _subclasses(each)


def available(kind: Kind | None = None, language: str | None = None) -> list[str]:
    """Names of strategies, of one kind or for one language where these are given.

    Example:
        >>> "random-swap" in available("should_not_change", "de")
        True
    """
    kinds = ("should_change", "should_not_change")
    if kind is not None and kind not in kinds:
        raise BadInput(f"Unknown kind {kind!r}.", remedy=f"Choose one of {', '.join(kinds)}.")
    return [
        name
        for name, cls in strategies().items()
        if (kind is None or cls.kind == kind) and (language is None or speaks(cls, language))
    ]


def speaks(strategy: Perturbation | type[Perturbation], language: str | None) -> bool:
    """Whether a strategy is made for a language; text of unknown language counts as English."""
    code = (language or "en").lower().replace("_", "-").split("-")[0]
    return strategy.languages is None or code in strategy.languages


def needed(cls: type[Perturbation]) -> list[str]:
    """Options without which a strategy cannot work, such as the entities of a domain."""
    return [
        each.name
        for each in fields(cls)
        if each.default is MISSING and each.default_factory is MISSING
    ]


def perturbation(name: str, preset: str = "paper", **options: Any) -> Perturbation:
    """A strategy by its name.

    Args:
        preset (`str`, *optional*, defaults to `"paper"`):
            `"released"` for the settings of the paper's released code.
        options:
            Settings of the strategy, which win over the preset's.

    Example:
        >>> perturbation("random-swap", "released")
        RandomSwap(words_per_swap=3, by_gap=True)
    """
    found = strategies()
    if name not in found:
        raise BadInput(f"Unknown strategy {name!r}.", remedy=f"Choose one of {', '.join(found)}.")
    if preset not in PRESETS:
        choices = ", ".join(PRESETS)
        raise BadInput(f"Unknown preset {preset!r}.", remedy=f"Choose one of {choices}.")
    cls = found[name]
    settings = {**cls.presets.get(preset, {}), **options}
    _check(cls, settings)
    return cls(**settings)


def _check(cls: type[Perturbation], settings: Mapping[str, Any]) -> None:
    """Refuse options that a strategy does not have, and name those that it lacks."""
    known = [each.name for each in fields(cls) if each.init]
    for option in settings:
        if option not in known:
            has = f"It has {', '.join(known)}." if known else "It has none."
            raise BadInput(f"{cls.name} has no option {option!r}.", remedy=has)
    lacking = [option for option in needed(cls) if option not in settings]
    if lacking:
        raise BadInput(f"{cls.name} has to be told its {' and '.join(lacking)}.")


def perturbations(
    names: str | list[str] | tuple[str, ...] = "all",
    preset: str = "paper",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Perturbation]:
    """Strategies by name, or `"all"` that need nothing more than `options` gives them.

    Args:
        options (`Mapping`, *optional*):
            Settings by the strategy's name.
    """
    options = options or {}
    for name in options:
        if name not in strategies():
            perturbation(name)  # says which names there are
    if names == "all":
        names = [
            name
            for name, cls in strategies().items()
            if set(needed(cls)) <= set(options.get(name, {}))
        ]
    elif isinstance(names, str):
        names = [names]
    return [perturbation(name, preset, **options.get(name, {})) for name in names]
