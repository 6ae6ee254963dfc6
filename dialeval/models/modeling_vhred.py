"""VHRED with attention: a hierarchical encoder-decoder with a latent variable.

A context is one row of tokens in which a separator ends each turn; it may be padded on either side.
Responses are padded on the right.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import Seq2SeqLMOutput

from .configuration_vhred import VhredConfig
from .modeling_vhred_encoder import Encoder, Gaussian, GaussianLayer, VhredEncoding, gaussian_kl
from .recurrent_decoding import Pointer, RecurrentGenerator, check_right_padding, given, glorot_init


@dataclass
class VhredOutput(Seq2SeqLMOutput):
    """Scores of the next tokens; of a known response also the divergence from the prior."""

    kl: Tensor | None = None  # (batch,)
    latent_mean: Tensor | None = None  # (batch, latent), of the posterior if there is one


class Decoder(nn.Module):
    """A GRU that reads words, the context and the latent value, with additive attention on top.

    Attention is applied to its states rather than fed into them, so that training is one call
    instead of a loop over words.
    """

    def __init__(self, config: VhredConfig):
        super().__init__()
        known = config.context_size + config.latent_size
        self.start = nn.Linear(known, config.hidden_size)
        self.layer = nn.GRU(config.embedding_size + known, config.hidden_size, batch_first=True)
        self.query = nn.Linear(config.hidden_size, config.attention_size)
        self.score = nn.Linear(config.attention_size, 1, bias=False)
        features = config.hidden_size + 2 * config.encoder_size
        self.combine = nn.Linear(features, config.embedding_size)

    def forward(
        self, words: Tensor, encoded: VhredEncoding, latent: Tensor, state: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Run over the words of the response.

        Args:
            words (`Tensor`):
                Word vectors, shape `(batch, steps, embedding)`.
            encoded (`VhredEncoding`):
                The context.
            latent (`Tensor`):
                Latent values, shape `(batch, latent)`.
            state (`Tensor`, *optional*):
                State before the first word, `(batch, 1, hidden)`; made from the context by default.

        Returns:
            `tuple`: What the output layer reads, what the pointer reads, attention weights, and the
                last state.
        """
        known = torch.cat([given(encoded.context), latent], -1)  # (batch, context + latent)
        if state is None:
            state = torch.tanh(self.start(known))[:, None]
        repeated = known[:, None].expand(-1, words.shape[1], -1)
        states, last = self.layer(
            torch.cat([words, repeated], -1), state.transpose(0, 1).contiguous()
        )
        weights = self.attend(states, encoded)  # (batch, steps, time)
        attended = weights @ given(encoded.last_hidden_state)
        vectors = torch.tanh(self.combine(torch.cat([states, attended], -1)))
        seen = torch.cat([attended, states, words], -1)
        return vectors, seen, weights, last.transpose(0, 1)

    def attend(self, states: Tensor, encoded: VhredEncoding) -> Tensor:
        """Weights of the context's tokens (Bahdanau et al., 2015, app. A.1.2)."""
        both = self.query(states)[:, :, None] + given(encoded.projected)[:, None]
        scores = self.score(torch.tanh(both)).squeeze(-1)  # (batch, steps, time)
        outside = ~given(encoded.mask)[:, None]
        # Not minus infinity: a row without any token would end in NaN.
        return scores.masked_fill(outside, torch.finfo(scores.dtype).min).softmax(-1)


