"""Makes `evaluate.load("dialeval/<name>")` work in any folder by installing the metric scripts.

`evaluate` tries a folder, then the Hub, then its cache of modules seen before. Each script is put
there as a download would do it, without importing `evaluate`, which takes seconds.
"""

import os
import shutil
import sys
import time
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from dialeval._version import __version__

_PACKAGE = Path(__file__).parent
_KEY = 64  # hexadecimal digits: `evaluate` takes a folder for a version when its name is so long
_TICK = 1_000_000  # ns; times are compared as floats of seconds, which cannot resolve nanoseconds


def scripts() -> dict[str, Path]:
    """The module script of each metric folder of this installation, by name."""
    paths = sorted(_PACKAGE.glob("*/*.py"))
    return {path.stem: path for path in paths if path.stem == path.parent.name}


def modules_folder() -> Path:
    """Where `evaluate` keeps the metric modules it has seen."""
    config = sys.modules.get("evaluate.config")
    if config is not None:  # it reads the environment once, on import
        return Path(config.HF_MODULES_CACHE) / "evaluate_modules" / "metrics"
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface")
    home = os.path.expanduser(os.environ.get("HF_HOME", cache))
    modules = os.environ.get("HF_MODULES_CACHE", os.path.join(home, "modules"))
    return Path(modules) / "evaluate_modules" / "metrics"


def register() -> dict[str, Path]:
    """Install the scripts where `evaluate` finds them; returns the path of each copy.

    Raises:
        OSError: If a copy cannot be written; the other scripts are installed then.
    """
    folder, copies, problems = modules_folder(), {}, []
    for name, script in scripts().items():
        try:
            copies[name] = _install(script, folder / f"dialeval--{name}")
        except OSError as error:
            problems.append(error)
    if problems:
        raise problems[0]
    return copies


def register_quietly() -> None:
    """[`register`] for the import of dialeval: errors are logged as a warning."""
    try:
        register()
    except Exception as error:
        import logging

        logging.getLogger("dialeval").warning(
            f"Could not write to the cache of `evaluate` ({error}), so "
            'evaluate.load("dialeval/<name>") may not find its modules. '
            "Set HF_HOME or HF_MODULES_CACHE to a folder that can be written."
        )


def _install(script: Path, folder: Path) -> Path:
    """Path of the script's copy, written if missing and newer than those of other versions."""
    content = script.read_bytes()
    key = sha256(__version__.encode() + b"\0" + content).hexdigest()
    copy = folder / key / script.name
    others = _other_versions(folder, copy)
    if not copy.is_file():
        _write(content, copy)
    newest = max(others, default=0)
    if copy.stat().st_mtime_ns < newest + _TICK:
        stamp = max(time.time_ns(), newest + _TICK)
        os.utime(copy, ns=(stamp, stamp))
    return copy


def _other_versions(folder: Path, copy: Path) -> list[int]:
    """Times of the other copies; a version without its script hides all, so it is renamed."""
    times = []
    for version in folder.iterdir() if folder.is_dir() else ():
        if len(version.name) != _KEY:
            continue
        try:
            changed = (version / copy.name).stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            _rename_broken(version)
        else:
            if version != copy.parent:
                times.append(changed)
    return times


def _rename_broken(version: Path) -> None:
    with suppress(FileNotFoundError):  # another process was faster
        version.rename(_ignored_name(version))


def _write(content: bytes, copy: Path) -> None:
    """Write a script in a temporary folder and rename the folder, so that it appears complete."""
    temporary = _ignored_name(copy.parent)
    temporary.mkdir(parents=True)
    try:
        (temporary / copy.name).write_bytes(content)
        temporary.rename(copy.parent)
    except OSError:
        if not copy.is_file():  # else another process was faster
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _ignored_name(version: Path) -> Path:
    """A unique name, of a length that `evaluate` ignores."""
    return version.with_name(f"{version.name[:8]}-{os.urandom(8).hex()}")
