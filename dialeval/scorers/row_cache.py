"""Rows of features that are computed once per text or pair, however often they are read."""

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse, vstack

LIMIT = 100_000
"""Rows that a cache keeps; beyond it starts again, so that memory stays bounded."""
FITS = 64
"""Sets of fitted models that a cache keeps; the one that was used longest ago goes first."""
Matrix = Any
"""A dense or sparse matrix."""
T = TypeVar("T")


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
        with suppress(KeyError):  # nearly always they are all known
            return self._rows(keys)
        distinct = dict.fromkeys(keys)
        new = [key for key in distinct if key not in self._index]
        if len(new) + len(self) > self.limit:
            self._clear()
            new = list(distinct)
        if len(new) > self.limit:
            position = {key: row for row, key in enumerate(new)}
            return self._compute(new)[[position[key] for key in keys]]
        if new:
            rows, start = self._compute(new), len(self)  # it may fail: then no key is known
            self._chunks.append(rows)
            self._index.update({key: start + row for row, key in enumerate(new)})
        return self._rows(keys)

    def _rows(self, keys: Sequence[Hashable]) -> Matrix:
        """The rows of keys that are all known."""
        rows = [self._index[key] for key in keys]
        return self._matrix()[rows]

    def _clear(self) -> None:
        self._index: dict[Hashable, int] = {}
        self._chunks: list[Matrix] = []

    def _matrix(self) -> Matrix:
        if len(self._chunks) > 1:
            sparse = issparse(self._chunks[0])
            chunks = self._chunks
            self._chunks = [vstack(chunks, format="csr") if sparse else np.concatenate(chunks)]
        return self._chunks[0]


class FitCache:
    """Fitted models by a key of what they were fitted to.

    Args:
        limit (`int`, *optional*):
            Entries to keep.

    Examples:
        >>> cache = FitCache()
        >>> cache("a", lambda: 1), cache("a", lambda: 2)
        (1, 1)
    """

    def __init__(self, limit: int = FITS):
        self.limit = limit
        self._fits: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._fits)

    def __call__(self, key: str, fit: Callable[[], T]) -> T:
        """What `fit` returned when the key was first asked for."""
        fitted = self._fits.pop(key) if key in self._fits else fit()
        self._fits[key] = fitted  # the last one used is the last one in order
        if len(self._fits) > self.limit:
            del self._fits[next(iter(self._fits))]
        return fitted
