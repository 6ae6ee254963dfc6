"""Files and folders that appear under their name only when they are complete."""

import errno
import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def atomic_write(path: Path | str, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file and move it to `path` when the block ends without an error.

    Args:
        path (`Path` or `str`):
            Final name; missing parent folders are created. If it is a link, its target is written;
            a device or a pipe is written as it is, because a file in its place would destroy it.
        mode (`str`, *optional*, defaults to `"w"`):
            `"w"` for UTF-8 text, `"wb"` for bytes.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, **text) as file:  # type: ignore[call-overload]  # mode is a variable
            yield file
        return
    path = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open(mode, **text) as file:  # type: ignore[call-overload]  # mode is a variable
            yield file
            file.flush()
            os.fsync(file.fileno())  # the new name must not come to disk before the content
        os.replace(partial, path)
    except OSError as error:
        if error.filename in (None, str(partial)):  # a full disk does not say for which file
            error.filename = str(path)
        raise
    finally:
        partial.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Remove what killed processes began to write for a file: `.NAME.*.PROCESS.partial`.

    SQLite has further files beside its own: `.NAME.*.PROCESS.partial-journal`.
    """
    pattern = f".{glob.escape(path.name)}.*.partial*"
    for partial in path.parent.glob(pattern):
        process = partial.name.split(".")[-2]
        if process.isdigit() and not _is_running(int(process)):
            partial.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


def atomic_write_text(path: Path | str, text: str) -> Path:
    """Write a text file, all or nothing; returns its path."""
    with atomic_write(path) as file:
        file.write(text)
    return Path(path)


@contextmanager
def atomic_dir(folder: Path) -> Iterator[Path]:
    """Fill a temporary folder and put it in place of `folder` when the block ends.

    The previous folder stays until the new one is complete.
    """
    partial, old = (folder.with_name(f".{folder.name}.{word}") for word in ("partial", "old"))
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if folder.exists():  # otherwise the old one is the only complete copy
        shutil.rmtree(old, ignore_errors=True)
        os.replace(folder, old)
    os.replace(partial, folder)
    shutil.rmtree(old, ignore_errors=True)


def last_complete(folder: Path) -> Path | None:
    """The last complete version of a folder written by [`atomic_dir`], if there is one.

    A run killed between the two renames leaves only the previous folder. One killed after them
    leaves both; then the previous one is removed.
    """
    old = folder.with_name(f".{folder.name}.old")
    if folder.is_dir():
        shutil.rmtree(old, ignore_errors=True)
        return folder
    return old if old.is_dir() else None


def remove_dir(folder: Path) -> None:
    """Remove a folder of [`atomic_dir`] in one step, and what killed runs left of it.

    A process that is killed meanwhile leaves no part of the folder under its name.
    """
    trash = folder.with_name(f".{folder.name}.trash")
    shutil.rmtree(trash, ignore_errors=True)
    if folder.exists():
        os.replace(folder, trash)
    for word in ("old", "partial", "trash"):
        shutil.rmtree(folder.with_name(f".{folder.name}.{word}"), ignore_errors=True)
