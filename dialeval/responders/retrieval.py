"""The responder that retrieves the human reply to the most similar context."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dialeval import progress
from dialeval.dialogues import BadInput, Passage, Passages, iterate
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.storage import chunks, iterate_passages
from dialeval.dialogues.types import text_hash
from dialeval.models.embedding import MiniLm
from dialeval.responders.base import HYPOTHESIS, Responses, answer
from dialeval.responders.simple import human_replies, pool_name

Embed = Callable[[Sequence[str]], np.ndarray]
"""Texts to vectors, shape `(n, d)`."""

_QUERIES = 1_024  # contexts that are embedded together
_POOLED = 4_096  # contexts of the pool that are embedded together
_SIMILARITIES = 2**24  # in memory at once
_DECIMALS = 6  # equal contexts tie, independent of the order of summation


class RetrievalResponder:
    """A human's reply to the context with the highest cosine similarity of embeddings.

    Replies from the passage's dialogue and to contexts with exactly the same words are excluded.
    Corpora contain copies of dialogues under other ids, whose reply would be the true response;
    and a human's reply to this very context is what an evaluator compares with. Among equally
    similar contexts the first of the pool is used.

    Args:
        pool (`Passages` or sequence of `Passage`):
            Where replies come from; only the human ones are used.
        embed (`Callable`, *optional*):
            From texts to vectors `(n, d)`; [`MiniLm`] by default. A context is one text, with one
            turn per line.
        k (`int`, *optional*, defaults to 1):
            Replies per passage, most similar first, numbered as hypotheses if there are several.
        name (`str`, *optional*, defaults to `"retrieval"`):
            Name in tables.
    """

    def __init__(
        self,
        pool: Passages | Sequence[Passage],
        embed: Embed | None = None,
        k: int = 1,
        name: str = "retrieval",
    ) -> None:
        if k < 1:
            raise BadInput(f"`k` is at least 1, but got {k}.")
        human = human_replies(pool)
        self.k, self.name, self.embed = k, name, embed or MiniLm()
        self._dialogues = row_hashes(human, ["dialogue_id"])
        self._contexts = np.fromiter(map(_words, iterate(human)), np.uint64, len(human))
        self._replies = human.select_columns(["response", "dialogue_id"]).with_format("arrow")
        self._pool = pool_name(row_hashes(human, ["dialogue_id", "context", "response"]))
        self._vectors = self._embed_pool(human)  # (pool, d)

    @property
    def signature(self) -> str:
        """How the responses are made."""
        embed = getattr(self.embed, "name", None) or getattr(self.embed, "__name__", None)
        embed = embed or type(self.embed).__name__
        return f"responder:{self.name}|embed:{embed}|k:{self.k}|pool:{self._pool}"

    def __repr__(self) -> str:
        return self.signature

    def stream(self, passages: Passages | Sequence[Passage]) -> Responses:
        """The replies to the `k` most similar contexts."""
        for group in chunks(enumerate(iterate_passages(passages)), _QUERIES):
            rows = self._nearest([passage for _, passage in group])  # (group, k)
            replies = self._replies[rows.ravel()].to_pylist()
            for row, (index, passage) in enumerate(group):
                for number, reply in enumerate(replies[row * self.k : (row + 1) * self.k]):
                    numbered = {HYPOTHESIS: number} if self.k > 1 else {}
                    response = answer(passage, reply["response"], self, **numbered)
                    yield index, replace(response, source_dialogue_id=reply["dialogue_id"])

    def _nearest(self, passages: list[Passage]) -> np.ndarray:
        """Rows of the pool for each passage, most similar first, shape `(passages, k)`."""
        queries = self._embed([_text(passage) for passage in passages])  # (passages, d)
        step = max(1, _SIMILARITIES // len(self._vectors))
        return np.concatenate(
            [
                self._search(queries[start : start + step], passages[start : start + step])
                for start in range(0, len(passages), step)
            ]
        )

    def _search(self, queries: np.ndarray, passages: list[Passage]) -> np.ndarray:
        """Rows of the pool for a block of passages, most similar first, shape `(block, k)`."""
        similarity = (queries @ self._vectors.T).round(_DECIMALS)  # (block, pool)
        dialogues = np.array([text_hash([p.dialogue_id]) for p in passages], np.uint64)
        contexts = np.array([_words(p) for p in passages], np.uint64)
        similarity[self._dialogues == dialogues[:, None]] = -np.inf
        similarity[self._contexts == contexts[:, None]] = -np.inf
        self._check_enough(np.isfinite(similarity).sum(1), passages)
        rows, block = np.empty((len(passages), self.k), int), np.arange(len(passages))
        for rank in range(self.k):
            rows[:, rank] = similarity.argmax(1)
            similarity[block, rows[:, rank]] = -np.inf
        return rows

    def _check_enough(self, free: np.ndarray, passages: list[Passage]) -> None:
        if free.min() < self.k:
            worst = int(free.argmin())
            raise BadInput(
                f"passage {passages[worst].id!r} needs {self.k} replies from other dialogues to "
                f"other contexts, but the pool of {len(self._vectors)} has {free[worst]}.",
                hint="Give a pool with more dialogues.",
            )

    def _embed_pool(self, human: Passages) -> np.ndarray:
        """Vectors of all contexts; an encoder may hold several numbers for each that it returns."""
        bar = progress.bar(f"{self.name}: embedding the pool", len(human), " contexts")
        parts = []
        for window in chunks(map(_text, iterate(human)), _POOLED):
            parts.append(self._embed(window))
            bar.update(len(window))
        bar.close()
        return np.concatenate(parts)

    def _embed(self, texts: list[str]) -> np.ndarray:
        """Vectors of length 1."""
        vectors = np.asarray(self.embed(texts), dtype=np.float32)  # (n, d)
        if vectors.ndim != 2 or len(vectors) != len(texts) or not np.isfinite(vectors).all():
            raise BadInput(
                f"expected finite vectors of shape ({len(texts)}, d) from the embedder, "
                f"but got shape {vectors.shape}."
            )
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-12)


def _text(passage: Passage) -> str:
    """A context as one text, one turn per line."""
    return "\n".join(turn.text for turn in passage.context)


def _words(passage: Passage) -> int:
    """A hash of the words of a context."""
    return text_hash(turn.text for turn in passage.context)
