"""Strategies made of strategies: several in a row, only known words, or fewer edits."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Kind, Perturbation
from dialeval.perturbations.differences import chained
from dialeval.perturbations.lexicon import read_words
from dialeval.perturbations.tokens import words


@dataclass(frozen=True)
class Composed(Perturbation):
    """Several strategies, each on what the one before it left; the log is against the original.

    The answer should change if any of them changes the meaning.

    Args:
        strategies (`tuple[Perturbation, ...]`):
            The strategies, in order.
    """

    strategies: tuple[Perturbation, ...]

    def __post_init__(self):
        object.__setattr__(self, "strategies", tuple(self.strategies))
        if not self.strategies:
            raise BadInput("expected strategies to compose, found none.")

    @property
    def name(self) -> str:
        return "+".join(each.name for each in self.strategies)

    @property
    def kind(self) -> Kind:
        changing = any(each.kind == "should_change" for each in self.strategies)
        return "should_change" if changing else "should_not_change"

    @property
    def languages(self) -> tuple[str, ...] | None:
        known = [each.languages for each in self.strategies if each.languages is not None]
        if not known:
            return None
        return tuple(code for code in known[0] if all(code in each for each in known))

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [rng.getrandbits(64)])[0]

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        logs: list[Sequence[Edit]] = [() for _ in texts]
        now = list(texts)
        for number, strategy in enumerate(self.strategies):
            now, found = strategy.edited(now, _other(seeds, number))
            logs = [chained(*each) for each in zip(texts, logs, found, strict=True)]
        return logs


class _Wrapper(Perturbation):
    """What a strategy that filters another one's edits shares with it."""

    strategy: Perturbation

    @property
    def name(self) -> str:
        return self.strategy.name

    @property
    def kind(self) -> Kind:
        return self.strategy.kind

    @property
    def languages(self) -> tuple[str, ...] | None:
        return self.strategy.languages

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [rng.getrandbits(64)])[0]


@dataclass(frozen=True)
class Restricted(_Wrapper):
    """Only edits whose new words stand in a vocabulary (Niu & Bansal, 2018, sec. 5).

    Args:
        vocabulary (`frozenset[str]` or `str`):
            Words in small letters, or a file of them.
    """

    strategy: Perturbation
    vocabulary: frozenset[str] | str

    def __post_init__(self):
        found = self.vocabulary
        known = read_words(found) if isinstance(found, str) else frozenset(found)
        object.__setattr__(self, "_known", known)

    def __repr__(self) -> str:
        told = self.vocabulary if isinstance(self.vocabulary, str) else f"{len(self._known)} words"
        return f"Restricted(strategy={self.strategy!r}, vocabulary={told!r})"

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        found = self.strategy.edits_of(texts, seeds)
        return [[edit for edit in edits if self._knows(edit)] for edits in found]

    def _knows(self, edit: Edit) -> bool:
        old = {token.word for token in words(edit.before)}
        return all(token.word in old | self._known for token in words(edit.after))


@dataclass(frozen=True)
class Thinned(_Wrapper):
    """Each edit of a strategy with a probability only.

    Args:
        rate (`float`):
            Chance that an edit is made, in `[0, 1]`.
    """

    strategy: Perturbation
    rate: float

    def __post_init__(self):
        check_rate(self.rate)

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        found = self.strategy.edits_of(texts, seeds)
        rngs = map(Random, _other(seeds, 1))
        return [
            [edit for edit in edits if rng.random() < self.rate]
            for edits, rng in zip(found, rngs, strict=True)
        ]


def _other(seeds: Sequence[int], number: int) -> Sequence[int]:
    """Seeds for one more use of the same texts; those of number 0 are the given ones.

    The step is not that of the swaps' random numbers, else two swaps would draw the same ones.
    """
    return [(seed + number * 0xD1B54A32D192ED03) % 2**64 for seed in seeds] if number else seeds


def check_rate(rate: float) -> None:
    """Refuse what is no probability."""
    if not 0.0 <= rate <= 1.0:
        raise BadInput(f"`rate` is a probability, so it must lie in [0, 1], but got {rate}.")
