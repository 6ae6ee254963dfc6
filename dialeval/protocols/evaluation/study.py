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
from dialeval.protocols.evaluation.beside import learning_curve, length_matched, other_seeds
from dialeval.protocols.evaluation.examples import extremes
from dialeval.protocols.evaluation.fixed import (
    AGAINST,
    AsItIs,
    fixed_names,
    load_fixed,
    warn_if_trained_against,
)
from dialeval.protocols.evaluation.inputs import Material
from dialeval.protocols.evaluation.judges import JUDGES, REFERENCES, Bench, chosen
from dialeval.protocols.evaluation.ledger import Ledger, library_versions, turns_of
from dialeval.protocols.evaluation.reliability import note_reliability
from dialeval.protocols.evaluation.settings import EvaluationRun
from dialeval.protocols.evaluation.tables import Tables
from dialeval.protocols.evaluation.twosample import Difference
from dialeval.protocols.evaluation.verdict import Evidence, verdict
from dialeval.protocols.evaluation.writing import refuse_other_run, settings_of, write_results

Control = tuple[pa.Table, Difference]
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

    material: Material
    run: EvaluationRun
    bench: Bench = field(default_factory=Bench)
    tell: Callable[[int, int, str], Any] = lambda done, total, what: None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    verdicts: list[dict[str, str]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self):
        material = self.material
        self.judges = [*dict.fromkeys([*chosen(self.run.evaluators)[: -len(REFERENCES)],
                                       *self.fixed]), *REFERENCES]  # fmt: skip
        named = fixed_names(self.run.evaluators or (), [*JUDGES, "all"])
        self.fixed = {name: AsItIs(scorer, name) for name, scorer in self.fixed.items()}
        self.fixed |= {name: load_fixed(name, where) for name, where in named.items()}
        self.ledger = Ledger(turns_of(material.human), self.run.seed, [], list(material.remarks))
        self.tables = Tables(material, self.run, self.judges, self.bench, self.tell,
                             self.ledger.remark, self.fixed)  # fmt: skip
        if self.tables.folds < self.run.folds:
            told = f"{self.tables.folds} folds in place of {self.run.folds}: dialogues are few."
            self.ledger.remark(told)

    def __call__(self) -> dict[str, Any]:
        """Judge everything, write results and scores, and give what was written."""
        settings = self._begin("evaluation")
        refusals = [error for judge in self.judges for error in self._judge(judge)]
        if refusals and not self.verdicts:  # nothing but references is left
            raise BadInput(f"no evaluator could judge: {refusals[0].message}",
                           remedy=refusals[0].remedy)  # fmt: skip
        self._describe_systems()
        self.tables.finish()
        return self._written(settings)

    def reliability(self) -> dict[str, Any]:
        """Ask only what the judges are worth; writes results and scores, and gives them."""
        settings = self._begin("reliability")
        self.tables.expect_reliability()
        for judge in self.judges:
            for system in [*self.material.systems] or [""]:
                note_reliability(self.tables, self.ledger, judge, system, partly=True)
        self.tables.finish()
        return self._written(settings)

    def _begin(self, protocol: str) -> dict[str, Any]:
        """The settings as they are written, once no other run is in the way."""
        keys = {name: judge.key for name, judge in self.fixed.items()}
        found = settings_of(self.run, self.judges, self.tables.folds, self.tables.contents,
                            keys, protocol)  # fmt: skip
        if not self.run.overwrite:
            refuse_other_run(Path(self.run.output_dir), found)
        for judge in self.fixed.values():
            self._prepare(judge)
        return found

    def _prepare(self, judge: AsItIs) -> None:
        """Give a judge that was never trained a threshold; say which systems learnt from it."""
        key = text_key([judge.key, self.tables.contents[""]])
        told = judge.decide(self.material.human, self.tables.cache / f"{key}.json")
        if told:
            self.ledger.remark(told)
        for system, training in self.material.training.items():
            if warn_if_trained_against(training, judge):
                self.ledger.remark(f"{system}: {judge.name} {AGAINST}")

    def _judge(self, judge: str) -> list[BadInput]:
        """All systems before one judge; gives what could not be done, and why."""
        control, refusals = self._control(judge), []
        for system in self.material.names:
            try:
                self._judge_system(judge, system, control)
            except BadInput as error:
                self.ledger.remark(f"{judge} did not get through with {system}: {error}")
                refusals.append(error)
        return refusals

    def _judge_system(self, judge: str, system: str, control: Control | None) -> None:
        table = self.tables.table(judge, system, "human_machine")
        test = self._difference(judge, system, "human_machine")
        found = self._success(judge, system, table, test)
        retrained = judge not in self.fixed
        random = None
        if retrained and judge != "coin":
            random = self._versus_random(judge, system, control)
        if judge in REFERENCES or system == SECOND_HUMAN:
            return
        self._decide(judge, system, found, test, control, random)
        if retrained:
            self.curves += learning_curve(self.tables, judge, system, found)
            length_matched(self.tables, self.ledger, judge, system)
        note_reliability(self.tables, self.ledger, judge, system)

    def _success(
        self, judge: str, system: str, table: pa.Table, test: Difference
    ) -> dict[str, Any]:
        """Note AdverSuc with what stands beside it."""
        found = measures.adversarial_success(table, self.run.seed, self.tables.threshold(judge))
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
        if judge not in (*REFERENCES, *self.fixed) and system != SECOND_HUMAN:
            details |= other_seeds(self.tables, judge, system, found["adversuc"])
        if judge in self.fixed:
            details |= {"judge": self.fixed[judge].signature, "judge_key": self.fixed[judge].key}
        self._add("adversuc", system, judge, found["adversuc"], found, details)
        return found

    def _control(self, judge: str) -> Control | None:
        """Human against random replies: what the judge can do where there is a difference."""
        table = self.tables.tried("control on random replies", judge, "", "human_random")
        if table is None:
            return None
        test = self._difference(judge, "", "human_random")
        details = {"response_only": measures.accuracy(table, "response_only_taken"),
                   "p_value": test.p_value}  # fmt: skip
        told = measures.accuracy_interval(table, self.run.seed)
        self._add("human_vs_random", "", judge, measures.accuracy(table), told, details)
        return table, test

    def _difference(self, judge: str, system: str, scenario: str) -> Difference:
        """The test on a held-out half; where a half is too small for it, nothing is found."""
        try:
            return self.tables.difference(judge, system, scenario)
        except BadInput as error:
            against = f"{system} and humans" if system else "human and random replies"
            self.ledger.remark(f"No test of {judge} on {against}, so p is 1: {error}")
            return Difference(float("nan"), 1.0, 1.0, 0)

    def _versus_random(self, judge: str, system: str, control: Control | None) -> dict[str, Any]:
        table = self.tables.table(judge, system, "machine_random")
        value = measures.accuracy(table)
        blind = measures.accuracy(table, "response_only_taken")
        told = measures.accuracy_interval(table, self.run.seed)
        details = {"response_only": blind, "gap": value - blind}
        self._add("machine_vs_random", system, judge, value, told, details)
        below = control and measures.below_control(table, control[0], self.run.seed)
        return {"value": value, "below": bool(below)}

    def _decide(
        self,
        judge: str,
        system: str,
        found: dict[str, Any],
        test: Difference,
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
            retrained=judge not in self.fixed,
        )
        name, text = verdict(system, judge, evidence)
        self.verdicts.append({"system": system, "evaluator": judge, "verdict": name, "text": text})

    def _add(
        self,
        metric: str,
        system: str,
        judge: str,
        value: float,
        found: dict[str, Any],
        details: dict[str, Any],
    ) -> None:
        how = self.tables.how(judge, system, found["n"])
        self.ledger.add(metric, system, judge, value, found, how, details)

    def _describe_systems(self) -> None:
        everyone = {"human": self.material.human}
        everyone |= {name: self.material.sides(name)[1] for name in self.material.names}
        for system, passages in everyone.items():
            numbers = distinct(passages["response"][:])
            n = numbers.pop("n")
            self.ledger.describe(system, numbers, n)

    def _written(self, settings: dict[str, Any]) -> dict[str, Any]:
        ranked = self._by_control()
        self.verdicts.sort(key=lambda row: ranked.index(row["evaluator"]))
        how = signature(
            evaluators="+".join(self.judges), folds=self.tables.folds, ctx=self.ledger.context,
            n=len(self.material.human), seed=self.run.seed, **library_versions(),
        )  # fmt: skip
        told = {
            "results": [each.to_dict() for each in self.ledger.results],
            "verdicts": self.verdicts,
            "curves": plain(self.curves),
            "examples": extremes(self.material, self.tables.kept, ranked[0]) if ranked else {},
            "remarks": self.ledger.remarks,
            "settings": plain(settings),
            "versions": versions(),
            "signature": how,
        }
        write_results(Path(self.run.output_dir), told, self.tables.kept)
        return told

    def _by_control(self) -> list[str]:
        """Judges: retrained ones first, then those that tell human from random replies best."""
        rows = [row for row in self.ledger.results if row.evaluator not in (*REFERENCES, "")]
        control = {row.evaluator: row.value for row in rows if row.metric == "human_vs_random"}
        names = dict.fromkeys(row.evaluator for row in rows if row.metric == "adversuc")
        return sorted(names, key=lambda name: (name in self.fixed, -control.get(name, 0.0)))


def evaluate(material: Material, run: EvaluationRun, **options: Any) -> dict[str, Any]:
    """Adversarial evaluation of systems; gives what stands in `results.json`."""
    return Study(material, replace(run), **options)()


def reliability(material: Material, run: EvaluationRun, **options: Any) -> dict[str, Any]:
    """The four scenarios before every judge, and no more; gives what stands in `results.json`."""
    return Study(material, replace(run), **options).reliability()
