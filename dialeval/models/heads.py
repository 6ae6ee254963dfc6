"""A language model's head at the places that are asked for."""

from collections.abc import Mapping

import torch
from torch import Tensor
from transformers import PreTrainedModel


def logits_at(
    model: PreTrainedModel, batch: Mapping[str, Tensor], row: Tensor, place: Tensor
) -> Tensor:
    """Logits at some positions of a batch, shape `(positions, vocabulary)`.

    The head is much of the work, and most positions are context: it gets the others only.
    """
    head: torch.nn.Module | None = model.get_output_embeddings()
    if head is None:
        return model(**batch, use_cache=False).logits[row, place]
    hook = head.register_forward_pre_hook(lambda _, states: (states[0][row, place][None],))
    try:
        return model(**batch, use_cache=False).logits[0]
    finally:
        hook.remove()
