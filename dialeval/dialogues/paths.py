"""What a name of data can be: a file, a pattern with wildcards, a folder of shards, a dataset."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from glob import glob, has_magic
from pathlib import Path

from dialeval.errors import BadInput

SHARD_SUFFIXES = (".parquet", ".jsonl", ".jsonl.gz")


def is_pattern(path: Path | str) -> bool:
    """Whether a name has wildcards, and is not that of a file.

    Examples:
        >>> is_pattern("shards/*.parquet"), is_pattern("replies.jsonl")
        (True, False)
    """
    return has_magic(str(path)) and not Path(path).exists()


def matching_files(pattern: Path | str) -> list[str]:
    """The files and folders that fit a pattern, sorted by name; `**` goes into subfolders."""
    return sorted(glob(str(pattern), recursive=True))


def shards(folder: Path, columns: Mapping[str, str]) -> list[str]:
    """The files of a folder that has passages in parts, sorted by name.

    Args:
        folder (`Path`):
            A folder.
        columns (`Mapping[str, str]`):
            Our column names to those of the files, where they differ.

    Returns:
        `list[str]`: Parquet files or JSON lines with a context and a response; empty if there is
            anything else in the folder.
    """
    files = sorted(path for path in folder.iterdir() if path.name[0] not in "._")
    needed = {columns.get(name, name) for name in ("context", "response")}
    if all(path.is_file() and _has_columns(path, needed) for path in files):
        return [str(path) for path in files]
    return []


def _has_columns(path: Path, needed: set[str]) -> bool:
    """Whether the records of a file have these columns."""
    if not path.name.lower().endswith(SHARD_SUFFIXES):
        return False
    if path.suffix.lower() == ".parquet":
        import pyarrow.parquet as parquet

        try:
            return needed <= set(parquet.read_schema(path).names)
        except Exception:  # damaged: whoever reads it says so
            return False
    from dialeval.dialogues.formats import Head

    return needed <= Head(path).fields


def check_exists(path: Path) -> None:
    """Refuse a path that leads nowhere, is no name of a dataset, and no pattern that files fit.

    Raises:
        BadInput: Names similar files.
    """
    if is_pattern(path):
        if not matching_files(path):
            hint = "Check the folder and the ending, and quote the pattern: 'shards/*.parquet'"
            raise BadInput("no file fits this pattern.", path, hint=hint)
        return
    if not path.exists() and not is_hub_name(path):
        raise BadInput("no such file.", path, hint=_similar_names(path))


def _similar_names(path: Path) -> str:
    if str(path) == "-":
        return "Standard input is written /dev/stdin."
    if path.is_symlink():
        return "It is a link that leads to nothing: check where it leads."
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, names, n=3)
    hint = f"Did you mean {', '.join(close)}? " if close else "Check the name. "
    return hint + "A dataset on the Hub is written hub:owner/name."


def is_hub_name(path: Path | str) -> bool:
    """Whether a name that is no file can be a dataset on the Hub.

    Examples:
        >>> is_hub_name("hub:owner/name:test"), is_hub_name("owner/name"), is_hub_name("a/b.jsonl")
        (True, True, False)
    """
    return bool(re.fullmatch(r"hub:[^:]+(:[\w.-]+)?|[\w-]+/[\w-]+", str(path)))
