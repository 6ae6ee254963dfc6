"""Similarity of texts: by averaged word vectors, as in the paper's Table 4, and by an encoder.

(Liu et al., 2016, embedding average; Niu and Bansal, 2018, sec. 6.1)
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional as F

from dialeval.dialogues import Passage
from dialeval.metrics.checks import encode_ids

Embed = Callable[[Sequence[str]], np.ndarray]


class MeanEmbedding:
    """The mean of a model's input embeddings over the tokens of a text.

    Args:
        name (`str`):
            Name of the model.
        tokenizer (`PreTrainedTokenizerBase`):
            Its tokenizer.
        weight (`Tensor`):
            One row per token, shape `(vocabulary, d)`.
    """

    def __init__(self, name: str, tokenizer: Any, weight: torch.Tensor):
        self.name, self.tokenizer, self.weight = name, tokenizer, weight

    @classmethod
    def of(cls, generator: Any) -> "MeanEmbedding":
        """With the embeddings of a generator."""
        weight = generator.model.get_input_embeddings().weight
        return cls(f"{generator.name}'s own", generator.tokenizer, weight)

    @classmethod
    def minilm(cls) -> "MeanEmbedding":
        """With those of all-MiniLM-L6-v2, for systems that do not run in this process."""
        from dialeval.models.embedding import MiniLm

        encoder = MiniLm("cpu")
        weight = encoder.model.get_input_embeddings().weight
        return cls("minilm's words", encoder.tokenizer, weight)

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors in the order of the texts, shape `(n, d)`; 0 for a text without tokens."""
        if not texts:
            return np.zeros((0, self.weight.shape[1]))
        rows = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        sizes = [len(row) for row in rows]
        ids = torch.tensor([token for row in rows for token in row], dtype=torch.long)
        starts = torch.tensor([0, *np.cumsum(sizes)[:-1].tolist()], dtype=torch.long)
        device = self.weight.device
        if not len(ids):
            return np.zeros((len(texts), self.weight.shape[1]))
        means = F.embedding_bag(ids.to(device), self.weight.float(), starts.to(device), mode="mean")
        return means.double().cpu().numpy()


def text_similarity(embed: Embed, texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """Cosines of pairs of texts; 1 for equal texts, 0 if exactly one of the two is empty.

    Args:
        embed (`Callable`):
            From texts to vectors `(n, d)`.
        texts, others (`Sequence[str]`):
            The pairs, aligned.

    Returns:
        `ndarray`: Shape `(n,)`.
    """
    texts, others = [text.strip() for text in texts], [text.strip() for text in others]
    similarity = np.ones(len(texts))
    pairs = list(zip(texts, others, strict=True))
    differ = np.array([one != two for one, two in pairs], dtype=bool)
    empty = np.array([not (one and two) for one, two in pairs], dtype=bool)
    similarity[differ & empty] = 0.0
    rows = np.flatnonzero(differ & ~empty).tolist()
    if rows:
        vectors = embed([texts[row] for row in rows]), embed([others[row] for row in rows])
        similarity[rows] = cosine(*vectors)
    return similarity


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosines of rows; 0 if one of them has length 0.

    Examples:
        >>> cosine(np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]])).tolist()
        [0.96]
    """
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(lengths > 0, (first * second).sum(1) / lengths, 0.0)


def unrelated_distance(
    embed: Embed, texts: Sequence[str], groups: Sequence[Hashable]
) -> float | None:
    """Mean of 1 - cosine over all pairs of texts from different groups.

    It is exact, but computed from sums of vectors rather than from the pairs.

    Args:
        embed (`Callable`):
            From texts to vectors `(n, d)`.
        texts (`Sequence[str]`):
            The texts; empty ones are left out.
        groups (`Sequence[Hashable]`):
            The group of each text.

    Returns:
        `float` or `None`: `None` if there is no such pair.
    """
    rows = [row for row, text in enumerate(texts) if text.strip()]
    if not rows:
        return None
    vectors = np.asarray(embed([texts[row].strip() for row in rows]), dtype=float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    unit = encode_ids([groups[row] for row in rows], len(rows))
    sizes = np.bincount(unit)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, unit, vectors)
    pairs = len(unit) ** 2 - (sizes**2).sum()
    if not pairs:
        return None
    total = vectors.sum(0)
    return float(1 - (total @ total - (sums**2).sum()) / pairs)


def context_text(passage: Passage) -> str:
    """The text of a context, one turn per line."""
    return "\n".join(turn.text for turn in passage.context)
