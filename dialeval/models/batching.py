"""Batches of like length under a budget of tokens, so that little is spent on padding."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor


def token_batches(lengths: Sequence[int], max_tokens: int) -> Iterator[np.ndarray]:
    """Row numbers in batches whose padded size stays within the budget, longest first.

    The longest come first so that a row that does not fit in memory says so at once.

    Example:
        >>> [batch.tolist() for batch in token_batches([2, 9, 3, 8], max_tokens=18)]
        [[1, 3], [2, 0]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable")
    start = 0
    while start < len(order):
        widest = max(1, int(lengths[order[start]]))
        size = max(1, max_tokens // widest)
        yield order[start : start + size]
        start += size


_BUCKET = 50  # batches that are sorted by length together


def training_batches(sizes: np.ndarray, size: int, seed: Sequence[int]) -> list[np.ndarray]:
    """Row numbers in batches of like length, in random order, all of one size.

    What does not fill a batch is left out before sorting, else it were always the longest.
    """
    rng = np.random.default_rng(seed)
    size = min(size, len(sizes))
    order = rng.permutation(len(sizes))[: len(sizes) // size * size]
    found = []
    for start in range(0, len(order), size * _BUCKET):
        bucket = order[start : start + size * _BUCKET]
        bucket = bucket[np.argsort(sizes[bucket], kind="stable")]
        found += [bucket[at : at + size] for at in range(0, len(bucket), size)]
    return [found[at] for at in rng.permutation(len(found))]


def pad(rows: Sequence[Sequence[int]], pad_id: int, left: bool = False) -> dict[str, Tensor]:
    """Rows of token ids as one tensor, padded on the right or the left, and its mask."""
    lengths = torch.tensor([len(row) for row in rows])
    mask = torch.arange(int(lengths.max())) < lengths[:, None]
    mask = mask.flip(1) if left else mask
    ids = torch.full(mask.shape, pad_id, dtype=torch.long)
    ids[mask] = torch.tensor([token for row in rows for token in row], dtype=torch.long)
    return {"input_ids": ids, "attention_mask": mask.long()}
