"""Rows of tokens padded on either side, aligned to have all padding on the right."""

import torch
from torch import Tensor


def align_left(input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens moved to the left, and how many each row has.

    Examples:
        >>> ids, lengths = align_left(torch.tensor([[0, 0, 7]]), torch.tensor([[0, 0, 1]]))
        >>> ids.tolist(), lengths.tolist()
        ([[7]], [1])
    """
    order = attention_mask.argsort(dim=1, descending=True, stable=True)
    lengths = attention_mask.sum(1).clamp(min=1)  # a row without tokens reads one of padding
    return input_ids.gather(1, order)[:, : int(lengths.max())], lengths


def inside(lengths: Tensor, width: int) -> Tensor:
    """A mask of the tokens in left-aligned rows, shape `(batch, width)`."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]
