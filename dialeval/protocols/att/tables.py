"""All attackers against all defenders, on the same held-out contexts (the paper's Tables 1, 2)."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import Passage, iterate
from dialeval.dialogues.types import text_hash
from dialeval.metrics.game_results import FRESH_WORST, AttackerReply, GameExample, TurnRecord
from dialeval.metrics.intervals import interval
from dialeval.metrics.minimum import minimum_interval
from dialeval.metrics.results import Result
from dialeval.protocols.att.negatives import near_copies
from dialeval.responders import Responder
from dialeval.responders.base import respond
from dialeval.responders.decoding import DECODINGS, TemperatureMixture
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.simple import ParrotResponder
from dialeval.training.defender import Defender, pairwise, pairwise_probability
from dialeval.training.game_state import set_trainable
from dialeval.training.policy import draw_responses

PARROT, GREEDY, SAMPLING = "Parrot", "generator, greedy", "generator, sampling"
NEAR_PARROT = "Parrot, one word less"
"""Not in the paper: HvR may have been trained on copies, but never on these."""
WORST, OWN_WORST = "Adversarial G, worst", "Adversarial G, own worst"
_EXAMPLES = 6
_CHUNK = 64
_HVM, _LOGITS, _SCORES = range(3)
Scores = tuple[np.ndarray, np.ndarray, np.ndarray]
"""HvM's margins, and the defender's logits and scores, one of each for every response."""


@dataclass(frozen=True)
class FreshAttack:
    """A new attack on a frozen defender: the file of the attacker it kept, and its record."""

    path: Path
    record: TurnRecord


class Matchups:
    """Every attacker's responses to the test contexts, and every defender's scores of them.

    Args:
        study (`AttStudy`):
            After its games.
        externals (`dict[str, list[Passage]]`):
            Responses of external attackers to the test contexts.
    """

    def __init__(self, study: Any, externals: dict[str, list[Passage]]):
        self.study, self.externals = study, externals
        self.human = list(iterate(study.parts["test"]))
        self.attackers = [PARROT, NEAR_PARROT, GREEDY, SAMPLING, WORST, OWN_WORST, *externals]
        self.responses = self._respond()
        self.relevance = {name: self._relevance(rows) for name, rows in self.responses.items()}
        self.relevance["human"] = self._relevance(self.human)
        self.scores = {method: self._score_all(method) for method in study.run.methods}
        self.pool = {
            name: {method: self._mean(method, name) for method in self.scores}
            for name in study.attackers
        }

    def _respond(self) -> dict[str, list[Passage]]:
        """Responses of all attackers."""
        study, config = self.study, self.study.config
        set_trainable(study.generator.model, study.initial)
        baselines: dict[str, Responder] = {
            GREEDY: self._generator(GREEDY, "greedy"),
            SAMPLING: self._generator(SAMPLING, "sampling"),
            PARROT: ParrotResponder("random", config.seed, PARROT),
        }
        responses = {name: respond(one, self.human) for name, one in baselines.items()}
        responses[NEAR_PARROT] = near_copies(self.human, config.seed, NEAR_PARROT)
        for name, path in study.attackers.items():
            responses[name] = self.attack(path)
        return responses | self.externals

    def _generator(self, name: str, decoding: str) -> GeneratorResponder:
        """The generator before any attack; samples depend on the seed of the study."""
        config = self.study.config
        return GeneratorResponder(
            self.study.generator, DECODINGS[decoding], 1, config.max_new_tokens, config.seed, name
        )

    def attack(self, path: Path) -> list[Passage]:
        """An attacker's responses at temperature 1, with the same noise for every attacker.

        Games sample at different temperatures, and responses at temperature 100 are easy to
        detect: at one temperature the attackers of all games are comparable.
        """
        study, responses = self.study, []
        set_trainable(study.generator.model, path)
        for start in range(0, len(self.human), _CHUNK):
            chunk = self.human[start : start + _CHUNK]
            seeds = [text_hash(["test", str(study.config.seed), passage.id]) for passage in chunk]
            tokens = study.config.max_new_tokens
            responses += draw_responses(
                study.generator, chunk, seeds, TemperatureMixture((1.0,)), 1, tokens
            ).passages
        return responses

    def _relevance(self, passages: list[Passage]) -> np.ndarray:
        return np.asarray(self.study.hvr(passages), dtype=float)

    def _score_all(self, method: str) -> dict[str, Scores]:
        """HvM's margins, and the defender's logits and scores, of all responses."""
        defender = self.study.defender(method)
        return {
            name: _score(defender, passages, self.relevance[name])
            for name, passages in {"human": self.human, **self.responses}.items()
        }

    def _mean(self, method: str, attacker: str) -> float:
        return float(pairwise(*self._both(method, attacker, _LOGITS)).mean())

    def _both(self, method: str, attacker: str, what: int) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the human and of the attacker's responses."""
        scores = self.scores[method]
        return scores["human"][what], scores[attacker][what]

    def results(self, fresh: dict[str, list[FreshAttack]]) -> list[Result]:
        """Every cell of Table 2, and the accuracy on fresh attackers."""
        results = []
        for method in self.scores:
            pools = {WORST: list(self.study.attackers), OWN_WORST: self._of_game(method)}
            for attacker in self.attackers:
                pool = pools.get(attacker, [attacker])
                if pool:
                    results.append(self._cell(attacker, method, pool))
            results += self._fresh_cells(method, fresh.get(method, []))
        return results

    def _fresh_cells(self, method: str, attacks: list[FreshAttack]) -> list[Result]:
        """A defender's accuracy on each of its fresh attackers, and on the worst of them.

        An attacker was chosen on validation contexts: the step of its lowest accuracy there. The
        test contexts here had no part in that choice, so each of these has its plain interval.
        """
        cells = []
        for number, attack in enumerate(attacks, 1):
            name = f"fresh attacker {number}"
            responses = self.attack(attack.path)
            defender, relevance = self.study.defender(method), self._relevance(responses)
            self.scores[method][name] = _score(defender, responses, relevance)
            cell = self._cell(name, method, [name], "held_out_accuracy")
            record = attack.record
            kept = {"step": record.kept_step, "steps": record.attack_steps,
                    "validation": record.accuracy}  # fmt: skip
            cells.append(replace(cell, details={**cell.details, **kept}))
        names = [cell.system for cell in cells]
        return [*cells, self._cell("fresh", method, names, FRESH_WORST)] if cells else []

    def _of_game(self, method: str) -> list[str]:
        """Names of the attackers of a method's game."""
        return [name for name in self.study.attackers if name.startswith(f"{method} turn ")]

    def _cell(
        self, attacker: str, method: str, pool: list[str], metric: str = "pairwise_accuracy"
    ) -> Result:
        """Accuracy on one attacker, or on the worst of a pool, whose interval is of the minimum."""
        correct = np.column_stack([pairwise(*self._both(method, one, _LOGITS)) for one in pool])
        column = int(correct.mean(0).argmin())
        worst = pool[column]
        logits, margins = self._both(method, worst, _LOGITS), self._both(method, worst, _HVM)
        dialogues, seed = [passage.dialogue_id for passage in self.human], self.study.config.seed
        if len(pool) > 1:
            low, high = minimum_interval(correct, dialogues, seed=seed)
        else:
            low, high = interval(correct[:, 0], dialogues, method="auto", seed=seed)
        details: dict[str, Any] = {
            "probability": float(pairwise_probability(*logits).mean()),
            "hvm": float(pairwise(*margins).mean()),
            "hvm_probability": float(pairwise_probability(*margins).mean()),
        }
        details |= {"attacker": worst, "pool": len(pool)} if len(pool) > 1 else {}
        made = f"{self.study.signature}|defender:{method}"
        value = float(correct[:, column].mean())
        return Result(metric, attacker, method, value, low, high, len(correct), made, details)

    def examples(self) -> tuple[GameExample, ...]:
        """Some contexts with the attackers' responses and all defenders' scores (Table 1)."""
        names = [PARROT, GREEDY, SAMPLING, *self._first_and_last(), *self.externals]
        rows = np.random.default_rng(self.study.config.seed).permutation(len(self.human))
        return tuple(self._example(int(row), names) for row in rows[:_EXAMPLES])

    def _example(self, row: int, attackers: list[str]) -> GameExample:
        passage = self.human[row]

        def scores(name: str) -> dict[str, float]:
            return {
                method: float(table[name][_SCORES][row]) for method, table in self.scores.items()
            }

        replies = (
            AttackerReply(name, self.responses[name][row].response, scores(name))
            for name in attackers
        )
        context = tuple(turn.text for turn in passage.context)
        return GameExample(context, passage.response, scores("human"), tuple(replies))

    def _first_and_last(self) -> list[str]:
        """The first and the last attacker of ATT's game, or of another one if it has none."""
        for method in ("ATT", "ND", "GAN"):
            names = self._of_game(method)
            if names:
                return list(dict.fromkeys([names[0], names[-1]]))
        return list(self.study.attackers)[:1]


def _score(defender: Defender, passages: list[Passage], relevance: np.ndarray) -> Scores:
    margins = defender.margins(passages)
    return margins, defender.logits(margins, relevance), defender.scores(margins, relevance)
