"""Batches of similar length within a token budget, to keep padding small."""

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor


def token_batches(lengths: Sequence[int] | np.ndarray, max_tokens: int) -> Iterator[np.ndarray]:
    """Row numbers in batches whose padded size stays within the budget, longest first.

    The longest come first so that a row that does not fit in memory fails at once.

    Examples:
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
    """Row numbers in batches of similar length, in random order, all of one size.

    Rows that do not fill a batch are dropped before sorting, otherwise the longest would be.

    Args:
        sizes (`np.ndarray`):
            Length of each row.
        size (`int`):
            Rows in a batch.
        seed (`Sequence[int]`):
            Seed of the order.

    Returns:
        `list[np.ndarray]`: Row numbers of each batch.
    """
    rng = np.random.default_rng(seed)
    size = min(size, len(sizes))
    order = rng.permutation(len(sizes))[: len(sizes) // size * size]
    batches = []
    for start in range(0, len(order), size * _BUCKET):
        bucket = order[start : start + size * _BUCKET]
        bucket = bucket[np.argsort(sizes[bucket], kind="stable")]
        batches += [bucket[at : at + size] for at in range(0, len(bucket), size)]
    return [batches[at] for at in rng.permutation(len(batches))]


def pad(
    rows: Sequence[Sequence[int]], pad_id: int, left: bool = False, width: int = 0
) -> dict[str, Tensor]:
    """Rows of token ids as one tensor, padded on the right or the left, and its mask.

    Args:
        rows (`Sequence[Sequence[int]]`):
            Token ids.
        pad_id (`int`):
            The padding token.
        left (`bool`, *optional*, defaults to `False`):
            Pad on the left.
        width (`int`, *optional*, defaults to 0):
            Pad to this length at least.

    Returns:
        `dict[str, Tensor]`: `input_ids` and `attention_mask`, each of shape `(rows, time)`.
    """
    lengths = torch.tensor([len(row) for row in rows])
    mask = torch.arange(max(width, int(lengths.max()))) < lengths[:, None]
    mask = mask.flip(1) if left else mask
    ids = torch.full(mask.shape, pad_id, dtype=torch.long)
    ids[mask] = torch.tensor([token for row in rows for token in row], dtype=torch.long)
    return {"input_ids": ids, "attention_mask": mask.long()}
