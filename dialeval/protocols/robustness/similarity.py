"""How near texts are: by averaged word vectors, as the paper's Table 4, and by a sentence encoder.

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
            Whose embeddings these are.
        weight (`Tensor`):
            One row a token, shape `(vocabulary, d)`.
    """

    def __init__(self, name: str, tokenizer: Any, weight: torch.Tensor):
        self.name, self.tokenizer, self.weight = name, tokenizer, weight

    @classmethod
    def of(cls, generator: Any) -> "MeanEmbedding":
        """A generator's own."""
        weight = generator.model.get_input_embeddings().weight
        return cls(f"{generator.name}'s own", generator.tokenizer, weight)

    @classmethod
    def minilm(cls) -> "MeanEmbedding":
        """Those of all-MiniLM-L6-v2, for systems whose own are not at hand."""
        from dialeval.models.embedding import MiniLm

        found = MiniLm("cpu")
        return cls("minilm's words", found.tokenizer, found.model.get_input_embeddings().weight)

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
        found = F.embedding_bag(ids.to(device), self.weight.float(), starts.to(device), mode="mean")
        return found.double().cpu().numpy()


def likeness(embed: Embed, texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """Cosine of two texts' vectors; 1 for equal texts, 0 where only one of them says anything."""
    texts, others = [each.strip() for each in texts], [each.strip() for each in others]
    found = np.ones(len(texts))
    differ = np.array([one != two for one, two in zip(texts, others, strict=True)], dtype=bool)
    silent = np.array([not (one and two) for one, two in zip(texts, others, strict=True)], bool)
    found[differ & silent] = 0.0
    rows = np.flatnonzero(differ & ~silent)
    if len(rows):
        found[rows] = cosine(embed([texts[row] for row in rows]), embed([others[r] for r in rows]))
    return found


def cosine(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosines of rows; 0 where one has no length.

    Example:
        >>> cosine(np.array([[3.0, 4.0]]), np.array([[4.0, 3.0]])).tolist()
        [0.96]
    """
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(lengths > 0, (first * second).sum(1) / lengths, 0.0)


def unrelated_distance(
    embed: Embed, texts: Sequence[str], groups: Sequence[Hashable]
) -> float | None:
    """Mean of 1 - cosine over all two texts of different groups; `None` if there are no two.

    Sums of vectors give it exactly, without going through the pairs.
    """
    spoken = [row for row, text in enumerate(texts) if text.strip()]
    if not spoken:
        return None
    vectors = np.asarray(embed([texts[row].strip() for row in spoken]), dtype=float)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    unit = encode_ids([groups[row] for row in spoken], len(spoken))
    sizes = np.bincount(unit)
    sums = np.zeros((len(sizes), vectors.shape[1]))
    np.add.at(sums, unit, vectors)
    pairs = len(unit) ** 2 - (sizes**2).sum()
    if not pairs:
        return None
    total = vectors.sum(0)
    return float(1 - (total @ total - (sums**2).sum()) / pairs)


def context_text(passage: Passage) -> str:
    """The words of a context."""
    return "\n".join(turn.text for turn in passage.context)
