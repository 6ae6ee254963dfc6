"""Recipes' settings: dataclasses, filled from a YAML file and then from the command line."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import BadInput


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
        at = argv.index("--config")
        argv = [*_as_argv(Path(argv[at + 1])), *argv[:at], *argv[at + 2 :]]
    parser = HfArgumentParser(schemas)
    try:
        return parser.parse_args_into_dataclasses(argv, look_for_args_file=False)
    except BadInput:  # a dataclass refused its values, and has said which
        raise
    except ValueError as error:
        known = ", ".join(
            sorted(action.dest for action in parser._actions if action.dest != "help")
        )
        raise BadInput(f"{error}.", hint=f"The settings are {known}.") from None


def _as_argv(path: Path) -> list[str]:
    import yaml

    if not path.is_file():
        raise BadInput("no such file.", path, hint="Give --config a YAML file of settings.")
    argv = []
    for key, value in (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).items():
        values = value if isinstance(value, list) else [value]
        argv += [f"--{key}", *map(str, values)]
    return argv


def plain_errors() -> None:
    """Let bad input end a recipe with its one line; anything else keeps its traceback."""

    def show(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        if issubclass(kind, BadInput | FileNotFoundError | PermissionError):
            print(f"Error: {error}", file=sys.stderr)
        else:
            sys.__excepthook__(kind, error, trace)

    sys.excepthook = show
