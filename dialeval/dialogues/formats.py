"""The registry of corpus formats: how each is read, recognised and shown; open to plug-ins."""

import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path
from pkgutil import iter_modules
from types import FunctionType

from dialeval.dialogues.blocks import Block
from dialeval.dialogues.paths import check_exists, is_pattern, matching_files
from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue
from dialeval.registry import import_object, is_object_spec, plugins, source_of, unknown_name

logger = logging.getLogger(__name__)

Reader = Callable[[Source], Iterator[Dialogue]]
_LONGEST_LINE = 1 << 26
GROUP = "dialeval.readers"
"""Entry-point group in which installed packages register their readers."""


@dataclass(frozen=True)
class Head:
    """The beginning of a file, from which its format is guessed."""

    path: Path
    size: int = 65_536

    @property
    def suffix(self) -> str:
        """Last part of the name, without `.gz`, in lower case."""
        return Path(self.path.name.removesuffix(".gz")).suffix.lower()

    @cached_property
    def lines(self) -> list[str]:
        """Up to 50 non-empty lines; the last one may be cut. Empty for a folder."""
        if self.path.is_dir():
            return []
        with Source(self.path).open() as file:
            start = file.read(self.size)
            if b"\n" not in start:  # a record may be longer than that
                start += file.readline(_LONGEST_LINE)
            text = start.decode("utf-8-sig", "replace")
        return [line.rstrip("\r") for line in text.split("\n") if line.strip()][:50]

    @property
    def first(self) -> str:
        """The first non-empty line, or an empty text."""
        return self.lines[0] if self.lines else ""

    def has_key_later(self, key: str) -> bool:
        """Whether the file has a JSON key anywhere, read a part at a time."""
        wanted = f'"{key}"'.encode()
        with Source(self.path).open() as file:
            end = b""
            while part := file.read(1 << 20):
                if wanted in end + part:
                    return True
                end = part[-len(wanted) :]
        return False

    @cached_property
    def delimiter(self) -> str:
        """What separates the cells of a table's first line: tabs, commas or semicolons."""
        return max((",", "\t", ";"), key=self.first.count)

    @cached_property
    def names(self) -> set[str]:
        """Names in a folder; empty for a file."""
        return {path.name for path in self.path.iterdir()} if self.path.is_dir() else set()

    @cached_property
    def fields(self) -> set[str]:
        """Outermost keys of the first JSON record, where it can be parsed; else all its keys."""
        start = self.first.lstrip()
        for text in (start, "\n".join(self.lines)):
            try:
                value, _ = json.JSONDecoder().raw_decode(text.lstrip().removeprefix("["))
            except (ValueError, RecursionError):
                continue
            return set(value) if isinstance(value, dict) else set()
        return self.keys

    @cached_property
    def keys(self) -> set[str]:
        """Keys of the first JSON object, on one line or several."""
        if not self.first.lstrip().startswith(("{", "[")):
            return set()
        return set(re.findall(r'"(\w+)"\s*:', "\n".join(self.lines[:50])))


@dataclass(frozen=True)
class Format:
    """A corpus format.

    Args:
        name (`str`):
            What `--format` takes.
        read (`Reader`):
            Generator of the dialogues in a source.
        summary (`str`):
            One line of help.
        example (`str`):
            A line or block in this format, for people.
        recognise (`Callable[[Head], bool]`):
            Whether a file looks like this format.
        by_line (`bool`, *optional*, defaults to `False`):
            Whether every line is a complete record, so that several processes can share a file.
        whole (`bool`, *optional*, defaults to `True`):
            Whether it has whole dialogues, to be cut, and not contexts with replies.
        needs_context (`bool`, *optional*, defaults to `True`):
            Whether a passage without a context is an error.
        blocks (`Callable[[Source], Iterator[Block]]`, *optional*):
            Gives the records a block at a time, where they can be read as columns.
    """

    name: str
    read: Reader
    summary: str
    example: str
    recognise: Callable[[Head], bool]
    by_line: bool = False
    whole: bool = True
    needs_context: bool = True
    blocks: Callable[[Source], Iterator[Block]] | None = None

    @property
    def is_builtin(self) -> bool:
        """Whether dialeval ships it."""
        return self.read.__module__.startswith("dialeval.")

    def fits(self, head: Head) -> bool:
        """Whether a file looks like this format; a plug-in that fails does not recognise it."""
        try:
            return self.recognise(head)
        except Exception as error:
            if self.is_builtin:
                raise
            logger.warning("The reader %r failed on %s: %r", self.name, head.path, error)
            return False


