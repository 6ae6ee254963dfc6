"""The output folder of a run: which run wrote it, what it has cached, and its files."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dialeval.errors import BadInput
from dialeval.files import atomic_write, atomic_write_text

logger = logging.getLogger(__name__)

HINT = "Choose another --output-dir, or replace it with --overwrite."
Compare = Callable[[Mapping[str, Any], Mapping[str, Any]], str]
"""Takes the settings of the earlier and of the new run; returns why they do not fit, or `""`."""


class RunFolder:
    """One folder, one run: a second command continues the run or is refused.

    Args:
        path (`Path` or `str`):
            The folder; it is created with the first file.
        manifest (`str`, *optional*, defaults to `"run.json"`):
            File that holds the settings of the run.
        key (`str`, *optional*):
            Key under which the manifest has the settings, where they are a part of it.
    """

    def __init__(self, path: Path | str, manifest: str = "run.json", key: str | None = None):
        self.path, self.manifest, self.key = Path(path), self._inside(manifest), key

    def previous(self) -> dict[str, Any] | None:
        """Settings of the run that wrote here: `None` if there is none, `{}` if unreadable."""
        path = self.path / self.manifest
        if not path.is_file():
            return None
        try:
            content = json.loads(path.read_text("utf-8"))
            settings = content if self.key is None else content[self.key]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
        return settings if isinstance(settings, dict) else {}

    def check(
        self,
        settings: Mapping[str, Any],
        compare: Compare,
        *,
        overwrite: bool = False,
        hint: str = HINT,
    ) -> bool:
        """Refuse a folder that holds another run.

        Args:
            settings (`Mapping`):
                Settings of the new run.
            compare (`Callable`):
                Why the earlier run does not fit, or `""`.
            overwrite (`bool`, *optional*, defaults to `False`):
                Whether another run may be replaced; the caller removes its files.
            hint (`str`, *optional*):
                What to do, for the error message.

        Returns:
            `bool`: Whether another run is to be replaced.

        Raises:
            BadInput: Another run wrote here, and `overwrite` is off.
        """
        self._refuse_file()
        previous = self.previous()
        reason = "" if previous is None else compare(previous, settings)
        if reason and not overwrite:
            raise BadInput(f"another run wrote here: {reason}.", self.path, hint=hint)
        return bool(reason)

    def begin(
        self, settings: Mapping[str, Any], resume: bool, accelerator: Any, what: str = "study"
    ) -> None:
        """Create the folder of a run, or continue the run in it if its settings are the same.

        Args:
            settings (`Mapping`):
                Settings of the run.
            resume (`bool`):
                Whether a run that was begun may be continued.
            accelerator (`Accelerator`):
                Its processes: all of them check, before one writes.
            what (`str`, *optional*, defaults to `"study"`):
                What was begun, for the error message.

        Raises:
            BadInput: Another run wrote here, or this one was begun and is not to be resumed.
        """
        self.check(settings, settings_difference, hint="Choose another --output_dir.")
        begun = self.previous() is not None
        if begun and not resume:
            raise BadInput(
                f"a {what} with these settings was started here.",
                self.path,
                hint="Continue it with --resume, or choose another --output_dir.",
            )
        accelerator.wait_for_everyone()
        if accelerator.is_main_process and not begun:
            self.write_json(str(self.manifest), settings)
        accelerator.wait_for_everyone()

    def remove(self, names: Iterable[str]) -> None:
        """Delete files and folders of an earlier run, where they exist."""
        import shutil

        for name in names:
            path = self.path / self._inside(name)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def write_json(self, name: str, value: Any) -> Path:
        """Write a JSON file, all or nothing; returns its path."""
        path = self.path / self._inside(name)
        with atomic_write(path) as file:
            json.dump(value, file, ensure_ascii=False, indent=2, allow_nan=False)
            file.write("\n")
        return path

    def read_json(self, name: str) -> Any:
        """Read a JSON file of the folder."""
        return json.loads((self.path / self._inside(name)).read_text("utf-8"))

    def cached_json(self, key: str, make: Callable[[], Any]) -> Any:
        """A value from the cache, computed and written when it is not there yet, or damaged."""
        path = self.cache(f"{key}.json")
        if path.is_file():
            try:
                content = json.loads(path.read_text("utf-8"))
                if content["digest"] == _digest(content["value"]):
                    return content["value"]
            except (ValueError, LookupError, TypeError, RecursionError):
                pass
            logger.warning("%s is damaged; it is computed again.", path)
        value = json.loads(json.dumps(make()))  # the same types as from the cache
        with atomic_write(path) as file:
            json.dump({"value": value, "digest": _digest(value)}, file)
        return value

    def cache(self, name: str) -> Path:
        """Path of a file in the cache of the run."""
        return self.path / "cache" / self._inside(name)

    def _refuse_file(self) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise BadInput("expected a folder for the results, but this is a file.", self.path,
                           hint="Choose another --output-dir.")  # fmt: skip

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep a second process out of the folder; released when the process ends, however.

        What another run wrote is checked inside: it may end just before.

        Raises:
            BadInput: Another process is writing to the folder.
        """
        self._refuse_file()
        is_new = not self.path.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        try:
            with only_writer(self.path, self.path / ".lock", "--output-dir"):
                yield
        finally:
            if is_new and [path.name for path in self.path.iterdir()] == [".lock"]:
                (self.path / ".lock").unlink()
                self.path.rmdir()

    @staticmethod
    def _inside(name: str) -> str:
        if os.path.isabs(name) or ".." in Path(name).parts:
            raise ValueError(f"Expected a name inside the run folder, but got {name!r}.")
        return name


@contextmanager
def only_writer(output: Path, path: Path, option: str = "--output") -> Iterator[None]:
    """Keep a second process from writing an output; released when the process ends, however.

    Args:
        output (`Path`):
            The folder or file that is written.
        path (`Path`):
            The lock file.
        option (`str`, *optional*, defaults to `"--output"`):
            The option that chooses another output, for the error message.

    Yields:
        While no other process writes the output.

    Raises:
        BadInput: Another process writes it.
    """
    from filelock import FileLock, Timeout

    lock, owner = FileLock(path, timeout=0), path.with_name(f"{path.name}.owner")
    try:
        lock.acquire()
    except Timeout:
        hint = f"Wait until it ends, or choose another {option}."
        message = f"another process is writing here{_owner(owner)}."
        raise BadInput(message, output, hint=hint) from None
    try:
        atomic_write_text(owner, f"{os.getpid()} {int(time.time())}\n")
        yield
    finally:
        owner.unlink(missing_ok=True)
        lock.release()


def settings_difference(previous: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """Which settings of two runs differ; empty if none does.

    Examples:
        >>> settings_difference({"seed": 0, "n": 5}, {"seed": 1, "n": 5})
        'its settings differ in seed'
    """
    names = sorted({*previous, *settings})
    other = [name for name in names if previous.get(name) != settings.get(name)]
    return f"its settings differ in {', '.join(other)}" if other else ""


def _digest(value: Any) -> str:
    """A hash of a JSON value."""
    return blake2b(json.dumps(value).encode(), digest_size=8).hexdigest()


def _owner(path: Path) -> str:
    """Who holds the lock, and since when, if that is written."""
    try:
        process, start = map(int, path.read_text("ascii").split())
    except (OSError, ValueError):
        return ""
    minutes = max(0, int(time.time()) - start) // 60
    return f": process {process}, since {minutes} minute{'s' * (minutes != 1)}"
