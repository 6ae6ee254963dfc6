"""A language model's head at selected positions."""

from collections.abc import Mapping

import torch
from torch import Tensor
from transformers import PreTrainedModel


def logits_at(
    model: PreTrainedModel, batch: Mapping[str, Tensor], row: Tensor, position: Tensor
) -> Tensor:
    """Logits at some positions of a batch, shape `(positions, vocabulary)`.

    The head is expensive and most positions are context, so it is only applied to these.

    Args:
        model (`PreTrainedModel`):
            A language model.
        batch (`Mapping[str, Tensor]`):
            Its inputs.
        row (`Tensor`):
            Rows of the batch, shape `(positions,)`.
        position (`Tensor`):
            Positions in these rows, shape `(positions,)`.

    Returns:
        `Tensor`: The logits.
    """
    head: torch.nn.Module | None = model.get_output_embeddings()
    if head is None:
        return model(**batch, use_cache=False).logits[row, position]
    hook = head.register_forward_pre_hook(lambda _, states: (states[0][row, position][None],))
    try:
        return model(**batch, use_cache=False).logits[0]
    finally:
        hook.remove()
