"""An invented evaluation with known results, and tools to look at its reports."""

import io
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
from rich.console import Console

from dialeval.metrics import adversuc, ere, versus_random
from dialeval.metrics.evaluation_results import (
    CurvePoint,
    EvaluationResults,
    Example,
    FormatLeak,
    SystemExamples,
    Verdict,
)
from dialeval.metrics.results import Result

SHIFTS = {"bot": 1.5, "parrot": 0.5, "sampler": 0.1}  # how much lower a machine scores than a human
EVALUATORS = {"svm-unigram": 1.0, "hierarchical": 1.6, "coin": 0.0, "length": 0.3}
SCENARIOS = {"human_human": 0.0, "machine_machine": 0.0, "human_random": 0.8, "human_next": 0.4}
NASTY = '<script>alert(1)</script>"onmouseover="alert(2)\' $x_{ & % \\ | ` *a* [/b] \x1b[31m \ud800'
VOID = {"meta", "br", "img", "hr", "link", "input"}
NAN = float("nan")


def simulate_scores(rng, n: int, shift: float) -> dict[str, np.ndarray]:
    """Scores of n humans and n others that are lower by a shift, in pairs and five folds."""
    label = np.repeat([1, 0], n)
    score = 1 / (1 + np.exp(-rng.normal(np.where(label == 1, shift / 2, -shift / 2), 1)))
    return {
        "label": label,
        "score": score,
        "predicted_human": score >= 0.5,
        "pair": np.tile(np.arange(n), 2),
        "fold": np.tile(np.arange(n) % 5, 2),
        "tokens": 1 + rng.poisson(8, 2 * n),
    }


def make_result(metric, system, evaluator, numbers: dict, key: str, **details) -> Result:
    bounds = (numbers.get("low", NAN), numbers.get("high", NAN), numbers.get("n", 0))
    return Result(metric, system, evaluator, numbers[key], *bounds, "folds:5|seed:0", details)


def simulate_evaluator(
    rng, n: int, system: str, evaluator: str, shift: float
) -> tuple[list[Result], dict[str, np.ndarray]]:
    """The results of one evaluator for one system, and the scores behind AdverSuc."""
    scale = EVALUATORS[evaluator]
    main = simulate_scores(rng, n, shift * scale)
    random = simulate_scores(rng, n, 0.8 * scale)
    groups = {name: simulate_scores(rng, n, far * scale) for name, far in SCENARIOS.items()}
    few = {"resamples": 200}
    first = adversuc(
        main["score"], main["label"], pairs=main["pair"].tolist(), folds=main["fold"], **few
    )
    second = versus_random(random["score"], random["label"], **few)
    third = ere(
        np.concatenate([group["score"] for group in groups.values()]),
        np.concatenate([group["label"] for group in groups.values()]),
        [name for name in groups for _ in range(2 * n)],
        **few,
    )
    names = ("accuracy", "machines_predicted_human", "pairwise_accuracy", "auroc", "tpr_at_5_fpr")
    details = {name: first[name] for name in names}
    errors = {"scenarios": third["scenarios"], "noise_floor": third["noise_floor"]}
    machine = {"response_only_accuracy": 0.6, "gap": -0.03}
    return [
        make_result("adversuc", system, evaluator, first, "adversuc", p_value=0.0002, **details),
        make_result("machine_vs_random", system, evaluator, second, "accuracy", **machine),
        make_result("relevance", system, evaluator, {"value": 0.625}, "value"),
        make_result("ere", system, evaluator, third, "ere", **errors),
    ], main


def learning_curve(system: str, evaluator: str, value: float) -> list[CurvePoint]:
    """A curve that has become flat, except for the first system, where it still falls."""
    last = 0.2 if system == "bot" else 0.02
    points = ((0.25, 2 * last), (0.5, last), (1.0, 0))
    return [
        CurvePoint(system, evaluator, share, int(1600 * share), value + more, value + more - 0.03,
                   value + more + 0.03)
        for share, more in points
    ]  # fmt: skip


