"""Command-line options from the fields of settings dataclasses: defaults and help stand once."""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import MISSING, Field, fields
from functools import wraps
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import typer

from dialeval.commands.given import Given, given_options
from dialeval.settings.usage import Needs, needs_of

UNDERSCORES = {"token_normalize_func": lambda name: name.replace("_", "-")}
"""Context settings of a command that also takes `--max_pairs` for `--max-pairs`."""


def with_settings(
    recipe: str = "", *, needs: Mapping[str, Needs] | None = None, **schemas: type
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command an option for every field of some dataclasses.

    The decorated command takes an instance of each dataclass under the given keyword. A field's
    metadata holds `help`, and optionally `choices` and `flags` (a tuple such as
    `("--output-dir", "-o")`); a field with `hidden: True` gets no option.

    A command with a parameter `config` reads that YAML file (or the name of a config shipped with
    dialeval) first: default < file < command line. A parameter annotated as [`Given`] gets the
    options that the user gave. One whose conditions do not hold is refused.

    Args:
        recipe (`str`, *optional*):
            Whose configs `--config NAME` refers to, such as `"discriminator"`.
        needs (`Mapping`, *optional*):
            Conditions under which options of the command, or all fields of one of the
            dataclasses, are read: see `dialeval.settings.usage`.
        schemas (`type`):
            Dataclasses by the name of the command's parameter.

    Returns:
        `Callable`: A decorator.

    Examples:
        >>> from dataclasses import dataclass, field
        >>> @dataclass
        ... class Settings:
        ...     folds: int = field(default=5, metadata={"help": "Folds of cross-fitting."})
        >>> @with_settings(settings=Settings)
        ... def command(settings: Settings) -> int:
        ...     return settings.folds
        >>> command(folds=3)
        3
    """
    shown = _from_file("default" if recipe else None, recipe, schemas)
    options = {name: _options(schema, shown) for name, schema in schemas.items()}
    conditions = _conditions(schemas, needs or {})

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        declared = inspect.signature(command, eval_str=True).parameters
        receivers = [name for name, item in declared.items() if item.annotation is Given]
        kept = [item for item in declared.values() if item.name not in {*schemas, *receivers}]
        names = {item.name for item in kept}
        generated: dict[str, inspect.Parameter] = {}
        for item in (item for group in options.values() for item in group):
            generated.setdefault(item.name, item)  # a field that two settings share is one option
        added = [item for name, item in generated.items() if name not in names]
        parameters = [*kept, *(_without_flags(item, _flags_of(kept)) for item in added)]

        @wraps(command)
        def run(settings_context: typer.Context | None = None, **values: Any) -> Any:
            file = _from_file(values.get("config"), recipe, schemas)
            merged = _merged(settings_context, values, file)
            instances = {
                name: schema(**_values(options[name], merged)) for name, schema in schemas.items()
            }
            given = given_options(settings_context, file)
            fields_of = {
                key: value for item in instances.values() for key, value in vars(item).items()
            }
            given.check_needs({**values, **fields_of}, conditions)
            rest = {name: values[name] for name in values if name in names}
            return command(**instances, **rest, **dict.fromkeys(receivers, given))

        _set_signature(run, parameters)
        return run

    return decorate


def _flags_of(parameters: Sequence[inspect.Parameter]) -> set[str]:
    """Flags that a command declares for itself."""
    declared = [
        flag for item in parameters for info in _infos(item) for flag in info.param_decls or ()
    ]
    return {*declared, *(f"--{item.name.replace('_', '-')}" for item in parameters)}


def _infos(item: inspect.Parameter) -> list[Any]:
    """Typer's descriptions in an annotation."""
    return [info for info in get_args(item.annotation)[1:] if hasattr(info, "param_decls")]


def _without_flags(item: inspect.Parameter, taken: set[str]) -> inspect.Parameter:
    """The option without the flags that the command uses for something else."""
    (info,) = _infos(item)
    if not taken.intersection(info.param_decls or ()):
        return item
    free = tuple(flag for flag in info.param_decls if flag not in taken)
    remaining = copy(info)
    remaining.param_decls = free or (f"--{item.name.replace('_', '-')}",)
    annotation: Any = Annotated[get_args(item.annotation)[0], remaining]
    return item.replace(annotation=annotation)


def _set_signature(run: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> None:
    """Let typer see these parameters, required ones first, and the context."""
    context = inspect.Parameter(
        "settings_context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context
    )
    ordered = sorted(parameters, key=lambda item: item.default is not inspect.Parameter.empty)
    keywords = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in ordered]
    run.__signature__ = inspect.Signature([context, *keywords])  # type: ignore[attr-defined]  # typer reads it
    run.__annotations__ = {item.name: item.annotation for item in (context, *keywords)}


def _conditions(schemas: Mapping[str, type], needs: Mapping[str, Needs]) -> dict[str, Needs]:
    """Conditions of single options, from those of the fields and of the command."""
    conditions = needs_of(*schemas.values())
    for name, condition in needs.items():
        names = [item.name for item in fields(schemas[name])] if name in schemas else [name]
        names = [key for key in names if key not in condition]  # what decides is always read
        conditions |= {key: {**conditions.get(key, {}), **condition} for key in names}
    return conditions


def _merged(
    context: typer.Context | None, values: Mapping[str, Any], file: Mapping[str, Any]
) -> dict[str, Any]:
    """Values of the command line, where the user wrote them, and of the file elsewhere."""
    given = dict(values)
    for name, value in file.items():
        source = context.get_parameter_source(name) if context else None
        if name not in values or (source is not None and source.name != "COMMANDLINE"):
            given[name] = value
    return given


def _values(options: Sequence[inspect.Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of one dataclass."""
    return {
        option.name: _for_field(option, given[option.name])
        for option in options
        if option.name in given
    }


def _for_field(option: inspect.Parameter, value: Any) -> Any:
    """Typer gives lists and leaves out empty ones; the field may want a tuple or a default."""
    if isinstance(value, list) and not value and isinstance(option.default, list | tuple):
        return option.default
    return tuple(value) if isinstance(option.default, tuple) and value is not None else value


def _from_file(config: str | None, recipe: str, schemas: Mapping[str, type]) -> dict[str, Any]:
    if not config:
        return {}
    from dialeval.config import read_config

    return read_config(config, recipe, *schemas.values())


def _options(schema: type, shown: Mapping[str, Any]) -> list[inspect.Parameter]:
    """Parameters for all fields; `shown` are defaults that `--help` prints in place of theirs."""
    hints = get_type_hints(schema)
    panel = (schema.__doc__ or "Options").strip().partition("\n")[0].rstrip(".")
    return [
        _option(item, hints[item.name], panel, shown.get(item.name))
        for item in fields(schema)
        if item.init and not item.metadata.get("hidden")
    ]


def _option(item: Field[Any], hint: Any, panel: str, shown: Any) -> inspect.Parameter:
    """One keyword parameter as typer reads it."""
    metadata = item.metadata
    flags = metadata.get("flags", ())
    extra = {"help": metadata.get("help", ""), "rich_help_panel": panel}
    if shown is not None:
        extra["show_default"] = (
            ", ".join(map(str, shown)) if isinstance(shown, list) else str(shown)
        )
    if item.default is not MISSING:
        default = item.default
    elif item.default_factory is not MISSING:
        default = item.default_factory()
    else:
        default = inspect.Parameter.empty
    choices = metadata.get("choices")
    accepted: Any = Literal[tuple(choices)] if choices else _plain_type(hint)
    annotation: Any = Annotated[accepted, typer.Option(*flags, **extra)]
    return inspect.Parameter(
        item.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _plain_type(hint: Any) -> Any:
    """The type that typer understands: `tuple[float, ...]` is an option that may be repeated."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        parts = [item for item in arguments if item is not type(None)]
        inner = _plain_type(str if len(parts) > 1 else parts[0])
        return inner | None if type(None) in arguments else inner
    if origin is tuple and arguments[-1] is Ellipsis:
        return list[arguments[0]]  # type: ignore[valid-type]
    return hint
