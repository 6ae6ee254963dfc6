"""What every judge says of every response: tables that are made once and kept in files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput, Passages, atomic_write
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
from dialeval.protocols.evaluation.evaluators import EVALUATORS, REFERENCES, FitContext
from dialeval.protocols.evaluation.frozen import FrozenScorer
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.settings import EvaluationRun
from dialeval.protocols.evaluation.twosample import TwoSampleTest, difference, swap_test

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
class ScoreTables:
    """The judgements of one run.

    Args:
        tell (`Callable`):
            Told how many folds of how many are fitted, and what is going on.
        warn (`Callable`):
            Told what could not be done, and why.
        fixed (`Mapping`, *optional*):
            Judges that are applied as they are, by name.
        kept (`dict`):
            The main table of each judge, system and scenario, as far as they are made.
    """

    data: EvaluationData
    run: EvaluationRun
    evaluators: list[str]
    fit_context: FitContext
    on_progress: Callable[[int, int, str], Any]
    warn: Callable[[str], Any]
    frozen: Mapping[str, FrozenScorer] = field(default_factory=dict)
    kept: dict[tuple[str, str, str], pa.Table] = field(default_factory=dict)

    def __post_init__(self):
        names = ["", *self.data.names]
        self.contents = {name: content(*self.data.sides(name)) for name in names}
        self.folds = fitting_folds(self.data.human, self.run.folds)
        self.missing = [name for name in HUMAN_SCENARIOS if not self._has_data(name)]
        self.drawn: dict[tuple[str, str, int, int, bool], Folds] = {}
        self.cache = Path(self.run.output_dir) / "cache"
        self.done, self.total = 0, self._count()

    def table(
        self,
        evaluator: str,
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
        if main and (evaluator, system, scenario) in self.kept:
            return self.kept[evaluator, system, scenario]
        what = f"{evaluator}, {system or 'humans'}, {scenario}"

        def make() -> pa.Table:
            folds = self._folds(system, scenario, self.folds_of(system), seed, matched)
            blindfolds = main and scenario in BLINDFOLDED
            if evaluator in self.frozen:
                return applied(self.frozen[evaluator], folds, blindfolds)
            done = partial(self._step, 1, what)
            return crossfit(
                EVALUATORS[evaluator], folds, seed, self.fit_context, share, done, blindfolds
            )

        key = self._key(evaluator, system, scenario, f"{share} of it", f"seed {seed}", str(matched))
        path = self.cache / f"{key}.parquet"
        if path.is_file() or evaluator in self.frozen:
            self._step(self.folds, what)
        table = remembered(path, make)
        if main:
            self.kept[evaluator, system, scenario] = table
        return table

    def tried(
        self, what: str, evaluator: str, system: str, scenario: str, **how: Any
    ) -> pa.Table | None:
        """A table, or nothing and a remark where the data are too few for it."""
        try:
            return self.table(evaluator, system, scenario, **how)
        except BadInput as error:
            self.warn(f"No {what} of {evaluator}{system and f' for {system}'}: {error}")
            return None

    def difference(self, evaluator: str, system: str, scenario: str) -> TwoSampleTest:
        """Whether a judge that learnt on one half of the dialogues tells the sides apart.

        One that learnt elsewhere is asked about all of them.
        """
        self._step(1, f"{evaluator}, {system or 'humans'}, halves")
        if evaluator in self.frozen:
            return swap_test(self.table(evaluator, system, scenario), self.run.seed)
        path = self.cache / f"{self._key(evaluator, system, scenario, 'halves')}.json"
        if path.is_file():
            return TwoSampleTest(**json.loads(path.read_text("utf-8")))
        halves = self._folds(system, scenario, 2, self.run.seed)
        found = difference(EVALUATORS[evaluator], halves, self.run.seed, self.fit_context)
        with atomic_write(path) as file:
            json.dump(asdict(found), file)
        return found

    def threshold(self, evaluator: str) -> float:
        """From which score on a judge takes a response for human."""
        return self.frozen[evaluator].decision.threshold if evaluator in self.frozen else THRESHOLD

    def folds_of(self, system: str) -> int:
        """Folds of cross-fitting; fewer where a second human answers less than the systems."""
        if system != SECOND_HUMAN:
            return self.folds
        return fitting_folds(self.data.sides(system)[0], self.folds)

    def how(self, evaluator: str, system: str, *responses: int) -> dict[str, Any]:
        """What stands in the signature of a judge's number.

        Args:
            responses (`int`):
                Of the number, or of each scenario that it rests on.
        """
        if evaluator not in self.frozen:
            k = self.folds_of(system)
            pairs = (round(n / 2 * (k - 1) / k) for n in responses)
            return {"folds": k, "thr": THRESHOLD, "n_train": "+".join(map(str, pairs))}
        frozen = self.frozen[evaluator]
        return {"trained_on": "others", "folds": "none", "thr": f"{frozen.decision.threshold:.4g}",
                "n_train": frozen.trained_on or "unknown"}  # fmt: skip

    def expect_reliability(self) -> None:
        """Count on nothing but the four scenarios."""
        scenarios = len(HUMAN_SCENARIOS) - len(self.missing) + len(self.data.systems)
        self.total = len(self.evaluators) * self.folds * scenarios

    def finish(self) -> None:
        """Tell that nothing is left to do, whatever was left out."""
        self._step(self.total - self.done, "done")

    def _folds(self, system: str, scenario: str, k: int, seed: int, matched: bool = False) -> Folds:
        """The pairs of each fold, drawn once for all judges."""
        key = (system, scenario, k, seed, matched)
        if key not in self.drawn:
            width = LENGTH_BIN if matched else None
            self.drawn[key] = scenario_folds(scenario, *self.data.sides(system), k, seed, width)
        return self.drawn[key]

    def _key(self, evaluator: str, system: str, *more: str) -> str:
        """A name for a table by all that moves it; whoever has the same facts may share it."""
        facts = [evaluator, *versions().values(), str(self.folds), str(self.run.seed), *more]
        if evaluator in self.frozen:
            facts += [self.frozen[evaluator].key, str(self.threshold(evaluator))]
        return text_key([*facts, system, self.contents[""], self.contents[system]])

    def _has_data(self, scenario: str) -> bool:
        if scenario != "human_next":
            return True
        following = sum(text is not None for text in self.data.human["following"])
        return following >= FOLLOWED * self.folds

    def _count(self) -> int:
        """Folds that will be fitted."""
        k, systems, total = self.folds, len(self.data.names), 0
        judged = len(self.data.systems)  # those that are no reference
        again = self.run.seeds - 1 + len(self.run.curve) + int(self.run.length_matched)
        for evaluator in self.evaluators:
            total += (systems + 1) * (k + 1)
            if evaluator not in (*self.frozen, "coin"):
                total += systems * k
            if evaluator not in REFERENCES:
                total += judged * k * again if evaluator not in self.frozen else 0
                total += 0 if self.missing else (judged + 2) * k
        return total

    def _step(self, count: int, what: str) -> None:
        self.done = min(self.done + count, self.total)
        self.on_progress(self.done, self.total, what)


def fitting_folds(human: Passages, wanted: int) -> int:
    """As many folds as wanted, or as many as have enough dialogues each, and at least 2."""
    dialogues = len(np.unique(row_hashes(human, ["dialogue_id"])))
    return max(2, min(wanted, dialogues // IN_A_FOLD))


def content(human: Passages, answers: Passages | None = None) -> str:
    """A name for passages, human ones or a system's: whatever of them moves a number."""
    passages = human if answers is None else answers
    hashes = row_hashes(passages, ["id", "dialogue_id", "context", "response", "following"])
    return text_key([hashes.tobytes().hex()])
