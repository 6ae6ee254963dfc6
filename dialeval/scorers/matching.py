"""How well a response matches its context, by two towers that were fitted in advance.

One tower reads the last turns, the other the response; the products of their outputs say whether
the response answers these turns. The towers were fitted to the embedded corpus (chitchat), on two
tasks at once: the true reply among those of other dialogues, and the true reply against the turn
after it. `recipes/matching.py` makes the file.
"""

import itertools
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import save

from dialeval.files import atomic_write
from dialeval.scorers.crossed import end_mark, last_sentence, words_of

PATH = Path(__file__).parent / "resources" / "matching.safetensors"
CORPUS = "chitchat"
"""The corpus that the towers were fitted to. There they know which reply follows which turn: in its
dialogues they prefer the true reply to the next turn in 90 % of cases, in held-out ones in 79 %."""
TOWERS = ("last", "previous", "response")
DIRECTIONS = (56, 24, 24, 24)
"""Main directions of each state that are stored: of the last layer, the means of layers 1 and 3,
and the end of layer 3."""
MAX_WORDS = 40
"""Lexical features of a text that are read; the marks and openings come before its words."""
_WORD_SCALE = 3.0
_LEVELS, _SMALLEST = 127, 1e-5  # of 8 bits; smallest scale that 16 bits hold well


def lexical_features(text: str) -> list[str]:
    """Names of the words, pairs of words, openings and marks of a turn.

    Examples:
        >>> lexical_features("Where is it?")[:4]
        ['end ?', 'open where', 'open2 where is', 'last where']
    """
    words, end = words_of(text), end_mark(text)
    closing = words_of(last_sentence(text))
    names = [
        f"end {end}",
        f"open {' '.join(words[:1])}",
        f"open2 {' '.join(words[:2])}",
        f"last {' '.join(closing[:1])}",
        f"last2 {' '.join(closing[:2])}",
        f"end-last {end} {' '.join(closing[:1])}",
        f"close {' '.join(words[-1:])}",
        f"asks {int('?' in text)}",
        f"length {int(2 * np.log2(len(words) + 1))}",
        *(f"word {word}" for word in words),
        *(f"pair {first} {second}" for first, second in itertools.pairwise(words)),
    ]
    return list(dict.fromkeys(names))


