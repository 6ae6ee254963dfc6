"""Models: generators and discriminators, each a `transformers.PreTrainedModel`.

They are imported, and registered with transformers, when the first of them is used: most commands
need none of them, nor torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dialeval.models.architectures import (
        DISCRIMINATORS,
        GENERATORS,
        AttentionConfig,
        AttentionDiscriminator,
        ConcatConfig,
        ConcatDiscriminator,
        DynoNet,
        DynoNetConfig,
        HierarchicalConfig,
        HierarchicalDiscriminator,
        RnnConfig,
        RnnDiscriminator,
        Seq2SeqConfig,
        Seq2SeqGenerator,
        TransformerDiscriminator,
        TransformerDiscriminatorConfig,
        VhredConfig,
        VhredGenerator,
        load_dialogrpt,
        pairwise_loss,
    )

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


def __getattr__(name: str) -> Any:
    """Import all architectures when the first of them is used."""
    if name not in __all__:
        raise AttributeError(f"module 'dialeval.models' has no attribute {name!r}")
    value = getattr(import_module("dialeval.models.architectures"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
