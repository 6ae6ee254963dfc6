"""Two sources of replies with a known distance, and the accuracy that no evaluator can exceed.

Every word has a topic and a style. A context is about one topic, and a human reply stays on it with
a fixed probability; its words have either style with the same probability, independently. A machine
reply differs from that in one of three ways:

- `words`: one style is more frequent. The words of a reply alone reveal it.
- `order`: the style of a word depends on that of the word before. All word frequencies are human.
- `topic`: the reply leaves the topic of its context more often. Taken by themselves, replies are
  exactly human.

In each of them one count is sufficient: words of the first style, words of the same style as the
one before, replies on the topic. So the likelihood ratio, and with it the best accuracy, is a sum
over a few binomial probabilities.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import binom

from dialeval.dialogues import Passage, Turn, to_passages
from dialeval.errors import BadInput
from dialeval.protocols.evaluation.inputs import EvaluationData, align

KINDS = ("words", "order", "topic")
MACHINE = "machine"
ON_TOPIC = 0.9
"""Probability that a human reply stays on the topic of its context."""
_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"


@dataclass(frozen=True)
class World:
    """Humans and a machine at a distance that is known.

    Args:
        kind (`str`):
            How the machine differs: one of `KINDS`.
        distance (`float`):
            Difference of the probability behind the sufficient count: 0 is no difference.
        topics (`int`, *optional*, defaults to 8):
            Number of topics.
        words (`int`, *optional*, defaults to 12):
            Words per topic and style.
        shortest, longest (`int`, *optional*, defaults to 5 and 12):
            Words of a reply, drawn uniformly, the same for both sides.

    Examples:
        >>> round(World("topic", 0.3).accuracy, 3)  # replies on the topic: 90 and 60 %
        0.65
    """

    kind: str
    distance: float
    topics: int = 8
    words: int = 12
    shortest: int = 5
    longest: int = 12

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"unknown world {self.kind!r}.", hint=f"Choose from {', '.join(KINDS)}.")
        largest = ON_TOPIC if self.kind == "topic" else 1.0
        if not 0 <= self.distance <= largest:
            raise BadInput(
                f"the distance of {self.kind} lies between 0 and {largest:g}, not {self.distance}."
            )

    @property
    def probabilities(self) -> tuple[float, float]:
        """Of one success of the sufficient count, for humans and for the machine."""
        if self.kind == "topic":
            return ON_TOPIC, ON_TOPIC - self.distance
        return 0.5 + self.distance / 2, 0.5 - self.distance / 2

    def trials(self, length: int) -> int:
        """How many trials the sufficient count has in a reply of this length."""
        return {"words": length, "order": length - 1, "topic": 1}[self.kind]

    @cached_property
    def outcomes(self) -> tuple[np.ndarray, np.ndarray]:
        """Probabilities of every length and count, `(outcomes,)`, for humans and the machine."""
        lengths = range(self.shortest, self.longest + 1)
        sides = [
            np.concatenate(
                [binom.pmf(np.arange(n + 1), n, p) for n in map(self.trials, lengths)]
            ) / len(lengths)
            for p in self.probabilities
        ]  # fmt: skip
        return sides[0], sides[1]

    @property
    def accuracy(self) -> float:
        """The best accuracy on single replies, of which half are human: by likelihood ratio."""
        human, machine = self.outcomes
        return float(np.maximum(human, machine).sum() / 2)

    @property
    def pairwise_accuracy(self) -> float:
        """The best accuracy on pairs of a human and a machine reply; ties count half."""
        human, machine = self.outcomes
        ratio = np.log(np.maximum(human, 1e-300)) - np.log(np.maximum(machine, 1e-300))
        levels, level = np.unique(ratio.round(9), return_inverse=True)
        human_at, machine_at = (
            np.bincount(level, side, minlength=len(levels)) for side in (human, machine)
        )
        below = np.cumsum(machine_at) - machine_at
        return float(human_at @ (below + machine_at / 2))

    @cached_property
    def vocabulary(self) -> np.ndarray:
        """Invented words by topic and style, `(topics, 2, words)`."""
        rng = random.Random(0)
        invented: dict[str, None] = {}
        while len(invented) < self.topics * 2 * self.words:
            syllables = (rng.choice(_CONSONANTS) + rng.choice(_VOWELS) for _ in range(3))
            invented["".join(syllables)] = None
        return np.array(list(invented)).reshape(self.topics, 2, self.words)

    def sample(self, contexts: int, seed: int) -> EvaluationData:
        """Contexts with a human and a machine reply each, all drawn independently.

        Args:
            contexts (`int`):
                How many.
            seed (`int`):
                Seed of the draws.

        Returns:
            `EvaluationData`: One system, `machine`.
        """
        rng = np.random.default_rng(seed)
        sides = zip(*self._rows(contexts, rng), strict=True)
        human, machine = (to_passages(rows) for rows in sides)
        return align(human, {MACHINE: machine})

    def _rows(self, contexts: int, rng: np.random.Generator) -> Iterator[tuple[Passage, Passage]]:
        for number in range(contexts):
            topic = int(rng.integers(self.topics))
            turn = Turn("A", self._text(topic, rng.integers(0, 2, self._length(rng)), rng))
            answered = [
                Passage((turn,), self.reply(topic, side, rng), author, str(number), str(number))
                for side, author in enumerate(("human", MACHINE))
            ]
            yield answered[0], answered[1]

    def reply(self, topic: int, side: int, rng: np.random.Generator) -> str:
        """A reply to a context about a topic.

        Args:
            topic (`int`):
                Topic of the context.
            side (`int`):
                0 for a human, 1 for the machine.
            rng (`np.random.Generator`):
                Source of the draws.

        Returns:
            `str`: Its words.
        """
        chance, length = self.probabilities[side], self._length(rng)
        on_topic = rng.random() < (chance if self.kind == "topic" else ON_TOPIC)
        if not on_topic:  # any other topic
            topic = int((topic + rng.integers(1, self.topics)) % self.topics)
        return self._text(topic, self._styles(length, chance, rng), rng)

    def _styles(self, length: int, chance: float, rng: np.random.Generator) -> np.ndarray:
        if self.kind == "topic":
            return rng.integers(0, 2, length)
        if self.kind == "words":
            return (rng.random(length) >= chance).astype(int)
        switches = (rng.random(length - 1) >= chance).astype(int)
        return np.concatenate([[0], switches]).cumsum() % 2 ^ rng.integers(0, 2)

    def _text(self, topic: int, styles: np.ndarray, rng: np.random.Generator) -> str:
        return " ".join(self.vocabulary[topic, styles, rng.integers(0, self.words, len(styles))])

    def _length(self, rng: np.random.Generator) -> int:
        return int(rng.integers(self.shortest, self.longest + 1))
