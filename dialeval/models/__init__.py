"""Room 3. Models: generators and discriminators, each a `transformers.PreTrainedModel`."""

from transformers import AutoConfig, AutoModelForSequenceClassification

from dialeval.models.checkpoints import load_dialogrpt
from dialeval.models.configuration_recurrent import (
    AttentionConfig,
    ConcatConfig,
    HierarchicalConfig,
    RnnConfig,
)
from dialeval.models.configuration_transformer import TransformerDiscriminatorConfig
from dialeval.models.modeling_recurrent import (
    AttentionDiscriminator,
    ConcatDiscriminator,
    HierarchicalDiscriminator,
    RnnDiscriminator,
)
from dialeval.models.modeling_transformer import TransformerDiscriminator, pairwise_loss

DISCRIMINATORS = {
    HierarchicalConfig: HierarchicalDiscriminator,
    ConcatConfig: ConcatDiscriminator,
    AttentionConfig: AttentionDiscriminator,
    RnnConfig: RnnDiscriminator,
    TransformerDiscriminatorConfig: TransformerDiscriminator,
}

for _config, _model in DISCRIMINATORS.items():
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    AutoModelForSequenceClassification.register(_config, _model, exist_ok=True)

__all__ = [
    "DISCRIMINATORS",
    "AttentionConfig",
    "AttentionDiscriminator",
    "ConcatConfig",
    "ConcatDiscriminator",
    "HierarchicalConfig",
    "HierarchicalDiscriminator",
    "RnnConfig",
    "RnnDiscriminator",
    "TransformerDiscriminator",
    "TransformerDiscriminatorConfig",
    "load_dialogrpt",
    "pairwise_loss",
]
