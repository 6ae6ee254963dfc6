"""Replies that a system shares with the humans: repeated histories, and the wrong file."""

from collections.abc import Iterator

import numpy as np

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.splits import row_hashes

MatchedRows = tuple[np.ndarray, np.ndarray]
"""Rows of the human file that a system answers, and the rows of its answers."""


def drop_shared_history(
    name: str,
    human: Passages,
    answers: Passages,
    matched: MatchedRows,
    max_identical: float,
) -> tuple[MatchedRows, str]:
    """The matched rows without the human turns that a system's file repeats.

    A file of whole conversations often has the human's earlier turns before the one that the system
    wrote. Where many replies are identical to the human's, those before the first different one of
    a dialogue are such a history, and not the system's. A few identical replies are chance: they
    stay.

    Args:
        name (`str`):
            Name of the system.
        human (`Passages`):
            Human passages.
        answers (`Passages`):
            The system's responses.
        matched (`tuple[np.ndarray, np.ndarray]`):
            Rows of both that answer the same context.
        max_identical (`float`):
            Share of identical replies above which the data are refused.

    Returns:
        `tuple[MatchedRows, str]`: The rows that are left, and a warning; empty if all are.

    Raises:
        BadInput: Too many of the rows that are left are identical.
    """
    human_index, system_index = matched
    same = _identical(human.select(human_index), answers.select(system_index))
    if not len(same) or same.mean() <= max_identical:
        return matched, ""
    history = _before_difference(same, row_hashes(answers, ["dialogue_id"])[system_index])
    kept = ~history
    if not kept.any() or same[kept].mean() > max_identical:
        raise _refusal(name, int(same[kept].sum()), int(kept.sum()), int(history.sum()))
    warning = (
        f"{name} repeats {int(history.sum()):,} human turns before its own replies; they are left "
        f"out, and {int(kept.sum()):,} replies remain."
    )
    return (human_index[kept], system_index[kept]), warning


def _identical(human: Passages, answers: Passages) -> np.ndarray:
    """Whether the two responses of each row are equal, apart from surrounding spaces."""
    return np.fromiter(_compare(human, answers), dtype=bool, count=len(human))


def _compare(human: Passages, answers: Passages) -> Iterator[bool]:
    pairs = zip(human["response"], answers["response"], strict=True)
    return (one.strip() == other.strip() for one, other in pairs)


def _before_difference(same: np.ndarray, dialogues: np.ndarray) -> np.ndarray:
    """Which identical replies come before every different one of their dialogue, which has one."""
    _, group = np.unique(dialogues, return_inverse=True)
    first = np.full(group.max() + 1, -1)
    for row in np.flatnonzero(~same)[::-1]:
        first[group[row]] = row
    return same & (np.arange(len(same)) < first[group])


def _refusal(name: str, same: int, total: int, history: int) -> BadInput:
    repeated = f", after {history:,} repeated turns were left out" if history else ""
    return BadInput(
        f"{same:,} of {total:,} replies of {name} are identical to the human's{repeated}.",
        hint="Check that this is the system's file and role. Where only the last turn is the "
        "system's, give --responses last; where the system really answers so, raise "
        "--max-identical (max_identical in Python).",
    )
