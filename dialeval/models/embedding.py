"""Texts as vectors, by a small pretrained encoder that comes in a Python package."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dialeval.models.loading import from_pretrained
from dialeval.models.packages import minilm_path

if TYPE_CHECKING:
    from torch import Tensor

STATES = 4
"""Vectors of a text in [`MiniLm.states`]."""
_CHUNK = 8_192  # texts whose states are in memory in full precision
_WIDTHS = (8, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256)
_LOWER_LAYERS = (1, 3)
_END_LAYER = 3


class MiniLm:
    """Mean-pooled vectors of length 1 by all-MiniLM-L6-v2, from an installed package.

    The last layer says what a text is about. Its lower layers, which the same pass computes, also
    say how it is put: whether it asks, answers or takes leave. `states` has both.

    Args:
        max_length (`int`, *optional*, defaults to 256):
            Tokens of a text; a longer one is cut at its start, since its end is the last turn.
        max_tokens (`int`, *optional*):
            Tokens of a batch, padding included; by default 512 on a CPU, whose caches they then
            fit, and 16,384 elsewhere.
    """

    name = "minilm"

    def __init__(
        self, device: str | None = None, max_length: int = 256, max_tokens: int | None = None
    ) -> None:
        import torch
        from transformers import AutoModel, AutoTokenizer

        path = minilm_path()
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.tokenizer = from_pretrained(AutoTokenizer, path, truncation_side="left")
        self.model = from_pretrained(AutoModel, path).to(self.device).eval()
        self.max_length = max_length
        self.max_tokens = max_tokens or (512 if self.device.type == "cpu" else 16_384)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        return self.states(texts)[:, 0]

    def states(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1 in the order of the texts, shape `(n, STATES, d)`.

        The first is the one that `__call__` returns; then the means of layers 1 and 3, and the
        last token of layer 3, which is the end mark where there is one.
        """
        states = np.empty((len(texts), STATES, self.model.config.hidden_size), np.float32)
        if not len(texts):
            return states
        ids = self.tokenizer(list(texts), truncation=True, max_length=self.max_length)["input_ids"]
        for width, rows in _batches([len(row) for row in ids], self.max_tokens):
            states[rows] = self._pooled([ids[row] for row in rows], width).cpu().numpy()
        return states

    def _pooled(self, ids: list[list[int]], width: int) -> "Tensor":
        import torch

        with torch.inference_mode():
            return self._states_of(ids, width)

    def _states_of(self, ids: list[list[int]], width: int) -> "Tensor":
        import torch
        from torch.nn import functional as F

        from dialeval.models.batching import pad

        batch = pad(ids, self.tokenizer.pad_token_id, width=width)
        inputs = {name: tensor.to(self.device) for name, tensor in batch.items()}
        layers = self.model(**inputs, output_hidden_states=True).hidden_states
        mask = inputs["attention_mask"].to(layers[-1])[..., None]  # (batch, time, 1)
        counts = mask.sum(1)
        means = [(layers[at] * mask).sum(1) / counts for at in (-1, *_LOWER_LAYERS)]
        last = (inputs["attention_mask"].sum(1) - 2).clamp(min=0)  # before the separator
        end = layers[_END_LAYER][torch.arange(len(ids), device=last.device), last]
        return F.normalize(torch.stack([*means, end], 1), dim=-1)  # (batch, STATES, d)


def _batches(sizes: Sequence[int], max_tokens: int) -> Iterator[tuple[int, list[int]]]:
    """Widths and rows of batches; the width of a text depends on its length only.

    The last bits of a vector depend on the padding of its text. With padding that does not depend
    on which other texts are computed, a run that was stopped and resumed has the same vectors as
    one that was not.
    """
    by_width: dict[int, list[int]] = {}
    for row, size in enumerate(sizes):
        width = next((width for width in _WIDTHS if size <= width), size)
        by_width.setdefault(width, []).append(row)
    for width in sorted(by_width):
        rows, most = by_width[width], max(1, max_tokens // width)
        for start in range(0, len(rows), most):
            yield width, rows[start : start + most]


class CachedEmbedder:
    """An embedder that computes no text twice.

    Of an embedder with `states`, those are cached too, in half precision.

    Args:
        embed (`Callable`, *optional*):
            From texts to vectors `(n, d)`; [`MiniLm`] by default, loaded when it is first needed.
    """

    def __init__(self, embed: Callable[[Sequence[str]], np.ndarray] | None = None):
        self._embed = embed
        self._vectors: dict[str, np.ndarray] = {}
        self._states: dict[str, np.ndarray] = {}

    @property
    def name(self) -> str:
        """Name of the embedder."""
        return getattr(self._embed, "name", "minilm" if self._embed is None else "embedder")

    @property
    def has_states(self) -> bool:
        """Whether the embedder has `states`."""
        return self._embed is None or hasattr(self._embed, "states")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        self._compute(texts)
        return np.stack([self._vectors[text] for text in texts])

    def states(self, texts: Sequence[str]) -> np.ndarray:
        """States in the order of the texts, shape `(n, STATES, d)`; see [`MiniLm.states`]."""
        self._compute(texts)
        return np.stack([self._states[text] for text in texts])

    def _compute(self, texts: Sequence[str]) -> None:
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        if not new:
            return
        self._embed = self._embed or MiniLm()
        if not self.has_states:
            self._vectors.update(zip(new, self._embed(new), strict=True))
            return
        for start in range(0, len(new), _CHUNK):
            chunk = new[start : start + _CHUNK]
            states = self._embed.states(chunk)  # type: ignore[attr-defined]
            self._vectors.update(zip(chunk, states[:, 0].copy(), strict=True))
            self._states.update(zip(chunk, states.astype(np.float16), strict=True))


class PrefilledEmbedder:
    """An embedder that computes some texts in advance and caches no others.

    The vector of a text does not depend on earlier calls, to the last bit: other texts are only
    batched with the texts of the same call.

    Args:
        texts (`Iterable[str]`):
            Texts that will be needed repeatedly, such as all contexts.
        embed (`Callable`, *optional*):
            From texts to vectors `(n, d)`; [`MiniLm`] by default.
    """

    def __init__(
        self,
        texts: Iterable[str],
        embed: Callable[[Sequence[str]], np.ndarray] | None = None,
    ):
        self._embed = embed or MiniLm()
        distinct = list(dict.fromkeys(texts))
        self._vectors = dict(zip(distinct, self._embed(distinct), strict=True)) if distinct else {}

    @property
    def name(self) -> str:
        """Name of the embedder."""
        return getattr(self._embed, "name", "embedder")

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`."""
        new = [text for text in dict.fromkeys(texts) if text not in self._vectors]
        vectors = dict(zip(new, self._embed(new), strict=True)) if new else {}
        return np.stack([vectors[t] if t in vectors else self._vectors[t] for t in texts])