_FORMATS: dict[str, Format] = {}


def reader(
    name: str,
    example: str,
    recognise: Callable[[Head], bool],
    *,
    by_line: bool = False,
    whole: bool = True,
    needs_context: bool = True,
    blocks: Callable[[Source], Iterator[Block]] | None = None,
) -> Callable[[Reader], Reader]:
    """Register a generator of dialogues as the reader of a format; its docstring is the summary.

    A package makes its readers known through the entry-point group `dialeval.readers`:

        [project.entry-points."dialeval.readers"]
        my-format = "my_package.readers:read_my_format"

    Args:
        name (`str`):
            What `--format` takes.
        example (`str`):
            A line or block in this format, for people.
        recognise (`Callable[[Head], bool]`):
            Whether a file looks like this format.
        by_line (`bool`, *optional*, defaults to `False`):
            Whether every line is a complete record, so that several processes can share a file.
        whole (`bool`, *optional*, defaults to `True`):
            Whether it has whole dialogues, to be cut, and not contexts with replies.
        needs_context (`bool`, *optional*, defaults to `True`):
            Whether a passage without a context is an error.
        blocks (`Callable[[Source], Iterator[Block]]`, *optional*):
            Gives the records a block at a time, where they can be read as columns.

    Returns:
        `Callable[[Reader], Reader]`: A decorator that returns the function unchanged.
    """

    def register(read: Reader) -> Reader:
        format = Format(
            name, read, _summary(read), example, recognise, by_line, whole, needs_context, blocks
        )
        _register(format)
        return read

    return register


def _register(format: Format) -> None:
    """Add a format; those of dialeval cannot be replaced."""
    old = _FORMATS.get(format.name)
    if old and old.is_builtin and not format.is_builtin:
        logger.warning(
            "%s: the format %r is already registered and was not replaced.",
            format.read.__module__, format.name,
        )  # fmt: skip
        return
    _FORMATS[format.name] = format


def _summary(read: Reader) -> str:
    return (read.__doc__ or f"Read by {read.__module__}.").strip().splitlines()[0]


def formats() -> dict[str, Format]:
    """All formats by name: those in `readers/`, and those of installed packages."""
    _discovery.run()
    return dict(sorted(_FORMATS.items()))


class _Discovery:
    """Imports all readers the first time that formats are listed or guessed."""

    def __init__(self) -> None:
        self.is_done = False
        self.errors: dict[str, BadInput] = {}  # by name of the entry point

    def run(self) -> None:
        """Import the modules in `readers/`, then the plug-ins."""
        if self.is_done:
            return
        from dialeval.dialogues import readers

        for module in iter_modules(readers.__path__):
            import_module(f"{readers.__name__}.{module.name}")
        self.is_done = True
        for point in plugins(GROUP):
            self._load(point)

    def _load(self, point: EntryPoint) -> None:
        try:
            target = point.load()
        except Exception as error:  # a plug-in's import may raise anything
            self.errors[point.name] = BadInput(
                f"could not import {point.value}, the reader of {point.name!r} that the package "
                f"{source_of(point)} registers: {type(error).__name__}: {error}",
                hint="Update or uninstall the package.",
            )
            logger.warning("%s", self.errors[point.name])
            return
        if isinstance(target, FunctionType) and _decorated(target) is None:
            _register(_plain_format(point.name, target))


_discovery = _Discovery()


