"""The papers' generator: an LSTM encoder-decoder with attention, and a pointer if wanted.

Contexts may be padded on either side, responses on the right.
"""

from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput, Seq2SeqLMOutput

from .configuration_seq2seq import Seq2SeqConfig
from .recurrent_decoding import Pointer, RecurrentGenerator, check_right_padding, given, pick

State = tuple[Tensor, Tensor]  # hidden and cell state, each (batch, layers, hidden)


@dataclass
class EncoderOutput(BaseModelOutput):
    """A context as the decoder sees it; `generate` repeats all of it for each hypothesis.

    `last_hidden_state` holds the top states in the order of the input, `(batch, time, hidden)`.
    """

    state_h: Tensor | None = None  # (batch, layers, hidden), after the last token
    state_c: Tensor | None = None  # (batch, layers, hidden)
    projected: Tensor | None = None  # (batch, time, hidden), only for additive attention
    input_ids: Tensor | None = None  # (batch, time)
    mask: Tensor | None = None  # (batch, time), true on tokens


class Encoder(nn.Module):
    """LSTM layers over the context, in one direction or two.

    The LSTMs have no biases, as in Li et al.'s code: then zeros read from a zero state leave it at
    zero, and rows that begin with their padding need no packing to end in their last token's state.
    """

    main_input_name = "input_ids"

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.pad_token_id = config.pad_token_id
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.dropout = nn.Dropout(config.dropout)
        directions = 2 if config.bidirectional else 1
        widths = [config.embedding_size] + [config.hidden_size] * (config.num_layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(lstm(width, config.hidden_size // directions) for _ in range(directions))
            for width in widths
        )
        additive = config.attention == "bahdanau"
        self.project = linear(config.hidden_size, config.hidden_size) if additive else None

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, **kwargs: Any
    ) -> EncoderOutput:
        if attention_mask is None:  # generate() does not infer one for an encoder
            attention_mask = input_ids != self.pad_token_id
        mask = attention_mask.bool()
        order = mask.long().argsort(dim=1, stable=True)  # padding first, then the tokens
        vectors = self.embedding(input_ids) * mask[..., None]  # (batch, time, embedding)
        states, state_h, state_c = self.read(pick(vectors, order), mask.gather(1, order))
        states = pick(states, order.argsort(1))  # (batch, time, hidden)
        projected = None if self.project is None else self.project(states)
        return EncoderOutput(
            last_hidden_state=cast("torch.FloatTensor", states),  # the legacy type of transformers
            state_h=state_h,
            state_c=state_c,
            projected=projected,
            input_ids=input_ids,
            mask=mask,
        )

    def read(self, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Top states, and the last hidden and cell state of each layer; padding comes first."""
        mirror, last = mirror_indices(mask), []
        for layer in self.layers:
            assert isinstance(layer, nn.ModuleList)  # one LSTM for each direction
            states = self.dropout(states)
            read, final = layer[0](states)  # (batch, time, width), (1, batch, width) twice
            if len(layer) == 2:
                backward, others = layer[1](pick(states, mirror))
                read = torch.cat([read, pick(backward, mirror)], -1)
                final = [torch.cat(pair, -1) for pair in zip(final, others, strict=True)]
            states = read  # (batch, time, hidden)
            last.append(final)
        state_h, state_c = (torch.cat(final).transpose(0, 1) for final in zip(*last, strict=True))
        return states, state_h, state_c


class Attention(nn.Module):
    """Attention over the context, combined with the decoder's state."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        width = config.hidden_size
        self.combine = linear(2 * width, width)
        if config.attention == "bahdanau":
            self.query, self.score = linear(width, width), linear(width, 1)

    def forward(self, states: Tensor, encoded: EncoderOutput) -> tuple[Tensor, Tensor, Tensor]:
        """Attentional vectors and contexts, `(batch, steps, hidden)`; weights over the tokens."""
        scores = self.scores(states, encoded)  # (batch, steps, time)
        outside = ~given(encoded.mask)[:, None]
        # Not minus infinity: a row without any token would end in NaN.
        weights = scores.masked_fill(outside, torch.finfo(scores.dtype).min).softmax(-1)
        context = weights @ given(encoded.last_hidden_state)
        vectors = torch.tanh(self.combine(torch.cat([context, states], -1)))  # Luong, eq. 5
        return vectors, context, weights

    def scores(self, states: Tensor, encoded: EncoderOutput) -> Tensor:
        """How well each token suits each state, before the softmax, `(batch, steps, time)`."""
        if encoded.projected is None:
            return states @ given(encoded.last_hidden_state).transpose(
                1, 2
            )  # Luong et al., 2015, eq. 8
        query, key = self.query(states)[:, :, None], encoded.projected[:, None]
        both = query + key  # (batch, steps, time, hidden)
        return self.score(torch.tanh(both)).squeeze(-1)  # Bahdanau et al., 2015, app. A.1.2


class Decoder(nn.Module):
    """LSTM layers over the response that start where the encoder ended, with attention on top."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.feeding = config.input_feeding
        width = config.embedding_size + config.hidden_size * self.feeding
        self.layers = lstm(width, config.hidden_size, config.num_layers, config.dropout)
        self.attention = Attention(config)

    def forward(
        self, words: Tensor, encoded: EncoderOutput, state: State
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, State]:
        """Run over the words of the response.

        Args:
            words (`Tensor`):
                Word vectors, shape `(batch, steps, embedding)`.
            encoded (`EncoderOutput`):
                The context.
            state (`State`):
                Hidden and cell state before the first word.

        Returns:
            `tuple`: Attentional vectors, contexts, weights, states, and the state after the last
                word.
        """
        if self.feeding:
            return self._forward_fed(words, encoded, state)
        states, state = self.run(words, state)
        return *self.attention(states, encoded), states, state

    def _forward_fed(
        self, words: Tensor, encoded: EncoderOutput, state: State
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, State]:
        """Run word by word, each with the previous vector as input (Luong et al., sec. 3.3)."""
        # The first vector is what the last state attends to, so a cache of states is enough.
        vector = self.attention(state[0][:, -1:], encoded)[0]  # (batch, 1, hidden)
        steps = []
        for word in words.split(1, dim=1):
            states, state = self.run(torch.cat([word, vector], -1), state)
            steps.append((*self.attention(states, encoded), states))
            vector = steps[-1][0]
        vectors, contexts, weights, top = (
            torch.cat(parts, 1) for parts in zip(*steps, strict=True)
        )
        return vectors, contexts, weights, top, state

    def run(self, inputs: Tensor, state: State) -> tuple[Tensor, State]:
        """Top states, and the last state of each layer with the batch first."""
        layers_first = tuple(part.transpose(0, 1).contiguous() for part in state)
        states, (hidden, cell) = self.layers(inputs, layers_first)
        return states, (hidden.transpose(0, 1), cell.transpose(0, 1))


class Seq2SeqGenerator(RecurrentGenerator):
    """A sequence-to-sequence model with attention (Li et al., 2017, sec. 3.3).

    `logits` are log-probabilities when tokens can be copied. The cache is the hidden and the cell
    state, each of shape `(batch, layers, hidden)`. `cross_attentions` holds the weights of the
    context's tokens, one tensor of shape `(batch, steps, time)`, and `decoder_hidden_states` the
    vectors that the output layer reads, one of shape `(batch, steps, hidden)`.
    """

    config_class = Seq2SeqConfig
    _tied_weights_keys = {"output.weight": "encoder.embedding.weight"}  # noqa: RUF012, as its base

    def __init__(self, config: Seq2SeqConfig):
        super().__init__(config)
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)
        self.dropout = nn.Dropout(config.dropout)
        self.output = linear(config.hidden_size, config.vocab_size)
        features = 2 * config.hidden_size + config.embedding_size
        self.pointer = Pointer(features) if config.copy else None
        self.post_init()

    def _init_weights(self, module: nn.Module) -> None:
        for parameter in module.parameters(recurse=False):
            nn.init.uniform_(parameter, -self.config.init_range, self.config.init_range)

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        encoder_outputs: EncoderOutput | None = None,
        past_key_values: State | None = None,
        use_cache: bool | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> Seq2SeqLMOutput | tuple[Any, ...]:
        """Scores of the next token after every token of the response.

        Args:
            input_ids, attention_mask (`Tensor`, *optional*):
                The context, shape `(batch, time)`; not needed with `encoder_outputs`.
            decoder_input_ids, decoder_attention_mask (`Tensor`, *optional*):
                The response so far, padded on the right; taken from `labels` by default.
            encoder_outputs (`EncoderOutput`, *optional*):
                The context, already encoded.
            past_key_values (`State`, *optional*):
                Hidden and cell state after the tokens that were read before.
            use_cache (`bool`, *optional*):
                Whether to return that state.
            labels (`Tensor`, *optional*):
                The response; gives the mean negative log-likelihood as the loss.
            return_dict (`bool`, *optional*):
                `False` returns a tuple.

        Returns:
            `Seq2SeqLMOutput`: With logits of shape `(batch, steps, vocabulary)`.
        """
        encoded = encoder_outputs or self.encoder(input_ids, attention_mask)
        if decoder_input_ids is None:
            decoder_input_ids = self.prepare_decoder_input_ids_from_labels(labels)
        check_right_padding(decoder_attention_mask)
        state = past_key_values or (given(encoded.state_h), given(encoded.state_c))
        words = self.dropout(self.encoder.embedding(decoder_input_ids))  # one vocabulary for both
        vectors, context, weights, states, state = self.decoder(words, encoded, state)
        logits = self.output(self.dropout(vectors))  # (batch, steps, vocabulary)
        if self.pointer is not None:
            seen = torch.cat([context, states, words], -1)
            logits = self.pointer(logits, weights, seen, given(encoded.input_ids))
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
        output = Seq2SeqLMOutput(
            loss=cast("torch.FloatTensor | None", loss),
            logits=logits,
            past_key_values=None if use_cache is False else state,
            decoder_hidden_states=(vectors,),
            cross_attentions=(weights,),
            encoder_last_hidden_state=encoded.last_hidden_state,
        )
        return output.to_tuple() if return_dict is False else output


def lstm(width: int, hidden: int, layers: int = 1, dropout: float = 0.0) -> nn.LSTM:
    """LSTM layers without biases, with dropout between them.

    Args:
        width (`int`):
            Size of the inputs.
        hidden (`int`):
            Size of the states.
        layers (`int`, *optional*, defaults to 1):
            Number of layers.
        dropout (`float`, *optional*, defaults to 0.0):
            Dropout between the layers.

    Returns:
        `nn.LSTM`: Layers that take the batch first.
    """
    between = dropout if layers > 1 else 0.0
    return nn.LSTM(width, hidden, layers, bias=False, batch_first=True, dropout=between)


def linear(width: int, to: int) -> nn.Linear:
    """A matrix; like the LSTMs without biases, as in Li et al.'s code."""
    return nn.Linear(width, to, bias=False)


def mirror_indices(mask: Tensor) -> Tensor:
    """Indices that reverse the tokens of each row and keep the padding before them.

    Examples:
        >>> mirror_indices(torch.tensor([[False, False, True, True, True]])).tolist()
        [[0, 1, 4, 3, 2]]
    """
    indices = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    first = mask.shape[1] - mask.sum(1, keepdim=True)
    return torch.where(mask, first + mask.shape[1] - 1 - indices, indices)
