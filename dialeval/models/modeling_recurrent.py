"""Recurrent discriminators: each reads a passage as one row of tokens and classifies its author.

Turns end with the `eos` token, the last turn is the response. Rows may be padded on either side.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import PreTrainedModel
from transformers.modeling_outputs import SequenceClassifierOutput

from .configuration_recurrent import (
    AttentionConfig,
    ConcatConfig,
    HierarchicalConfig,
    RecurrentDiscriminatorConfig,
    RnnConfig,
)
from .padding import align_left, inside

_FORGET_BIAS = 2.0
_INPUT_GAIN = 1.5


class RecurrentDiscriminator(PreTrainedModel):
    """What the recurrent discriminators share: an embedding, a two-way classifier, a loss.

    Each adds `pool(input_ids, lengths)`, which takes tokens with all padding on the right and gives
    the representation before the softmax, shape `(batch, pooled)`, and further outputs.
    """

    config_class: type[RecurrentDiscriminatorConfig] = RecurrentDiscriminatorConfig
    base_model_prefix = "discriminator"
    _input_embed_layer = "embedding"
    pooled_size = 1  # widths of `hidden_size` that the classifier reads

    def __init__(self, config: RecurrentDiscriminatorConfig):
        super().__init__(config)
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(self.pooled_size * config.hidden_size, config.num_labels or 2)

    def _init_weights(self, module: nn.Module) -> None:
        if self.config.initial_weights == "scaled":
            scaled_init(module)
            return
        for parameter in module.parameters(recurse=False):
            nn.init.uniform_(parameter, -self.config.init_range, self.config.init_range)

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
                1 for tokens, 0 for padding; by default all but the padding token.
            labels (`Tensor`, *optional*):
                1 for human, 0 for machine; gives the cross entropy as the loss.

        Returns:
            `SequenceClassifierOutput`: With logits of shape `(batch, 2)`.
        """
        if attention_mask is None:
            attention_mask = (input_ids != self.config.pad_token_id).long()
        input_ids, lengths = align_left(input_ids, attention_mask)
        pooled, more = self.pool(input_ids, lengths)  # (batch, pooled)
        logits = self.classifier(self.dropout(pooled))  # (batch, 2)
        loss = None if labels is None else F.cross_entropy(logits, labels)
        # transformers annotates the legacy type, of which no tensor is an instance.
        return SequenceClassifierOutput(
            loss=cast("torch.FloatTensor | None", loss), logits=logits, **more
        )

    def pool(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Any]]:
        """The representation before the softmax, `(batch, pooled)`, and further outputs."""
        raise NotImplementedError

    def embed(self, input_ids: Tensor) -> Tensor:
        """Word vectors, with dropout."""
        return self.dropout(self.embedding(input_ids))  # (..., embedding)


class HierarchicalDiscriminator(RecurrentDiscriminator):
    """An LSTM over the words of each turn, an LSTM over the turns (Li et al., 2017, sec. 3.1)."""

    config_class: type[RecurrentDiscriminatorConfig] = HierarchicalConfig

    def __init__(self, config: HierarchicalConfig):
        super().__init__(config)
        self.words = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True)
        self.turns = nn.LSTM(config.hidden_size, config.hidden_size, batch_first=True)
        self.post_init()

    def pool(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Any]]:
        vectors, count = self.turn_vectors(input_ids, lengths)  # (batch, turns, hidden)
        return last_state(self.turns, self.dropout(vectors), count), {}

    def turn_vectors(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """Last hidden state of each turn, shape `(batch, turns, hidden)`, and turns in each row."""
        turns, sizes, row, position = split_turns(input_ids, lengths, self.config.eos_token_id)
        states = last_state(self.words, self.embed(turns), sizes)  # (all turns, hidden)
        count = torch.bincount(row, minlength=len(input_ids))
        vectors = states.new_zeros(len(input_ids), int(count.max()), states.shape[-1])
        vectors[row, position] = states
        return vectors, count


class ConcatDiscriminator(HierarchicalDiscriminator):
    """The turns' vectors side by side, into a softmax (Li et al., 2017, sec. 5.1).

    A passage has at most `max_turns` turns, counted from the response; missing ones are zero.
    """

    config_class = ConcatConfig

    def __init__(self, config: ConcatConfig):
        RecurrentDiscriminator.__init__(self, config)
        self.words = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True)
        self.classifier = nn.Linear(config.max_turns * config.hidden_size, config.num_labels or 2)
        self.post_init()

    def pool(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Any]]:
        vectors, count = self.turn_vectors(input_ids, lengths)  # (batch, turns, hidden)
        most = self.config.max_turns
        back = torch.arange(most, device=vectors.device)  # 0 is the response
        index = count[:, None] - 1 - back  # (batch, most)
        chosen = vectors.gather(
            1, index.clamp(min=0)[..., None].expand(-1, -1, vectors.shape[-1])
        )  # (batch, most, hidden)
        return (chosen * (index >= 0)[..., None]).flatten(1), {}