class LexicalFeatures:
    """Numbers of the lexical features of texts, from 1; 0 is padding.

    Args:
        names (`Sequence[str]`):
            The features that have a number.
    """

    def __init__(self, names: Sequence[str]):
        self.names = list(names)
        self._number = {name: number for number, name in enumerate(self.names, 1)}

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Numbers, shape `(n, MAX_WORDS)`."""
        numbers = np.zeros((len(texts), MAX_WORDS), dtype=np.int32)
        for row, text in enumerate(texts):
            known = [self._number.get(name, 0) for name in lexical_features(text)]
            kept = [number for number in known if number][:MAX_WORDS]
            numbers[row, : len(kept)] = kept
        return numbers


class Matcher:
    """The fitted towers.

    Args:
        tensors (`Mapping[str, np.ndarray]`):
            `mean` and `scale` of the states; `shared` of shape `(h, states)`; and for each tower:
            `<tower>_linear` `(d, h)`, `<tower>_bias`, `<tower>_words` `(features + 1, w)` and
            `<tower>_up` `(d, w)`. `axes_<state>` has the main directions of a state.
        features (`Sequence[str]`):
            Names of the lexical features.
    """

    def __init__(self, tensors: Mapping[str, np.ndarray], features: Sequence[str]):
        self.tensors, self.lexical = dict(tensors), LexicalFeatures(features)

    @property
    def width(self) -> int:
        """Outputs of a tower: half of them for each of the two tasks."""
        return len(self.tensors["last_bias"])

    def __call__(self, texts: Sequence[str], states: np.ndarray) -> np.ndarray:
        """The outputs of the three towers for each text, shape `(n, 3, width)`.

        Args:
            texts (`Sequence[str]`):
                Turns.
            states (`np.ndarray`):
                Their states, as [`MiniLm.states`] returns them.

        Returns:
            `np.ndarray`: In the order of `TOWERS`.
        """
        flat = states.reshape(len(texts), -1).astype(np.float32)
        # Standardised here: folded into the weights, the scales would spoil their 8 bits.
        flat = (flat - self.tensors["mean"]) / self.tensors["scale"]
        hidden = flat @ self.tensors["shared"].T  # (n, h)
        numbers = self.lexical(texts)
        # In the precision of the towers: double precision would make every fit on them slower.
        count = np.sqrt(np.maximum(1, (numbers > 0).sum(1))).astype(np.float32)[:, None]
        outputs = [self._tower(name, hidden, numbers) for name in TOWERS]
        return np.stack([dense + words / count for dense, words in outputs], 1)

    def components(self, states: np.ndarray) -> np.ndarray:
        """The states of a text along their main directions, shape `(n, sum of DIRECTIONS)`.

        Args:
            states (`np.ndarray`):
                States of texts, as [`MiniLm.states`] returns them.

        Returns:
            `np.ndarray`: Centred by the mean of the corpus that the towers were fitted to.
        """
        mean = self.tensors["mean"].reshape(states.shape[1:])
        centred = states.astype(np.float32) - mean
        parts = [centred[:, at] @ self.tensors[f"axes_{at}"] for at in range(len(DIRECTIONS))]
        return np.hstack(parts)

    def _tower(
        self, name: str, hidden: np.ndarray, numbers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        dense = hidden @ self.tensors[f"{name}_linear"].T + self.tensors[f"{name}_bias"]
        words = self.tensors[f"{name}_words"][numbers].sum(1) @ self.tensors[f"{name}_up"].T
        return dense, _WORD_SCALE * words

    def save(self, path: Path) -> None:
        """Write matrices in 8 bits, with a scale for each row, and vectors in 16 bits."""
        stored: dict[str, np.ndarray] = {}
        for name, tensor in self.tensors.items():
            if tensor.ndim == 1:
                stored[name] = tensor.astype(np.float16)
                continue
            largest = np.abs(tensor).max(1, keepdims=True)
            scale = np.maximum(largest / _LEVELS, _SMALLEST).astype(np.float16)
            levels = np.rint(tensor / scale.astype(np.float32))
            stored[name] = np.clip(levels, -_LEVELS, _LEVELS).astype(np.int8)
            stored[f"{name}/scale"] = scale
        with atomic_write(path, "wb") as file:
            file.write(save(stored, {"features": json.dumps(self.lexical.names)}))

    @classmethod
    def load(cls, path: Path = PATH) -> "Matcher":
        """The towers as `save` wrote them; the installed ones by default."""
        with safe_open(path, framework="numpy") as file:
            stored: dict[str, Any] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            features = json.loads(file.metadata()["features"])
        scales = {name.removesuffix("/scale"): stored.pop(name)
                  for name in list(stored) if name.endswith("/scale")}  # fmt: skip
        tensors = {
            name: tensor.astype(np.float32) * scales.get(name, np.ones(1)).astype(np.float32)
            for name, tensor in stored.items()
        }
        return cls(tensors, features)


@cache
def default_matcher() -> Matcher:
    """The towers that come with the package."""
    return Matcher.load()


def matching_features(last: np.ndarray, previous: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Features of a regression on the towers' outputs.

    The products carry the match; the outputs themselves let the regression subtract how well a
    context or a response matches on average.

    Args:
        last (`np.ndarray`):
            Outputs of the last turn, shape `(n, width)`.
        previous (`np.ndarray`):
            Outputs of the turn before it; zeros where there is none.
        response (`np.ndarray`):
            Outputs of the response.

    Returns:
        `np.ndarray`: Of shape `(n, 5 width + 6)`.
    """
    with_last, with_previous = last * response, previous * response
    scores = [
        product[:, half].sum(1)
        for product in (with_last, with_previous, with_last + with_previous)
        for half in (slice(None, response.shape[1] // 2), slice(response.shape[1] // 2, None))
    ]
    return np.hstack([with_last, with_previous, response, last, previous, np.stack(scores, 1)])
