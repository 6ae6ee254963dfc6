"""What a kill leaves: the folder of a run as it is before every call that changes a file.

A process that gets SIGKILL writes nothing more, so the folder stays as it is at that moment. One
unbroken run is stopped (all of its threads) before every such call, and its folder is copied. That
is what a kill at this call would leave; where calls leave the same folder, one copy stands for all.
"""

import hashlib
import os
import random
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

_DATABASE = re.compile(r"\.db(-\w+)?$")


@dataclass(frozen=True)
class Entry:
    """A file, a folder or a link.

    Args:
        kind (`str`):
            `file`, `folder` or `link`.
        content (`str`):
            The digest of a file, or where a link leads.
        modified (`int`):
            When it changed, in nanoseconds; not compared.
    """

    kind: str
    content: str = ""
    modified: int = field(default=0, compare=False)


Folder = Mapping[str, Entry]
"""What is in a folder, by relative path."""


@dataclass
class State:
    """A folder that kills leave.

    Args:
        entries (`Folder`):
            What is in it.
        calls (`list[str]`, *optional*):
            The calls before which it looks so.
        half_written (`str`, *optional*):
            Which file is cut off, if one is.
    """

    entries: Folder
    calls: list[str] = field(default_factory=list)
    half_written: str = ""

    @property
    def moment(self) -> str:
        """When a kill leaves it, for people."""
        if self.calls:
            return f"before {self.calls[0]}"
        return f"{self.half_written} half written"


class Recorder:
    """Copies of a folder while a process changes it; equal contents are stored once.

    Args:
        folder (`Path`):
            What is copied, without `material`.
        store (`Path`):
            Where contents are kept.

    Attributes:
        states (`list[State]`):
            The different folders, in the order of their first moments.
        inside (`int`):
            How many calls were in the folder.
    """

    def __init__(self, folder: Path, store: Path):
        self.folder, self.store = folder, store
        self.states: list[State] = []
        self.inside = 0
        self._numbered: dict[int, State] = {}
        self._index: dict[tuple[tuple[str, Entry], ...], State] = {}
        self._last: Folder = {}
        store.mkdir(parents=True, exist_ok=True)

    def take(self, call: str, number: int = 0) -> None:
        """Copy the folder as it is before a call; of a file that grew, also what a kill cuts off.

        Args:
            call (`str`):
                The call.
            number (`int`, *optional*):
                How many calls were in the folder, with this one.
        """
        entries = self._read()
        for half, name in self._half_written(entries):
            self._add(half).half_written = name
        state = self._add(entries)
        state.calls.append(call)
        self._numbered.setdefault(number, state)
        self.inside, self._last = max(self.inside, number), entries

    def before(self, number: int) -> State:
        """The folder before the n-th of the calls in it."""
        return self._numbered[number]

    def summary(self, chosen: list[State]) -> str:
        """How many calls there are, and how many of them are tried."""
        calls = [sum(len(state.calls) for state in states) for states in (self.states, chosen)]
        halves = [sum(not state.calls for state in states) for states in (self.states, chosen)]
        share = "all" if chosen is self.states else f"{calls[1]} of"
        return (
            f"{share} {calls[0]:,} calls, {len(chosen) - halves[1]:,} of "
            f"{len(self.states) - halves[0]:,} different folders, and {halves[1]} of {halves[0]} "
            "with a half-written file"
        )

    def restore(self, state: State, folder: Path) -> None:
        """Write the content of a state into an existing folder."""
        for name, entry in sorted(state.entries.items()):
            path = folder / name
            if entry.kind == "folder":
                path.mkdir(parents=True, exist_ok=True)
            elif entry.kind == "link":
                path.symlink_to(entry.content)
            else:
                shutil.copyfile(self.store / entry.content, path)
                os.utime(path, ns=(entry.modified, entry.modified))

    def _add(self, entries: Folder) -> State:
        key = tuple(sorted(entries.items()))
        if key not in self._index:
            self._index[key] = State(entries)
            self.states.append(self._index[key])
        return self._index[key]

    def _read(self) -> Folder:
        entries = {}
        for root, folders, files in os.walk(self.folder):
            if root == str(self.folder):
                folders[:] = [name for name in folders if name != "material"]
            for name in [*folders, *files]:
                path = Path(root, name)
                entries[str(path.relative_to(self.folder))] = self._entry(path)
        return entries

    def _entry(self, path: Path) -> Entry:
        if path.is_symlink():
            return Entry("link", os.readlink(path))
        if path.is_dir():
            return Entry("folder")
        return Entry("file", self._keep(path.read_bytes()), path.stat().st_mtime_ns)

    def _content(self, entry: Entry) -> bytes:
        return (self.store / entry.content).read_bytes()

    def _keep(self, data: bytes) -> str:
        digest = hashlib.blake2b(data, digest_size=16).hexdigest()
        target = self.store / digest
        if not target.exists():
            target.write_bytes(data)
        return digest

    def _half_written(self, entries: Folder) -> Iterator[tuple[Folder, str]]:
        """The folder with the one file that grew since the last call empty or half as long.

        A database protects itself by its journal, and two files that grew were written in an order
        that is not known.
        """
        grown = [name for name in entries if self._grew(name, entries)]
        if len(grown) != 1 or _DATABASE.search(grown[0]):
            return
        [name] = grown
        entry, data = entries[name], self._content(entries[name])
        before = self._last.get(name)
        start = 0 if before is None else len(self._content(before))
        cuts = {start + (len(data) - start) // 2}
        for end in cuts if "partial" in name else {start, *cuts}:  # what is partial is removed
            cut = replace(entry, content=self._keep(data[:end]))
            yield {**entries, name: cut}, name

    def _grew(self, name: str, entries: Folder) -> bool:
        """Whether bytes were added to a file; one that was only renamed did not grow."""
        entry, before = entries[name], self._last.get(name)
        if entry.kind != "file" or entry == before:
            return False
        if before is not None:
            return self._content(entry).startswith(self._content(before))
        return not any(entry == old and other not in entries for other, old in self._last.items())


def spread(states: list[State], most: int, rng: random.Random) -> list[State]:
    """All states, or so many of them, evenly spread from a random start."""
    if len(states) <= most:
        return states
    step = len(states) / most
    offset = rng.random() * step
    return [states[min(len(states) - 1, int(offset + n * step))] for n in range(most)]
