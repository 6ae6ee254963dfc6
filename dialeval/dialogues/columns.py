"""Which columns of a Hub dataset are context and response: prompted for once, then stored."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import SCHEMA_COLUMNS, BadInput
from dialeval.dialogues.storage import atomic_write

NEEDED = ("context", "response")
FIELDS = (*SCHEMA_COLUMNS, "text", "order")
"""What a column of a table can be; the last two where each row is one turn."""


def column_names(pairs: Sequence[str], known: Sequence[str] = ()) -> dict[str, str]:
    """Names of columns from `FIELD=NAME` options; the fields are any, or one of those `known`.

    Examples:
        >>> column_names(["response=reply"])
        {'response': 'reply'}
    """
    for pair in pairs:
        field, _, name = pair.partition("=")
        if not (field and name):
            raise BadInput(
                f"expected COLUMN=NAME, but got {pair!r}.", hint="--column response=reply"
            )
        if known and field not in known:
            hint = f"It is one of {', '.join(known)}, then = and its name in the file."
            raise BadInput(f"--column {pair}: {field!r} is no column of ours.", hint=hint)
    return dict(pair.split("=", 1) for pair in pairs)


def columns_of(name: str, row: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Our column names to those of a dataset: as given, as stored, or as typed by the user.

    Args:
        name (`str`):
            Name of the dataset on the Hub.
        row (`Mapping`):
            The first record of the dataset.
        given (`Mapping[str, str]`):
            Columns from the command line; may be empty.

    Returns:
        `dict[str, str]`: The dataset's column for each of our names; empty where they are equal.
    """
    if given:
        if _fits(given, row):
            store_columns(name, given)
        return dict(given)
    if _is_chat(row) or _fits({}, row):
        return {}
    stored = stored_columns(name)
    if stored and _fits(stored, row):
        return stored
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            f"it has the columns {', '.join(row)}, but dialeval does not know which of them are "
            "context and response.",
            f"hub:{name}",
            hint="Name them once, they are stored: --column context=NAME --column response=NAME",
        )
    answers = {field: _ask(name, field, list(row)) for field in NEEDED}
    store_columns(name, answers)
    return answers


def _fits(columns: Mapping[str, str], row: Mapping[str, Any]) -> bool:
    return all(columns.get(field, field) in row for field in NEEDED)


def _is_chat(row: Mapping[str, Any]) -> bool:
    return bool({"messages", "conversations"} & set(row))


def _ask(name: str, field: str, columns: list[str]) -> str:
    """Ask on the terminal until the user names a column."""
    question = f"Which column of {name} is the {field}? ({', '.join(columns)}) "
    while True:
        print(question, end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise BadInput(f"no column was named for the {field}.", f"hub:{name}")
        if answer.strip() in columns:
            return answer.strip()


def stored_columns(name: str) -> dict[str, str]:
    """The columns of a dataset as they were given before; empty if they never were."""
    columns = _read_store().get(name, {})
    return {str(field): str(column) for field, column in columns.items()}


def store_columns(name: str, columns: Mapping[str, str]) -> None:
    """Store the columns of a dataset; without write access the user is prompted next time."""
    try:
        with atomic_write(_path()) as file:
            json.dump({**_read_store(), name: dict(columns)}, file, ensure_ascii=False, indent=2)
    except OSError:
        return


def _read_store() -> dict[str, dict[str, str]]:
    try:
        datasets = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: columns for name, columns in datasets.items() if isinstance(columns, dict)}


def _path() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HOME) / "dialeval" / "columns.json"
