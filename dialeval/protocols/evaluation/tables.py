"""What every judge says of every response: tables that are made once and kept in files."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import Passages, whole_file
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import text_key
from dialeval.metrics.results import versions
from dialeval.protocols.evaluation.crossfit import crossfit, remembered, scenario_folds
from dialeval.protocols.evaluation.inputs import Material
from dialeval.protocols.evaluation.judges import JUDGES, REFERENCES, Bench
from dialeval.protocols.evaluation.settings import EvaluationRun
from dialeval.protocols.evaluation.twosample import Difference, difference

HUMAN_SCENARIOS = ("human_human", "human_random", "human_next")
RELIABILITY = ("human_human", "machine_machine", "human_random", "human_next")
IN_A_FOLD = 3
"""Dialogues that a fold has at least, so that random replies can come from another one."""
FOLLOWED = 10
"""Passages in each fold that must say what followed, for `human_next`."""
LENGTH_BIN = 5


@dataclass
class Tables:
    """The judgements of one run.

    Args:
        tell (`Callable`):
            Told how many folds of how many are fitted, and what is going on.
        kept (`dict`):
            The main table of each judge, system and scenario, as far as they are made.
    """

    material: Material
    run: EvaluationRun
    judges: list[str]
    bench: Bench
    tell: Callable[[int, int, str], Any]
    kept: dict[tuple[str, str, str], pa.Table] = field(default_factory=dict)

    def __post_init__(self):
        everyone = {"": self.material.human, **self.material.systems}
        self.contents = {name: content(each) for name, each in everyone.items()}
        self.folds = fitting_folds(self.material.human, self.run.folds)
        self.missing = [name for name in HUMAN_SCENARIOS if not self._has_data(name)]
        self.drawn: dict[tuple[str, str, int, int, bool], list[Passages]] = {}
        self.cache = Path(self.run.output_dir) / "cache"
        self.done, self.total = 0, self._count()

    def table(
        self,
        judge: str,
        system: str,
        scenario: str,
        share: float = 1.0,
        seed: int | None = None,
        matched: bool = False,
    ) -> pa.Table:
        """What a judge said in cross-fitting.

        Args:
            share (`float`, *optional*, defaults to 1.0):
                Part of the training pairs that is used.
            seed (`int`, *optional*):
                Of folds, draws and weights, where it is not the run's.
            matched (`bool`, *optional*, defaults to `False`):
                Whether both classes have the same histogram of lengths.
        """
        seed = self.run.seed if seed is None else seed
        main = share == 1 and not matched and seed == self.run.seed
        if main and (judge, system, scenario) in self.kept:
            return self.kept[judge, system, scenario]
        what = f"{judge}, {system or 'humans'}, {scenario}"

        def make() -> pa.Table:
            folds = self._folds(system, scenario, self.folds, seed, matched)
            done = partial(self._step, 1, what)
            return crossfit(JUDGES[judge], folds, seed, self.bench, share, done, main)

        key = self._key(judge, system, scenario, f"{share} of it", f"seed {seed}", str(matched))
        path = self.cache / f"{key}.parquet"
        if path.is_file():
            self._step(self.folds, f"{what}: done before")
        table = remembered(path, make)
        if main:
            self.kept[judge, system, scenario] = table
        return table

    def difference(self, judge: str, system: str, scenario: str) -> Difference:
        """Whether a judge that learnt on one half of the dialogues tells the sides apart."""
        path = self.cache / f"{self._key(judge, system, scenario, 'halves')}.json"
        self._step(1, f"{judge}, {system or 'humans'}, halves")
        if path.is_file():
            return Difference(**json.loads(path.read_text("utf-8")))
        halves = self._folds(system, scenario, 2, self.run.seed)
        found = difference(JUDGES[judge], halves, self.run.seed, self.bench)
        with whole_file(path) as file:
            json.dump(asdict(found), file)
        return found

    def finish(self) -> None:
        """Tell that nothing is left to do, whatever was left out."""
        self._step(self.total - self.done, "done")

    def _folds(
        self, system: str, scenario: str, k: int, seed: int, matched: bool = False
    ) -> list[Passages]:
        """The pairs of each fold, drawn once for all judges."""
        key = (system, scenario, k, seed, matched)
        if key not in self.drawn:
            machine, width = self.material.systems.get(system), LENGTH_BIN if matched else None
            sides = (self.material.human, machine)
            self.drawn[key] = scenario_folds(scenario, *sides, k, seed, width)
        return self.drawn[key]

    def _key(self, judge: str, system: str, *more: str) -> str:
        """A name for a table by all that moves it; whoever has the same facts may share it."""
        facts = [judge, *versions().values(), str(self.folds), str(self.run.seed), *more]
        return text_key([*facts, system, self.contents[""], self.contents[system]])

    def _has_data(self, scenario: str) -> bool:
        if scenario != "human_next":
            return True
        following = sum(text is not None for text in self.material.human["following"])
        return following >= FOLLOWED * self.folds

    def _count(self) -> int:
        """Folds that will be fitted."""
        k, systems, total = self.folds, len(self.material.systems), 0
        again = self.run.seeds - 1 + len(self.run.curve) + int(self.run.length_matched)
        for judge in self.judges:
            total += (systems + 1) * (k + 1)
            total += systems * k if judge != "coin" else 0
            if judge not in REFERENCES:
                total += systems * k * again
                total += 0 if self.missing else (systems + 2) * k
        return total

    def _step(self, count: int, what: str) -> None:
        self.done = min(self.done + count, self.total)
        self.tell(self.done, self.total, what)


def fitting_folds(human: Passages, wanted: int) -> int:
    """As many folds as wanted, or as many as have enough dialogues each, and at least 2."""
    dialogues = len(np.unique(row_hashes(human, ["dialogue_id"])))
    return max(2, min(wanted, dialogues // IN_A_FOLD))


def content(passages: Passages) -> str:
    """A name for passages: whatever of them moves a number."""
    hashes = row_hashes(passages, ["id", "dialogue_id", "context", "response", "following"])
    return text_key([hashes.tobytes().hex()])