def find_format(name: str) -> Format:
    """The format of a name, or of a function written as `package.module:function`.

    The function is decorated with [`reader`], or a plain generator of dialogues from a [`Source`].

    Raises:
        BadInput: The name is unknown, or its package cannot be imported.
    """
    known = formats()
    if name in known:
        return known[name]
    if name in _discovery.errors:
        raise _discovery.errors[name]
    if not is_object_spec(name):
        raise unknown_name("format", name, known)
    read = import_object(name)
    if not callable(read):
        raise BadInput(f"{name} is no function, but a {type(read).__name__}.", hint=_SIGNATURE)
    return replace(_decorated(read) or _plain_format(name, read), name=name)


_SIGNATURE = "A reader takes a dialeval.dialogues.Source and yields Dialogues."


def _decorated(read: Reader) -> Format | None:
    """The format that a function is registered as, if it is."""
    return next((format for format in _FORMATS.values() if format.read is read), None)


def _plain_format(name: str, read: Reader) -> Format:
    """A format that is never guessed, for a function without a decorator."""
    return Format(name, read, _summary(read), example="", recognise=lambda head: False)


def format_of(path: Path, name: str | None = None) -> Format:
    """The named format, or the one that a file looks like."""
    if name:
        return find_format(name)
    known = formats()
    check_exists(path)
    if is_pattern(path):
        path = Path(matching_files(path)[0])
    if not path.exists():
        return known["hub"]
    head = Head(path)
    if not path.is_dir() and not head.lines:
        raise BadInput("the file is empty.", path, hint="Give a file with dialogues in it.")
    matches = [format for format in known.values() if format.fits(head)]
    if known["parquet"] in matches:  # its bytes may look like a text in another format
        return known["parquet"]
    if len(matches) == 1:
        return matches[0]
    if path.is_dir() and not matches and any(conversation_names(path)):
        return known["folder"]
    raise _undecided(path, matches, known)


def conversation_names(folder: Path) -> Iterator[str]:
    """Names of the files in a folder that may have conversations."""
    from dialeval.dialogues.readers.folders import conversation_files

    return (path.name for path in conversation_files(folder))


def table_format(path: Path, columns: Mapping[str, str]) -> str | None:
    """The format of a file whose columns are named by the user; `None` where it is no table."""
    if not path.is_file():
        return None
    head = Head(path)
    has_turns = {"speaker", "text"} & set(columns) and "response" not in columns
    if has_turns and head.suffix != ".parquet":
        return "turns"
    if head.suffix == ".parquet":
        return "parquet"
    if head.first.lstrip().startswith(("{", "[")):
        return "passages"
    if head.suffix in (".csv", ".tsv"):
        return {".csv": "csv", ".tsv": "tsv-table"}[head.suffix]
    return None


def _undecided(path: Path, matches: list[Format], known: dict[str, Format]) -> BadInput:
    if matches:
        names = " or ".join(format.name for format in matches)
        return BadInput(f"it could be {names}.", path, hint="Choose one with --input-format.")
    if path.is_dir():
        message = "expected a file, found a directory in no known format."
        return BadInput(message, path, hint=f"Name its files instead, for example {path}/*.txt")
    if "\0" in Head(path).first:
        hint = f"Convert it: iconv -f utf-16 -t utf-8 {path.name} > utf8.txt"
        return BadInput("expected UTF-8 text, found UTF-16 or no text at all.", path, hint=hint)
    first = Head(path).first
    message = f"no format fits its first line {_short(first)!r}."
    columns = _table_columns(path, first)
    if len(columns) > 1:
        hint = (
            f"Its columns are {', '.join(columns)}. Name them, in a table with a reply a row: "
            "--column context=NAME --column response=NAME; with a turn a row: "
            "--column dialogue_id=NAME --column speaker=NAME --column text=NAME"
        )
        return BadInput(message, path, hint=hint)
    return BadInput(message, path, hint=f"Name one with --input-format: {', '.join(known)}.")


def _table_columns(path: Path, first: str) -> list[str]:
    """The columns of a table with a header; none of other files."""
    if path.suffix not in (".csv", ".tsv"):
        return []
    return [name.strip().strip('"') for name in first.split(Head(path).delimiter)]


def _short(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
