"""Which responses are compared, and which half of the dialogues each falls into."""

from dataclasses import dataclass

import numpy as np

from dialeval.dialogues.pairing import partners
from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import Passages
from dialeval.dialogues.types import text_hash

_FEWEST = 20  # dialogues in a half
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
        return ~self.train

    def units(self, mask: np.ndarray) -> np.ndarray:
        """Numbers from 0 of the dialogues of some rows."""
        return np.unique(self.dialogue[mask], return_inverse=True)[1]

    def dialogues(self, mask: np.ndarray) -> int:
        """How many dialogues some rows come from; unpaired, each side's are its own."""
        if self.paired:
            return len(np.unique(self.dialogue[mask]))
        sides = (mask & self.is_human, mask & ~self.is_human)
        return sum(len(np.unique(self.dialogue[side])) for side in sides)


def align(human: Passages, system: Passages, seed: int) -> Rows:
    """The responses to compare: in pairs where there are any, else as two samples."""
    left, right = partners(human, system)
    paired = len(left) > 0
    if paired:
        ours = theirs = _filled(
            row_hashes(human, ["dialogue_id"])[left],
            row_hashes(system, ["dialogue_id"])[right],
            *(row_hashes(human, [name])[left] for name in ("id", "context")),
        )
    else:
        left, right = np.arange(len(human)), np.arange(len(system))
        ours, theirs = _own_dialogues(human), _own_dialogues(system)
    sound = _not_borrowed_across(theirs, row_hashes(system, ["source_dialogue_id"])[right], seed)
    right, theirs = right[sound], theirs[sound]
    if paired:
        left, ours = left[sound], ours[sound]
    dialogue = np.concatenate([ours, theirs])
    train, fold = _halves(dialogue, seed)
    is_human = np.arange(len(dialogue)) < len(left)
    rows = Rows(left, right, paired, is_human, dialogue, train, fold)
    _check_size(rows)
    return rows


def _not_borrowed_across(dialogue: np.ndarray, source: np.ndarray, seed: int) -> np.ndarray:
    """Which replies come from a dialogue on their own side of every split.

    A random reply is some other dialogue's human reply. Were it learnt as random in one half and
    met as human in the other, its very words would tell, the wrong way round.
    """
    source = _filled(source, dialogue)
    (train, fold), (source_train, source_fold) = (
        _halves(each, seed) for each in (dialogue, source)
    )
    return (train == source_train) & (~train | (fold == source_fold))


def _own_dialogues(passages: Passages) -> np.ndarray:
    columns = (row_hashes(passages, [name]) for name in ("dialogue_id", "id", "context"))
    return _filled(*columns, np.arange(len(passages), dtype=np.uint64))


def _filled(*columns: np.ndarray) -> np.ndarray:
    """The first of several hashes that is not of the empty text."""
    found = columns[0]
    for column in columns[1:]:
        found = np.where(found == _EMPTY, column, found)
    return found


def _halves(dialogue: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two coins for each dialogue. The salt keeps them apart from `data split` with this seed."""
    names, inverse = np.unique(dialogue, return_inverse=True)
    hashes = np.array(
        [text_hash(["leaks", str(seed), f"{name:x}"]) & 3 for name in names.tolist()], dtype=int
    )
    return (hashes & 1).astype(bool)[inverse], (hashes & 2).astype(bool)[inverse]


def _check_size(rows: Rows) -> None:
    sides = (rows.is_human, ~rows.is_human)
    sizes = [
        min(len(np.unique(rows.dialogue[half & side])) for side in sides)
        for half in (rows.train, rows.test)
    ]
    if min(sizes) < _FEWEST:
        raise BadInput(
            f"A leak check learns on {_FEWEST} dialogues and tests on {_FEWEST} others at least, "
            f"but got {sizes[0]} and {sizes[1]}.",
            hint="Give more dialogues, and see that their `dialogue_id` differ.",
        )
