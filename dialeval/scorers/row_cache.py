"""Rows of features that are computed once per text or pair, however often they are read."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

LIMIT = 100_000
"""Rows that a cache keeps; beyond it starts again, so that memory stays bounded."""
Matrix = Any
"""A dense or sparse matrix."""


class RowCache:
    """A matrix whose rows are computed when their key is first asked for.

    Cross-fitting reads each response dozens of times: in every fold, seed and scenario.

    Args:
        compute (`Callable`):
            From a list of different keys to a matrix with a row for each.
        limit (`int`, *optional*):
            Rows to keep. A call that needs more computes its rows without keeping them.

    Examples:
        >>> cache = RowCache(lambda words: np.array([[len(word)] for word in words]))
        >>> cache(["a", "bcd", "a"]).ravel().tolist(), len(cache)
        ([1, 3, 1], 2)
    """

    def __init__(self, compute: Callable[[list[Any]], Matrix], limit: int = LIMIT):
        self._compute, self.limit = compute, limit
        self._clear()

    def __len__(self) -> int:
        return len(self._index)

    def __call__(self, keys: Sequence[Hashable]) -> Matrix:
        """The rows of some keys, in their order."""
        distinct = dict.fromkeys(keys)
        new = [key for key in distinct if key not in self._index]
        if len(new) + len(self) > self.limit:
            self._clear()
            new = list(distinct)
        if len(new) > self.limit:
            position = {key: row for row, key in enumerate(new)}
            return self._compute(new)[[position[key] for key in keys]]
        if new:
            start = len(self)
            self._index.update({key: start + row for row, key in enumerate(new)})
            self._chunks.append(self._compute(new))
        return self._matrix()[[self._index[key] for key in keys]]

    def _clear(self) -> None:
        self._index: dict[Hashable, int] = {}
        self._chunks: list[Matrix] = []

    def _matrix(self) -> Matrix:
        if len(self._chunks) > 1:
            sparse = issparse(self._chunks[0])
            chunks = self._chunks
            self._chunks = [vstack(chunks, format="csr") if sparse else np.concatenate(chunks)]
        return self._chunks[0]
