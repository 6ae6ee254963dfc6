"""Whose turns are the responses: roles of a conversation, and which of them a file is read for."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from dialeval.dialogues.cutting import ANY_ROLE, canonical_role, with_author
from dialeval.dialogues.types import Dialogue, Passage
from dialeval.errors import BadInput

_MOST_NAMES = 1_000
LOOK_AHEAD = 1_000
"""Dialogues after which a file with several roles is refused, without reading the rest."""


def with_side(dialogue: Dialogue, side: str | None, role: str | None) -> Dialogue:
    """The dialogue with its responses by the side it was given for.

    A file given as the human one is human in its role, and a system's file is the system in its
    role, whatever the names of the roles suggest. Authors that the file states stay, unless a role
    was named.

    Args:
        dialogue (`Dialogue`):
            As its reader gives it.
        side (`str`, *optional*):
            `"human"`, or the name of a system.
        role (`str`, *optional*):
            The role whose turns are the responses.

    Returns:
        `Dialogue`: The same dialogue, or one with other authors.
    """
    if not side:
        return dialogue
    if dialogue.by_role or (role and not dialogue.replies):
        return with_author(dialogue, side)
    if not role or not dialogue.replies:
        return dialogue
    replies = (
        replace(reply, author=side) if reply.speaker else reply for reply in dialogue.replies
    )
    return replace(dialogue, replies=tuple(replies))


def check_one_role(counts: Mapping[str, int], path: str, dialogues: int) -> None:
    """Refuse responses of several roles, where the file does not say which of them is meant.

    Args:
        counts (`Mapping[str, int]`):
            How many responses each role has.
        path (`str`):
            The file.
        dialogues (`int`):
            In how many dialogues they were counted.

    Raises:
        BadInput: There are several; says how often they occur.
    """
    merged = _by_canonical(counts)
    if len(merged) < 2:
        return
    first = max(merged, key=lambda role: merged[role])
    raise BadInput(
        f"the responses could be those of {format_roles(counts)} in {dialogues:,} "
        f"{_plural('conversation', dialogues)}, and nothing says which of them are meant.",
        path,
        hint=f"Say whose turns are the responses: --role {first} (or --human-role and "
        f"--system-role, where the sides differ; --role {ANY_ROLE} takes all turns).",
    )


def check_role_exists(role: str | None, speakers: Mapping[str, int], path: str) -> None:
    """Refuse a role that nobody has.

    Args:
        role (`str`, *optional*):
            The role that was asked for.
        speakers (`Mapping[str, int]`):
            How many turns each speaker has.
        path (`str`):
            The file.

    Raises:
        BadInput: No turn is by that role; lists the speakers.
    """
    if not role or not speakers or canonical_role(role) == ANY_ROLE:
        return
    if canonical_role(role) not in map(canonical_role, speakers):
        raise BadInput(
            f"no turn is by {role!r}, only by {format_roles(speakers)}.",
            path,
            hint=f"Choose one of them, for example --role {next(iter(speakers))}",
        )


def format_roles(counts: Mapping[str, int], most: int = 6) -> str:
    """Roles with the number of their turns, most frequent first.

    Examples:
        >>> format_roles({"assistant": 927, "user": 678})
        'assistant (927 turns) or user (678 turns)'
    """
    names = Counter(counts).most_common(most)
    shown = [f"{name} ({count:,} {_plural('turn', count)})" for name, count in names]
    if len(counts) > most:
        shown.append(f"{len(counts) - most:,} others")
    return " or ".join(shown)


def position(passage: Passage) -> int | None:
    """Index of the response among the turns of its dialogue; `None` where it is not recorded.

    Examples:
        >>> position(Passage((), "hi", id="d7#4"))
        4
    """
    number = passage.id.rpartition("#")[2] if "#" in passage.id else ""
    return int(number) if number.isdecimal() else None


def _by_canonical(counts: Mapping[str, int]) -> dict[str, int]:
    merged: Counter[str] = Counter()
    for name, count in counts.items():
        merged[canonical_role(name)] += count
    return dict(merged)


def add_names(counts: Counter[str], names: Iterable[str]) -> None:
    """Count names, but only a thousand different ones: every user may have their own."""
    for name in names:
        if name in counts or len(counts) < _MOST_NAMES:
            counts[name] += 1


def add_counts(counts: Counter[str], more: Mapping[str, int]) -> None:
    """Count names that were counted already, as `add_names` does."""
    for name, count in more.items():
        if name in counts or len(counts) < _MOST_NAMES:
            counts[name] += count


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
