"""The encoding side of VHRED: utterances, the context, and Gaussians for the latent variable."""

import zlib
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers.modeling_outputs import BaseModelOutput

from .configuration_vhred import VhredConfig
from .recurrent_decoding import pick

LEAST_DEVIATION = 1e-3  # of a Gaussian; its logarithm stays finite


class Gaussian(NamedTuple):
    """Normal distributions with independent dimensions, each `(batch, latent)`."""

    mean: Tensor
    deviation: Tensor

    def draw(self, noise: Tensor) -> Tensor:
        """A value that is differentiable in both parameters, from standard normal noise."""
        return self.mean + self.deviation * noise


def gaussian_kl(posterior: Gaussian, prior: Gaussian) -> Tensor:
    """KL(posterior || prior) in nats, summed over dimensions, shape `(batch,)`.

    This is the direction of the evidence lower bound (Serban et al., 2016, eq. 10); the released
    code of Niu and Bansal computes the reverse.

    Examples:
        >>> one, two = torch.ones(1, 1), torch.full((1, 1), 2.0)
        >>> round(gaussian_kl(Gaussian(one, one), Gaussian(0 * one, two)).item(), 4)  # ln 2 - 1/4
        0.4431
    """
    ratio = (posterior.deviation / prior.deviation).square()
    shift = ((posterior.mean - prior.mean) / prior.deviation).square()
    return 0.5 * (ratio + shift - 1 - ratio.log()).sum(-1)


@dataclass
class VhredEncoding(BaseModelOutput):
    """A context as the decoder sees it; `generate` repeats all of it for each hypothesis.

    `last_hidden_state` holds the utterance encoder's states, `(batch, time, 2 * encoder)`.
    """

    context: Tensor | None = None  # (batch, context), after the last turn
    prior_mean: Tensor | None = None  # (batch, latent)
    prior_deviation: Tensor | None = None  # (batch, latent)
    latent: Tensor | None = None  # (batch, latent), drawn from the prior
    projected: Tensor | None = None  # (batch, time, attention)
    input_ids: Tensor | None = None  # (batch, time)
    mask: Tensor | None = None  # (batch, time), true on tokens


class Turns(NamedTuple):
    """Where the tokens of a row stand in a grid of turns."""

    column: Tensor  # (batch, turns * length), the row's column of each cell; 0 in empty ones
    cell: Tensor  # (batch, time), the cell of each token; 0 for padding
    lengths: Tensor  # (batch, turns), tokens of each turn


def split_turns(input_ids: Tensor, mask: Tensor, separator: int) -> Turns:
    """The grid of a batch of rows; a separator is the last token of its turn.

    Args:
        input_ids, mask (`Tensor`):
            Tokens, and where they are no padding, shape `(batch, time)`.
        separator (`int`):
            The token that ends a turn.

    Returns:
        `Turns`: Indices from rows to turns and back.

    Examples:
        >>> ids = torch.tensor([[0, 7, 3, 8, 9, 3]])
        >>> turns = split_turns(ids, ids != 0, 3)
        >>> turns.lengths.tolist(), turns.cell.tolist()
        ([[2, 3]], [[0, 0, 1, 3, 4, 5]])
    """
    ended = ((input_ids == separator) & mask).long()
    turn = (ended.cumsum(1) - ended) * mask  # (batch, time)
    turns = int(turn.max()) + 1
    lengths = mask.new_zeros(len(mask), turns, dtype=torch.long)
    lengths.scatter_add_(1, turn, mask.long())
    before = lengths.cumsum(1) - lengths  # tokens in earlier turns
    position = mask.long().cumsum(1) - 1 - before.gather(1, turn)
    width = max(1, int(lengths.max()))
    cell = torch.where(mask, turn * width + position, 0)
    columns = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    index = torch.zeros(len(mask), turns * width, dtype=torch.long, device=mask.device)
    # Padding writes column 0 into a cell that no token has: one past the end, then cut off.
    index = F.pad(index, (0, 1)).scatter(1, torch.where(mask, cell, turns * width), columns)
    return Turns(index[:, :-1], cell, lengths)


class UtteranceEncoder(nn.Module):
    """A bidirectional GRU over the tokens of one utterance."""

    def __init__(self, config: VhredConfig):
        super().__init__()
        width = config.embedding_size, config.encoder_size
        self.onward = nn.GRU(*width, batch_first=True)
        self.backward_ = nn.GRU(*width, batch_first=True)

    def forward(self, vectors: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """States of the tokens `(rows, length, 2 * encoder)`, and of the whole utterances.

        Rows are padded on the right. An utterance without tokens is a vector of zeros.
        """
        at = torch.arange(vectors.shape[1], device=vectors.device)
        mirror = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)  # (rows, length)
        onward = self.onward(vectors)[0]
        backward = self.backward_(pick(vectors, mirror))[0]
        last = (lengths - 1).clamp(min=0)[:, None]
        whole = torch.cat([pick(onward, last), pick(backward, last)], -1)[:, 0]
        states = torch.cat([onward, pick(backward, mirror)], -1)
        return states, whole * (lengths > 0)[:, None]


