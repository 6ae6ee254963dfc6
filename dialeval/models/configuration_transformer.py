"""Configuration of the transformer discriminator."""

from typing import Any, Literal

from transformers import AutoConfig, PretrainedConfig

Pooling = Literal["last", "first", "mean"]


class TransformerDiscriminatorConfig(PretrainedConfig):
    """Shape of a [`TransformerDiscriminator`].

    Args:
        backbone (`dict` or `PretrainedConfig`):
            Configuration of any `AutoModel`.
        pooling (`str`, *optional*, defaults to `"last"`):
            Which states the head reads: the `"last"` token's, the `"first"`, or their `"mean"`.
        causal (`bool`, *optional*, defaults to `True`):
            Whether the backbone reads from left to right only.
        dropout (`float`, *optional*, defaults to 0.0):
            Dropout before the head.
    """

    model_type = "dialeval-transformer"

    def __init__(
        self,
        backbone: dict[str, Any] | PretrainedConfig | None = None,
        pooling: Pooling = "last",
        causal: bool = True,
        dropout: float = 0.0,
        **kwargs: Any,
    ):
        if pooling not in ("last", "first", "mean"):
            raise ValueError(f"`pooling` is last, first or mean, but got {pooling!r}.")
        shape = backbone.to_dict() if isinstance(backbone, PretrainedConfig) else backbone
        # A path on the machine that trained it does not belong on the Hub.
        self.backbone = {k: v for k, v in (shape or {}).items() if k != "_name_or_path"} or None
        self.pooling = pooling
        self.causal = causal
        self.dropout = dropout
        kwargs.setdefault("id2label", {0: "machine", 1: "human"})
        kwargs.setdefault("label2id", {"machine": 0, "human": 1})
        super().__init__(**kwargs)

    @property
    def backbone_config(self) -> PretrainedConfig:
        """The backbone's configuration."""
        settings = dict(self.backbone or {"model_type": "gpt2"})
        return AutoConfig.for_model(settings.pop("model_type"), **settings)
