"""What every judge says of every response: tables that are made once and kept in files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput, Passages, whole_file
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import text_key
from dialeval.metrics.results import SECOND_HUMAN, versions
from dialeval.protocols.evaluation.crossfit import (
    Folds,
    applied,
    crossfit,
    remembered,
    scenario_folds,
)
from dialeval.protocols.evaluation.fixed import AsItIs
from dialeval.protocols.evaluation.inputs import Material
from dialeval.protocols.evaluation.judges import JUDGES, REFERENCES, Bench
from dialeval.protocols.evaluation.settings import EvaluationRun
from dialeval.protocols.evaluation.twosample import Difference, difference, swap_test

HUMAN_SCENARIOS = ("human_human", "human_random", "human_next")
RELIABILITY = ("human_human", "machine_machine", "human_random", "human_next")
BLINDFOLDED = ("human_machine", "human_random", "machine_random")
"""Scenarios of which is told what a judge makes of the responses without their context."""
IN_A_FOLD = 3
"""Dialogues that a fold has at least, so that random replies can come from another one."""
FOLLOWED = 10
"""Passages in each fold that must say what followed, for `human_next`."""
LENGTH_BIN = 5
THRESHOLD = 0.5
"""Of judges that are trained here: they give P(human)."""


@dataclass
class Tables:
    """The judgements of one run.

    Args:
        tell (`Callable`):
            Told how many folds of how many are fitted, and what is going on.
        remark (`Callable`):
            Told what could not be done, and why.
        fixed (`Mapping`, *optional*):
            Judges that are applied as they are, by name.
        kept (`dict`):
            The main table of each judge, system and scenario, as far as they are made.
    """

    material: Material
    run: EvaluationRun
    judges: list[str]
    bench: Bench
    tell: Callable[[int, int, str], Any]
    remark: Callable[[str], Any]
    fixed: Mapping[str, AsItIs] = field(default_factory=dict)
    kept: dict[tuple[str, str, str], pa.Table] = field(default_factory=dict)

    def __post_init__(self):
        names = ["", *self.material.names]
        self.contents = {name: content(*self.material.sides(name)) for name in names}
        self.folds = fitting_folds(self.material.human, self.run.folds)
        self.missing = [name for name in HUMAN_SCENARIOS if not self._has_data(name)]
        self.drawn: dict[tuple[str, str, int, int, bool], Folds] = {}
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
        """What a judge said in cross-fitting, or as it is where it is not trained here.

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
            folds = self._folds(system, scenario, self.folds_of(system), seed, matched)
            blindfolds = main and scenario in BLINDFOLDED
            if judge in self.fixed:
                return applied(self.fixed[judge], folds, blindfolds)
            done = partial(self._step, 1, what)
            return crossfit(JUDGES[judge], folds, seed, self.bench, share, done, blindfolds)

        key = self._key(judge, system, scenario, f"{share} of it", f"seed {seed}", str(matched))
        path = self.cache / f"{key}.parquet"
        if path.is_file() or judge in self.fixed:
            self._step(self.folds, what)
        table = remembered(path, make)
        if main:
            self.kept[judge, system, scenario] = table
        return table

    def tried(
        self, what: str, judge: str, system: str, scenario: str, **how: Any
    ) -> pa.Table | None:
        """A table, or nothing and a remark where the data are too few for it."""
        try:
            return self.table(judge, system, scenario, **how)
        except BadInput as error:
            self.remark(f"No {what} of {judge}{system and f' for {system}'}: {error}")
            return None

    def difference(self, judge: str, system: str, scenario: str) -> Difference:
        """Whether a judge that learnt on one half of the dialogues tells the sides apart.

        One that learnt elsewhere is asked about all of them.
        """
        self._step(1, f"{judge}, {system or 'humans'}, halves")
        if judge in self.fixed:
            return swap_test(self.table(judge, system, scenario), self.run.seed)
        path = self.cache / f"{self._key(judge, system, scenario, 'halves')}.json"
        if path.is_file():
            return Difference(**json.loads(path.read_text("utf-8")))
        halves = self._folds(system, scenario, 2, self.run.seed)
        found = difference(JUDGES[judge], halves, self.run.seed, self.bench)
        with whole_file(path) as file:
            json.dump(asdict(found), file)
        return found

    def threshold(self, judge: str) -> float:
        """From which score on a judge takes a response for human."""
        return self.fixed[judge].decision.threshold if judge in self.fixed else THRESHOLD

    def folds_of(self, system: str) -> int:
        """Folds of cross-fitting; fewer where a second human answers less than the systems."""
        if system != SECOND_HUMAN:
            return self.folds
        return fitting_folds(self.material.sides(system)[0], self.folds)

    def how(self, judge: str, system: str, *responses: int) -> dict[str, Any]:
        """What stands in the signature of a judge's number.

        Args:
            responses (`int`):
                Of the number, or of each scenario that it rests on.
        """
        if judge not in self.fixed:
            k = self.folds_of(system)
            pairs = (round(n / 2 * (k - 1) / k) for n in responses)
            return {"folds": k, "thr": THRESHOLD, "n_train": "+".join(map(str, pairs))}
        fixed = self.fixed[judge]
        return {"trained_on": "others", "folds": "none", "thr": f"{fixed.decision.threshold:.4g}",
                "n_train": fixed.trained_on or "unknown"}  # fmt: skip

    def expect_reliability(self) -> None:
        """Count on nothing but the four scenarios."""
        scenarios = len(HUMAN_SCENARIOS) - len(self.missing) + len(self.material.systems)
        self.total = len(self.judges) * self.folds * scenarios

    def finish(self) -> None:
        """Tell that nothing is left to do, whatever was left out."""
        self._step(self.total - self.done, "done")

    def _folds(self, system: str, scenario: str, k: int, seed: int, matched: bool = False) -> Folds:
        """The pairs of each fold, drawn once for all judges."""
        key = (system, scenario, k, seed, matched)
        if key not in self.drawn:
            width = LENGTH_BIN if matched else None
            self.drawn[key] = scenario_folds(scenario, *self.material.sides(system), k, seed, width)
        return self.drawn[key]

    def _key(self, judge: str, system: str, *more: str) -> str:
        """A name for a table by all that moves it; whoever has the same facts may share it."""
        facts = [judge, *versions().values(), str(self.folds), str(self.run.seed), *more]
        if judge in self.fixed:
            facts += [self.fixed[judge].key, str(self.threshold(judge))]
        return text_key([*facts, system, self.contents[""], self.contents[system]])

    def _has_data(self, scenario: str) -> bool:
        if scenario != "human_next":
            return True
        following = sum(text is not None for text in self.material.human["following"])
        return following >= FOLLOWED * self.folds

    def _count(self) -> int:
        """Folds that will be fitted."""
        k, systems, total = self.folds, len(self.material.names), 0
        judged = len(self.material.systems)  # those that are no reference
        again = self.run.seeds - 1 + len(self.run.curve) + int(self.run.length_matched)
        for judge in self.judges:
            total += (systems + 1) * (k + 1)
            if judge not in (*self.fixed, "coin"):
                total += systems * k
            if judge not in REFERENCES:
                total += judged * k * again if judge not in self.fixed else 0
                total += 0 if self.missing else (judged + 2) * k
        return total

    def _step(self, count: int, what: str) -> None:
        self.done = min(self.done + count, self.total)
        self.tell(self.done, self.total, what)


def fitting_folds(human: Passages, wanted: int) -> int:
    """As many folds as wanted, or as many as have enough dialogues each, and at least 2."""
    dialogues = len(np.unique(row_hashes(human, ["dialogue_id"])))
    return max(2, min(wanted, dialogues // IN_A_FOLD))


def content(human: Passages, answers: Passages | None = None) -> str:
    """A name for passages, human ones or a system's: whatever of them moves a number."""
    passages = human if answers is None else answers
    hashes = row_hashes(passages, ["id", "dialogue_id", "context", "response", "following"])
    return text_key([hashes.tobytes().hex()])
