"""What a context adds to the likelihood of a response, by a language model; cached on disk."""

from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from huggingface_hub.constants import HF_HOME

from dialeval.dialogues import Passage, Turn
from dialeval.scorers.cache import ScoreCache

MODEL = "smollm2"
_WINDOW = 64  # responses between two writes to the file


def default_path() -> Path:
    """The file of likelihoods, beside the caches of Hugging Face."""
    return Path(HF_HOME) / "dialeval" / "likelihoods.txt"


class ContextLikelihood:
    """Mean log-probabilities of responses per token, with and without their contexts.

    A language model of 135 million parameters scores about one response a second on one core, so
    every number is appended to a file, and an interrupted run continues where it stopped.

    Args:
        scorer (`Callable`, *optional*):
            From passages to log-probabilities; SmolLM2 by default, loaded when it is first needed.
        path (`Path`, *optional*):
            File of the numbers; beside the caches of Hugging Face by default.
    """

    def __init__(
        self, scorer: Callable[[list[Passage]], np.ndarray] | None = None, path: Path | None = None
    ):
        self._scorer: Any = scorer
        self._path = path
        self._cache: ScoreCache | None = None

    def __call__(self, pairs: Sequence[tuple[tuple[str, ...], str]]) -> np.ndarray:
        """log p(response | context), log p(response), and their difference, shape `(n, 3)`."""
        given = self._scores(list(pairs))
        alone = self._scores([((), response) for _, response in pairs])
        return np.stack([given, alone, given - alone], 1)

    def _scores(self, pairs: list[tuple[tuple[str, ...], str]]) -> np.ndarray:
        self._scorer = self._scorer or _language_model()
        if self._cache is None:  # an empty one is false
            self._cache = ScoreCache(self._path or default_path())
        keys = [self._key(pair) for pair in pairs]
        new = {key: pair for key, pair in zip(keys, pairs, strict=True)
               if np.isnan(self._cache.get(key))}  # fmt: skip
        for start in range(0, len(new), _WINDOW):
            window = list(new)[start : start + _WINDOW]
            scores = self._scorer([_passage(new[key]) for key in window])
            self._cache.put(window, np.asarray(scores, dtype=np.float64))
        return np.array([self._cache.get(key) for key in keys])

    def _key(self, pair: tuple[tuple[str, ...], str]) -> str:
        model = getattr(self._scorer, "signature", getattr(self._scorer, "__name__", "model"))
        digest = blake2b(str(model).encode(), digest_size=12)
        for text in (*pair[0], "\x00", pair[1]):
            digest.update(b"\x01" + text.encode())
        return digest.hexdigest()


def _language_model() -> Any:
    from dialeval.scorers.zeroshot import ZeroShotScorer

    return ZeroShotScorer.from_pretrained(MODEL, "log-probability")


def _passage(pair: tuple[tuple[str, ...], str]) -> Passage:
    turns = tuple(Turn("AB"[at % 2], text) for at, text in enumerate(pair[0]))
    return Passage(turns, pair[1] or " ")
