"""Scores on disk, appended as they are computed, so that an interrupted run resumes."""

import math
import re
from array import array
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

_LINE = re.compile(r"^([0-9a-f]{24}) (-?0x[0-9a-f.]+p[+-]\d+);$", re.MULTILINE)


class ScoreCache:
    """An append-only file of keys and scores; a line that was cut off is ignored."""

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._scores: dict[str, float] = {}
        text = self.path.read_text("ascii", "ignore") if self.path.exists() else ""
        for key, score in _LINE.findall(text):
            self._scores[key] = float.fromhex(score)
        if text and not text.endswith("\n"):  # a torn line: begin a new one after it
            with self.path.open("a", encoding="ascii") as file:
                file.write("\n")

    def __len__(self) -> int:
        return len(self._scores)

    @staticmethod
    def key(model: str, ids: Sequence[int]) -> str:
        """Key of a score: a hash of the model's weights and of the tokens it reads."""
        digest = blake2b(model.encode(), digest_size=12)
        digest.update(array("q", ids).tobytes())
        return digest.hexdigest()

    def get(self, key: str) -> float:
        """The score, or NaN if it is not cached."""
        return self._scores.get(key, math.nan)

    def put(self, keys: Sequence[str], scores: np.ndarray) -> None:
        """Add scores, and write them to the file."""
        pairs = list(zip(keys, scores.tolist(), strict=True))
        self._scores.update(pairs)
        lines = "".join(f"{key} {score.hex()};\n" for key, score in pairs)
        # One call: several processes may append, and a buffer would be cut within a line.
        with self.path.open("ab", buffering=0) as file:
            file.write(lines.encode("ascii"))
