"""Files that dialeval wrote itself, read with a check: damage becomes a sentence with the file."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from dialeval.errors import BadInput, sentence_of

Made = TypeVar("Made")
AGAIN = "Write it again, or use a copy."
_NAMES = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false",
    dict: "an object", list: "a list", type(None): "null",
}  # fmt: skip


def read_json(path: Path, hint: str = AGAIN) -> Any:
    """The value of a JSON file.

    Raises:
        BadInput: It is no JSON, no UTF-8, nested too deeply, or has half a character or a number
            that no float can hold.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")  # some editors add a mark at the start
        value = json.loads(text, parse_int=_whole_number)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except json.JSONDecodeError as error:
        message = f"expected JSON, but {error.msg[0].lower()}{error.msg[1:]}."
        raise BadInput(message, path, error.lineno, hint) from None
    except UnicodeDecodeError:
        raise BadInput("expected JSON in UTF-8.", path, hint=hint) from None
    except UnicodeEncodeError:
        message = "a text in it has half a character (a lone surrogate)."
        raise BadInput(message, path, hint=hint) from None
    except RecursionError:
        raise BadInput("expected JSON, but it is nested too deeply.", path, hint=hint) from None
    except OverflowError as error:
        raise BadInput(f"{error}.", path, hint=hint) from None


def _whole_number(text: str) -> int:
    """The number, where code that computes with it can make it a float.

    Raises:
        OverflowError: It is larger than any float.
    """
    if math.isinf(float(text)):
        raise OverflowError(f"a number in it is too large: {text[:8]}... ({len(text)} digits)")
    return int(text)


def read_object(
    path: Path, types: Mapping[str, type | tuple[type, ...]] | None = None, hint: str = AGAIN
) -> dict[str, Any]:
    """The object of a JSON file, with the types of some keys checked.

    Args:
        path (`Path`):
            The file.
        types (`Mapping`, *optional*):
            Types by key; a key whose types include `NoneType` may be missing.
        hint (`str`, *optional*):
            What to do about a damaged file.

    Returns:
        `dict`: Its content.

    Raises:
        BadInput: It is something else; the message names the file and the key.
    """
    content = read_json(path, hint)
    if not isinstance(content, dict):
        raise BadInput(f"expected an object, but got {_name(content)}.", path, hint=hint)
    for key, expected in (types or {}).items():
        try:
            check_type(key, content.get(key), expected)
        except BadInput as error:
            raise BadInput(error.message, path, hint=hint) from None
    return content


def check_type(key: str, value: Any, expected: type | tuple[type, ...]) -> None:
    """Refuse a value of another type, or a number that is not finite.

    Args:
        key (`str`):
            Where the value is.
        value:
            The value.
        expected (`type` or `tuple`):
            What it may be; a whole number is also a number.

    Raises:
        BadInput: It is something else.
    """
    kinds = expected if isinstance(expected, tuple) else (expected,)
    accepted = (*kinds, int) if float in kinds else kinds
    is_kind = isinstance(value, accepted) and (bool in kinds or not isinstance(value, bool))
    if not is_kind:
        names = " or ".join(_NAMES.get(kind, kind.__name__) for kind in kinds)
        raise BadInput(f"`{key}` is {names}, but got {_name(value)}.")
    if isinstance(value, int | float) and not abs(value) <= sys.float_info.max:
        raise BadInput(f"`{key}` is a finite number, but got {value!r:.20}.")


def from_saved(schema: Callable[..., Made], values: Mapping[str, Any]) -> Made:
    """A dataclass from what a file has of it, with the types of plain fields checked.

    Args:
        schema (`type`):
            A dataclass.
        values (`Mapping`):
            Its fields, as JSON has them.

    Returns:
        An instance.

    Raises:
        BadInput: A field has another type; the message names it.
    """
    for name, hint in get_type_hints(schema).items():
        kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        if name in values and all(kind in _NAMES for kind in kinds):
            check_type(name, values[name], tuple(kinds))
    return schema(**values)


def _name(value: Any) -> str:
    return f"{_NAMES.get(type(value), type(value).__name__)} ({value!r:.40})"


@contextmanager
def expecting(what: str, path: Path | str, hint: str = AGAIN) -> Iterator[None]:
    """Say that a file is not what was expected, whatever the code that reads it raises.

    Args:
        what (`str`):
            What the file should be: "the results of a run".
        path (`Path` or `str`):
            The file or folder.
        hint (`str`, *optional*):
            What to do about it.

    Yields:
        `None`: While the file is read.

    Raises:
        BadInput: The block raised something; errors of the system are passed on.
    """
    try:
        yield
    except Exception as error:
        has_no_file = isinstance(error, UnicodeError | RecursionError)
        if sentence_of(error) is not None and not has_no_file:
            raise
        reason = " ".join(str(error).split())[:200]
        message = f"expected {what}, but reading it failed ({type(error).__name__}: {reason})."
        raise BadInput(message, path, hint=hint) from error
