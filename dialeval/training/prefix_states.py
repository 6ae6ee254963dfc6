"""States of a generator after every prefix of sampled responses, from which roll-outs start."""

from collections.abc import Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from dialeval.dialogues import BadInput
from dialeval.models import Seq2SeqGenerator
from dialeval.models.batching import pad
from dialeval.models.heads import output_at
from dialeval.models.modeling_seq2seq import EncoderOutput
from dialeval.responders.generators import Generator
from dialeval.responders.kv_cache import gather_preallocated
from dialeval.scorers.ranking import additive_mask, packable
from dialeval.training.policy import Drawn

Rows = Sequence[Sequence[int]]


class PrefixStates(Protocol):
    """States of a model after every prefix of some responses."""

    shrink_at: float
    """Share of unfinished rows at which the others are dropped; depends on what `keep` costs."""

    def logits(self, response: Tensor, prefix: Tensor) -> Tensor:
        """Logits of the token after each prefix, shape `(rows, vocabulary)`."""
        ...

    def start(self, response: Tensor, prefix: Tensor, left: Tensor) -> None:
        """Begin a batch with these prefixes.

        Args:
            response, prefix (`Tensor`):
                Which response, and how many of its tokens, for each roll-out.
            left (`Tensor`):
                Tokens that may follow at most.
        """
        ...

    def step(self, tokens: Tensor) -> Tensor:
        """Read one token per row; logits of the next one."""
        ...

    def keep(self, rows: Tensor) -> None:
        """Continue with some rows only."""
        ...


def read_prefixes(generator: Generator, drawn: Drawn, rows: Sequence[int]) -> PrefixStates:
    """Read some responses once.

    Args:
        generator (`Generator`):
            A causal model, or dialeval's encoder-decoder.
        drawn (`Drawn`):
            Sampled responses.
        rows (`Sequence[int]`):
            Which of them; states count from the first.

    Returns:
        `PrefixStates`: Models that share contexts within a row decode all prefixes in it.
    """
    prompts, responses = ([side[row] for row in rows] for side in (drawn.prompts, drawn.responses))
    if isinstance(generator.model, Seq2SeqGenerator):
        return _RecurrentStates(generator, prompts, responses)
    if generator.is_encoder_decoder:
        kind = generator.model.config.model_type
        raise BadInput(
            f"Monte-Carlo search needs a causal model or dialeval's seq2seq, but got {kind!r}.",
            hint="Choose the objective reinforce or regs-partial.",
        )
    if packable(generator.model):
        return _PackedStates(generator, prompts, responses)
    return _CausalStates(generator, prompts, responses)


class _CausalStates:
    """Keys and values of contexts with their responses, read in one pass; a row per roll-out."""

    shrink_at = 0.75

    def __init__(self, generator: Generator, prompts: Rows, responses: Rows):
        self.model: Any = generator.model
        both = zip(prompts, responses, strict=True)
        # No roll-out starts after the last token.
        rows = [[*prompt, *response[:-1]] for prompt, response in both]
        batch = {k: v.to(self.model.device) for k, v in pad(rows, generator.pad_id).items()}
        self.sizes = torch.tensor([len(ids) for ids in prompts], device=self.model.device)
        counts = torch.tensor([len(ids) - 1 for ids in responses], device=self.model.device)
        self.first = counts.cumsum(0) - counts  # row of the logits after the first token
        row = torch.arange(len(counts), device=counts.device).repeat_interleave(counts.clamp(min=0))
        column = torch.arange(len(row), device=row.device) - self.first[row] + self.sizes[row]
        self.after, output = output_at(self.model, batch, row, column, use_cache=True)
        self.cache = output.past_key_values
        self.positions = generator.max_positions

    def logits(self, response: Tensor, prefix: Tensor) -> Tensor:
        return self.after[self.first[response] + prefix - 1]

    def start(self, response: Tensor, prefix: Tensor, left: Tensor) -> None:
        self.position = self.sizes[response] + prefix  # of the next token
        width = int(self.position.max())
        self.now = gather_preallocated(self.cache, response, width, int(left.max()))
        columns = torch.arange(width, device=prefix.device)
        self.mask = (columns < self.position[:, None]).long()

    def step(self, tokens: Tensor) -> Tensor:
        self.mask = F.pad(self.mask, (0, 1), value=1)
        output = self.model(
            input_ids=tokens[:, None],
            attention_mask=self.mask,
            position_ids=self.position[:, None],
            past_key_values=self.now,
            use_cache=True,
        )
        # One that ended may stay in its batch; a position past the model's last one would fail.
        last = None if self.positions is None else self.positions - 1
        self.position = (self.position + 1).clamp(max=last) if last else self.position + 1
        return output.logits[:, -1]

    def keep(self, rows: Tensor) -> None:
        layer: Any = self.now.layers[0]
        self.now = gather_preallocated(self.now, rows, self.mask.shape[1], layer.room)
        self.mask, self.position = self.mask[rows], self.position[rows]