class GaussianLayer(nn.Module):
    """A Gaussian from features: two tanh layers, then mean and deviation (Serban et al., 2016)."""

    def __init__(self, width: int, hidden: int, latent: int):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh()
        )
        self.mean, self.deviation = nn.Linear(hidden, latent), nn.Linear(hidden, latent)

    def forward(self, features: Tensor) -> Gaussian:
        hidden = self.layers(features)
        return Gaussian(self.mean(hidden), F.softplus(self.deviation(hidden)) + LEAST_DEVIATION)


class Encoder(nn.Module):
    """Utterance and context encoder, the prior, and a latent value drawn from it."""

    main_input_name = "input_ids"

    def __init__(self, config: VhredConfig):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocab_size, config.embedding_size)
        self.dropout = nn.Dropout(config.dropout)
        self.utterance = UtteranceEncoder(config)
        self.context = nn.GRU(2 * config.encoder_size, config.context_size, batch_first=True)
        self.prior = GaussianLayer(config.context_size, config.context_size, config.latent_size)
        self.key = nn.Linear(2 * config.encoder_size, config.attention_size, bias=False)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        noise: Tensor | None = None,
        **kwargs: Any,
    ) -> VhredEncoding:
        """The encoding of a context.

        Args:
            input_ids, attention_mask (`Tensor`):
                The context, shape `(batch, time)`.
            noise (`Tensor`, *optional*):
                Standard normal noise of the latent value, shape `(batch, latent)`. By default new
                noise in training, and what the configuration says otherwise.

        Returns:
            `VhredEncoding`: With a latent value from the prior.
        """
        if attention_mask is None:  # generate() does not infer one for an encoder
            attention_mask = input_ids != self.config.pad_token_id
        mask = attention_mask.bool()
        states, context = self.read(input_ids, mask)
        prior = self.prior(context)
        noise = self.noise(input_ids, mask).to(context) if noise is None else noise
        return VhredEncoding(
            last_hidden_state=cast("torch.FloatTensor", states),
            context=context,
            prior_mean=prior.mean,
            prior_deviation=prior.deviation,
            latent=prior.draw(noise),
            projected=self.key(states),
            input_ids=input_ids,
            mask=mask,
        )

    def read(self, input_ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """States of the tokens, and the context encoder's state after the last turn."""
        turns = split_turns(input_ids, mask, self.config.separator_token_id)
        rows, count = turns.lengths.shape
        vectors = self.dropout(self.embedding(input_ids))  # (batch, time, embedding)
        grid = pick(vectors, turns.column).view(rows * count, -1, vectors.shape[-1])
        states, utterances = self.utterance(grid, turns.lengths.flatten())
        states = pick(states.reshape(rows, -1, states.shape[-1]), turns.cell) * mask[..., None]
        over = self.context(utterances.view(rows, count, -1))[0]  # (batch, turns, context)
        last = (turns.lengths > 0).sum(1, keepdim=True).clamp(min=1) - 1
        return states, pick(over, last)[:, 0]

    def read_target(self, targets: Tensor) -> Tensor:
        """The utterance encoder's vector of responses, in which -100 is padding."""
        lengths = (targets != -100).sum(1)
        words = self.dropout(self.embedding(targets.clamp(min=0)))
        return self.utterance(words, lengths)[1]

    def noise(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Noise of the latent value: new, none, or a function of the context and the seed."""
        shape = len(input_ids), self.config.latent_size
        if self.training:
            return torch.randn(shape, device=input_ids.device)
        if self.config.latent == "mean":
            return torch.zeros(shape, device=input_ids.device)
        return self.row_noise(input_ids, mask)

    def row_noise(self, input_ids: Tensor, mask: Tensor) -> Tensor:
        """Noise that depends on each context and the seed, but not on the batch."""
        pairs = zip(input_ids, mask, strict=True)
        rows = [_row_noise(ids[kept], self.config) for ids, kept in pairs]
        return torch.stack(rows).to(input_ids.device)


def _row_noise(ids: Tensor, config: VhredConfig) -> Tensor:
    """Noise for one context, the same in any batch and process."""
    # On a CPU torch uses the lowest 32 bits of a seed, so the seed of the run is hashed as well.
    key = zlib.crc32(",".join(map(str, [config.latent_seed, *ids.tolist()])).encode())
    generator = torch.Generator().manual_seed(key)
    return torch.randn(config.latent_size, generator=generator)
