"""What the recurrent encoder-decoders share: a pointer, their embeddings, and the cache."""

from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import GenerationMixin, PreTrainedModel

LEAST = 1e-20  # smallest probability of a mixture; its logarithm is -46


class Pointer(nn.Module):
    """A mixture of choosing a word and copying one of the context (See et al., 2017, sec. 2.2).

    All tokens have ids, so the vocabulary is not extended: an unknown word is copied as unknown.

    Args:
        features (`int`):
            Width of what the gate reads.
    """

    def __init__(self, features: int):
        super().__init__()
        self.gate = nn.Linear(features, 1)

    def forward(self, logits: Tensor, weights: Tensor, seen: Tensor, input_ids: Tensor) -> Tensor:
        """Log-probabilities of generating and copying together.

        Args:
            logits (`Tensor`):
                Scores of the vocabulary, shape `(batch, steps, vocabulary)`.
            weights (`Tensor`):
                Attention over the tokens of the context, `(batch, steps, time)`.
            seen (`Tensor`):
                What the gate reads: context, state and word, `(batch, steps, features)`.
            input_ids (`Tensor`):
                Tokens of the context, `(batch, time)`.

        Returns:
            `Tensor`: Of the mixture, shape `(batch, steps, vocabulary)`.
        """
        dtype = torch.promote_types(logits.dtype, torch.float32)  # half precision is not enough
        gate = torch.sigmoid(self.gate(seen).to(dtype))  # (batch, steps, 1); eq. 8
        chosen = gate * logits.to(dtype).softmax(-1)
        tokens = input_ids[:, None].expand(-1, weights.shape[1], -1)  # (batch, steps, time)
        mixture = chosen.scatter_add(2, tokens, (1 - gate) * weights.to(dtype))  # eq. 9
        return mixture.clamp(min=LEAST).log()


class RecurrentGenerator(PreTrainedModel, GenerationMixin):
    """An encoder-decoder whose cache is a tuple of states, the batch first in each.

    A subclass has `encoder.embedding`, `output`, and `pointer`, which may be `None`.
    """

    base_model_prefix = "generator"
    main_input_name = "input_ids"
    accepts_loss_kwargs = False  # the loss is a mean over the batch, whatever a trainer accumulates
    encoder: Any
    output: nn.Linear
    pointer: Pointer | None

    def prepare_decoder_input_ids_from_labels(self, labels: Tensor | None) -> Tensor:
        """The decoder's inputs for these labels: the start token and all labels but the last."""
        if labels is None:
            raise ValueError("expected decoder_input_ids or labels, found neither. Give one.")
        before = labels.new_full((len(labels), 1), self.config.decoder_start_token_id)
        shifted = torch.cat([before, labels[:, :-1]], 1)
        return shifted.masked_fill(shifted == -100, self.config.pad_token_id)

    def get_input_embeddings(self) -> nn.Embedding:
        return self.encoder.embedding

    def set_input_embeddings(self, value: nn.Module) -> None:
        self.encoder.embedding = cast(nn.Embedding, value)

    def get_output_embeddings(self) -> nn.Linear | None:
        """The layer that computes `logits`; with a pointer there is no such single layer."""
        return self.output if self.pointer is None else None

    def set_output_embeddings(self, new_embeddings: nn.Linear) -> None:
        self.output = new_embeddings

    def _resize_token_embeddings(
        self,
        new_num_tokens: int | None,
        pad_to_multiple_of: int | None = None,
        mean_resizing: bool = True,
    ) -> nn.Embedding:
        embedding = super()._resize_token_embeddings(
            new_num_tokens, pad_to_multiple_of, mean_resizing
        )
        if self.pointer is not None:  # the output layer, which get_output_embeddings hides
            size = embedding.num_embeddings
            self.output = self._get_resized_lm_head(self.output, size, mean_resizing=mean_resizing)
        return embedding

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False  # the cache has the same size after every word

    def _reorder_cache(
        self, past_key_values: tuple[Tensor, ...], beam_idx: Tensor
    ) -> tuple[Tensor, ...]:
        return tuple(part.index_select(0, beam_idx) for part in past_key_values)


@torch.no_grad()
def glorot_init(module: nn.Module, spread: float) -> None:
    """Set a module's own weights: biases 0, embeddings uniform, recurrent matrices orthogonal.

    Other matrices are as Glorot and Bengio (2010) have them: their outputs vary as much as their
    inputs, so that gradients reach the first of several layers.

    Args:
        module (`nn.Module`):
            The module, without those inside it.
        spread (`float`):
            Embeddings are in `[-spread, spread]`.
    """
    for name, parameter in module.named_parameters(recurse=False):
        if parameter.dim() < 2:
            nn.init.zeros_(parameter)
        elif "weight_hh" in name:
            nn.init.orthogonal_(parameter)
        elif isinstance(module, nn.Embedding):
            nn.init.uniform_(parameter, -spread, spread)
        else:
            nn.init.xavier_uniform_(parameter)


def given(tensor: Tensor | None) -> Tensor:
    """The tensor itself; raises if the output of an encoder lacks it."""
    if tensor is None:
        raise ValueError("expected the output of this model's encoder, found a part missing.")
    return tensor


def pick(vectors: Tensor, indices: Tensor) -> Tensor:
    """The vectors at these indices of each row, shape `(batch, indices, width)`."""
    return vectors.gather(1, indices[..., None].expand(-1, -1, vectors.shape[-1]))


def check_right_padding(decoder_attention_mask: Tensor | None) -> None:
    """Raise when a response begins with padding, which would change the decoder's state."""
    if decoder_attention_mask is not None and not decoder_attention_mask[:, 0].all():
        raise ValueError(
            "expected responses padded on the right, found padding before the first token. "
            "Pad them on the right, or continue prefixes of one length at a time."
        )
