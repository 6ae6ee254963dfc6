"""Items for annotators: what they see, and who wrote it, which they do not see."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

from dialeval.errors import BadInput
from dialeval.files import atomic_write
from dialeval.judgements.tables import PAIR_TASKS, TASKS
from dialeval.saved import expecting

Turn = tuple[str, str]
"""Speaker and text."""


@dataclass(frozen=True)
class Candidate:
    """A reply, or a whole continuation, and who wrote it.

    Args:
        author (`str`):
            `human`, `random` or the name of a system; never shown.
        turns (`tuple[str, ...]`):
            One turn for a reply, several for a chat.
    """

    author: str
    turns: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One question for annotators.

    Args:
        id (`str`):
            Key of its judgements.
        context (`tuple[Turn, ...]`):
            The turns before the reply.
        candidates (`tuple[Candidate, ...]`):
            One reply, or two of which one is chosen.
        truth (`str`, *optional*):
            The right answer, where there is one; for pairs `win` means the first candidate.
        test (`bool`, *optional*, defaults to `False`):
            Whether it is a test question.
        passage (`str`, *optional*):
            Id of the passage that it was made from.
    """

    id: str
    context: tuple[Turn, ...]
    candidates: tuple[Candidate, ...]
    truth: str = ""
    test: bool = False
    passage: str = ""

    @property
    def identical(self) -> bool:
        """Whether the two candidates are the same text: nobody has to judge them."""
        return len(self.candidates) == 2 and len({row.turns for row in self.candidates}) == 1

    def swapped(self, annotator: str) -> bool:
        """Whether an annotator sees the second candidate first: half of them do, at random."""
        return len(self.candidates) == 2 and bool(order_key(annotator, self.id)[0] & 1)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Item":
        """An item from such a dictionary."""
        return cls(
            id=str(row["id"]),
            context=tuple((str(speaker), str(text)) for speaker, text in row.get("context", ())),
            candidates=tuple(
                Candidate(str(part["author"]), tuple(map(str, part["turns"])))
                for part in row["candidates"]
            ),
            truth=str(row.get("truth", "")),
            test=bool(row.get("test", False)),
            passage=str(row.get("passage", "")),
        )


def order_key(*parts: str) -> bytes:
    """A reproducible random key of some texts, to sort or to draw by."""
    return blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def check_items(items: Iterable[Item], task: str) -> list[Item]:
    """Items that fit a task.

    Raises:
        BadInput: Ids repeat, or an item has another number of candidates than the task needs.
    """
    if task not in TASKS:
        raise BadInput(f"unknown task {task!r}.", hint=f"Choose one of {', '.join(TASKS)}.")
    rows, wanted = list(items), 2 if task in PAIR_TASKS else 1
    seen: set[str] = set()
    for item in rows:
        if item.id in seen:
            raise BadInput(f"two items have the id {item.id!r}.", hint="Give each its own id.")
        seen.add(item.id)
        if len(item.candidates) != wanted:
            raise BadInput(
                f"the task {task} needs {wanted} candidate{'s' * (wanted > 1)} an item, but "
                f"{item.id!r} has {len(item.candidates)}."
            )
    if not rows:
        raise BadInput("there are no items to judge.", hint="Give more passages.")
    return rows


def write_items(items: Iterable[Item], path: Path | str) -> Path:
    """Write items as JSON lines, all or nothing; returns the path."""
    with atomic_write(path) as file:
        for item in items:
            file.write(json.dumps(item.to_dict(), ensure_ascii=False) + "\n")
    return Path(path)


def read_items(path: Path | str) -> list[Item]:
    """Items that [`write_items`] wrote.

    Raises:
        BadInput: A line is not an item.
    """
    path = Path(path)
    if not path.is_file():
        raise BadInput("no such file.", path, hint="Check the name.")
    items = []
    with expecting("items in UTF-8", path):
        lines = path.read_bytes().decode("utf-8").split("\n")
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            items.append(Item.from_dict(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            hint = "An item has id, context (speaker and text), candidates (author and turns)."
            raise BadInput(f"expected an item, but {error!r}.", path, number, hint) from None
    return items
