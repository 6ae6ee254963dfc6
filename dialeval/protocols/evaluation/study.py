"""Adversarial evaluation: every system before every judge, with what the judges are worth."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from dialeval._version import __version__
from dialeval.dialogues import BadInput, Pairing, Passages, pair_folds, whole_file
from dialeval.dialogues.splits import row_hashes
from dialeval.dialogues.types import text_key
from dialeval.metrics.adversuc import adversuc
from dialeval.metrics.distinct import distinct
from dialeval.metrics.ere import ere
from dialeval.metrics.intervals import interval
from dialeval.metrics.lengths import stratified_accuracy
from dialeval.metrics.paired import paired_bootstrap
from dialeval.metrics.results import Result, plain, signature, versions
from dialeval.protocols.evaluation.crossfit import (
    crossfit,
    fold_seed,
    remembered,
    scenario_folds,
)
from dialeval.protocols.evaluation.examples import extremes
from dialeval.protocols.evaluation.inputs import Material
from dialeval.protocols.evaluation.judges import JUDGES, REFERENCES, Bench, chosen
from dialeval.protocols.evaluation.twosample import Difference, difference
from dialeval.protocols.evaluation.verdict import Evidence, verdict

HUMAN_SCENARIOS = ("human_human", "human_random", "human_next")
RELIABILITY = ("human_human", "machine_machine", "human_random", "human_next")


@dataclass
class EvaluationRun:
    """How systems are evaluated."""

    evaluators: list[str] | None = None
    folds: int = 5
    seeds: int = 3
    curve: tuple[float, ...] = (0.25, 0.5)
    length_matched: bool = True
    seed: int = 0
    output_dir: str = "runs/evaluation"

    def __post_init__(self):
        if self.folds < 2:
            raise BadInput(f"cross-fitting needs 2 folds or more, but got {self.folds}.")


@dataclass
class Study:
    """One run over its material; tables are made once and kept.

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
    tables: dict[tuple[str, str, str], pa.Table] = field(default_factory=dict)

    def __post_init__(self):
        self.judges = chosen(self.run.evaluators)
        self.cache = Path(self.run.output_dir) / "cache"
        self.human_scenarios = [name for name in HUMAN_SCENARIOS if self._has_data(name)]
        self.done, self.total = 0, self._count()
        self._hashes = {
            name: _content(each)
            for name, each in {"": self.material.human, **self.material.systems}.items()
        }

    def __call__(self) -> dict[str, Any]:
        """Judge everything, write results and scores, and give what was written."""
        for judge in self.judges:
            control, control_test = self._control(judge)
            for system in self.material.systems:
                self._judge_system(judge, system, control, control_test)
        self._describe_systems()
        return self._written()

    # One judge, one system.

    def _judge_system(
        self, judge: str, system: str, control: pa.Table, control_test: Difference
    ) -> None:
        table = self._table(judge, system, "human_machine")
        test = self._difference(judge, system, "human_machine")
        found = _adversuc(table, self.run.seed)
        details = {
            **{k: v for k, v in found.items() if k not in ("adversuc", "low", "high", "n")},
            "response_only": _accuracy(table, "response_only_taken"),
            "shuffled_context": _accuracy(table, "shuffled_taken"),
            "p_value": test.p_value,
            "held_out_accuracy": test.accuracy,
            "minimum_detectable_accuracy": test.minimum,
            "length_stratified_accuracy": _stratified(table),
        }
        if judge not in REFERENCES:
            details |= self._seeds(judge, system, found["adversuc"])
        self._add("adversuc", system, judge, found["adversuc"], found, details)
        if judge == "coin":
            return
        random = self._versus_random(judge, system, control)
        if judge in REFERENCES:
            return
        self._curve(judge, system, found)
        self._matched(judge, system)
        self._reliability(judge, system)
        self._decide(judge, system, found, test, control, control_test, random)

    def _versus_random(self, judge: str, system: str, control: pa.Table) -> dict[str, Any]:
        table = self._table(judge, system, "machine_random")
        right = _right(table, "taken")
        low, high = interval(right, table["dialogue_id"].to_pylist(), seed=self.run.seed)
        value, blind = float(right.mean()), _accuracy(table, "response_only_taken")
        details = {"response_only": blind, "gap": value - blind}
        self._add("machine_vs_random", system, judge, value, {"low": low, "high": high,
                  "n": len(right)}, details)  # fmt: skip
        return {"value": value, "below": _below(table, control, self.run.seed)}

    def _seeds(self, judge: str, system: str, first: float) -> dict[str, Any]:
        """AdverSuc with other folds, pairs and initial weights: what a judge's luck is worth."""
        values = [first]
        for more in range(1, self.run.seeds):
            table = self._table(judge, system, "human_machine", seed=self.run.seed + more)
            values.append(1 - _accuracy(table, "taken"))
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
        return {"seeds": values, "seed_spread": spread}

    def _curve(self, judge: str, system: str, whole: dict[str, Any]) -> None:
        pairs = whole["n"] // 2
        for share in (*self.run.curve, 1.0):
            found = whole
            if share < 1:
                table = self._table(judge, system, "human_machine", share=share)
                found = _adversuc(table, self.run.seed)
            trained = round(share * pairs * (self.run.folds - 1) / self.run.folds)
            self.curves.append(
                {"system": system, "evaluator": judge, "share": share, "n_train": trained,
                 "adversuc": found["adversuc"], "low": found["low"], "high": found["high"]}
            )  # fmt: skip

    def _matched(self, judge: str, system: str) -> None:
        """AdverSuc where both classes have the same histogram of lengths, in training and test."""
        if not self.run.length_matched:
            return
        try:
            table = self._table(judge, system, "human_machine", matched=5)
        except BadInput as error:
            self._remark(f"No length-matched AdverSuc for {system}: {error}")
            return
        found = _adversuc(table, self.run.seed)
        self._add("adversuc_length_matched", system, judge, found["adversuc"], found, {})

    def _reliability(self, judge: str, system: str) -> None:
        missing = [name for name in HUMAN_SCENARIOS if name not in self.human_scenarios]
        if missing:
            self._remark(f"No ERE: the data have nothing for {', '.join(missing)}.")
            return
        parts = {
            name: self._table(judge, system if name == "machine_machine" else "", name)
            for name in RELIABILITY
        }
        joined = pa.concat_tables(parts.values())
        scenarios = [name for name, table in parts.items() for _ in range(len(table))]
        found = ere(
            joined["score"].to_numpy(),
            joined["label"].to_numpy(),
            scenarios,
            groups=joined["dialogue_id"].to_pylist(),
            seed=self.run.seed,
        )
        details = {key: found[key] for key in ("scenarios", "coin", "noise_floor")}
        self._add("ere", system, judge, found["ere"], found, {**details, "ere_mode": "retrained"})

    def _control(self, judge: str) -> tuple[pa.Table, Difference]:
        """Human against random replies: what the judge can do where there is a difference."""
        table = self._table(judge, "", "human_random")
        test = self._difference(judge, "", "human_random")
        right = _right(table, "taken")
        low, high = interval(right, table["dialogue_id"].to_pylist(), seed=self.run.seed)
        details = {"response_only": _accuracy(table, "response_only_taken"),
                   "p_value": test.p_value}  # fmt: skip
        told = {"low": low, "high": high, "n": len(right)}
        self._add("human_vs_random", "", judge, float(right.mean()), told, details)
        return table, test

    def _decide(
        self,
        judge: str,
        system: str,
        found: dict[str, Any],
        test: Difference,
        control: pa.Table,
        control_test: Difference,
        random: dict[str, Any],
    ) -> None:
        evidence = Evidence(
            accuracy=1 - found["adversuc"],
            low=1 - found["high"],
            high=1 - found["low"],
            p_value=test.p_value,
            control=_accuracy(control, "taken"),
            control_p=control_test.p_value,
            n=found["n"] // 2,
            random=random["value"],
            below_control=random["below"],
        )
        name, text = verdict(system, judge, evidence)
        self.verdicts.append({"system": system, "evaluator": judge, "verdict": name, "text": text})

    # Tables, each made once.

    def _table(
        self,
        judge: str,
        system: str,
        scenario: str,
        share: float = 1.0,
        seed: int | None = None,
        matched: int | None = None,
    ) -> pa.Table:
        seed = self.run.seed if seed is None else seed
        key = self._key(judge, system, scenario, str(share), str(seed), str(matched))
        main = share == 1 and matched is None and seed == self.run.seed

        def make() -> pa.Table:
            folds = self._folds(system, scenario, self.run.folds, seed, matched)
            what = f"{judge}, {system or 'humans'}, {scenario}"
            done = partial(self._step, 1, what)
            return crossfit(JUDGES[judge], folds, seed, self.bench, share, done, main)

        path = self.cache / f"{key}.parquet"
        if path.is_file():
            self._step(self.run.folds, "found in the cache")
        table = remembered(path, make)
        if main:
            self.tables[judge, system, scenario] = table
        return table

    def _difference(self, judge: str, system: str, scenario: str) -> Difference:
        path = self.cache / f"{self._key(judge, system, scenario, 'halves')}.json"
        self._step(1, f"{judge}, {system or 'humans'}, halves")
        if path.is_file():
            return Difference(**json.loads(path.read_text("utf-8")))
        halves = self._folds(system, scenario, 2, self.run.seed)
        found = difference(JUDGES[judge], halves, self.run.seed, self.bench)
        with whole_file(path) as file:
            json.dump(asdict(found), file)
        return found

    def _folds(
        self, system: str, scenario: str, k: int, seed: int, matched: int | None = None
    ) -> list[Passages]:
        machine = self.material.systems.get(system)
        if matched:
            pairing = Pairing(scenario, match_length=matched, seed=seed)
            return pair_folds(self.material.human, pairing, k, machine, fold_seed(seed))
        return scenario_folds(scenario, self.material.human, machine, k, seed)

    def _key(self, judge: str, system: str, *more: str) -> str:
        facts = [judge, __version__, str(self.run.folds), str(self.run.seed), *more]
        return text_key([*facts, self._hashes[""], self._hashes[system]])

    def _has_data(self, scenario: str) -> bool:
        if scenario != "human_next":
            return True
        following = sum(text is not None for text in self.material.human["following"])
        return following >= 10 * self.run.folds

    def _count(self) -> int:
        """Folds that will be fitted."""
        k, systems = self.run.folds, len(self.material.systems)
        total = 0
        for judge in self.judges:
            real = judge not in REFERENCES
            total += k + 1 + systems * (k + 1)
            total += systems * k if judge != "coin" else 0
            if real:
                again = self.run.seeds - 1 + len(self.run.curve) + int(self.run.length_matched)
                total += systems * k * (again + 1) + 2 * k
        return total

    def _step(self, count: int, what: str) -> None:
        self.done = min(self.done + count, self.total)
        self.tell(self.done, self.total, what)

    # What is written.

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
            folds=self.run.folds, thr=0.5, n=found["n"], seed=self.run.seed, v=__version__,
        )  # fmt: skip
        self.results.append(
            Result(metric, system, judge, value, found["low"], found["high"], found["n"], how,
                   details)
        )  # fmt: skip

    def _describe_systems(self) -> None:
        everyone = {"human": self.material.human, **self.material.systems}
        for system, passages in everyone.items():
            responses = passages["response"][:]
            for name, value in distinct(responses).items():
                if isinstance(value, int | float) and name != "n":
                    how = signature(metric=name, system=system, v=__version__)
                    nothing = float("nan")
                    self.results.append(
                        Result(name, system, "", value, nothing, nothing, len(responses), how)
                    )

    def _remark(self, text: str) -> None:
        if text not in self.material.remarks:
            self.material.remarks.append(text)

    def _written(self) -> dict[str, Any]:
        folder = Path(self.run.output_dir)
        ranked = self._by_control()
        self.verdicts.sort(key=lambda row: ranked.index(row["evaluator"]))
        told = {
            "results": [each.to_dict() for each in self.results],
            "verdicts": self.verdicts,
            "curves": plain(self.curves),
            "examples": extremes(self.material, self.tables, ranked[0]),
            "remarks": self.material.remarks,
            "settings": {**asdict(self.run), "evaluators": self.judges,
                         "systems": list(self.material.systems)},
            "versions": versions(),
            "signature": signature(evaluators="+".join(self.judges), folds=self.run.folds,
                                   n=len(self.material.human), seed=self.run.seed, v=__version__),
        }  # fmt: skip
        parquet.write_table(self._scores(), folder / "scores.parquet")
        with whole_file(folder / "results.json") as file:
            json.dump(told, file, ensure_ascii=False, indent=2)
            file.write("\n")
        return told

    def _by_control(self) -> list[str]:
        """Judges, those first that tell human from random replies best."""
        found = {
            row.evaluator: row.value for row in self.results if row.metric == "human_vs_random"
        }
        real = [name for name in self.judges if name not in REFERENCES]
        return sorted(real, key=lambda name: -found[name])

    def _scores(self) -> pa.Table:
        def parts() -> Iterator[pa.Table]:
            for (judge, system, scenario), table in self.tables.items():
                for name, value in (("scenario", scenario), ("evaluator", judge),
                                    ("system", system)):  # fmt: skip
                    table = table.add_column(0, name, pa.array([value] * len(table)))
                yield table

        return pa.concat_tables(parts())


