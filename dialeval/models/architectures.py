"""All architectures, registered with transformers so that its Auto classes load them."""

from typing import Any

from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    PreTrainedModel,
)

from dialeval.models.checkpoints import load_dialogrpt
from dialeval.models.configuration_dynonet import DynoNetConfig
from dialeval.models.configuration_recurrent import (
    AttentionConfig,
    ConcatConfig,
    HierarchicalConfig,
    RnnConfig,
)
from dialeval.models.configuration_seq2seq import Seq2SeqConfig
from dialeval.models.configuration_transformer import TransformerDiscriminatorConfig
from dialeval.models.configuration_vhred import VhredConfig
from dialeval.models.modeling_dynonet import DynoNet
from dialeval.models.modeling_recurrent import (
    AttentionDiscriminator,
    ConcatDiscriminator,
    HierarchicalDiscriminator,
    RnnDiscriminator,
)
from dialeval.models.modeling_seq2seq import Seq2SeqGenerator
from dialeval.models.modeling_transformer import TransformerDiscriminator, pairwise_loss
from dialeval.models.modeling_vhred import VhredGenerator

DISCRIMINATORS: dict[type[Any], type[PreTrainedModel]] = {
    HierarchicalConfig: HierarchicalDiscriminator,
    ConcatConfig: ConcatDiscriminator,
    AttentionConfig: AttentionDiscriminator,
    RnnConfig: RnnDiscriminator,
    TransformerDiscriminatorConfig: TransformerDiscriminator,
}
GENERATORS: dict[type[Any], type[PreTrainedModel]] = {
    Seq2SeqConfig: Seq2SeqGenerator,
    VhredConfig: VhredGenerator,
}

for _config, _model in DISCRIMINATORS.items():
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    AutoModelForSequenceClassification.register(_config, _model, exist_ok=True)
for _config, _model in GENERATORS.items():
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    AutoModelForSeq2SeqLM.register(_config, _model, exist_ok=True)

AutoConfig.register(DynoNetConfig.model_type, DynoNetConfig, exist_ok=True)
AutoModel.register(DynoNetConfig, DynoNet, exist_ok=True)

__all__ = [
    "DISCRIMINATORS",
    "GENERATORS",
    "AttentionConfig",
    "AttentionDiscriminator",
    "ConcatConfig",
    "ConcatDiscriminator",
    "DynoNet",
    "DynoNetConfig",
    "HierarchicalConfig",
    "HierarchicalDiscriminator",
    "RnnConfig",
    "RnnDiscriminator",
    "Seq2SeqConfig",
    "Seq2SeqGenerator",
    "TransformerDiscriminator",
    "TransformerDiscriminatorConfig",
    "VhredConfig",
    "VhredGenerator",
    "load_dialogrpt",
    "pairwise_loss",
]
