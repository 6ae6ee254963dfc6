"""Strategies made of other strategies: several in a row, a limited vocabulary, or fewer edits."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from dialeval.dialogues.sources import BadInput
from dialeval.perturbations.base import Edit, Kind, Perturbation
from dialeval.perturbations.differences import merge_logs
from dialeval.perturbations.lexicon import read_words
from dialeval.perturbations.tokens import word_tokens


class _Combination(Perturbation):
    """A strategy whose name, kind and languages depend on the strategies that it is made of."""

    def _describe(self, name: str, kind: Kind, languages: tuple[str, ...] | None) -> None:
        """Set on the (frozen) instance what other strategies set on the class."""
        for attribute, value in (("name", name), ("kind", kind), ("languages", languages)):
            object.__setattr__(self, attribute, value)

    def edits(self, text: str, rng: Random) -> Sequence[Edit]:
        return self.edits_of([text], [rng.getrandbits(64)])[0]


@dataclass(frozen=True)
class Composed(_Combination):
    """Several strategies, each on the output of the one before it; one log for all of them.

    The kind is `should_change` if any of the strategies is.

    Args:
        strategies (`tuple[Perturbation, ...]`):
            The strategies, in order.
    """

    strategies: tuple[Perturbation, ...]

    def __post_init__(self) -> None:
        strategies = tuple(self.strategies)
        object.__setattr__(self, "strategies", strategies)
        if not strategies:
            raise BadInput("expected strategies to compose, but got none.")
        changing = any(strategy.kind == "should_change" for strategy in strategies)
        self._describe(
            "+".join(strategy.name for strategy in strategies),
            "should_change" if changing else "should_not_change",
            _common_languages(strategies),
        )

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        logs: list[Sequence[Edit]] = [() for _ in texts]
        current = list(texts)
        for number, strategy in enumerate(self.strategies):
            current, new_logs = strategy.apply(current, _derive_seeds(seeds, number))
            logs = [
                merge_logs(text, log, new_log)
                for text, log, new_log in zip(texts, logs, new_logs, strict=True)
            ]
        return logs


def _common_languages(strategies: Sequence[Perturbation]) -> tuple[str, ...] | None:
    """Languages that all strategies support; None for any."""
    limits = [strategy.languages for strategy in strategies if strategy.languages is not None]
    if not limits:
        return None
    return tuple(code for code in limits[0] if all(code in limit for limit in limits))


@dataclass(frozen=True)
class Restricted(_Combination):
    """Only edits whose new words are in a vocabulary (Niu & Bansal, 2018, sec. 5).

    Args:
        strategy (`Perturbation`):
            The strategy whose edits are filtered.
        vocabulary (`frozenset[str]` or `str`):
            Words in lower case, or a file of them.
    """

    strategy: Perturbation
    vocabulary: frozenset[str] | str
    _words: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        vocabulary = self.vocabulary
        words = read_words(vocabulary) if isinstance(vocabulary, str) else frozenset(vocabulary)
        object.__setattr__(self, "_words", words)
        self._describe(self.strategy.name, self.strategy.kind, self.strategy.languages)

    def __repr__(self) -> str:
        size = f"{len(self._words)} words"
        vocabulary = self.vocabulary if isinstance(self.vocabulary, str) else size
        return f"Restricted(strategy={self.strategy!r}, vocabulary={vocabulary!r})"

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        logs = self.strategy.edits_of(texts, seeds)
        return [[edit for edit in edits if self._allows(edit)] for edits in logs]

    def _allows(self, edit: Edit) -> bool:
        old = {token.word for token in word_tokens(edit.before)}
        return all(token.word in old | self._words for token in word_tokens(edit.after))


@dataclass(frozen=True)
class Thinned(_Combination):
    """A random part of a strategy's edits.

    Args:
        strategy (`Perturbation`):
            The strategy whose edits are drawn from.
        rate (`float`):
            Probability that an edit is made, in `[0, 1]`.
    """

    strategy: Perturbation
    rate: float

    def __post_init__(self) -> None:
        check_rate(self.rate)
        self._describe(self.strategy.name, self.strategy.kind, self.strategy.languages)

    def edits_of(self, texts: Sequence[str], seeds: Sequence[int]) -> list[Sequence[Edit]]:
        logs = self.strategy.edits_of(texts, seeds)
        rngs = map(Random, _derive_seeds(seeds, 1))
        return [
            [edit for edit in edits if rng.random() < self.rate]
            for edits, rng in zip(logs, rngs, strict=True)
        ]


def _derive_seeds(seeds: Sequence[int], number: int) -> Sequence[int]:
    """Seeds for another use of the same texts; number 0 gives the seeds themselves.

    The step differs from that of the swaps' random numbers, else two swaps would draw the same.
    """
    return [(seed + number * 0xD1B54A32D192ED03) % 2**64 for seed in seeds] if number else seeds


def check_rate(rate: float) -> None:
    """Refuse a rate that is not a probability."""
    if not 0.0 <= rate <= 1.0:
        raise BadInput(f"`rate` is a probability, so it must lie in [0, 1], but got {rate}.")
