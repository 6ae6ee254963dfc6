"""A discriminator on a language model's backbone: a copy of it, or its very tensors."""

import copy

from torch import nn
from transformers import PreTrainedModel

from dialeval.models.configuration_transformer import TransformerDiscriminatorConfig
from dialeval.models.modeling_transformer import TransformerDiscriminator


def discriminator_on(
    language_model: PreTrainedModel, shared: bool = False, dropout: float = 0.0
) -> TransformerDiscriminator:
    """A discriminator that begins as the language model did, with a new head.

    Args:
        shared (`bool`, *optional*, defaults to `False`):
            Whether both hold the same tensors, so that memory holds one backbone. Freeze them then,
            and let adapters learn on either side.
    """
    inner = backbone_of(language_model)
    # What the memo of a copy names is not copied.
    kept = {id(each): each for each in inner.parameters()} if shared else {}
    backbone = copy.deepcopy(inner, kept)
    config = TransformerDiscriminatorConfig(backbone.config, "last", True, dropout)
    found = TransformerDiscriminator(config, backbone)
    nn.init.normal_(found.score.weight, std=0.02)
    return found


def backbone_of(model: PreTrainedModel) -> nn.Module:
    """The model without its language-model head."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return getattr(inner, inner.base_model_prefix, inner)
