"""A discriminator on a language model's backbone: a copy of it, or the same tensors."""

import copy
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from dialeval.models.configuration_transformer import TransformerDiscriminatorConfig
from dialeval.models.modeling_transformer import TransformerDiscriminator


def discriminator_on(
    language_model: PreTrainedModel, shared: bool = False, dropout: float = 0.0
) -> TransformerDiscriminator:
    """A discriminator that starts from the language model's weights, with a new head.

    Args:
        language_model (`PreTrainedModel`):
            Any causal language model, with or without adapters.
        shared (`bool`, *optional*, defaults to `False`):
            Whether both use the same tensors, so that memory holds one backbone. Freeze them then,
            and train adapters on either side.
        dropout (`float`, *optional*, defaults to 0.0):
            Dropout before the head.

    Returns:
        `TransformerDiscriminator`: With a random head.
    """
    inner = backbone_of(language_model)
    # deepcopy does not copy what is in its memo.
    kept = {id(weight): weight for weight in inner.parameters()} if shared else {}
    backbone = copy.deepcopy(inner, kept)
    config = TransformerDiscriminatorConfig(backbone.config, "last", True, dropout)
    discriminator = TransformerDiscriminator(config, backbone)
    nn.init.normal_(discriminator.score.weight, std=0.02)
    return discriminator


def backbone_of(model: PreTrainedModel) -> PreTrainedModel:
    """The model without its language-model head."""
    inner: Any = getattr(model, "get_base_model", lambda: model)()
    return getattr(inner, inner.base_model_prefix, inner)