class AttentionDiscriminator(RecurrentDiscriminator):
    """A bidirectional LSTM whose states are weighted by attention (Bruni and Fernández, 2017).

    `attentions` holds the weight of each token, shape `(batch, time)`, in the order of the input
    without its padding; `hidden_states` the states of the LSTM, from which those of the context
    and of the response are separated by [`response_mask`].
    """

    config_class = AttentionConfig
    pooled_size = 2

    def __init__(self, config: AttentionConfig):
        super().__init__(config)
        self.words = nn.LSTM(
            config.embedding_size, config.hidden_size, batch_first=True, bidirectional=True
        )
        self.hidden = nn.Linear(2 * config.hidden_size, 2 * config.hidden_size)
        self.query = nn.Linear(2 * config.hidden_size, 1, bias=False)
        self.post_init()

    def pool(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Any]]:
        states = all_states(self.words, self.embed(input_ids), lengths)  # (batch, time, 2 hidden)
        hidden = torch.tanh(self.hidden(states))  # eq. 4
        scores = self.query(hidden).squeeze(-1)  # (batch, time)
        outside = ~inside(lengths, states.shape[1])
        weights = scores.masked_fill(outside, float("-inf")).softmax(-1)  # eq. 5
        pooled = (weights[..., None] * states).sum(1)  # (batch, 2 hidden)
        return pooled, {"attentions": weights, "hidden_states": states}


class RnnDiscriminator(RecurrentDiscriminator):
    """One LSTM over message and response, and a classifier (Kannan and Vinyals, 2016, sec. 2)."""

    config_class = RnnConfig

    def __init__(self, config: RnnConfig):
        super().__init__(config)
        self.words = nn.LSTM(config.embedding_size, config.hidden_size, batch_first=True)
        self.post_init()

    def pool(self, input_ids: Tensor, lengths: Tensor) -> tuple[Tensor, dict[str, Any]]:
        return last_state(self.words, self.embed(input_ids), lengths), {}


@torch.no_grad()
def scaled_init(module: nn.Module) -> None:
    """Set a module's own weights so that a new network remembers words and combines turns.

    With all weights within ±0.1, the papers' start, the forget gates of an LSTM are half open: a
    turn's vector has lost all but its last two or three words, which are its end marks. And all
    activations are so small that the network is a sum over turns, by which a reply and a random
    one cannot be distinguished. It takes very many pairs to leave that state. Here forget gates
    start nearly open (Jozefowicz et al., 2015), recurrent matrices are orthogonal, the others as
    large as those of Glorot and Bengio (2010) or larger, and word vectors have variance 1.
    """
    if isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight)
    elif isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.LSTM):
        for name, parameter in module.named_parameters(recurse=False):
            _init_gates(name, parameter)


def _init_gates(name: str, parameter: Tensor) -> None:
    """Set the input, forget, cell and output gates of one parameter of an LSTM."""
    for number, gate in enumerate(parameter.chunk(4)):
        if name.startswith("weight_hh"):
            nn.init.orthogonal_(gate)
        elif name.startswith("weight_ih"):
            nn.init.xavier_uniform_(gate, gain=_INPUT_GAIN)
        else:
            is_forget = number == 1 and name.startswith("bias_ih")  # bias_hh is added to it
            nn.init.constant_(gate, _FORGET_BIAS if is_forget else 0.0)