def evaluate(material: Material, run: EvaluationRun, **options: Any) -> dict[str, Any]:
    """Adversarial evaluation of systems; gives what stands in `results.json`."""
    return Study(material, replace(run), **options)()


def _content(passages: Passages) -> str:
    hashes = row_hashes(passages, ["id", "dialogue_id", "context", "response", "following"])
    return text_key([hashes.tobytes().hex()])


def _right(table: pa.Table, column: str) -> np.ndarray:
    return (table[column].to_numpy() == (table["label"].to_numpy() == 1)).astype(float)


def _accuracy(table: pa.Table, column: str) -> float:
    return float(_right(table, column).mean())


def _adversuc(table: pa.Table, seed: int) -> dict[str, Any]:
    return adversuc(
        table["score"].to_numpy(),
        table["label"].to_numpy(),
        groups=table["dialogue_id"].to_pylist(),
        pairs=table["pair"].to_pylist(),
        folds=table["fold"].to_pylist(),
        seed=seed,
    )


def _stratified(table: pa.Table) -> float | None:
    found = stratified_accuracy(
        _right(table, "taken"), table["label"].to_numpy(), table["tokens"].to_numpy()
    )
    return found["accuracy"]


def _below(table: pa.Table, control: pa.Table, seed: int) -> bool:
    """Whether machine-vs-random lies significantly below human-vs-random, context by context."""
    ours, theirs = _by_context(table), _by_context(control)
    common = sorted(ours.keys() & theirs.keys())
    if len(common) < 10:
        return False
    found = paired_bootstrap(
        [theirs[key] for key in common], [ours[key] for key in common], seed=seed
    )
    return found["difference"] > 0 and found["p"] < 0.05


def _by_context(table: pa.Table) -> dict[str, float]:
    right, found = _right(table, "taken"), {}
    for key, value in zip(table["id"].to_pylist(), right.tolist(), strict=True):
        found.setdefault(key, []).append(value)
    return {key: float(np.mean(values)) for key, values in found.items()}
