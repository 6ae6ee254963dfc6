"""Which responses are compared, and which half of the dialogues each falls into."""

from dataclasses import dataclass

import numpy as np

from dialeval.dialogues.matching import partners
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import Passages
from dialeval.dialogues.types import text_hash

MIN_DIALOGUES = 20
"""Dialogues that each half needs by default."""
_EMPTY = np.uint64(text_hash([""]))


@dataclass(frozen=True)
class Rows:
    """The responses that are compared, human ones first: row numbers, dialogues and halves."""

    human: np.ndarray
    system: np.ndarray
    paired: bool
    is_human: np.ndarray  # (rows,)
    dialogue: np.ndarray  # (rows,) hashes
    train: np.ndarray  # (rows,)
    fold: np.ndarray  # (rows,) halves of the training half, for scores that are themselves learnt

    @property
    def test(self) -> np.ndarray:
        """The rows of the test half."""
        return ~self.train

    def units(self, mask: np.ndarray) -> np.ndarray:
        """Numbers from 0 of the dialogues of some rows."""
        return np.unique(self.dialogue[mask], return_inverse=True)[1]

    def dialogues(self, mask: np.ndarray) -> int:
        """How many dialogues some rows come from; unpaired sides share none."""
        if self.paired:
            return len(np.unique(self.dialogue[mask]))
        sides = (mask & self.is_human, mask & ~self.is_human)
        return sum(len(np.unique(self.dialogue[side])) for side in sides)


def align(human: Passages, system: Passages, seed: int, min_dialogues: int = MIN_DIALOGUES) -> Rows:
    """The responses to compare: in pairs where there are any, else as two samples.

    Args:
        human, system (`Passages`):
            Both sides.
        seed (`int`):
            Seed of the split into halves.
        min_dialogues (`int`, *optional*, defaults to 20):
            Dialogues that each half needs.

    Returns:
        `Rows`: Row numbers, dialogues and halves.
    """
    human_index, system_index = partners(human, system)
    paired = len(human_index) > 0
    if paired:
        human_dialogues = system_dialogues = _first_nonempty(
            row_hashes(human, ["dialogue_id"])[human_index],
            row_hashes(system, ["dialogue_id"])[system_index],
            *(row_hashes(human, [name])[human_index] for name in ("id", "context")),
        )
    else:
        human_index, system_index = np.arange(len(human)), np.arange(len(system))
        human_dialogues, system_dialogues = _dialogue_hashes(human), _dialogue_hashes(system)
    sources = row_hashes(system, ["source_dialogue_id"])[system_index]
    same_half = _source_in_same_half(system_dialogues, sources, seed)
    system_index, system_dialogues = system_index[same_half], system_dialogues[same_half]
    if paired:
        human_index, human_dialogues = human_index[same_half], human_dialogues[same_half]
    dialogue = np.concatenate([human_dialogues, system_dialogues])
    train, fold = _halves(dialogue, seed)
    is_human = np.arange(len(dialogue)) < len(human_index)
    rows = Rows(human_index, system_index, paired, is_human, dialogue, train, fold)
    _check_size(rows, min_dialogues)
    return rows


def _source_in_same_half(dialogue: np.ndarray, source: np.ndarray, seed: int) -> np.ndarray:
    """Which replies come from a dialogue in the same part of every split.

    A random reply is the human reply of another dialogue. If it were learnt as random in one half
    and tested as human in the other, its words would mislead the rule.
    """
    source = _first_nonempty(source, dialogue)
    (train, fold), (source_train, source_fold) = (
        _halves(column, seed) for column in (dialogue, source)
    )
    return (train == source_train) & (~train | (fold == source_fold))


def _dialogue_hashes(passages: Passages) -> np.ndarray:
    columns = (row_hashes(passages, [name]) for name in ("dialogue_id", "id", "context"))
    return _first_nonempty(*columns, np.arange(len(passages), dtype=np.uint64))


def _first_nonempty(*columns: np.ndarray) -> np.ndarray:
    """The first of several hashes that is not of the empty text."""
    values = columns[0]
    for column in columns[1:]:
        values = np.where(values == _EMPTY, column, values)
    return values


def _halves(dialogue: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two random bits for each dialogue; the salt makes them independent of `data split`."""
    names, inverse = np.unique(dialogue, return_inverse=True)
    hashes = np.array(
        [text_hash(["leaks", str(seed), f"{name:x}"]) & 3 for name in names.tolist()], dtype=int
    )
    return (hashes & 1).astype(bool)[inverse], (hashes & 2).astype(bool)[inverse]


def _check_size(rows: Rows, least: int) -> None:
    sides = (rows.is_human, ~rows.is_human)
    sizes = [
        min(len(np.unique(rows.dialogue[half & side])) for side in sides)
        for half in (rows.train, rows.test)
    ]
    if min(sizes) < least:
        raise BadInput(
            f"A leak check needs at least {least} dialogues for training and "
            f"{least} for the test, but got {sizes[0]} and {sizes[1]}.",
            hint="Give more dialogues, and check that their `dialogue_id` differ.",
        )
