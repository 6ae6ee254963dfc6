"""Which columns of a Hub dataset are context and response: asked for once, then remembered."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.storage import whole_file

NEEDED = ("context", "response")


def columns_of(name: str, row: Mapping[str, Any], given: Mapping[str, str]) -> dict[str, str]:
    """Our column names to those of a dataset, from what was given, remembered or answered.

    Args:
        row (`Mapping`):
            The first record of the dataset.
        given (`Mapping[str, str]`):
            What stands on the command line, or nothing.
    """
    if given:
        if _fits(given, row):
            remember(name, given)
        return dict(given)
    if _is_chat(row) or _fits({}, row):
        return {}
    found = remembered(name)
    if found and _fits(found, row):
        return found
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise BadInput(
            f"it has the columns {', '.join(row)}, and it is not known which are context and "
            "response.",
            f"hub:{name}",
            remedy="Say it once, it is remembered: --column context=NAME --column response=NAME",
        )
    found = {ours: _ask(name, ours, list(row)) for ours in NEEDED}
    remember(name, found)
    return found


def _fits(columns: Mapping[str, str], row: Mapping[str, Any]) -> bool:
    return all(columns.get(ours, ours) in row for ours in NEEDED)


def _is_chat(row: Mapping[str, Any]) -> bool:
    return bool({"messages", "conversations"} & set(row))


def _ask(name: str, ours: str, theirs: list[str]) -> str:
    """Ask on the terminal until a column is named."""
    question = f"Which column of {name} is the {ours}? ({', '.join(theirs)}) "
    while True:
        print(question, end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if not answer:
            raise BadInput(f"no column was named for the {ours}.", f"hub:{name}")
        if answer.strip() in theirs:
            return answer.strip()


def remembered(name: str) -> dict[str, str]:
    """The columns of a dataset as they were given before."""
    found = _all().get(name, {})
    return {str(ours): str(theirs) for ours, theirs in found.items()}


def remember(name: str, columns: Mapping[str, str]) -> None:
    """Write down the columns of a dataset; where that is not possible, they are asked for again."""
    try:
        with whole_file(_path()) as file:
            json.dump({**_all(), name: dict(columns)}, file, ensure_ascii=False, indent=2)
    except OSError:
        return


def _all() -> dict[str, dict[str, str]]:
    try:
        found = json.loads(_path().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {name: each for name, each in found.items() if isinstance(each, dict)}


def _path() -> Path:
    from huggingface_hub import constants

    return Path(constants.HF_HOME) / "dialeval" / "columns.json"
