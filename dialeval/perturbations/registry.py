"""Strategies by name: the subclasses in this package, those of plug-ins, and `module:Class`.

An installed package adds strategies through an entry-point group, without any change here:

    [project.entry-points."dialeval.perturbations"]
    my-strategy = "my_package.strategies:MyStrategy"
"""

import inspect
import logging
import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Kind, Perturbation
from dialeval.registry import import_object, is_object_spec, plugins, source_of, unknown_name

logger = logging.getLogger(__name__)

GROUP = "dialeval.perturbations"
"""Entry-point group in which installed packages name their strategies."""

PRESETS = ("paper", "released")
KINDS: tuple[Kind, ...] = ("should_change", "should_not_change")

Strategy = type[Perturbation]


@cache
def _import_modules() -> None:
    """Import all modules of this package, which defines their subclasses."""
    package = import_module("dialeval.perturbations")
    for module in pkgutil.iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")


def strategies() -> dict[str, Strategy]:
    """All strategies by name, in alphabetical order, with those of installed packages.

    A plug-in that cannot be imported is left out with a warning.
    """
    listed = _defined_strategies()
    for point in plugins(GROUP):
        try:
            strategy = _load_plugin(point)
        except BadInput as error:
            logger.warning("The strategy %r is not available: %s", point.name, error)
            continue
        if listed.setdefault(point.name, strategy) is not strategy:
            logger.warning(
                "%s: the strategy %r is already registered and was not replaced.",
                source_of(point), point.name,
            )  # fmt: skip
    return dict(sorted(listed.items()))


def _defined_strategies() -> dict[str, Strategy]:
    """Subclasses with a name that have been imported; those of dialeval cannot be replaced."""
    _import_modules()
    listed: dict[str, Strategy] = {}
    for strategy in sorted(_subclasses(Perturbation), key=_is_foreign):
        listed.setdefault(strategy.name, strategy)
    return listed


def _subclasses(parent: Any) -> Iterator[Strategy]:
    for child in parent.__subclasses__():
        if _is_complete(child):
            yield child
        yield from _subclasses(child)


def _is_complete(strategy: Strategy) -> bool:
    named = isinstance(strategy.name, str) and strategy.name != ""
    return named and is_dataclass(strategy) and not inspect.isabstract(strategy)


def _is_foreign(strategy: Strategy) -> bool:
    return not strategy.__module__.startswith("dialeval.")


def _load_plugin(point: EntryPoint) -> Strategy:
    return _checked(import_object(point.value, source_of(point)), point.value, source_of(point))


def _checked(value: Any, target: str, source: str) -> Strategy:
    """The value, if it is a complete strategy; an error that names its source if it is not."""
    if not inspect.isclass(value) or not issubclass(value, Perturbation):
        problem = "is not a subclass of dialeval.perturbations.Perturbation"
    elif inspect.isabstract(value):
        problem = "does not implement `edits`"
    elif not is_dataclass(value):
        problem = "is not a dataclass"
    elif not value.name or getattr(value, "kind", None) not in KINDS:
        problem = f"needs a `name` and a `kind` ({' or '.join(KINDS)})"
    else:
        return value
    raise BadInput(
        f"{target} ({source}) cannot be used as a strategy: it {problem}.",
        hint="Write a frozen dataclass with name, kind and edits, as Perturbation documents.",
    )


def find_strategy(name: str) -> Strategy:
    """The class of a strategy, by its name or as `package.module:Class`.

    Raises:
        BadInput: There is no such strategy, or the plug-in that provides it cannot be used.
    """
    if is_object_spec(name):
        return _checked(import_object(name), name, "given by its path")
    listed = _defined_strategies()
    if name in listed:
        return listed[name]
    points = {point.name: point for point in plugins(GROUP)}
    if name in points:
        return _load_plugin(points[name])
    raise unknown_name("strategy", name, {*listed, *points})


def available(kind: Kind | None = None, language: str | None = None) -> list[str]:
    """Names of strategies, of one kind or for one language where these are given.

    Examples:
        >>> "random-swap" in available("should_not_change", "de")
        True
    """
    if kind is not None and kind not in KINDS:
        raise BadInput(f"unknown kind {kind!r}.", hint=f"Choose one of {', '.join(KINDS)}.")
    return [
        name
        for name, strategy in strategies().items()
        if (kind is None or strategy.kind == kind)
        and (language is None or supports_language(strategy, language))
    ]


def supports_language(strategy: Perturbation | Strategy, language: str | None) -> bool:
    """Whether a strategy can edit a language; text of unknown language counts as English."""
    code = (language or "en").lower().replace("_", "-").split("-")[0]
    return strategy.languages is None or code in strategy.languages


def _options(strategy: Strategy) -> list[Field[Any]]:
    """The options of a strategy: the fields that its constructor takes."""
    return [option for option in fields(strategy) if option.init]  # type: ignore[arg-type]  # all are dataclasses


def required_options(strategy: Strategy) -> list[str]:
    """Options without a default, such as the entities of a domain."""
    return [
        option.name
        for option in _options(strategy)
        if option.default is MISSING and option.default_factory is MISSING
    ]


def perturbation(name: str, preset: str = "paper", **options: Any) -> Perturbation:
    """A strategy by its name, or as `package.module:Class`.

    Args:
        name (`str`):
            A name that [`available`] lists, or the class of a strategy anywhere.
        preset (`str`, *optional*, defaults to `"paper"`):
            `"released"` for the settings of the paper's released code.
        options (`Any`, *optional*):
            Options of the strategy, which override the preset's.

    Returns:
        `Perturbation`: The strategy with these options.

    Examples:
        >>> perturbation("random-swap", "released")
        RandomSwap(words_per_swap=3, by_gap=True)
    """
    strategy = find_strategy(name)
    if preset not in PRESETS:
        choices = ", ".join(PRESETS)
        raise BadInput(f"unknown preset {preset!r}.", hint=f"Choose one of {choices}.")
    settings = {**strategy.presets.get(preset, {}), **options}
    _check_options(strategy, settings)
    return strategy(**settings)


def _check_options(strategy: Strategy, settings: Mapping[str, Any]) -> None:
    """Refuse options that a strategy does not have, and name those that are missing."""
    names = [option.name for option in _options(strategy)]
    for option in settings:
        if option not in names:
            hint = f"It has {', '.join(names)}." if names else "It has none."
            raise BadInput(f"{strategy.name} has no option {option!r}.", hint=hint)
    missing = [option for option in required_options(strategy) if option not in settings]
    if missing:
        raise BadInput(f"{strategy.name} needs the option {' and '.join(missing)}.")


def perturbations(
    names: str | Sequence[str] = "all",
    preset: str = "paper",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[Perturbation]:
    """Strategies by name.

    Args:
        names (`str` or `Sequence[str]`, *optional*, defaults to `"all"`):
            Names or `package.module:Class`; `"all"` for every strategy whose required options are
            in `options`.
        preset (`str`, *optional*, defaults to `"paper"`):
            `"released"` for the settings of the paper's released code.
        options (`Mapping`, *optional*):
            Options by the name of the strategy.

    Returns:
        `list[Perturbation]`: The strategies, in the order of `names`.
    """
    options = options or {}
    for name in options:
        find_strategy(name)  # an unknown name raises
    if names == "all":
        names = [
            name
            for name, strategy in strategies().items()
            if set(required_options(strategy)) <= set(options.get(name, {}))
        ]
    elif isinstance(names, str):
        names = [names]
    return [perturbation(name, preset, **options.get(name, {})) for name in names]
