"""Whether two runs wrote the same: their outputs by name, without what measures time or memory."""

import json
import re
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

_TIMES = re.compile(
    r"seconds|^minutes$|^peak_mib$|time$|^time|_time|^date|duration|elapsed|created|speed",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d[\d.,:]*(e[-+]\d+)?")
_NOT_COMPARED = re.compile(r"(^|/)\.lock(\.owner)?$|\.db-\w+$|^events")
_PRESENT = (".png", ".svg", ".lock.owner")
"""Files of which only the names are compared."""
_PROCESS = re.compile(r"\.\d+\.partial$")


def contents(folder: Path) -> dict[str, Any]:
    """The content of every output of a run by its name, without times and numbers of processes."""
    return {
        _PROCESS.sub(".N.partial", name): _content(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not (name := str(path.relative_to(folder))).startswith("material/")
        and not _NOT_COMPARED.search(name)
    }


def _content(path: Path) -> Any:
    """What a file holds; its bytes if it is cut off."""
    readers = {
        ".json": lambda path: without_times(json.loads(path.read_bytes())),
        ".skops": _skops, ".db": _tables, ".html": _text, ".md": _text,
    }  # fmt: skip
    name = _PROCESS.sub("", path.name)
    if name.endswith(_PRESENT):
        return "is there"
    try:
        return readers.get(Path(name).suffix, Path.read_bytes)(path)
    except (ValueError, zipfile.BadZipFile, sqlite3.Error):
        return path.read_bytes()


def _text(path: Path) -> str:
    """A page without its numbers, some of which are times; those of results are in JSON, too."""
    return _NUMBER.sub("0", path.read_text("utf-8"))


def _tables(path: Path) -> dict[str, list[str]]:
    """The rows of a database, without its times."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        names = [
            row[0]
            for row in database.execute("select name from sqlite_master where type = 'table'")
        ]
        return {name: _rows(database, name) for name in names if not name.startswith("sqlite_")}


def _rows(database: sqlite3.Connection, table: str) -> list[str]:
    """The rows of a table, without the secret that a project draws."""
    rows = [dict(row) for row in database.execute(f"select * from {table}")]
    return sorted(str(without_times(row)) for row in rows if row.get("key") != "secret")


def _skops(path: Path) -> Any:
    """What a skops file holds, without addresses of objects, and the time of writing."""
    with zipfile.ZipFile(path) as archive:

        def plain(value: Any) -> Any:
            if isinstance(value, dict):
                items = {key: plain(item) for key, item in value.items() if key != "__id__"}
                return {**items, "file": archive.read(value["file"])} if "file" in value else items
            return [plain(item) for item in value] if isinstance(value, list) else value

        return plain(json.loads(archive.read("schema.json")))


def without_times(value: Any) -> Any:
    """A JSON value without what measures time or memory; NaN equals NaN."""
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if not _TIMES.search(key)}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return "nan" if isinstance(value, float) and value != value else value


def difference(whole: dict[str, Any], rerun: dict[str, Any]) -> str:
    """Which outputs differ; empty if none does."""
    names = sorted({*whole, *rerun})
    other = [name for name in names if whole.get(name) != rerun.get(name)]
    detail = [f"{name} ({_why(whole.get(name), rerun.get(name))})" for name in other[:3]]
    return ", ".join(detail) + (f" and {len(other) - 3} more" if len(other) > 3 else "")


def _why(whole: Any, rerun: Any) -> str:
    if whole is None or rerun is None:
        return "is left" if whole is None else "is missing"
    if isinstance(whole, dict) and isinstance(rerun, dict):
        keys = [key for key in {*whole, *rerun} if whole.get(key) != rerun.get(key)]
        return f"differs in {', '.join(sorted(keys))}"
    return "differs"
