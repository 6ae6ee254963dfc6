"""Recipes' settings: dataclasses, filled from a YAML file and then from the command line."""

import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from dialeval.errors import BadInput


def parse_config(*schemas: type, argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    """One instance of each dataclass; what stands on the command line wins over the file.

    Args:
        schemas (`type`):
            Dataclasses whose field names do not overlap.
        argv (`Sequence[str]`, *optional*):
            Arguments, by default those of the process. `--config file.yaml` names a file that is
            read first.
    """
    from transformers import HfArgumentParser

    argv = list(sys.argv[1:] if argv is None else argv)
    if "--config" in argv:
        index = argv.index("--config")
        argv = [*_as_argv(Path(argv[index + 1])), *argv[:index], *argv[index + 2 :]]
    parser = HfArgumentParser(list(schemas))  # type: ignore[arg-type]  # any dataclass will do
    try:
        return parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    except BadInput:  # a dataclass refused its values, and has said which
        raise
    except ValueError as error:
        known = ", ".join(
            sorted(action.dest for action in parser._actions if action.dest != "help")
        )
        raise BadInput(f"{error}.", hint=f"The settings are {known}.") from None


def read_config(name: str, recipe: str, *schemas: type) -> dict[str, Any]:
    """Settings of a YAML file, with the types of the dataclasses' fields.

    Args:
        name (`str`):
            A file, or the name of a config shipped with dialeval: `li2017`.
        recipe (`str`):
            Which recipe's configs to look in: `discriminator`, `generator` or `att`.
        schemas (`type`):
            Dataclasses that have these settings.

    Returns:
        `dict[str, Any]`: Only the settings that the file has.
    """
    path = find_config(name, recipe)
    hints = {key: hint for schema in schemas for key, hint in get_type_hints(schema).items()}
    settings = _settings(path)
    unknown = [key for key in settings if key not in hints]
    if unknown:
        hint = f"The settings are {', '.join(sorted(hints))}."
        raise BadInput(f"unknown setting {unknown[0]!r}.", path, hint=hint)
    return {key: _typed(hints[key], key, value, path) for key, value in settings.items()}


def _typed(hint: Any, key: str, value: Any, path: Path) -> Any:
    """A value of YAML as a field wants it; `1e-3`, which YAML reads as text, is a number."""
    if get_origin(hint) in (Union, UnionType):
        if value is None:
            return None
        hint = next(item for item in get_args(hint) if item is not type(None))
    if get_origin(hint) in (list, tuple):
        items = value if isinstance(value, list) else [value]
        return get_origin(hint)(_typed(get_args(hint)[0], key, item, path) for item in items)
    try:
        if hint is bool and not isinstance(value, bool):
            raise ValueError
        return hint(value)
    except (TypeError, ValueError):
        name = getattr(hint, "__name__", str(hint))
        message = f"{key} takes a value of type {name}, but got {value!r}."
        raise BadInput(message, path, hint="Fix that setting.") from None


def find_config(name: str, recipe: str) -> Path:
    """The path of a config: a file, or one shipped with dialeval by its short name.

    Raises:
        BadInput: There is no such file; the message lists the names.
    """
    if Path(name).is_file():
        return Path(name)
    folder = Path(str(files("dialeval.configs")))
    shipped = {
        path.stem.removeprefix(f"{recipe}_"): path for path in folder.glob(f"{recipe}_*.yaml")
    }
    if name not in shipped:
        choices = ", ".join(sorted(shipped))
        raise BadInput(
            f"no config {name!r}.", hint=f"Give --config a YAML file, or one of {choices}."
        )
    return shipped[name]


def _as_argv(path: Path) -> list[str]:
    argv = []
    for key, value in _settings(path).items():
        values = value if isinstance(value, list) else [value]
        argv += [f"--{key}", *map(str, values)]
    return argv


def _settings(path: Path) -> dict[str, Any]:
    import yaml

    if not path.is_file():
        raise BadInput("no such file.", path, hint="Give --config a YAML file of settings.")
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        number = None if line is None else line + 1
        raise BadInput("expected YAML.", path, number, hint="Fix that line.") from None
    if not isinstance(settings, dict):
        raise BadInput(
            "expected settings as `name: value` lines.", path, hint="See recipes/configs."
        )
    return settings


def plain_errors() -> None:
    """Let bad input end a recipe with its one line; anything else keeps its traceback."""

    def show(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, BadInput | FileNotFoundError | PermissionError):
            print(f"Error: {error}", file=sys.stderr)
        else:
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = show