def example(number: int) -> Example:
    turns = tuple(f"turn {turn} of talk {number}" for turn in range(8))
    return Example(turns, f"reply {number}", f"human reply {number}", 0.9, "svm-unigram")


def invent(folder, n: int = 60, systems=tuple(SHIFTS), seed: int = 0) -> EvaluationResults:
    """Fill a folder as `dialeval evaluate` does; returns what `results.json` holds."""
    rng = np.random.default_rng(seed)
    results: list[Result] = []
    tables: list[dict] = []
    curves: list[CurvePoint] = []
    verdicts: list[Verdict] = []
    leaks: list[FormatLeak] = []
    for system in systems:
        for evaluator in EVALUATORS:
            shift = SHIFTS.get(system, 0.7)
            numbers, scores = simulate_evaluator(rng, n, system, evaluator, shift)
            results += numbers
            tables.append({**scores, "system": [system] * 2 * n, "evaluator": [evaluator] * 2 * n})
            curves += learning_curve(system, evaluator, numbers[0].value)
        verdicts.append(
            Verdict(system, "distinguishable", f"svm-unigram detects {system}.", "svm-unigram",
                    0.77, 0.7, 0.8, 0.001, 0.55, n, 0.625, {"random human replies": 0.1, "x": None},
                    flags=(f"format leak of {system}",))
        )  # fmt: skip
        leaks.append(
            FormatLeak(system, "upper-case letters", "system if it SHOUTS", 0.875, 0.8, 0.9,
                       "lower-case both sides")
        )  # fmt: skip
        results.append(make_result("distinct_1", system, "", {"value": 0.125}, "value"))
    control = {"value": 0.8125, "low": 0.79, "high": 0.83, "n": 2 * n}
    for evaluator in EVALUATORS:
        results.append(make_result("human_vs_random", "", evaluator, control, "value"))
    examples = SystemExamples((example(1), example(2)), (example(3),))
    evaluation = EvaluationResults(
        results=tuple(results), verdicts=tuple(verdicts), leaks=tuple(leaks), curves=tuple(curves),
        examples=dict.fromkeys(systems, examples), warnings=("Two contexts left out.",),
        settings={"folds": 5, "decision": {"threshold": 0.5}}, versions={"dialeval": "0.1.0"},
        signature="folds:5|ctx:2|seed:0|v:0.1.0",
    )  # fmt: skip
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    scenario = ["human_machine"] * len(columns["score"])
    parquet.write_table(pa.table({**columns, "scenario": scenario}), folder / "scores.parquet")
    evaluation.save(folder)
    return evaluation


def change(evaluation: EvaluationResults, edit: Callable[[Result], Result]) -> EvaluationResults:
    """The same evaluation with every result edited."""
    return replace(evaluation, results=tuple(map(edit, evaluation.results)))


def rename_system(evaluation: EvaluationResults, old: str, new: str) -> EvaluationResults:
    return change(evaluation, lambda row: replace(row, system=new) if row.system == old else row)


def by_transfer(evaluation: EvaluationResults, evaluator: str | None = None) -> EvaluationResults:
    """The same evaluation with the ERE of an evaluator, or of all, measured by transfer."""

    def edit(row: Result) -> Result:
        matches = row.metric == "ere" and evaluator in (None, row.evaluator)
        return replace(row, metric="ere_transfer") if matches else row

    return change(evaluation, edit)


def without_metric(evaluation: EvaluationResults, metric: str) -> EvaluationResults:
    rows = tuple(row for row in evaluation.results if row.metric != metric)
    return replace(evaluation, results=rows)


def result_of(
    evaluation: EvaluationResults, metric: str, system="bot", evaluator="svm-unigram"
) -> Result:
    result = evaluation.get(metric, system, evaluator)
    assert result is not None
    return result


def short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


class Page(HTMLParser):
    """A parsed page: tags, which must all be closed, their attributes, ids, and the text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.script = ""
        self.feed(page if isinstance(page, str) else page.read_text(encoding="utf-8"))
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.script += data if "script" in self.open else ""
        self.text += data if not {"style", "script"} & set(self.open) else ""

    def values(self, name) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


def shown(table, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()
