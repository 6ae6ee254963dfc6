"""Any transformer with a scalar head: how human is this response? (Gao et al., 2021)

The head gives one number h, and the logits are (0, h), so that their softmax is sigmoid(h) and the
two labels keep their names. The attention mask says which token the head reads, never the padding
token: GPT-2's separator, end and padding are all the same token.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import AutoModel, PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from .configuration_transformer import Pooling, TransformerDiscriminatorConfig
from .padding import align_left, inside


class TransformerDiscriminator(PreTrainedModel):
    """An `AutoModel` backbone, pooled by mask, and a linear head without bias."""

    config_class = TransformerDiscriminatorConfig
    base_model_prefix = "backbone"
    supports_gradient_checkpointing = True
    _supports_sdpa = True

    def __init__(
        self, config: TransformerDiscriminatorConfig, backbone: PreTrainedModel | None = None
    ):
        super().__init__(config)
        shape = config.backbone_config
        self.backbone: PreTrainedModel = (
            AutoModel.from_config(shape, trust_remote_code=False) if backbone is None else backbone
        )
        self.dropout = nn.Dropout(config.dropout)
        self.score = nn.Linear(shape.hidden_size, 1, bias=False)
        self.post_init()

    @classmethod
    def from_backbone(
        cls, name: str, pooling: Pooling | None = None, dropout: float = 0.0, **kwargs: Any
    ) -> "TransformerDiscriminator":
        """A new head on a pretrained backbone.

        Args:
            name (`str`):
                Folder or Hub name of the backbone.
            pooling (`str`, *optional*):
                Which states the head reads; `"last"` for a causal backbone, else `"mean"`.
            dropout (`float`, *optional*, defaults to 0.0):
                Dropout before the head.
            kwargs:
                For the backbone's `from_pretrained`.

        Returns:
            `TransformerDiscriminator`: With a random head.
        """
        backbone = AutoModel.from_pretrained(name, trust_remote_code=False, **kwargs)
        causal = not reads_ahead(backbone)
        default: Pooling = "last" if causal else "mean"
        config = TransformerDiscriminatorConfig(
            backbone.config, pooling or default, causal, dropout
        )
        model = cls(config, backbone)
        nn.init.normal_(model.score.weight, std=0.02)
        model.score.to(backbone.dtype)
        return model

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        **kwargs: Any,
    ) -> SequenceClassifierOutput:
        """Logits over machine (0) and human (1).

        Args:
            input_ids (`Tensor`):
                Tokens, shape `(batch, time)`.
            attention_mask (`Tensor`, *optional*):
                1 for tokens, 0 for padding; all are tokens by default.
            labels (`Tensor`, *optional*):
                1 for human, 0 for machine; gives the cross entropy as the loss.

        Returns:
            `SequenceClassifierOutput`: With logits of shape `(batch, 2)`.
        """
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        scores = self.score(self.dropout(self.pool(input_ids, mask))).squeeze(-1)  # (batch,)
        logits = torch.stack([torch.zeros_like(scores), scores], dim=-1)  # (batch, 2)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        # transformers annotates the legacy type, of which no tensor is an instance.
        return SequenceClassifierOutput(
            loss=cast("torch.FloatTensor | None", loss), logits=cast("torch.FloatTensor", logits)
        )

    def pool(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """What the head reads, shape `(batch, hidden)`."""
        input_ids, lengths = align_left(input_ids, attention_mask)
        is_token = inside(lengths, input_ids.shape[1])
        more = {"use_cache": False} if self.config.causal else {}
        states = self.backbone(
            input_ids=input_ids, attention_mask=is_token.long(), **more
        ).last_hidden_state  # (batch, time, hidden)
        if self.config.pooling == "mean":
            return (states * is_token[..., None]).sum(1) / lengths[:, None]
        if self.config.pooling == "first":
            return states[:, 0]
        return states[torch.arange(len(states), device=states.device), lengths - 1]


@torch.no_grad()
def reads_ahead(backbone: nn.Module) -> bool:
    """Whether a token's state depends on what comes after it, as an encoder's does."""
    was_training = backbone.training
    backbone.eval()
    device = next(backbone.parameters()).device
    one, two = (torch.tensor([[5, 6, 7, last]], device=device) for last in (8, 9))
    first, second = (backbone(input_ids=ids).last_hidden_state[:, :3] for ids in (one, two))
    backbone.train(was_training)
    return not torch.allclose(first, second, atol=1e-5)


def pairwise_loss(human: Tensor, machine: Tensor) -> Tensor:
    """The loss that makes human responses outscore machine ones (Gao et al., 2021, eq. 1).

    Examples:
        >>> round(pairwise_loss(torch.tensor([2.0]), torch.tensor([2.0])).item(), 4)
        0.6931
    """
    return -F.logsigmoid(human - machine).mean()
