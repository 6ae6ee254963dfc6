"""Vectors of single words by a pretrained sentence encoder, for networks with few pairs."""

from collections.abc import Callable, Sequence

import numpy as np

from dialeval.errors import BadInput


def word_vectors(
    words: Sequence[str],
    size: int,
    embed: Callable[[Sequence[str]], np.ndarray] | None = None,
) -> np.ndarray:
    """Vectors of words in their main directions, with mean 0 and variance 1 over all numbers.

    Args:
        words (`Sequence[str]`):
            The vocabulary.
        size (`int`):
            Width of the vectors.
        embed (`Callable`, *optional*):
            From texts to vectors `(n, d)`; all-MiniLM-L6-v2 by default.

    Returns:
        `np.ndarray`: Shape `(words, size)`.

    Raises:
        BadInput: The encoder has fewer directions.
    """
    if embed is None:
        from dialeval.models.embedding import MiniLm

        embed = MiniLm()
    vectors = np.asarray(embed(list(words)), dtype=np.float64)
    if size > vectors.shape[1]:
        raise BadInput(
            f"the word vectors have {vectors.shape[1]} numbers, but {size} are needed.",
            hint=f"Set --embedding_size to {vectors.shape[1]} or less.",
        )
    vectors -= vectors.mean(0)
    _, directions = np.linalg.eigh(vectors.T @ vectors)  # from the smallest to the largest
    reduced = vectors @ directions[:, ::-1][:, :size]
    return (reduced / max(float(reduced.std()), 1e-12)).astype(np.float32)
