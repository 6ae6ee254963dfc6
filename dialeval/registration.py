"""Makes `evaluate.load("dialeval/<name>")` work in any folder: the scripts where it looks for them.

`evaluate` tries a folder, then the Hub, then its cache of modules seen before. Each script is put
there as a download would have put it, without importing `evaluate`, which takes seconds.
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
_TICK = 1_000_000  # ns; times are compared as floats of seconds, which cannot tell nanoseconds


def scripts() -> dict[str, Path]:
    """The module script of each metric folder of this installation, by name."""
    found = sorted(_PACKAGE.glob("*/*.py"))
    return {path.stem: path for path in found if path.stem == path.parent.name}


def modules_folder() -> Path:
    """Where `evaluate` keeps the metric modules it has seen."""
    config = sys.modules.get("evaluate.config")
    if config is not None:  # what it has read once, it does not read again
        return Path(config.HF_MODULES_CACHE) / "evaluate_modules" / "metrics"
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME", "~/.cache"), "huggingface")
    home = os.path.expanduser(os.environ.get("HF_HOME", cache))
    modules = os.environ.get("HF_MODULES_CACHE", os.path.join(home, "modules"))
    return Path(modules) / "evaluate_modules" / "metrics"


def register() -> dict[str, Path]:
    """Put the scripts where `evaluate` finds them, and give the place of each.

    Raises:
        OSError: Where a place cannot be written to; the other scripts are in place then.
    """
    folder, placed, problems = modules_folder(), {}, []
    for name, script in scripts().items():
        try:
            placed[name] = _place(script, folder / f"dialeval--{name}")
        except OSError as error:
            problems.append(error)
    if problems:
        raise problems[0]
    return placed


def register_quietly() -> None:
    """[`register`] for the import of dialeval: what goes wrong is worth a warning, not more."""
    try:
        register()
    except Exception as error:
        import logging

        logging.getLogger("dialeval").warning(
            f"The cache of `evaluate` cannot be written ({error}), so "
            'evaluate.load("dialeval/<name>") may not find its modules. '
            "Set HF_HOME or HF_MODULES_CACHE to a folder that can be written."
        )


def _place(script: Path, folder: Path) -> Path:
    """The script's copy, made unless it is there, and newer than those of other versions."""
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
    """Times of the other copies; a version without its script hides all, so it is put aside."""
    times = []
    for version in folder.iterdir() if folder.is_dir() else ():
        if len(version.name) != _KEY:
            continue
        try:
            changed = (version / copy.name).stat().st_mtime_ns
        except (FileNotFoundError, NotADirectoryError):
            _put_aside(version)
        else:
            if version != copy.parent:
                times.append(changed)
    return times


def _put_aside(version: Path) -> None:
    with suppress(FileNotFoundError):  # another process was faster
        version.rename(_beside(version))


def _write(content: bytes, copy: Path) -> None:
    """Write a script beside its place and move it there, folder and all, complete."""
    aside = _beside(copy.parent)
    aside.mkdir(parents=True)
    try:
        (aside / copy.name).write_bytes(content)
        aside.rename(copy.parent)
    except OSError:
        if not copy.is_file():  # else another process was faster
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _beside(version: Path) -> Path:
    """A name of its own, of a length that `evaluate` passes over."""
    return version.with_name(f"{version.name[:8]}-{os.urandom(8).hex()}")
