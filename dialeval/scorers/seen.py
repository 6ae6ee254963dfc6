"""Which human passages a saved evaluator was trained on: on these it proves nothing."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval.dialogues import BadInput, Passages
from dialeval.dialogues.types import text_hash
from dialeval.files import atomic_write

SEEN = "seen.parquet"
_KEY = "passage"


def save_seen(folder: Path, parts: Sequence[Passages]) -> Path:
    """Write hashes of the human passages of some pairs beside a saved evaluator.

    Args:
        folder (`Path`):
            The evaluator's folder.
        parts (`Sequence[Passages]`):
            Labelled pairs that it was trained or calibrated on.

    Returns:
        `Path`: The file.
    """
    hashes = [
        passage_keys(pairs.select(np.flatnonzero(np.asarray(pairs["label"]) == 1)))
        for pairs in parts
    ]
    with atomic_write(folder / SEEN, "wb") as file:
        parquet.write_table(pa.table({_KEY: np.unique(np.concatenate(hashes))}), file)
    return folder / SEEN


def load_seen(folder: Path) -> np.ndarray:
    """What `save_seen` wrote; nothing where it wrote nothing."""
    path = folder / SEEN
    if not path.is_file():
        return np.zeros(0, dtype=np.uint64)
    try:
        hashes: np.ndarray = parquet.read_table(path)[_KEY].to_numpy()
    except (OSError, KeyError, pa.ArrowException) as error:
        hint = "Copy the whole folder again."
        raise BadInput(f"could not read it: {error}.", path, hint=hint) from None
    return hashes


def passage_keys(passages: Passages) -> np.ndarray:
    """A 64-bit number for the last turn and the response of each passage.

    Contexts may be cut to another number of turns when a passage is read again.
    """
    from dialeval.scorers.families import texts_of_pairs  # loads scikit-learn

    keys = (text_hash([*turns[-1:], response]) for turns, response in texts_of_pairs(passages))
    return np.fromiter(keys, dtype=np.uint64, count=len(passages))
