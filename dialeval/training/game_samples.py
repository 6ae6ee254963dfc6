"""Responses of the attackers of a game: drawn, shared among processes, and saved by turn."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from accelerate.utils import gather_object

from dialeval.dialogues import Passage, iterate
from dialeval.responders.decoding import TemperatureMixture
from dialeval.training.game_state import TRAIN, VALIDATION, GameState
from dialeval.training.policy import Drawn, draw_responses

_CHUNK = 32  # contexts that are answered together


class GameSamples(GameState):
    """Draws and saves the responses of a game's attackers."""

    def _collect(self, turn: int, validation: dict[str, Any] | None = None) -> None:
        """Write the set A(turn) of the current attacker."""
        rng = np.random.default_rng([self.config.seed, TRAIN, turn])
        size = min(self.config.samples, len(self.human["train"]))
        rows = rng.choice(len(self.human["train"]), size, replace=False)
        parts = {
            "train": self._sample(turn, "train", rows, relevance=False),
            "validation": validation or self._sample(turn, "validation", self._watched),
        }
        if self.accelerator.is_main_process:
            for part, columns in parts.items():
                self.samples.add(turn, part, columns)
        self.accelerator.wait_for_everyone()

    def _sample(
        self, turn: int, part: str, rows: np.ndarray, relevance: bool = True
    ) -> dict[str, Any]:
        """Responses of the attacker to each context, by columns: one for each way to draw them."""
        train = part == "train"
        ways = (self.config.decoding,) if train else self.config.validation_decodings
        tables = [self._sample_once(turn, part, rows, decoding, relevance) for decoding in ways]
        return {name: [value for table in tables for value in table[name]] for name in tables[0]}

    def _sample_once(
        self, turn: int, part: str, rows: np.ndarray, decoding: TemperatureMixture, relevance: bool
    ) -> dict[str, Any]:
        """One response of the attacker to each context; processes share the work."""
        stream = TRAIN if part == "train" else VALIDATION
        local = np.arange(len(rows))[self.rank :: self.ranks]
        samples: list[tuple[Any, ...]] = []
        for start in range(0, len(local), _CHUNK):
            indices = local[start : start + _CHUNK]
            drawn = self._draw(turn, part, rows[indices], 1, [stream], decoding)
            scores = self.defender.relevance(drawn.passages) if relevance else [np.nan] * len(drawn)
            samples += zip(
                indices.tolist(),
                [passage.response for passage in drawn.passages],
                drawn.temperatures.tolist(),
                drawn.finished.tolist(),
                map(float, scores),
                strict=True,
            )
        samples = sorted(gather_object(samples)) if self.ranks > 1 else samples
        names = ("index", "response", "temperature", "finished", "relevance")
        columns = dict(zip(names, map(list, zip(*samples, strict=True)), strict=True))
        columns["row"] = rows[columns.pop("index")].tolist()
        return columns

    def _draw(
        self,
        turn: int,
        part: str,
        rows: Sequence[int] | np.ndarray,
        n: int,
        stream: Sequence[int],
        decoding: TemperatureMixture | None = None,
    ) -> Drawn:
        seeds = [self._seed([turn, *stream, row]) for row in np.asarray(rows).tolist()]
        return draw_responses(
            self.generator,
            self._passages(part, rows),
            seeds,
            decoding or self.config.decoding,
            n,
            self.config.max_new_tokens,
            self._seed([turn]),
            "attacker",
        )

    def _passages(self, part: str, rows: Sequence[int] | np.ndarray) -> list[Passage]:
        return list(iterate(self.human[part].select(rows, keep_in_memory=True)))
