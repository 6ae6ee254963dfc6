"""Texts as vectors, by a small pretrained encoder that comes in a Python package."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import AutoModel, AutoTokenizer

from dialeval.models.packages import minilm_path


class MiniLm:
    """Mean-pooled vectors of length 1 by all-MiniLM-L6-v2, from an installed package.

    Args:
        max_length (`int`, *optional*, defaults to 256):
            Tokens of a text; the end of a longer one counts, where a context's last turn stands.
        max_tokens (`int`, *optional*, defaults to 2048):
            Tokens of a batch, padding included.
    """

    name = "minilm"

    def __init__(
        self, device: str | None = None, max_length: int = 256, max_tokens: int = 2_048
    ) -> None:
        path = minilm_path()
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.tokenizer = AutoTokenizer.from_pretrained(path, truncation_side="left")
        self.model = AutoModel.from_pretrained(path).to(self.device).eval()
        self.max_length, self.max_tokens = max_length, max_tokens

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        found = np.empty((len(texts), self.model.config.hidden_size), np.float32)
        for rows in self._batches([len(text) for text in texts]):
            found[rows] = self._pooled([texts[row] for row in rows]).cpu().numpy()
        return found

    @torch.inference_mode()
    def _pooled(self, texts: list[str]) -> Tensor:
        batch = self.tokenizer(
            texts, padding=True, truncation=True, max_length=self.max_length, return_tensors="pt"
        ).to(self.device)
        states = self.model(**batch).last_hidden_state  # (batch, time, d)
        mask = batch["attention_mask"][..., None].to(states.dtype)
        return F.normalize((states * mask).sum(1) / mask.sum(1), dim=-1)  # (batch, d)

    def _batches(self, lengths: Sequence[int]) -> Iterator[np.ndarray]:
        """Row numbers of like length in characters, of which a token has seldom fewer than two."""
        order = np.argsort(-np.asarray(lengths, dtype=int), kind="stable")
        start = 0
        while start < len(order):
            widest = min(self.max_length, lengths[order[start]] // 2 + 2)
            size = max(1, self.max_tokens // widest)
            yield order[start : start + size]
            start += size


class Remembered:
    """An embedder that reads no text twice.

    Args:
        embed (`Callable`, *optional*):
            From texts to vectors `(n, d)`; [`MiniLm`] by default, loaded when it is first needed.
    """

    def __init__(self, embed: Callable[[Sequence[str]], np.ndarray] | None = None):
        self._embed = embed
        self._vectors: dict[str, np.ndarray] = {}

    @property
    def name(self) -> str:
        """Whose vectors these are."""
        return getattr(self._embed, "name", "minilm" if self._embed is None else "embedder")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if new:
            self._embed = self._embed or MiniLm()
            self._vectors.update(zip(new, self._embed(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


class Known:
    """An embedder that knows some texts beforehand and remembers no others.

    What it says about a text does not depend on what it was asked before, to the last bit: texts
    that were never seen are read in the company of their own call only.

    Args:
        texts (`Iterable[str]`):
            What will be asked for again and again, such as all contexts.
    """

    def __init__(
        self,
        texts: Iterable[str],
        embed: Callable[[Sequence[str]], np.ndarray] | None = None,
    ):
        self._embed = embed or MiniLm()
        known = list(dict.fromkeys(texts))
        self._vectors = dict(zip(known, self._embed(known), strict=True)) if known else {}

    @property
    def name(self) -> str:
        """Whose vectors these are."""
        return getattr(self._embed, "name", "embedder")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        found = dict(zip(new, self._embed(new), strict=True)) if new else {}
        return np.stack([found[t] if t in found else self._vectors[t] for t in texts])
