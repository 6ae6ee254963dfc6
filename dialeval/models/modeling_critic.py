"""The critic: the expected reward of a dialogue history, and of every prefix of a response to it.

An LSTM reads the words of each turn, another one the turns, as in the hierarchical discriminator
(Li et al., 2017, footnote 3). It reads tokens, so its gradients cannot reach the generator.
"""

import torch
from torch import Tensor, nn

from .configuration_recurrent import HierarchicalConfig
from .modeling_recurrent import HierarchicalDiscriminator
from .padding import inside


class HierarchicalCritic(HierarchicalDiscriminator):
    """Values of histories and of partial responses; the last layer starts at zero.

    Args:
        config (`HierarchicalConfig`):
            Sizes; it has one label.
    """

    def __init__(self, config: HierarchicalConfig):
        super().__init__(config)
        nn.init.zeros_(self.classifier.weight)  # as in the released code: all values start at 0
        nn.init.zeros_(self.classifier.bias)

    def values(
        self, context: Tensor, context_sizes: Tensor, response: Tensor, response_sizes: Tensor
    ) -> Tensor:
        """b(x), b(x, Y_1), b(x, Y_2), ... of each row, all from one pass.

        Args:
            context, response (`Tensor`):
                Tokens with the padding on the right, shape `(rows, time)` each.
            context_sizes, response_sizes (`Tensor`):
                Number of tokens of each row.

        Returns:
            `Tensor`: Shape `(rows, response time + 1)`, 0 after a response's last token.
        """
        vectors, count = self.turn_vectors(context, context_sizes)  # (rows, turns, hidden)
        states, cells = self._turn_states(vectors, count)  # (rows, hidden)
        words, _ = self.words(self.embed(response))  # (rows, time, hidden)
        rows, time, hidden = words.shape
        # Each prefix is one more turn: a step of the upper LSTM from the state of the history.
        before = tuple(part[:, None].expand(-1, time, -1).reshape(1, -1, hidden).contiguous()
                       for part in (states, cells))  # fmt: skip
        prefixes, _ = self.turns(self.dropout(words).reshape(-1, 1, hidden), before)
        both = torch.cat([states[:, None], prefixes.view(rows, time, hidden)], 1)
        values = self.classifier(self.dropout(both)).squeeze(-1)  # (rows, time + 1)
        return values * inside(response_sizes + 1, time + 1)

    def _turn_states(self, vectors: Tensor, count: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden and cell state after each row's last turn; both zero before the first."""
        hidden = cell = vectors.new_zeros(1, len(vectors), vectors.shape[-1])
        for turn, vector in enumerate(self.dropout(vectors).split(1, dim=1)):
            _, (new_hidden, new_cell) = self.turns(vector.contiguous(), (hidden, cell))
            reads = (turn < count)[None, :, None]
            hidden, cell = (
                torch.where(reads, new_hidden, hidden),
                torch.where(reads, new_cell, cell),
            )
        return hidden[0], cell[0]