class VhredGenerator(RecurrentGenerator):
    """A latent variable hierarchical encoder-decoder with attention.

    The cache is the decoder's state, a tuple of one tensor of shape `(batch, 1, hidden)`. `logits`
    are log-probabilities when tokens can be copied.
    """

    config_class = VhredConfig

    def __init__(self, config: VhredConfig):
        super().__init__(config)
        self.encoder = Encoder(config)
        features = config.context_size + 2 * config.encoder_size
        self.posterior = GaussianLayer(features, config.context_size, config.latent_size)
        self.decoder = Decoder(config)
        self.dropout = nn.Dropout(config.dropout)
        self.output = nn.Linear(config.embedding_size, config.vocab_size)
        width = 2 * config.encoder_size + config.hidden_size + config.embedding_size
        self.pointer = Pointer(width) if config.copy else None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        glorot_init(module, self.config.init_range)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: VhredEncoding | None = None,
        past_key_values: tuple[Tensor] | None = None,
        use_cache: bool | None = None,
        labels: Tensor | None = None,
        targets: Tensor | None = None,
        noise: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> VhredOutput | tuple[Any, ...]:
        """Scores of the next token after every token of the response.

        Args:
            input_ids, attention_mask (`Tensor`, *optional*):
                The context, shape `(batch, time)`; not needed with `encoder_outputs`.
            decoder_input_ids, decoder_attention_mask (`Tensor`, *optional*):
                The response so far, padded on the right; taken from `labels` by default.
            encoder_outputs (`VhredEncoding`, *optional*):
                The context, already encoded.
            past_key_values (`tuple[Tensor]`, *optional*):
                The decoder's state after the tokens that were read before.
            use_cache (`bool`, *optional*):
                Whether to return that state.
            labels (`Tensor`, *optional*):
                The response, -100 ignored; gives the negative evidence lower bound per token.
            targets (`Tensor`, *optional*):
                The same without a loss: the latent value comes from the posterior, and `kl` is its
                divergence from the prior. By default the latent value comes from the prior.
            noise (`Tensor`, *optional*):
                Standard normal noise of the latent value, shape `(batch, latent)`.
            return_dict (`bool`, *optional*):
                `False` returns a tuple.

        Returns:
            `VhredOutput`: With logits of shape `(batch, steps, vocabulary)`.
        """
        encoded = encoder_outputs or self.encoder(input_ids, attention_mask, noise)
        targets = labels if targets is None else targets
        if noise is None and targets is not None and input_ids is not None and not self.training:
            noise = self.encoder.row_noise(input_ids, given(encoded.mask)).to(
                given(encoded.context)
            )
        if decoder_input_ids is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(targets)
        check_right_padding(decoder_attention_mask)
        latent, mean, kl = self._latent(encoded, targets, noise)
        if targets is not None:  # dropped words make the posterior useful; the prior is the test
            decoder_input_ids = self._with_drops(decoder_input_ids)
        words = self.dropout(self.encoder.embedding(decoder_input_ids))
        state = past_key_values[0] if past_key_values else None
        vectors, seen, weights, state = self.decoder(words, encoded, latent, state)
        logits = self.output(self.dropout(vectors))  # (batch, steps, vocabulary)
        if self.pointer is not None:
            logits = self.pointer(logits, weights, seen, given(encoded.input_ids))
        output = VhredOutput(
            loss=None if labels is None else cast("Any", _bound(logits, labels, given(kl))),
            logits=logits,
            past_key_values=cast("Any", None if use_cache is False else (state,)),
            cross_attentions=(weights,),
            encoder_last_hidden_state=encoded.last_hidden_state,
            kl=kl,
            latent_mean=mean,
        )
        return output.to_tuple() if return_dict is False else output

    def _latent(
        self, encoded: VhredEncoding, targets: Tensor | None, noise: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """A latent value, the mean of its distribution, and the divergence from the prior."""
        prior = Gaussian(given(encoded.prior_mean), given(encoded.prior_deviation))
        if targets is None:
            return given(encoded.latent), prior.mean, None
        features = torch.cat([given(encoded.context), self.encoder.read_target(targets)], -1)
        posterior = self.posterior(features)
        if noise is None:
            noise = torch.randn_like(prior.mean) if self.training else torch.zeros_like(prior.mean)
        return posterior.draw(noise), posterior.mean, gaussian_kl(posterior, prior)

    def _with_drops(self, ids: Tensor) -> Tensor:
        """The decoder's inputs; in training some words are unknown, but not the start token."""
        if not self.training or not self.config.word_drop:
            return ids
        drops = torch.rand(ids.shape, device=ids.device) < self.config.word_drop
        drops[:, 0] = False
        return ids.masked_fill(drops, self.config.unk_token_id)


def _bound(logits: Tensor, labels: Tensor, kl: Tensor) -> Tensor:
    """The negative evidence lower bound, per counted token."""
    losses = F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), reduction="sum")
    return (losses + kl.sum()) / (labels != -100).sum().clamp(min=1)
