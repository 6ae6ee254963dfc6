"""All attackers on all defenders, on the same held-out contexts: the paper's Tables 1 and 2."""

from pathlib import Path
from typing import Any

import numpy as np

from dialeval.dialogues import Passage, iterate
from dialeval.dialogues.types import text_hash
from dialeval.metrics.intervals import interval
from dialeval.metrics.results import Result
from dialeval.responders.base import respond
from dialeval.responders.decoding import DECODINGS, TemperatureMixture
from dialeval.responders.language import GeneratorResponder
from dialeval.responders.simple import ParrotResponder
from dialeval.training.defender import pairwise, pairwise_probability
from dialeval.training.game import set_trainable
from dialeval.training.policy import draw_responses

PARROT, GREEDY, SAMPLING = "Parrot", "generator, greedy", "generator, sampling"
WORST, OWN = "Adversarial G, worst", "Adversarial G, own worst"
_EXAMPLES = 6
_CHUNK = 64


class Arena:
    """What every attacker said to the test contexts, and what every defender thinks of it.

    Args:
        study (`AttStudy`):
            After its games.
        externals (`dict[str, list[Passage]]`):
            What attackers from elsewhere said to the test contexts.
    """

    def __init__(self, study: Any, externals: dict[str, list[Passage]]):
        self.study = study
        self.human = list(iterate(study.parts["test"]))
        self.said: dict[str, list[Passage]] = {}
        self.relevance: dict[str, np.ndarray] = {}
        self.externals = externals
        self.rows = [PARROT, GREEDY, SAMPLING, WORST, OWN, *externals]
        self._answer()
        self.judged = {method: self._judge(method) for method in study.run.methods}
        self.pool = {
            name: {m: self._mean(m, name) for m in self.judged} for name in study.attackers
        }

    def _answer(self) -> None:
        """Responses of all attackers; the frozen judge of relevance reads each once."""
        study, config = self.study, self.study.config
        generator = study.generator
        set_trainable(generator.model, study.beginning)
        plain = {
            GREEDY: GeneratorResponder(
                generator, DECODINGS["greedy"], 1, config.max_new_tokens, name=GREEDY
            ),
            SAMPLING: GeneratorResponder(
                generator, DECODINGS["sampling"], 1, config.max_new_tokens, name=SAMPLING
            ),
            PARROT: ParrotResponder("random", config.seed, PARROT),
        }
        self.said = {name: respond(each, self.human) for name, each in plain.items()}
        for name, path in study.attackers.items():
            self.said[name] = self.attacked(path)
        self.said |= self.externals
        self.relevance = {name: self._relevance(said) for name, said in self.said.items()}
        self.relevance["human"] = self._relevance(self.human)

    def attacked(self, path: Path) -> list[Passage]:
        """What an attacker says at temperature 1, with the same noise for every attacker.

        Games draw at temperatures of their own, and what is drawn at 100 is easily told: at one
        temperature attackers of all games are alike.
        """
        study, found = self.study, []
        set_trainable(study.generator.model, path)
        for start in range(0, len(self.human), _CHUNK):
            some = self.human[start : start + _CHUNK]
            seeds = [text_hash(["test", str(study.config.seed), each.id]) for each in some]
            new = study.config.max_new_tokens
            found += draw_responses(
                study.generator, some, seeds, TemperatureMixture((1.0,)), 1, new
            ).passages
        return found

    def _relevance(self, passages: list[Passage]) -> np.ndarray:
        return np.asarray(self.study.hvr(passages), dtype=float)

    def _judge(self, method: str) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """HvM's margins, and the defender's logits and scores, of everyone's responses."""
        defender, found = self.study.defender(method), {}
        for name, said in {"human": self.human, **self.said}.items():
            margins, relevance = defender.margins(said), self.relevance[name]
            both = defender.logits(margins, relevance), defender.scores(margins, relevance)
            found[name] = (margins, *both)
        return found

    def _mean(self, method: str, attacker: str) -> float:
        return float(pairwise(*self._sides(method, attacker, 1)).mean())

    def _sides(self, method: str, attacker: str, which: int) -> tuple[np.ndarray, np.ndarray]:
        judged = self.judged[method]
        return judged["human"][which], judged[attacker][which]

    def results(self, fresh: dict[str, list[Path]]) -> list[Result]:
        """Every cell of Table 2, and the held-out attackers."""
        found = []
        for method in self.judged:
            own = [name for name in self.study.attackers if name.startswith(f"{method} turn ")]
            for row in self.rows:
                pool = {WORST: list(self.study.attackers), OWN: own}.get(row, [row])
                if pool:
                    found.append(self._cell(row, method, pool))
            for number, path in enumerate(fresh.get(method, []), 1):
                name = f"fresh attacker {number}"
                self._take_in(method, name, self.attacked(path))
                found.append(self._cell(name, method, [name], "held_out_accuracy"))
        return found

    def _take_in(self, method: str, name: str, said: list[Passage]) -> None:
        """Have one more attacker judged by one defender."""
        defender, relevance = self.study.defender(method), self._relevance(said)
        margins = defender.margins(said)
        logits, scores = defender.logits(margins, relevance), defender.scores(margins, relevance)
        self.judged[method][name] = (margins, logits, scores)

    def _cell(
        self, row: str, method: str, pool: list[str], metric: str = "pairwise_accuracy"
    ) -> Result:
        """Accuracy on one attacker, or on the worst of a pool."""
        worst = min(pool, key=lambda name: self._mean(method, name))
        right = pairwise(*self._sides(method, worst, 1))
        units = np.array([passage.dialogue_id for passage in self.human])
        low, high = interval(right, units, seed=self.study.config.seed)
        alone = self._sides(method, worst, 0)
        details = {
            "probability": float(pairwise_probability(*self._sides(method, worst, 1)).mean()),
            "hvm": float(pairwise(*alone).mean()),
            "hvm_probability": float(pairwise_probability(*alone).mean()),
        }
        details |= {"attacker": worst, "pool": len(pool)} if len(pool) > 1 else {}
        made = f"{self.study.signature}|defender:{method}"
        return Result(
            metric, row, method, float(right.mean()), low, high, len(right), made, details
        )

    def examples(self) -> list[dict[str, Any]]:
        """Some contexts with what each attacker said, and each defender's scores (Table 1)."""
        shown = [PARROT, GREEDY, SAMPLING, *self._early_and_late(), *self.externals]
        rows = np.random.default_rng(self.study.config.seed).permutation(len(self.human))
        return [self._example(int(row), shown) for row in rows[:_EXAMPLES]]

    def _example(self, row: int, shown: list[str]) -> dict[str, Any]:
        passage = self.human[row]

        def scores(name: str) -> dict[str, float]:
            return {method: float(judged[name][2][row]) for method, judged in self.judged.items()}

        return {
            "context": [turn.text for turn in passage.context],
            "human": passage.response,
            "human_scores": scores("human"),
            "responses": [
                {
                    "attacker": name,
                    "response": self.said[name][row].response,
                    "scores": scores(name),
                }
                for name in shown
            ],
        }

    def _early_and_late(self) -> list[str]:
        """The first and the last attacker of the game that matters most."""
        for method in ("ATT", "ND", "GAN"):
            own = [name for name in self.study.attackers if name.startswith(f"{method} turn ")]
            if own:
                return list(dict.fromkeys([own[0], own[-1]]))
        return list(self.study.attackers)[:1]
