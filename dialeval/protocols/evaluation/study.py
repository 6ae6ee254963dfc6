"""Adversarial evaluation: every system before every judge, with what the judges are worth."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval._version import __version__
from dialeval.dialogues import BadInput
from dialeval.metrics.distinct import distinct
from dialeval.metrics.results import Result, plain, signature, versions
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.examples import extremes
from dialeval.protocols.evaluation.inputs import Material
from dialeval.protocols.evaluation.judges import REFERENCES, Bench, chosen
from dialeval.protocols.evaluation.settings import EvaluationRun
from dialeval.protocols.evaluation.tables import RELIABILITY, Tables
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
    """

    material: Material
    run: EvaluationRun
    bench: Bench = field(default_factory=Bench)
    tell: Callable[[int, int, str], Any] = lambda done, total, what: None
    results: list[Result] = field(default_factory=list)
    verdicts: list[dict[str, str]] = field(default_factory=list)
    curves: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self):
        self.judges = chosen(self.run.evaluators)
        self.remarks = list(self.material.remarks)
        self.tables = Tables(self.material, self.run, self.judges, self.bench, self.tell)
        self.settings = settings_of(self.run, self.judges, self.tables.folds, self.tables.contents)
        if self.tables.folds < self.run.folds:
            self._remark(
                f"{self.tables.folds} folds in place of {self.run.folds}: dialogues are few."
            )

    def __call__(self) -> dict[str, Any]:
        """Judge everything, write results and scores, and give what was written."""
        if not self.run.overwrite:
            refuse_other_run(Path(self.run.output_dir), self.settings)
        refusals = [error for judge in self.judges for error in self._judge(judge)]
        if refusals and not self.verdicts:  # nothing but references is left
            raise BadInput(f"no evaluator could judge: {refusals[0].message}",
                           remedy=refusals[0].remedy)  # fmt: skip
        self._describe_systems()
        self.tables.finish()
        return self._written()

    def _judge(self, judge: str) -> list[BadInput]:
        """All systems before one judge; gives what could not be done, and why."""
        control, refusals = self._control(judge), []
        for system in self.material.systems:
            try:
                self._judge_system(judge, system, control)
            except BadInput as error:
                self._remark(f"{judge} did not get through with {system}: {error}")
                refusals.append(error)
        return refusals

    def _judge_system(self, judge: str, system: str, control: Control | None) -> None:
        table = self.tables.table(judge, system, "human_machine")
        test = self._difference(judge, system, "human_machine")
        found = measures.adversarial_success(table, self.run.seed)
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
        if judge not in REFERENCES:
            details |= self._seeds(judge, system, found["adversuc"])
        self._add("adversuc", system, judge, found["adversuc"], found, details)
        if judge == "coin":
            return
        random = self._versus_random(judge, system, control)
        if judge in REFERENCES:
            return
        self._decide(judge, system, found, test, control, random)
        self._curve(judge, system, found)
        self._matched(judge, system)
        self._reliability(judge, system)

    def _control(self, judge: str) -> Control | None:
        """Human against random replies: what the judge can do where there is a difference."""
        table = self._tried("control on random replies", judge, "", "human_random")
        if table is None:
            return None
        test = self._difference(judge, "", "human_random")
        details = {"response_only": measures.accuracy(table, "response_only_taken"),
                   "p_value": test.p_value}  # fmt: skip
        told = measures.accuracy_interval(table, self.run.seed)
        self._add("human_vs_random", "", judge, measures.accuracy(table), told, details)
        return table, test

    def _tried(
        self, what: str, judge: str, system: str, scenario: str, **how: Any
    ) -> pa.Table | None:
        """A table, or nothing and a remark where the data are too few for it."""
        try:
            return self.tables.table(judge, system, scenario, **how)
        except BadInput as error:
            self._remark(f"No {what} of {judge}{system and f' for {system}'}: {error}")
            return None

    def _difference(self, judge: str, system: str, scenario: str) -> Difference:
        """The test on a held-out half; where a half is too small for it, nothing is found."""
        try:
            return self.tables.difference(judge, system, scenario)
        except BadInput as error:
            against = f"{system} and humans" if system else "human and random replies"
            self._remark(f"No test of {judge} on {against}, so p is 1: {error}")
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

    def _seeds(self, judge: str, system: str, first: float) -> dict[str, Any]:
        """AdverSuc with other folds, pairs and initial weights: what a judge's luck is worth."""
        values = [first]
        for more in range(1, self.run.seeds):
            seed = self.run.seed + more
            table = self._tried(f"seed {seed}", judge, system, "human_machine", seed=seed)
            values += [] if table is None else [1 - measures.accuracy(table)]
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return {"seeds": values, "seed_spread": spread}

    def _decide(
        self,
        judge: str,
        system: str,
        found: dict[str, Any],
        test: Difference,
        control: Control | None,
        random: dict[str, Any],
    ) -> None:
        evidence = Evidence(
            accuracy=1 - found["adversuc"],
            low=1 - found["high"],
            high=1 - found["low"],
            p_value=test.p_value,
            control=measures.accuracy(control[0]) if control else None,
            control_p=control[1].p_value if control else 1.0,
            n=found["n"] // 2,
            random=random["value"],
            below_control=random["below"],
        )
        name, text = verdict(system, judge, evidence)
        self.verdicts.append({"system": system, "evaluator": judge, "verdict": name, "text": text})

    def _curve(self, judge: str, system: str, whole: dict[str, Any]) -> None:
        pairs, folds = whole["n"] // 2, self.tables.folds
        for share in (*self.run.curve, 1.0):
            found = whole
            if share < 1:
                what = f"learning curve at {share:g}"
                table = self._tried(what, judge, system, "human_machine", share=share)
                if table is None:
                    continue
                found = measures.adversarial_success(table, self.run.seed)
            trained = round(share * pairs * (folds - 1) / folds)
            self.curves.append(
                {"system": system, "evaluator": judge, "share": share, "n_train": trained,
                 "adversuc": found["adversuc"], "low": found["low"], "high": found["high"]}
            )  # fmt: skip

    def _matched(self, judge: str, system: str) -> None:
        """AdverSuc where both classes have the same histogram of lengths, in training and test."""
        if not self.run.length_matched:
            return
        what = "length-matched AdverSuc"
        table = self._tried(what, judge, system, "human_machine", matched=True)
        if table is None:
            return
        found = measures.adversarial_success(table, self.run.seed)
        self._add("adversuc_length_matched", system, judge, found["adversuc"], found, {})

    def _reliability(self, judge: str, system: str) -> None:
        if self.tables.missing:
            self._remark(f"No ERE: the data have too little for {', '.join(self.tables.missing)}.")
            return
        parts = {}
        for name in RELIABILITY:
            whose = system if name == "machine_machine" else ""
            parts[name] = self._tried(f"ERE, {name},", judge, whose, name)
            if parts[name] is None:
                return
        found = measures.reliability_error(parts, self.run.seed)
        details = {key: found[key] for key in ("scenarios", "coin", "noise_floor")}
        self._add("ere", system, judge, found["ere"], found, {**details, "ere_mode": "retrained"})

    def _add(
        self,
        metric: str,
        system: str,
        judge: str,
        value: float,
        found: dict[str, Any],
        details: dict[str, Any],
    ) -> None:
        trained = {"machine_vs_random": "this system and random replies",
                   "human_vs_random": "random"}.get(metric, "this system")  # fmt: skip
        how = signature(
            metric=metric, evaluator=judge, system=system, trained_on=trained,
            folds=self.tables.folds, thr=0.5, n=found["n"], seed=self.run.seed, v=__version__,
        )  # fmt: skip
        self.results.append(
            Result(metric, system, judge, value, found["low"], found["high"], found["n"], how,
                   details)
        )  # fmt: skip

    def _describe_systems(self) -> None:
        everyone = {"human": self.material.human, **self.material.systems}
        nothing = float("nan")
        for system, passages in everyone.items():
            responses = passages["response"][:]
            for name, value in distinct(responses).items():
                if name != "n":
                    how = signature(metric=name, system=system, v=__version__)
                    self.results.append(
                        Result(name, system, "", value, nothing, nothing, len(responses), how)
                    )

    def _remark(self, text: str) -> None:
        if text not in self.remarks:
            self.remarks.append(text)

    def _written(self) -> dict[str, Any]:
        ranked = self._by_control()
        self.verdicts.sort(key=lambda row: ranked.index(row["evaluator"]))
        how = signature(
            evaluators="+".join(self.judges), folds=self.tables.folds,
            n=len(self.material.human), seed=self.run.seed, v=__version__,
        )  # fmt: skip
        told = {
            "results": [each.to_dict() for each in self.results],
            "verdicts": self.verdicts,
            "curves": plain(self.curves),
            "examples": extremes(self.material, self.tables.kept, ranked[0]) if ranked else {},
            "remarks": self.remarks,
            "settings": plain(self.settings),
            "versions": versions(),
            "signature": how,
        }
        write_results(Path(self.run.output_dir), told, self.tables.kept)
        return told

    def _by_control(self) -> list[str]:
        """Judges, those first that tell human from random replies best."""
        rows = [row for row in self.results if row.evaluator not in (*REFERENCES, "")]
        control = {row.evaluator: row.value for row in rows if row.metric == "human_vs_random"}
        names = dict.fromkeys(row.evaluator for row in rows if row.metric == "adversuc")
        return sorted(names, key=lambda name: -control.get(name, 0.0))


def evaluate(material: Material, run: EvaluationRun, **options: Any) -> dict[str, Any]:
    """Adversarial evaluation of systems; gives what stands in `results.json`."""
    return Study(material, replace(run), **options)()
