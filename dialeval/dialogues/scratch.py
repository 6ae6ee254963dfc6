"""A folder for the tables of a process, deleted when it ends."""

import atexit
import os
import shutil
import tempfile
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

_SCRATCH = "dialeval-scratch-"
_ABANDONED = 600  # seconds; a new folder may not be locked yet


@cache
def scratch() -> Path:
    """This process's folder for tables; it is deleted when the process ends."""
    from filelock import FileLock

    owner, path = os.getpid(), Path(tempfile.mkdtemp(prefix=_SCRATCH))
    lock = FileLock(path / ".lock")
    lock.acquire(timeout=0)
    _remove_abandoned(path)

    def remove() -> None:
        if os.getpid() == owner:
            lock.release()
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path


def _remove_abandoned(current: Path) -> None:
    """Delete the folders of killed processes: old enough, and with a lock that nobody holds."""
    from filelock import FileLock, Timeout

    for path in current.parent.glob(f"{_SCRATCH}*"):
        lock = path / ".lock"
        with suppress(OSError, Timeout):
            is_old = time.time() - lock.stat().st_mtime > _ABANDONED
            if path != current and is_old and path.owner() == current.owner():
                with FileLock(lock, timeout=0):
                    shutil.rmtree(path, ignore_errors=True)
