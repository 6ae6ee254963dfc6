"""What a network knows of a passage before it decides."""

from collections.abc import Sequence

import numpy as np
import torch

from dialeval.dialogues import BadInput, Passage, Passages
from dialeval.dialogues.storage import chunks, iterate_passages
from dialeval.models.batching import pad, token_batches
from dialeval.scorers.neural import NeuralScorer

_WINDOW = 16_384  # passages that are sorted by length together
_HEADS = ("classifier", "score")


class NeuralRepresentation:
    """The vector that a discriminator's last layer reads, shape `(n, d)`.

    Args:
        scorer (`NeuralScorer`):
            Whose model it is, and how it reads.
    """

    def __init__(self, scorer: NeuralScorer):
        self.scorer = scorer
        found = [getattr(scorer.model, name) for name in _HEADS if hasattr(scorer.model, name)]
        if not found:
            raise BadInput(f"{scorer.name} has no last layer by the name of {' or '.join(_HEADS)}.")
        self._head = found[0]

    def __call__(self, passages: Passages | Sequence[Passage]) -> np.ndarray:
        """A vector for each passage, in their order."""
        found = []
        for window in chunks(iterate_passages(passages), _WINDOW):
            rows = [each.ids for each in self.scorer.input_format(self.scorer.tokenizer, window)]
            rows = [ids or [self.scorer.pad_id] for ids in rows]
            vectors: list[np.ndarray | None] = [None] * len(rows)
            for batch in token_batches([len(ids) for ids in rows], self.scorer.max_tokens):
                for row, vector in zip(batch, self._read([rows[r] for r in batch]), strict=True):
                    vectors[row] = vector
            found += vectors
        return np.stack(found) if found else np.zeros((0, self._head.in_features))

    @torch.inference_mode()
    def _read(self, rows: list[list[int]]) -> np.ndarray:
        seen: list[torch.Tensor] = []
        hook = self._head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        self.scorer.model.eval()
        batch = pad(rows, self.scorer.pad_id)
        try:
            self.scorer.model(**{k: each.to(self.scorer.device) for k, each in batch.items()})
        finally:
            hook.remove()
        return seen[0].float().cpu().numpy()
