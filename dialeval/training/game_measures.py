"""What an attack-defence game measures: accuracies on the responses of every attacker so far."""

import logging
from collections import Counter
from typing import Any

import numpy as np

from dialeval.training.defender import pairwise, pairwise_probability
from dialeval.training.game_samples import GameSamples
from dialeval.training.game_state import CHECKED

logger = logging.getLogger(__name__)


class GameMeasures(GameSamples):
    """Accuracies of the defender on the samples of every turn."""

    def _record(self) -> dict[str, Any]:
        """Accuracies of the defender after an attack, on every set of samples (Figure 2)."""
        accuracies = self._measure()
        values = [numbers[self.config.accuracy] for numbers in accuracies.values()]
        newest = accuracies[self.turn]
        fooled = newest[self.config.accuracy] < self.config.c_low
        responses = self.samples.all(self.turn, "validation")
        text, count = Counter(responses["response"]).most_common(1)[0]
        total = len(responses["response"])
        if count > total / 2:
            logger.warning(
                "%s, turn %d: the attacker collapsed; %d of %d responses are %r.",
                self.name, self.turn, count, total, text[:80],
            )  # fmt: skip
        return {
            "turn": self.turn,
            "attack_steps": self.step,
            "kept_step": self.lowest[0] if self.lowest else self.step,
            "stopped": "fooled" if fooled and self.config.attack_until == "fooled" else "budget",
            "accuracy": newest["pairwise"],
            "probability": newest["probability"],
            "hvm": newest["hvm"],
            "by_temperature": newest["by_temperature"],
            "low": min(values),
            "high": max(values),
            "watched": self._lowest(),
            "measured": {str(turn): numbers for turn, numbers in accuracies.items()},
            "most_frequent": {"response": text, "share": count / total},
            "empty": sum(not response for response in responses["response"]) / total,
            "unfinished": 1 - sum(responses["finished"]) / total,
        }

    def _measure(self) -> dict[int, dict[str, Any]]:
        """Accuracies on the sets of this validation; they become the last accuracies."""
        accuracies = {
            turn: self._accuracy_of(self.samples.all(turn, "validation"))
            for turn in self._validated()
        }
        for turn, numbers in accuracies.items():
            self.last_accuracy[turn] = numbers[self.config.accuracy]
        return accuracies

    def _validated(self) -> list[int]:
        """Turns to validate: the first, the newest, and a sample of the others.

        A validation then costs the same from turn `max_validated` on. Turns that are left out keep
        their last accuracy; the lower it was, the more likely a turn is chosen.
        """
        turns, most = list(range(self.turn + 1)), self.config.max_validated
        if len(turns) <= most:
            return turns
        others = turns[1:-1]
        weights = np.array([1.001 - self.last_accuracy.get(turn, 0.0) for turn in others])
        rng = np.random.default_rng(self._numbers(CHECKED))
        kept = rng.choice(others, max(0, most - 2), False, weights / weights.sum())
        return [0, *sorted(int(turn) for turn in kept), self.turn][-most:]

    def _defended(self) -> list[int]:
        """Turns whose samples the defender is trained on and validated with."""
        return list(range(self.turn + 1)) if self.config.ensemble else [self.turn]

    def _lowest(self) -> float:
        return min(self.last_accuracy[turn] for turn in self._defended())

    def _holds(self) -> bool:
        """Whether the defence is complete: the accuracy on every defended turn is above c_high."""
        return self._lowest() > self.config.c_high

    def _accuracy_of(self, samples: dict[str, Any]) -> dict[str, Any]:
        """Accuracies on samples of validation contexts: 0/1, as a probability, and of HvM alone.

        Where every context is answered at several temperatures, each is the lowest over them.
        """
        rows = np.asarray(samples["row"])
        passages = self._passages("validation", rows)
        machine = [
            p.with_response(t, "attacker")
            for p, t in zip(passages, samples["response"], strict=True)
        ]
        margins = (
            self._shared(self.defender.margins, passages),
            self._shared(self.defender.margins, machine),
        )
        relevance = self._human_relevance(rows), np.asarray(samples["relevance"], dtype=float)
        human, other = (
            self.defender.logits(*inputs) for inputs in zip(margins, relevance, strict=True)
        )
        temperature = np.asarray(samples["temperature"])
        correct = pairwise(human, other)
        groups = {f"{value:g}": temperature == value for value in np.unique(temperature)}
        compared = list(groups.values())
        if self.config.validation_temperature != "lowest":
            compared = [np.ones(len(rows), dtype=bool)]

        def lowest(values: np.ndarray) -> float:
            return min(float(values[group].mean()) for group in compared)

        return {
            "pairwise": lowest(correct),
            "probability": lowest(pairwise_probability(human, other)),
            "hvm": lowest(pairwise(*margins)),
            "by_temperature": {
                name: float(correct[group].mean()) for name, group in groups.items()
            },
        }

    def _human_relevance(self, rows: np.ndarray) -> np.ndarray:
        """Scores of human responses by the frozen HvR, computed once."""
        if not hasattr(self, "_relevance"):
            passages = self._passages("validation", self._watched)
            scores = self._shared(self.defender.relevance, passages)
            self._relevance = dict(zip(self._watched.tolist(), scores.tolist(), strict=True))
        return np.array([self._relevance[row] for row in rows.tolist()])
