"""Scored passages with labels and decisions, and random negatives where there are none."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dialeval.dialogues import BadInput, Passage, to_passages
from dialeval.dialogues.tokens import count_tokens
from dialeval.metrics.analysis_results import OUTCOMES
from dialeval.metrics.intervals import balanced_interval, interval
from dialeval.scorers.base import is_human

HUMAN = "human"


@dataclass(frozen=True)
class Decisions:
    """What a discriminator decided about passages.

    Args:
        passages (`list[Passage]`):
            The passages.
        scores (`np.ndarray`):
            Its scores, `(n,)`.
        predicted (`np.ndarray`):
            Whether it predicted human.
        human (`np.ndarray`):
            Whether a human wrote the response to this context.
        higher_is_human (`bool`):
            Direction of the scores.
    """

    passages: list[Passage]
    scores: np.ndarray
    predicted: np.ndarray
    human: np.ndarray
    higher_is_human: bool = True

    @property
    def correct(self) -> np.ndarray:
        """Whether each decision is right."""
        return self.predicted == self.human

    @property
    def signed(self) -> np.ndarray:
        """Scores of which a higher one means human."""
        return self.scores if self.higher_is_human else -self.scores

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each response."""
        return np.array([count_tokens(passage.response) for passage in self.passages])

    @property
    def dialogues(self) -> list[str]:
        """The dialogue of each passage."""
        return [row.dialogue_id or row.id or str(n) for n, row in enumerate(self.passages)]

    @property
    def outcomes(self) -> np.ndarray:
        """One of `OUTCOMES` for each passage."""
        positive, true = self.predicted, self.correct
        index = np.where(positive, np.where(true, 0, 1), np.where(true, 2, 3))
        return np.array(OUTCOMES, dtype=object)[index]

    def error(self, rows: np.ndarray, resamples: int, seed: int) -> tuple[float, float, float]:
        """Share of wrong decisions among some rows, with its interval over dialogues.

        Args:
            rows (`np.ndarray`):
                A mask.
            resamples, seed (`int`):
                Of the bootstrap.

        Returns:
            `tuple[float, float, float]`: The share and its bounds.
        """
        wrong = ~self.correct[rows]
        dialogues = self.dialogues  # made anew at every access
        groups = [dialogues[row] for row in np.flatnonzero(rows)]
        low, high = interval(
            wrong.astype(float), groups, method="auto", resamples=resamples, seed=seed
        )
        return float(wrong.mean()), low, high

    def accuracy(self, resamples: int, seed: int) -> tuple[float, float, float]:
        """Mean of the accuracies on human and on machine responses, with its interval.

        With nine machines to a human, who calls everything a machine is right in half of the cases.

        Args:
            resamples, seed (`int`):
                Of the bootstrap over dialogues.

        Returns:
            `tuple[float, float, float]`: The accuracy and its bounds.
        """
        correct = self.correct.astype(float)
        value = (correct[self.human].mean() + correct[~self.human].mean()) / 2
        low, high = balanced_interval(
            correct, self.human, self.dialogues, resamples=resamples, seed=seed
        )
        return float(value), low, high


def decide(scorer: Any, passages: Sequence[Passage], seed: int = 0) -> Decisions:
    """Score passages; where all are human, as many with random replies are added.

    Args:
        scorer (`Scorer`):
            The discriminator.
        passages (`Sequence[Passage]`):
            Human ones, and those of systems.
        seed (`int`, *optional*, defaults to 0):
            Seed of the random replies.

    Returns:
        `Decisions`: About all of them.

    Raises:
        BadInput: There are no human passages.
    """
    rows = list(passages)
    human = [row for row in rows if row.author == HUMAN]
    if not human:
        authors = ", ".join(sorted({row.author for row in rows})[:5]) or "nobody"
        raise BadInput(
            f"expected human responses among the passages, found those of {authors}.",
            hint="Add the human file to --data.",
        )
    if len(human) == len(rows):
        rows += with_random_replies(human, seed)
    scores = np.asarray(scorer(to_passages(rows)), dtype=float)
    predicted = np.asarray(is_human(scorer, scores), dtype=bool)
    labels = np.array([row.author == HUMAN for row in rows])
    return Decisions(rows, scores, predicted, labels, scorer.higher_is_human)


def with_random_replies(passages: Sequence[Passage], seed: int = 0) -> list[Passage]:
    """The same contexts with replies of other dialogues, each used once.

    A context is left out where no exchange gives it a reply of another dialogue.
    """
    rng = random.Random(seed)
    source = list(range(len(passages)))
    rng.shuffle(source)
    for index in range(len(source)):
        for _ in range(1_000):
            if _other_dialogue(passages, index, source[index]):
                break
            swap = rng.randrange(len(source))
            if _other_dialogue(passages, swap, source[index]):
                source[index], source[swap] = source[swap], source[index]
    return [
        passages[index].with_response(passages[other].response, "random")
        for index, other in enumerate(source)
        if _other_dialogue(passages, index, other)
    ]


def _other_dialogue(passages: Sequence[Passage], index: int, other: int) -> bool:
    first, second = passages[index], passages[other]
    return first.dialogue_id != second.dialogue_id if first.dialogue_id else index != other
