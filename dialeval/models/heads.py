"""A language model's head at selected positions."""

from collections.abc import Mapping
from typing import Any

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
    return output_at(model, batch, row, position, use_cache=False)[0]


def output_at(
    model: PreTrainedModel,
    batch: Mapping[str, Tensor],
    row: Tensor,
    position: Tensor,
    **options: Any,
) -> tuple[Tensor, Any]:
    """Logits as in [`logits_at`], and the whole output of the model, for its cache.

    Args:
        model (`PreTrainedModel`):
            A language model.
        batch (`Mapping[str, Tensor]`):
            Its inputs.
        row, position (`Tensor`):
            Rows of the batch and positions in them, shape `(positions,)`.
        options:
            Further inputs, such as `use_cache=True`.

    Returns:
        `tuple[Tensor, ModelOutput]`: Logits of shape `(positions, vocabulary)`, and the output.
    """
    head: torch.nn.Module | None = model.get_output_embeddings()
    if head is None:
        output = model(**batch, **options)
        return output.logits[row, position], output
    hook = head.register_forward_pre_hook(lambda _, states: (states[0][row, position][None],))
    try:
        output = model(**batch, **options)
        return output.logits[0], output
    finally:
        hook.remove()
