"""The last hidden representation of a discriminator, as features."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import chunks, iterate_passages

if TYPE_CHECKING:
    from torch import Tensor

    from dialeval.scorers.neural import NeuralScorer

_WINDOW = 16_384  # passages that are sorted by length together
_HEADS = ("classifier", "score")


class NeuralRepresentation:
    """The vector that a discriminator's last layer reads, shape `(n, d)`.

    Args:
        scorer (`NeuralScorer`):
            The discriminator.
    """

    def __init__(self, scorer: "NeuralScorer"):
        self.scorer = scorer
        heads = [getattr(scorer.model, name) for name in _HEADS if hasattr(scorer.model, name)]
        if not heads:
            raise BadInput(f"{scorer.name} has no last layer called {' or '.join(_HEADS)}.")
        self._head = heads[0]

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """A vector for each passage, in their order."""
        from dialeval.models.batching import token_batches

        vectors: list[np.ndarray] = []
        for window in chunks(iterate_passages(passages), _WINDOW):
            encoded = self.scorer.input_format(self.scorer.tokenizer, window)
            rows = [passage.ids or [self.scorer.pad_id] for passage in encoded]
            by_row: dict[int, np.ndarray] = {}
            for batch in token_batches([len(ids) for ids in rows], self.scorer.max_tokens):
                for row, vector in zip(batch, self._read([rows[r] for r in batch]), strict=True):
                    by_row[int(row)] = vector
            vectors += (by_row[row] for row in range(len(rows)))
        return np.stack(vectors) if vectors else np.zeros((0, self._head.in_features))

    def _read(self, rows: list[list[int]]) -> np.ndarray:
        import torch

        from dialeval.models.batching import pad

        seen: list[Tensor] = []
        hook = self._head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        self.scorer.model.eval()
        batch = pad(rows, self.scorer.pad_id)
        try:
            with torch.inference_mode():
                self.scorer.model(**{k: value.to(self.scorer.device) for k, value in batch.items()})
        finally:
            hook.remove()
        return seen[0].float().cpu().numpy()