class _PackedStates(_CausalStates):
    """The same with one row per response, in which all its roll-outs are decoded side by side.

    Context and response are not copied for each roll-out, and attention reads them once for all. A
    token sees the prefix of its roll-out and the roll-out's own tokens.
    """

    shrink_at = 1.0

    def start(self, response: Tensor, prefix: Tensor, left: Tensor) -> None:
        self.responses, self.row = response.unique(return_inverse=True)
        self.limit = self.sizes[response] + prefix  # columns of the response that are seen
        self.position = self.limit.clone()
        self.number = torch.arange(len(self.row), device=self.row.device)
        width = int(self.limit.max())
        self.now = gather_preallocated(self.cache, self.responses, width, self._columns(left))
        self.column_limit = torch.arange(width, device=self.row.device)
        self.roll_out = self.row.new_zeros(len(self.responses), 0)  # of each new column

    def _columns(self, left: Tensor) -> int:
        """Columns that all steps need at most: in each of them those of the fullest row."""
        steps = [self.row[left > step] for step in range(1, int(left.max()))]
        return sum(int(torch.bincount(rows).max()) for rows in steps if len(rows))

    def step(self, tokens: Tensor) -> Tensor:
        row, slot = self.row, self._slots()
        shape = len(self.responses), int(slot.max()) + 1
        grid = tokens.new_zeros(3, *shape)  # token, position and roll-out in each slot
        grid[2] = -1
        grid[:, row, slot] = torch.stack([tokens, self.position, self.number])
        self.roll_out = torch.cat([self.roll_out, grid[2]], 1)  # (responses, new columns)
        limits = tokens.new_ones(shape)  # an empty slot sees the first token
        limits[row, slot] = self.limit
        old = self.column_limit < limits[..., None]
        new = (self.roll_out[:, None] == grid[2][..., None]) & (grid[2] >= 0)[..., None]
        allowed = torch.cat([old, new], -1)[:, None]  # (responses, 1, slots, columns)
        mask = additive_mask(allowed, next(self.model.parameters()).dtype)
        inputs = {"input_ids": grid[0], "position_ids": grid[1], "attention_mask": mask}
        options = {"past_key_values": self.now, "use_cache": True}
        logits, _ = output_at(self.model, inputs, row, slot, **options)
        self.position = self.position + 1
        return logits

    def _slots(self) -> Tensor:
        """The number of each roll-out among those of its response."""
        order = self.row.argsort(stable=True)
        counts = torch.bincount(self.row, minlength=len(self.responses))
        first = counts.cumsum(0) - counts
        slot = torch.empty_like(order)
        slot[order] = torch.arange(len(order), device=order.device) - first[self.row[order]]
        return slot

    def keep(self, rows: Tensor) -> None:
        self.row, self.limit = self.row[rows], self.limit[rows]
        self.position, self.number = self.position[rows], self.number[rows]


class _RecurrentStates:
    """States of an LSTM decoder after every token of the responses."""

    shrink_at = 0.9

    def __init__(self, generator: Generator, prompts: Rows, responses: Rows):
        self.model: Any = generator.model
        device = self.model.device
        batch = {k: v.to(device) for k, v in pad(prompts, generator.pad_id).items()}
        self.encoded = self.model.get_encoder()(**batch)
        start = self.model.generation_config.decoder_start_token_id
        rows = [[start, *response[:-1]] for response in responses]
        inputs = pad(rows, generator.pad_id)["input_ids"].to(device)  # (responses, time)
        state, states, logits = None, [], []
        for tokens in inputs.split(1, dim=1):
            output = self.model(
                encoder_outputs=self.encoded, decoder_input_ids=tokens, past_key_values=state
            )
            state = output.past_key_values
            states.append(state)
            logits.append(output.logits[:, -1])
        self.after = torch.stack(logits, 1)  # (responses, time, vocabulary)
        hidden, cell = zip(*states, strict=True)
        self.state = torch.stack(hidden, 1), torch.stack(cell, 1)  # (responses, time, ...)

    def logits(self, response: Tensor, prefix: Tensor) -> Tensor:
        return self.after[response, prefix]

    def start(self, response: Tensor, prefix: Tensor, left: Tensor) -> None:
        self.now = tuple(part[response, prefix] for part in self.state)
        self.context = _select(self.encoded, response)

    def step(self, tokens: Tensor) -> Tensor:
        output = self.model(
            encoder_outputs=self.context,
            decoder_input_ids=tokens[:, None],
            past_key_values=self.now,
        )
        self.now = output.past_key_values
        return output.logits[:, -1]

    def keep(self, rows: Tensor) -> None:
        self.now = tuple(part[rows] for part in self.now)
        self.context = _select(self.context, rows)


def _select(encoded: EncoderOutput, rows: Tensor) -> EncoderOutput:
    """The contexts of some rows."""
    return EncoderOutput(**{name: tensor[rows] for name, tensor in encoded.items()})
