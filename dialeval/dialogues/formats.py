"""The registry of corpus formats: how each is read, recognised and shown."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from dialeval.dialogues.sources import BadInput, Source
from dialeval.dialogues.types import Dialogue

Reader = Callable[[Source], Iterator[Dialogue]]


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
            text = file.read(self.size).decode("utf-8-sig", "replace")
        return [line.rstrip("\r") for line in text.split("\n") if line.strip()][:50]

    @property
    def first(self) -> str:
        """The first non-empty line, or an empty text."""
        return self.lines[0] if self.lines else ""

    @cached_property
    def names(self) -> set[str]:
        """Names in a folder; empty for a file."""
        return {path.name for path in self.path.iterdir()} if self.path.is_dir() else set()

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
        read (`Reader`):
            Generator of the dialogues in a source.
        example (`str`):
            A line or block in this format, for people.
        recognise (`Callable[[Head], bool]`):
            Whether a file looks like this format.
        by_line (`bool`):
            Whether every line stands for itself, so that several processes can share a file.
        whole (`bool`):
            Whether it holds whole dialogues, to be cut, and not contexts with replies.
        needs_context (`bool`):
            Whether a passage without a context is an error.
    """

    name: str
    read: Reader
    summary: str
    example: str
    recognise: Callable[[Head], bool]
    by_line: bool = False
    whole: bool = True
    needs_context: bool = True


_FORMATS: dict[str, Format] = {}


def reader(name: str, example: str, recognise: Callable[[Head], bool], **properties):
    """Register a generator of dialogues as the reader of a format; its docstring is the summary."""

    def register(read: Reader) -> Reader:
        summary = (read.__doc__ or "").strip().splitlines()[0]
        _FORMATS[name] = Format(name, read, summary, example, recognise, **properties)
        return read

    return register


def formats() -> dict[str, Format]:
    """All formats by name; every module in `readers/` is one or more of them."""
    from dialeval.dialogues import readers

    for module in iter_modules(readers.__path__):
        import_module(f"{readers.__name__}.{module.name}")
    return dict(sorted(_FORMATS.items()))


def format_of(path: Path, name: str | None = None) -> Format:
    """The named format, or the one that a file looks like."""
    known = formats()
    if name:
        if name not in known:
            raise BadInput(f"Unknown format {name!r}.", hint=f"Choose one of {', '.join(known)}.")
        return known[name]
    if not path.exists() and is_hub_name(path):
        return known["hub"]
    if not path.exists():
        raise BadInput("no such file.", path, hint=_similar_names(path))
    head = Head(path)
    if not path.is_dir() and not head.lines:
        raise BadInput("the file is empty.", path, hint="Give a file with dialogues in it.")
    matches = [format for format in known.values() if format.recognise(head)]
    if len(matches) == 1:
        return matches[0]
    raise _undecided(path, matches, known)


def is_hub_name(path: Path | str) -> bool:
    """Whether a name that is no file can be a dataset on the Hub.

    Example:
        >>> is_hub_name("hub:owner/name:test"), is_hub_name("owner/name"), is_hub_name("a/b.jsonl")
        (True, True, False)
    """
    return bool(re.fullmatch(r"hub:[^:]+(:[\w.-]+)?|[\w-]+/[\w-]+", str(path)))


def _undecided(path: Path, matches: list[Format], known: dict[str, Format]) -> BadInput:
    if matches:
        names = " or ".join(format.name for format in matches)
        return BadInput(f"it could be {names}.", path, hint="Choose one with --format.")
    if path.is_dir():
        message = "expected a file, found a directory in no known format."
        return BadInput(message, path, hint=f"Name its files instead, for example {path}/*.txt")
    message = f"no format fits its first line {_short(Head(path).first)!r}."
    return BadInput(message, path, hint=f"Name one with --format: {', '.join(known)}.")


def _similar_names(path: Path) -> str:
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    close = get_close_matches(path.name, names, n=3)
    hint = f"Did you mean {', '.join(close)}? " if close else "Check the name. "
    return hint + "A dataset on the Hub is written hub:owner/name."


def _short(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