def split_turns(
    input_ids: Tensor, lengths: Tensor, eos: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The turns of all rows, one a row, shape `(turns, time)`; their sizes, rows and positions.

    Args:
        input_ids (`Tensor`):
            Tokens with the padding on the right, shape `(batch, time)`.
        lengths (`Tensor`):
            Tokens of each row, shape `(batch,)`.
        eos (`int`):
            The token that ends a turn.

    Returns:
        `tuple[Tensor, Tensor, Tensor, Tensor]`: The turns, padded with zeros, and for each turn its
        number of tokens, its row in the batch, and its position among the turns of that row.
    """
    turn, is_token = turn_numbers(input_ids, lengths, eos)
    row, time = is_token.nonzero(as_tuple=True)
    key = row * input_ids.shape[1] + turn[row, time]
    _, number, sizes = key.unique_consecutive(return_inverse=True, return_counts=True)
    starts = sizes.cumsum(0) - sizes
    turns = input_ids.new_zeros(len(sizes), int(sizes.max()))
    turns[number, torch.arange(len(number), device=row.device) - starts[number]] = input_ids[
        row, time
    ]
    return turns, sizes, row[starts], turn[row, time][starts]


def last_state(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor) -> Tensor:
    """The hidden state after each sequence's last item, shape `(batch, hidden)`.

    Args:
        lstm (`nn.LSTM`):
            A layer in one direction.
        inputs (`Tensor`):
            Vectors with the padding on the right, shape `(batch, time, width)`.
        lengths (`Tensor`):
            Items of each sequence, shape `(batch,)`.

    Returns:
        `Tensor`: The states.
    """
    # Running over the padding and indexing is several times faster than packing on a CPU.
    states, _ = lstm(inputs)  # (batch, time, hidden)
    return states[torch.arange(len(states), device=states.device), lengths - 1]


def all_states(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor) -> Tensor:
    """Hidden states at each item, zero on padding, shape `(batch, time, directions * hidden)`.

    Args:
        lstm (`nn.LSTM`):
            A layer in one direction or two.
        inputs (`Tensor`):
            Vectors with the padding on the right, shape `(batch, time, width)`.
        lengths (`Tensor`):
            Items of each sequence, shape `(batch,)`.

    Returns:
        `Tensor`: The states.
    """
    packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
    return pad_packed_sequence(lstm(packed)[0], batch_first=True)[0]


def response_mask(input_ids: Tensor, attention_mask: Tensor, eos: int) -> Tensor:
    """A mask of the response in left-aligned rows, shape `(batch, time)`.

    Args:
        input_ids (`Tensor`):
            Tokens, padded on either side.
        attention_mask (`Tensor`):
            1 on tokens.
        eos (`int`):
            The token that ends a turn.

    Returns:
        `Tensor`: True on the tokens of the last turn.
    """
    input_ids, lengths = align_left(input_ids, attention_mask)
    turn, is_token = turn_numbers(input_ids, lengths, eos)
    return is_token & (turn == turn.masked_fill(~is_token, 0).amax(1, keepdim=True))


def turn_numbers(input_ids: Tensor, lengths: Tensor, eos: int) -> tuple[Tensor, Tensor]:
    """The number of each token's turn, its end token included, and a mask of the tokens.

    Args:
        input_ids (`Tensor`):
            Tokens with the padding on the right, shape `(batch, time)`.
        lengths (`Tensor`):
            Tokens of each row, shape `(batch,)`.
        eos (`int`):
            The token that ends a turn.

    Returns:
        `tuple[Tensor, Tensor]`: The numbers, from 0, and the mask, both of shape `(batch, time)`.
    """
    is_token = inside(lengths, input_ids.shape[1])
    is_end = ((input_ids == eos) & is_token).long()
    return is_end.cumsum(1) - is_end, is_token
