"""Adversarial evaluation: every system before every judge, with what the judges are worth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dialeval.dialogues import BadInput
from dialeval.dialogues.types import text_key
from dialeval.metrics.distinct import distinct
from dialeval.metrics.results import SECOND_HUMAN, plain, signature, versions
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.ablations import learning_curve, length_matched, seed_variation
from dialeval.protocols.evaluation.collector import ResultCollector, library_versions, turns_of
from dialeval.protocols.evaluation.evaluators import (
    EVALUATORS,
    REFERENCES,
    FitContext,
    resolve_evaluators,
)
from dialeval.protocols.evaluation.examples import extremes
from dialeval.protocols.evaluation.frozen import (
    AGAINST,
    FrozenScorer,
    frozen_names,
    load_frozen,
    warn_if_trained_against,
)
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.reliability import note_reliability
from dialeval.protocols.evaluation.settings import EvaluationRun
from dialeval.protocols.evaluation.tables import ScoreTables
from dialeval.protocols.evaluation.twosample import TwoSampleTest
from dialeval.protocols.evaluation.verdict import Evidence, verdict
from dialeval.protocols.evaluation.writing import check_output_dir, settings_of, write_results

Control = tuple[pa.Table, TwoSampleTest]
"""What a judge made of human and random replies: in cross-fitting, and on a held-out half."""


@dataclass
class Study:
    """One run over its material; what judges say is asked once and kept.

    Args:
        tell (`Callable`, *optional*):
            Told how many folds of how many are fitted, and what is going on.
        fixed (`Mapping`, *optional*):
            Scorers that are applied as they are, by name, beside those that the run names.
    """

    data: EvaluationData
    run: EvaluationRun
    fit_context: FitContext = field(default_factory=FitContext)
    on_progress: Callable[[int, int, str], Any] = lambda done, total, what: None
    frozen: Mapping[str, Any] = field(default_factory=dict)
    verdicts: list[dict[str, str]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self):
        data = self.data
        self.evaluators = [*dict.fromkeys([*resolve_evaluators(self.run.evaluators)[: -len(REFERENCES)],
                                       *self.frozen]), *REFERENCES]  # fmt: skip
        named = frozen_names(self.run.evaluators or (), [*EVALUATORS, "all"])
        self.frozen = {name: FrozenScorer(scorer, name) for name, scorer in self.frozen.items()}
        self.frozen |= {name: load_frozen(name, where) for name, where in named.items()}
        self.collector = ResultCollector(
            turns_of(data.human), self.run.seed, [], list(data.warnings)
        )
        self.tables = ScoreTables(data, self.run, self.evaluators, self.fit_context, self.on_progress,
                             self.collector.warn, self.frozen)  # fmt: skip
        if self.tables.folds < self.run.folds:
            told = f"{self.tables.folds} folds in place of {self.run.folds}: dialogues are few."
            self.collector.warn(told)

    def __call__(self) -> dict[str, Any]:
        """Judge everything, write results and scores, and give what was written."""
        settings = self._begin("evaluation")
        refusals = [error for evaluator in self.evaluators for error in self._judge(evaluator)]
        if refusals and not self.verdicts:  # nothing but references is left
            raise BadInput(f"no evaluator could judge: {refusals[0].message}",
                           hint=refusals[0].hint)  # fmt: skip
        self._describe_systems()
        self.tables.finish()
        return self._written(settings)

    def reliability(self) -> dict[str, Any]:
        """Ask only what the judges are worth; writes results and scores, and gives them."""
        settings = self._begin("reliability")
        self.tables.expect_reliability()
        for evaluator in self.evaluators:
            for system in [*self.data.systems] or [""]:
                note_reliability(self.tables, self.collector, evaluator, system, partly=True)
        self.tables.finish()
        return self._written(settings)

    def _begin(self, protocol: str) -> dict[str, Any]:
        """The settings as they are written, once no other run is in the way."""
        keys = {name: evaluator.key for name, evaluator in self.frozen.items()}
        found = settings_of(self.run, self.evaluators, self.tables.folds, self.tables.contents,
                            keys, protocol)  # fmt: skip
        if not self.run.overwrite:
            check_output_dir(Path(self.run.output_dir), found)
        for evaluator in self.frozen.values():
            self._prepare(evaluator)
        return found

    def _prepare(self, evaluator: FrozenScorer) -> None:
        """Give a judge that was never trained a threshold; say which systems learnt from it."""
        key = text_key([evaluator.key, self.tables.contents[""]])
        told = evaluator.decide(self.data.human, self.tables.cache / f"{key}.json")
        if told:
            self.collector.warn(told)
        for system, training in self.data.training.items():
            if warn_if_trained_against(training, evaluator):
                self.collector.warn(f"{system}: {evaluator.name} {AGAINST}")

    def _judge(self, evaluator: str) -> list[BadInput]:
        """All systems before one judge; gives what could not be done, and why."""
        control, refusals = self._control(evaluator), []
        for system in self.data.names:
            try:
                self._judge_system(evaluator, system, control)
            except BadInput as error:
                self.collector.warn(f"{evaluator} did not get through with {system}: {error}")
                refusals.append(error)
        return refusals

    def _judge_system(self, evaluator: str, system: str, control: Control | None) -> None:
        table = self.tables.table(evaluator, system, "human_machine")
        test = self._difference(evaluator, system, "human_machine")
        found = self._success(evaluator, system, table, test)
        retrained = evaluator not in self.frozen
        random = None
        if retrained and evaluator != "coin":
            random = self._versus_random(evaluator, system, control)
        if evaluator in REFERENCES or system == SECOND_HUMAN:
            return
        self._decide(evaluator, system, found, test, control, random)
        if retrained:
            self.curves += learning_curve(self.tables, evaluator, system, found)
            length_matched(self.tables, self.collector, evaluator, system)
        note_reliability(self.tables, self.collector, evaluator, system)

    def _success(
        self, evaluator: str, system: str, table: pa.Table, test: TwoSampleTest
    ) -> dict[str, Any]:
        """Note AdverSuc with what stands beside it."""
        found = measures.adversarial_success(table, self.run.seed, self.tables.threshold(evaluator))
        details = {
            **{k: v for k, v in found.items() if k not in ("adversuc", "low", "high", "n")},
            # As AdverSuc too: the same judge without the context, and with another's.
            "response_only": 1 - measures.accuracy(table, "response_only_taken"),
            "shuffled_context": 1 - measures.accuracy(table, "shuffled_taken"),
            "p_value": test.p_value,
            "held_out_accuracy": test.accuracy,
            "minimum_detectable_accuracy": test.minimum,
            "length_stratified_accuracy": measures.length_stratified(table),
        }
        if evaluator not in (*REFERENCES, *self.frozen) and system != SECOND_HUMAN:
            details |= seed_variation(self.tables, evaluator, system, found["adversuc"])
        if evaluator in self.frozen:
            details |= {
                "judge": self.frozen[evaluator].signature,
                "judge_key": self.frozen[evaluator].key,
            }
        self._add("adversuc", system, evaluator, found["adversuc"], found, details)
        return found

    def _control(self, evaluator: str) -> Control | None:
        """Human against random replies: what the judge can do where there is a difference."""
        table = self.tables.tried("control on random replies", evaluator, "", "human_random")
        if table is None:
            return None
        test = self._difference(evaluator, "", "human_random")
        details = {"response_only": measures.accuracy(table, "response_only_taken"),
                   "p_value": test.p_value}  # fmt: skip
        told = measures.accuracy_interval(table, self.run.seed)
        self._add("human_vs_random", "", evaluator, measures.accuracy(table), told, details)
        return table, test

    def _difference(self, evaluator: str, system: str, scenario: str) -> TwoSampleTest:
        """The test on a held-out half; where a half is too small for it, nothing is found."""
        try:
            return self.tables.difference(evaluator, system, scenario)
        except BadInput as error:
            against = f"{system} and humans" if system else "human and random replies"
            self.collector.warn(f"No test of {evaluator} on {against}, so p is 1: {error}")
            return TwoSampleTest(float("nan"), 1.0, 1.0, 0)

    def _versus_random(
        self, evaluator: str, system: str, control: Control | None
    ) -> dict[str, Any]:
        table = self.tables.table(evaluator, system, "machine_random")
        value = measures.accuracy(table)
        blind = measures.accuracy(table, "response_only_taken")
        told = measures.accuracy_interval(table, self.run.seed)
        details = {"response_only": blind, "gap": value - blind}
        self._add("machine_vs_random", system, evaluator, value, told, details)
        below = control and measures.below_control(table, control[0], self.run.seed)
        return {"value": value, "below": bool(below)}

    def _decide(
        self,
        evaluator: str,
        system: str,
        found: dict[str, Any],
        test: TwoSampleTest,
        control: Control | None,
        random: dict[str, Any] | None,
    ) -> None:
        evidence = Evidence(
            accuracy=1 - found["adversuc"],
            low=1 - found["high"],
            high=1 - found["low"],
            p_value=test.p_value,
            control=measures.accuracy(control[0]) if control else None,
            control_p=control[1].p_value if control else 1.0,
            n=found["n"] // 2,
            random=random["value"] if random else None,
            below_control=bool(random and random["below"]),
            retrained=evaluator not in self.frozen,
        )
        name, text = verdict(system, evaluator, evidence)
        self.verdicts.append(
            {"system": system, "evaluator": evaluator, "verdict": name, "text": text}
        )

    def _add(
        self,
        metric: str,
        system: str,
        evaluator: str,
        value: float,
        found: dict[str, Any],
        details: dict[str, Any],
    ) -> None:
        how = self.tables.how(evaluator, system, found["n"])
        self.collector.add(metric, system, evaluator, value, found, how, details)

    def _describe_systems(self) -> None:
        everyone = {"human": self.data.human}
        everyone |= {name: self.data.sides(name)[1] for name in self.data.names}
        for system, passages in everyone.items():
            numbers = distinct(passages["response"][:])
            n = numbers.pop("n")
            self.collector.describe(system, numbers, n)

    def _written(self, settings: dict[str, Any]) -> dict[str, Any]:
        ranked = self._by_control()
        self.verdicts.sort(key=lambda row: ranked.index(row["evaluator"]))
        how = signature(
            evaluators="+".join(self.evaluators), folds=self.tables.folds, ctx=self.collector.context,
            n=len(self.data.human), seed=self.run.seed, **library_versions(),
        )  # fmt: skip
        told = {
            "results": [each.to_dict() for each in self.collector.results],
            "verdicts": self.verdicts,
            "curves": plain(self.curves),
            "examples": extremes(self.data, self.tables.kept, ranked[0]) if ranked else {},
            "warnings": self.collector.warnings,
            "settings": plain(settings),
            "versions": versions(),
            "signature": how,
        }
        write_results(Path(self.run.output_dir), told, self.tables.kept)
        return told

    def _by_control(self) -> list[str]:
        """Judges: retrained ones first, then those that tell human from random replies best."""
        rows = [row for row in self.collector.results if row.evaluator not in (*REFERENCES, "")]
        control = {row.evaluator: row.value for row in rows if row.metric == "human_vs_random"}
        names = dict.fromkeys(row.evaluator for row in rows if row.metric == "adversuc")
        return sorted(names, key=lambda name: (name in self.frozen, -control.get(name, 0.0)))


def evaluate(data: EvaluationData, run: EvaluationRun, **options: Any) -> dict[str, Any]:
    """Adversarial evaluation of systems; gives what stands in `results.json`."""
    return Study(data, replace(run), **options)()


def reliability(data: EvaluationData, run: EvaluationRun, **options: Any) -> dict[str, Any]:
    """The four scenarios before every judge, and no more; gives what stands in `results.json`."""
    return Study(data, replace(run), **options).reliability()
