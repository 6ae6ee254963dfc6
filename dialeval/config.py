"""Recipes' settings: dataclasses, filled from a YAML file and then from the command line."""

import os
import signal
import sys
from collections.abc import Collection, Sequence
from importlib.resources import files
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from dialeval.errors import STOPPED, BadInput, sentence_of
from dialeval.progress import quiet_libraries
from dialeval.settings.checks import METADATA
from dialeval.settings.usage import check_needs, choosers, needs_of
from dialeval.terminal import prepare_streams, printable


def parse_config(*schemas: type, argv: Sequence[str] | None = None) -> tuple[Any, ...]:
    """One instance of each dataclass; what stands on the command line wins over the file.

    Args:
        schemas (`type`):
            Dataclasses whose field names do not overlap.
        argv (`Sequence[str]`, *optional*):
            Arguments, by default those of the process. `--config file.yaml` names a file that is
            read first.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    path, argv = _config_path(argv)
    parser = _parser(schemas)
    settings = {} if path is None else _typed_settings(path, schemas)
    if path is not None:
        for action in parser._actions:  # a switch that is on has two of them: --x and --no_x
            if action.dest in settings:
                action.default, action.required = settings[action.dest], False
    parsed = tuple(parser.parse_args_into_dataclasses(argv, look_for_args_file=False))
    _check_read(parsed, settings, _names(argv))
    return parsed


def _names(argv: Sequence[str]) -> set[str]:
    """Names of the settings that arguments give."""
    options = (text[2:].partition("=")[0] for text in argv if text.startswith("--"))
    names = {option.replace("-", "_") for option in options}
    return names | {name.removeprefix("no_") for name in names}


def _check_read(parsed: Sequence[Any], file: Collection[str], line: set[str]) -> None:
    """Refuse settings that a recipe would ignore, as commands do: see `dialeval.commands.given`."""
    values = {name: value for item in parsed for name, value in vars(item).items()}
    for name, needs in needs_of(*map(type, parsed)).items():
        if name in line or (name in file and not line & choosers(needs)):
            check_needs([name], values, {name: needs}, "--{}".format)


def _config_path(argv: list[str]) -> tuple[Path | None, list[str]]:
    """The file after `--config`, and the other arguments."""
    if "--config" not in argv:
        return None, argv
    index = argv.index("--config")
    if index + 1 == len(argv):
        raise BadInput("--config has no value.", hint="Give it a YAML file of settings.")
    return Path(argv[index + 1]), [*argv[:index], *argv[index + 2 :]]


def _parser(schemas: tuple[type, ...]) -> Any:
    """A parser whose errors are sentences."""
    from transformers import HfArgumentParser

    class Parser(HfArgumentParser):
        def add_argument(self, *flags: Any, **options: Any) -> Any:
            kept = {key: value for key, value in options.items() if key not in METADATA}
            return super().add_argument(*flags, **kept)

        def error(self, message: str) -> Any:
            raise BadInput(f"{message}.", hint="All settings: --help")

        def parse_args_into_dataclasses(self, *arguments: Any, **options: Any) -> Any:
            try:
                return super().parse_args_into_dataclasses(*arguments, **options)
            except BadInput:  # a dataclass refused its values, and has said which
                raise
            except ValueError as error:
                raise BadInput(f"{error}.", hint=_choices(schemas)) from None

    return Parser(list(schemas))  # type: ignore[arg-type]  # any dataclass will do


def _choices(schemas: tuple[type, ...]) -> str:
    names = sorted(name for schema in schemas for name in get_type_hints(schema))
    return f"The settings are {', '.join(names)}."


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
    return _typed_settings(find_config(name, recipe), schemas)


def _typed_settings(path: Path, schemas: tuple[type, ...]) -> dict[str, Any]:
    hints = {key: hint for schema in schemas for key, hint in get_type_hints(schema).items()}
    settings = _settings(path)
    unknown = [key for key in settings if key not in hints]
    if unknown:
        raise BadInput(f"unknown setting {unknown[0]!r}.", path, hint=_choices(schemas))
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
        return _converted(hint, value)
    except (TypeError, ValueError, OverflowError):
        name = getattr(hint, "__name__", str(hint))
        message = f"{key} takes a value of type {name}, but got {value!r:.60}."
        raise BadInput(message, path, hint="Fix that setting.") from None


def _converted(hint: Any, value: Any) -> Any:
    """A scalar of YAML in another type, where nothing is lost."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    loses = hint is int and is_number and value != int(value)
    if hint is bool and isinstance(value, bool):
        return value
    if hint is bool or loses or not (is_number or isinstance(value, str)):
        raise ValueError
    return hint(value)


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


def _settings(path: Path) -> dict[str, Any]:
    import yaml

    if not path.is_file():
        raise BadInput("no such file.", path, hint="Give --config a YAML file of settings.")
    try:
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        number = None if line is None else line + 1
        hint = "Fix that line." if number else "Write it as UTF-8 text of `name: value` lines."
        raise BadInput("expected YAML.", path, number, hint) from None
    if settings is None:  # all defaults would be a full-size run that nobody asked for
        raise BadInput("it has no settings.", path, hint="Add one, or leave out --config.")
    if not isinstance(settings, dict):
        raise BadInput(
            "expected settings as `name: value` lines.", path, hint="See recipes/configs."
        )
    return settings


def plain_errors() -> None:
    """Let bad input end a recipe with its one line and code 2; all else keeps its traceback.

    The bars of libraries are switched off, because recipes show their own progress.
    """
    prepare_streams()
    quiet_libraries()

    def show(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if isinstance(error, KeyboardInterrupt):
            print(f"\n{STOPPED}", file=sys.stderr)
            sys.exit(128 + signal.SIGINT)
        message = sentence_of(error)
        if message is None or os.environ.get("DIALEVAL_TRACEBACK"):
            sys.__excepthook__(kind, error, trace)
        else:
            print(f"Error: {printable(message)}", file=sys.stderr)
            sys.exit(2)

    sys.excepthook = show
