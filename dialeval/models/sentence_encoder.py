"""Sentence vectors by any encoder of Hugging Face, for instance a multilingual one."""

from collections.abc import Sequence

import numpy as np

_MAX_LENGTH = 256
_BATCH = 2_048  # tokens


class SentenceEncoder:
    """Mean-pooled vectors of length 1 by the last layer of an encoder.

    Args:
        source (`str`):
            Folder, or name on the Hub. Code in its repository is not run.
    """

    def __init__(self, source: str):
        from transformers import AutoModel, AutoTokenizer

        from dialeval.models.loading import from_pretrained
        from dialeval.models.weights import best_device

        hint = "Give a sentence encoder: its folder, or its name on the Hub (and a network)."
        self.name = source
        self.tokenizer = from_pretrained(
            AutoTokenizer, source, what="tokenizer", hint=hint, truncation_side="left"
        )
        model = from_pretrained(
            AutoModel, source, what="sentence encoder", hint=hint, use_safetensors=True
        )
        self.model = model.to(best_device()).eval()
        limit = getattr(model.config, "max_position_embeddings", None) or _MAX_LENGTH
        self.max_length = min(limit, self.tokenizer.model_max_length, _MAX_LENGTH)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        from dialeval.models.batching import token_batches

        vectors = np.empty((len(texts), self.model.config.hidden_size), np.float32)
        if not len(texts):
            return vectors
        rows = self.tokenizer(list(texts), truncation=True, max_length=self.max_length)["input_ids"]
        for batch in token_batches([len(row) or 1 for row in rows], _BATCH):
            vectors[batch] = self._pooled([rows[row] for row in batch])
        return vectors

    def _pooled(self, rows: list[list[int]]) -> np.ndarray:
        import torch

        width = max(1, *map(len, rows))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])  # (batch, width)
        lengths = torch.tensor([max(1, len(row)) for row in rows])
        mask = (torch.arange(width) < lengths[:, None]).to(self.model.device)
        with torch.inference_mode():
            states = self.model(
                input_ids=ids.to(self.model.device), attention_mask=mask.long()
            ).last_hidden_state  # (batch, width, d)
            means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            return torch.nn.functional.normalize(means.float(), dim=-1).cpu().numpy()
