"""Registries by name: what dialeval ships, what installed packages add, and `module:object`."""

import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from dialeval.errors import BadInput, extra_of

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """One registered object, imported when it is first used.

    Args:
        name (`str`):
            Name on the command line and in tables.
        target (`str` or `Callable`):
            Where it is, as `"package.module:object"`; or the object itself.
        summary (`str`, *optional*):
            One line of help.
        options (`Mapping`, *optional*):
            Default settings passed to it.
        source (`str`, *optional*, defaults to `"dialeval"`):
            Distribution that registered it.
        requires (`tuple[str, ...]`, *optional*):
            Packages that it needs and a plain installation does not have.
        takes (`frozenset[str]`, *optional*):
            Settings of its kind that it reads, of those that only some read; by default this is
            not known.
    """

    name: str
    target: str | Callable[..., Any]
    summary: str = ""
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: str = "dialeval"
    requires: tuple[str, ...] = ()
    takes: frozenset[str] | None = None

    def check_installed(self) -> None:
        """Refuse what needs a package that is not installed.

        Raises:
            BadInput: Says which, and the extra that brings it.
        """
        missing = next((package for package in self.requires if not find_spec(package)), None)
        if missing:
            raise BadInput(
                f"{self.name} needs {missing}, which is not installed.",
                hint=f"Install it: pip install 'dialeval[{extra_of(missing)}]'",
            )

    def load(self) -> Any:
        """Import the object."""
        if not isinstance(self.target, str):
            return self.target
        return import_object(self.target, self.source)


class Registry(Mapping[str, Entry]):
    """Entries of one kind by name, open to installed packages.

    A package adds entries through the entry-point group, without any change in dialeval:

        [project.entry-points."dialeval.evaluators"]
        my-evaluator = "my_package.evaluators:MyEvaluator"

    Args:
        kind (`str`):
            What is registered, as it is called in messages: `"evaluator"`.
        group (`str`):
            Entry-point group, such as `"dialeval.evaluators"`.
        entries (`Iterable[Entry]`, *optional*):
            What dialeval ships.
    """

    def __init__(self, kind: str, group: str, entries: Iterable[Entry] = ()):
        self.kind, self.group = kind, group
        self._entries = {entry.name: entry for entry in entries}
        self._discovered = False

    def register(self, entry: Entry) -> Entry:
        """Add an entry; a later one with the same name replaces it."""
        self._entries[entry.name] = entry
        return entry

    def find(self, spec: str) -> Entry:
        """The entry of a name, or of an object written as `package.module:object`.

        Raises:
            BadInput: The name is unknown; the message lists the choices.
        """
        if spec in self:
            return self[spec]
        if is_object_spec(spec):
            return Entry(spec.partition(":")[2], spec, source="")
        raise unknown_name(self.kind, spec, self)

    def load(self, spec: str) -> Any:
        """Import what a name or `package.module:object` refers to."""
        return self.find(spec).load()

    def __getitem__(self, name: str) -> Entry:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._all()

    def _all(self) -> dict[str, Entry]:
        """Own entries first, then those of installed packages; own names cannot be replaced."""
        if not self._discovered:
            self._discovered = True
            for point in plugins(self.group):
                if point.name in self._entries:
                    logger.warning(
                        "%s: the %s %r is already registered and was not replaced.",
                        source_of(point), self.kind, point.name,
                    )  # fmt: skip
                    continue
                self._entries[point.name] = Entry(point.name, point.value, source=source_of(point))
        return self._entries


def plugins(group: str) -> list[EntryPoint]:
    """Entry points of installed packages in a group, sorted by name."""
    return sorted(entry_points(group=group), key=lambda point: point.name)


def source_of(point: EntryPoint) -> str:
    """Name of the distribution that declares an entry point."""
    return point.dist.name if point.dist else point.module


def is_object_spec(text: str) -> bool:
    """Whether a text looks like `package.module:object`, and not like a path or a URL.

    Examples:
        >>> is_object_spec("my_package.evaluators:Mine"), is_object_spec("http://localhost:80/v1")
        (True, False)
    """
    module, colon, name = text.partition(":")
    return bool(colon) and all(
        part.isidentifier() for part in (*module.split("."), *name.split("."))
    )


def import_object(target: str, source: str = "") -> Any:
    """Import `package.module:object`.

    Args:
        target (`str`):
            Module and attribute, separated by a colon.
        source (`str`, *optional*):
            Who registered it, for the error message.

    Returns:
        `Any`: The object.

    Raises:
        BadInput: The module cannot be imported, or has no such object.
    """
    if not source:  # named by the user
        _see_working_directory()
    module_name, _, path = target.partition(":")
    try:
        value: Any = import_module(module_name)
        for attribute in path.split("."):
            value = getattr(value, attribute)
    except Exception as error:  # a plug-in's import may raise anything
        if source == "dialeval":
            raise
        raise _import_failure(target, source, error) from error
    return value


def _see_working_directory() -> None:
    """Let a module beside the user be imported by name, after all installed ones."""
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.append(folder)


def unknown_name(kind: str, name: str, choices: Iterable[str]) -> BadInput:
    """The error for a name that is not registered: close matches first, then all choices.

    Args:
        kind (`str`):
            What it is a name of.
        name (`str`):
            The unknown name.
        choices (`Iterable[str]`):
            The registered names.

    Returns:
        `BadInput`: To be raised.
    """
    names = sorted(choices)
    close = get_close_matches(name, names, 1)
    guess = f"Did you mean {close[0]!r}? " if close else ""
    hint = f"{guess}Choose from {', '.join(names)}, or give package.module:object."
    return BadInput(f"unknown {kind} {name!r}.", hint=hint)


def _import_failure(target: str, source: str, error: Exception) -> BadInput:
    origin = f" (registered by {source})" if source else ""
    return BadInput(
        f"could not import {target}{origin}: {type(error).__name__}: {str(error).rstrip('.')}.",
        hint="Check the name, and that the package is installed in this environment.",
    )
