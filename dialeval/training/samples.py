"""Responses of attackers on disk: the sets A(0), A(1), ... of the attack-defence game."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput, atomic_write

PARTS = ("train", "validation")
_SCHEMA = pa.schema(
    {
        "row": pa.int64(),  # index of the human passage in its part
        "response": pa.string(),
        "temperature": pa.float64(),
        "finished": pa.bool_(),
        "relevance": pa.float64(),  # score of the frozen HvR, which never changes
    }
)


class AttackerSamples:
    """Responses of every attacker so far, one memory-mapped Arrow file per turn and part.

    A batch reads only its rows, so that its cost does not grow with the number of turns.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._open: dict[Path, pa.Table] = {}

    def __contains__(self, turn: int) -> bool:
        return all(self._path(turn, part).is_file() for part in PARTS)

    def add(self, turn: int, part: str, columns: dict[str, Sequence[Any] | np.ndarray]) -> None:
        """Write the samples of a turn, replacing earlier ones.

        Args:
            turn (`int`):
                Number of the turn.
            part (`str`):
                `"train"` or `"validation"`.
            columns (`dict[str, Sequence]`):
                Rows, responses, temperatures, ends and relevance.
        """
        path = self._path(turn, part)
        self._open.pop(path, None)
        table = pa.table(columns, schema=_SCHEMA)
        with atomic_write(path, "wb") as file, pa.ipc.new_file(file, _SCHEMA) as writer:
            writer.write_table(table)

    def size(self, turn: int, part: str) -> int:
        """Number of samples of a turn."""
        return self._table(turn, part).num_rows

    def take(self, turn: int, part: str, rows: Sequence[int] | np.ndarray) -> dict[str, list[Any]]:
        """Samples of a turn by their index, as columns.

        Args:
            turn (`int`):
                Number of the turn.
            part (`str`):
                `"train"` or `"validation"`.
            rows (`Sequence[int]`):
                Which samples.

        Returns:
            `dict[str, list]`: Values by column.
        """
        return self._table(turn, part).take(pa.array(rows, pa.int64())).to_pydict()

    def all(self, turn: int, part: str) -> dict[str, list[Any]]:
        """All samples of a turn, as columns."""
        return self._table(turn, part).to_pydict()

    def _path(self, turn: int, part: str) -> Path:
        return self.folder / f"turn_{turn:04d}.{part}.arrow"

    def _table(self, turn: int, part: str) -> pa.Table:
        path = self._path(turn, part)
        if path not in self._open:
            if not path.is_file():
                hint = "Start the game again without --resume."
                raise BadInput("the samples of this turn are missing.", path, hint=hint)
            self._open[path] = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        return self._open[path]
