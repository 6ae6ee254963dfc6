"""Which rows belong together: two authors' answers to one context, and random replies."""

import numpy as np

from dialeval.dialogues.sources import BadInput
from dialeval.dialogues.splits import hash_batches
from dialeval.dialogues.storage import Passages
from dialeval.dialogues.types import text_hash


def partners(one: Passages, other: Passages) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of two authors' answers to the same questions, in the order of the first.

    They are matched by id, and the rest by the words of the context; the k-th answer of one to a
    question is matched with the other's k-th.
    """
    left, right = _matches(one, other, "id", None, None)
    rest = np.ones(len(one), dtype=bool), np.ones(len(other), dtype=bool)
    rest[0][left], rest[1][right] = False, False
    if all(mask.any() for mask in rest):
        more = _matches(one, other, "context", *rest)
        left, right = np.concatenate([left, more[0]]), np.concatenate([right, more[1]])
    order = np.argsort(left)
    return left[order], right[order]


def _matches(
    one: Passages,
    other: Passages,
    column: str,
    rows: np.ndarray | None,
    other_rows: np.ndarray | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Rows with equal keys among some of two sides; the smaller side alone is kept in memory."""
    if len(one) > len(other):
        right, left = _matches(other, one, column, other_rows, rows)
        return left, right
    index, keys = _keys(one, column, rows)
    other_index, other_keys = _keys(other, column, other_rows, np.unique(keys))
    left, right = _match(keys, other_keys)
    return index[left], other_index[right]


def _keys(
    passages: Passages, column: str, rows: np.ndarray | None, wanted: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the hashes of a column in them: of some rows, and with hashes among some."""
    indices, parts, start = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.uint64)], 0
    for hashes in hash_batches(passages, [column]):
        kept = np.ones(len(hashes), dtype=bool)
        if rows is not None:
            kept &= rows[start : start + len(hashes)]
        if wanted is not None:
            kept &= np.isin(hashes, wanted)
        indices.append(start + np.flatnonzero(kept))
        parts.append(hashes[kept])
        start += len(hashes)
    return np.concatenate(indices), np.concatenate(parts)


_EMPTY = np.uint64(text_hash([""]))


def _match(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions of equal keys; the key of the empty text matches nothing."""
    rows, other_rows = np.flatnonzero(first != _EMPTY), np.flatnonzero(second != _EMPTY)
    keys, other_keys = _occurrences(first[rows]), _occurrences(second[other_rows])
    _, left, right = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    return rows[left], other_rows[right]


def _occurrences(keys: np.ndarray) -> np.ndarray:
    """Keys made distinct by how often they occurred before."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    before = np.empty(len(keys), dtype=np.uint64)
    before[order] = np.arange(len(keys)) - np.searchsorted(ordered, ordered)
    return keys + before * np.uint64(0x9E3779B97F4A7C15)  # wraps around: a hash of both


def derangement(
    groups: np.ndarray, rng: np.random.Generator, bins: np.ndarray | None = None
) -> np.ndarray:
    """A random permutation in which every item goes to another group, within its bin.

    Args:
        groups (`np.ndarray`):
            The group of each item.
        rng (`np.random.Generator`):
            Source of randomness.
        bins (`np.ndarray`, *optional*):
            Items only change places with items of the same bin.

    Returns:
        `np.ndarray`: For each item, the index of the item that replaces it.

    Examples:
        >>> groups = np.array([0, 0, 1, 1, 2])
        >>> order = derangement(groups, np.random.default_rng(0))
        >>> sorted(order.tolist()), bool((groups[order] == groups).any())
        ([0, 1, 2, 3, 4], False)
    """
    if bins is not None:
        order = np.arange(len(groups))
        by_bin = np.argsort(bins, kind="stable")
        for rows in np.split(by_bin, np.flatnonzero(np.diff(bins[by_bin])) + 1):
            order[rows] = rows[derangement(groups[rows], rng)]
        return order
    sizes = np.unique(groups, return_counts=True)[1]
    if not len(groups) or 2 * sizes.max() > len(groups):
        raise BadInput(
            f"Random replies come from another dialogue, but one dialogue holds "
            f"{sizes.max() if len(sizes) else 0} of the {len(groups)} passages.",
            hint="Give more dialogues.",
        )
    order = rng.permutation(len(groups))
    for _ in range(50):
        clashes = np.flatnonzero(groups[order] == groups)
        if not len(clashes):
            return order
        for item, other in zip(clashes, rng.integers(len(groups), size=len(clashes)), strict=True):
            order[item], order[other] = order[other], order[item]
    return _rotation(groups, sizes.max(), rng)


def _rotation(groups: np.ndarray, step: int, rng: np.random.Generator) -> np.ndarray:
    """A rotation of the sorted groups by the size of the largest, which always is a solution."""
    shuffled = rng.permutation(len(groups))
    row = shuffled[np.argsort(groups[shuffled], kind="stable")]
    order = np.empty_like(row)
    order[row] = np.roll(row, -step)
    return order
