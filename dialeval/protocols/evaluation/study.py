"""Adversarial evaluation: every system by every evaluator, and tests of the evaluators."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pyarrow as pa

from dialeval.dialogues import BadInput
from dialeval.dialogues.types import text_key
from dialeval.metrics.cue_results import Cue
from dialeval.metrics.distinct import distinct
from dialeval.metrics.evaluation_results import (
    CurvePoint,
    EvaluationResults,
    ReliabilityResults,
    Verdict,
)
from dialeval.metrics.results import SECOND_HUMAN, plain, signature
from dialeval.metrics.training_variance import with_seed_variance
from dialeval.protocols.evaluation import measures
from dialeval.protocols.evaluation.ablations import (
    learning_curve,
    length_matched,
    normalised,
    seed_variation,
)
from dialeval.protocols.evaluation.collector import ResultCollector, library_versions, turns_of
from dialeval.protocols.evaluation.cues import cues_of
from dialeval.protocols.evaluation.decision import Comparison, Control, Findings, decide
from dialeval.protocols.evaluation.evaluators import (
    REFERENCES,
    FitContext,
    fitted_names,
    resolve_evaluators,
)
from dialeval.protocols.evaluation.examples import extreme_examples
from dialeval.protocols.evaluation.frozen import (
    AGAINST,
    FrozenScorer,
    frozen_names,
    load_frozen,
    warn_if_trained_against,
)
from dialeval.protocols.evaluation.inputs import EvaluationData
from dialeval.protocols.evaluation.language_check import language_warnings
from dialeval.protocols.evaluation.leak_check import check_formats
from dialeval.protocols.evaluation.measures import RESPONSE_ONLY, SHUFFLED, Measure
from dialeval.protocols.evaluation.relevance import ControlScores
from dialeval.protocols.evaluation.reliability import add_reliability
from dialeval.protocols.evaluation.replies import write_replies
from dialeval.protocols.evaluation.tables import ScoreTables
from dialeval.protocols.evaluation.twosample import TwoSampleTest
from dialeval.protocols.evaluation.writing import (
    difference_of_settings,
    write_results,
    written_settings,
)
from dialeval.scorers.families import has_corpus
from dialeval.scorers.matching import CORPUS
from dialeval.settings.evaluation import EvaluationRun

WITH_TOWERS = ("stack", "stack+lm", "context")
"""Evaluators with families of features that were fitted to a corpus in advance."""


@dataclass
class Study:
    """One run over its data; every score is computed once and cached.

    Args:
        data (`EvaluationData`):
            Human passages and systems.
        run (`EvaluationRun`):
            Settings.
        fit_context (`FitContext`, *optional*):
            What evaluators share.
        on_progress (`Callable`, *optional*):
            Called with the number of fitted folds, their total, and a description.
        frozen (`Mapping`, *optional*):
            Scorers that are applied as they are, by name, in addition to those of the settings.
    """

    data: EvaluationData
    run: EvaluationRun
    fit_context: FitContext = field(default_factory=FitContext)
    on_progress: Callable[[int, int, str], Any] = lambda done, total, what: None
    frozen: Mapping[str, Any] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    curves: list[CurvePoint] = field(default_factory=list)
    findings: Findings = field(default_factory=Findings)

    def __post_init__(self) -> None:
        data, run = self.data, self.run
        named = resolve_evaluators(run.evaluators)[: -len(REFERENCES)]
        self.evaluators = [*dict.fromkeys([*named, *self.frozen]), *REFERENCES]
        folders = frozen_names(run.evaluators or (), [*fitted_names(run.evaluators or ()), "all"])
        self.frozen = {name: FrozenScorer(scorer, name) for name, scorer in self.frozen.items()}
        self.frozen |= {name: load_frozen(name, where) for name, where in folders.items()}
        self.collector = ResultCollector(turns_of(data.human), run.seed, [], list(data.warnings))
        self.tables = ScoreTables(
            data, run, self.evaluators, self.fit_context, self.on_progress, self.collector.warn,
            self.collector.warn_missing, self.frozen,
        )  # fmt: skip
        for text in language_warnings(data.human, data.systems, self.evaluators):
            self.collector.warn(text)
        towers = [name for name in self.evaluators if name in WITH_TOWERS]
        if towers and has_corpus(data.human, CORPUS):
            self.collector.warn(
                f"One part of {' and '.join(towers)} is left out, the towers: they were fitted to "
                f"{CORPUS}, the corpus of these passages."
            )
        if self.tables.folds < run.folds:
            self.collector.warn(
                f"{self.tables.folds} folds instead of {run.folds}: there are few dialogues."
            )

    def __call__(self) -> EvaluationResults:
        """Evaluate every system by every evaluator; writes the results and returns them.

        The verdicts come first: what only adds detail (learning curves, equal lengths, ERE) is
        computed after them.
        """
        with self.tables.folder.lock():
            settings = self._check_folder("evaluation")
            self._prepare_frozen()
            self._check_formats()
            errors = [error for name in self.evaluators for error in self._compare_all(name)]
            if errors and not self.findings.comparisons:  # only references are left
                raise BadInput(f"no evaluator could be applied: {errors[0].message}",
                               hint=errors[0].hint)  # fmt: skip
            self.verdicts = decide(self.tables, self.findings)
            self._add_details()
            self._describe_systems()
            self.tables.finish()
            return self._write_evaluation(settings)

    def reliability(self) -> ReliabilityResults:
        """Test only the reliability of the evaluators; writes the results and returns them."""
        with self.tables.folder.lock():
            settings = self._check_folder("reliability")
            self._prepare_frozen()
            self.tables.expect_reliability()
            for evaluator in self.evaluators:
                for system in [*self.data.systems] or [""]:
                    add_reliability(self.tables, self.collector, evaluator, system, partial=True)
            self.tables.finish()
            results = ReliabilityResults(
                results=tuple(self.collector.results),
                warnings=self.collector.all_warnings(),
                settings=settings,
                signature=self._signature(),
            )
            write_results(self.tables.folder.path, results, self.tables.main)
            return results

    def _check_folder(self, protocol: str) -> dict[str, Any]:
        """The settings as they are written, after checking that no other run is in the folder."""
        keys = {name: scorer.key for name, scorer in self.frozen.items()}
        settings = written_settings(
            self.run, self.evaluators, self.tables.folds, self.tables.contents, keys, protocol
        )
        if self.data.command:
            settings["command"] = self.data.command
        overwrite = self.run.overwrite
        self.tables.folder.check(settings, difference_of_settings, overwrite=overwrite)
        return plain(settings)

    def _prepare_frozen(self) -> None:
        """Choose missing thresholds; warn of systems that were trained against an evaluator."""
        for scorer in self.frozen.values():
            key = text_key([scorer.key, self.tables.contents[""]])
            warning = scorer.choose_threshold(self.data.human, self.tables.folder, key)
            direction = scorer.check_direction(self.data.human, self.data.systems, self.run.seed)
            seen = scorer.check_seen(self.data.human)
            for text in filter(None, (warning, direction, seen)):
                self.collector.warn(text)
            for system, training in self.data.training.items():
                if warn_if_trained_against(training, scorer):
                    self.collector.warn(f"{system}: {scorer.name} {AGAINST}")

    def _check_formats(self) -> None:
        """Look for format leaks before anything is trained."""
        run, warn = self.run, self.collector.warn
        self.findings.leak_check = check_formats(self.data, run.normalise, run.seed, warn)

    def _compare_all(self, evaluator: str) -> list[BadInput]:
        """Compare all systems with humans by one evaluator; returns the errors that occurred."""
        scores = ControlScores(self.tables, evaluator)
        control, errors = self._control(scores), []
        for system in self.data.names:
            try:
                self._compare(evaluator, system)
            except BadInput as error:
                self.collector.warn(f"{evaluator} could not evaluate {system}: {error}")
                errors.append(error)
                continue
            if control is not None:
                self._add_relevance(scores, system, control)
        return errors

    def _compare(self, evaluator: str, system: str) -> None:
        """Compare one system with humans, and with random replies, by one evaluator."""
        table = self.tables.table(evaluator, system, "human_machine")
        test = self._two_sample_test(evaluator, system, "human_machine")
        seeds, success = self._add_adversuc(evaluator, system, table, test)
        if evaluator not in (*self.frozen, "coin"):
            self._versus_random(evaluator, system)
        if evaluator not in REFERENCES and system != SECOND_HUMAN:
            self.findings.comparisons[system, evaluator] = Comparison(table, test, seeds, success)

    def _add_adversuc(
        self, evaluator: str, system: str, table: pa.Table, test: TwoSampleTest
    ) -> tuple[list[float], Measure]:
        """Add AdverSuc, with its baselines as details; returns it for each seed, and of the run."""
        threshold = self.tables.threshold(evaluator)
        success = measures.adversarial_success(table, self.run.seed, threshold)
        details = {
            **success.details,
            # The twin that never saw a context, and the same evaluator after another dialogue's.
            "response_only_accuracy": measures.accuracy(table, RESPONSE_ONLY),
            "shuffled_context_accuracy": measures.accuracy(table, SHUFFLED),
            "p_value": test.p_value,
            "held_out_accuracy": test.accuracy,
            "held_out_pairwise_accuracy": test.pairwise_accuracy,
            "minimum_detectable_accuracy": test.minimum,
            "length_stratified_accuracy": measures.length_stratified(table),
        }
        seeds = [success.value]
        if evaluator not in (*REFERENCES, *self.frozen) and system != SECOND_HUMAN:
            variation = seed_variation(self.tables, evaluator, system, success.value)
            seeds = variation.seeds
            details |= asdict(variation)
        if evaluator in self.frozen:
            frozen = self.frozen[evaluator]
            details |= {"evaluator_signature": frozen.signature, "evaluator_key": frozen.key}
        low, high = with_seed_variance(success.value, success.low, success.high, seeds)
        measure = Measure(success.value, low, high, success.n)
        self._add("adversuc", system, evaluator, measure, details)
        return seeds, success

    def _control(self, scores: ControlScores) -> pa.Table | None:
        """Add human against random replies: what the evaluator can do if there is a difference."""
        evaluator = scores.evaluator
        try:
            table = scores.compute()
        except BadInput as error:
            self.collector.warn_missing("human-vs-random", evaluator, "", error)
            return None
        test = self._two_sample_test(evaluator, "", "human_random")
        details = {"p_value": test.p_value, "pairwise_accuracy": test.pairwise_accuracy}
        measure = measures.accuracy_interval(table, self.run.seed)
        self._add("human_vs_random", "", evaluator, measure, details)
        self.findings.controls[evaluator] = Control(measure, test)
        return table

    def _add_relevance(self, scores: ControlScores, system: str, control: pa.Table) -> None:
        control_low = self.findings.controls[scores.evaluator].measure.low
        reads_context = control_low >= self.run.margin  # else its scale is noise
        measure = scores.relevance(system, control) if reads_context else None
        if measure is not None:
            self._add("relevance", system, scores.evaluator, measure, dict(measure.details))
            self.findings.relevances[system, scores.evaluator] = measure

    def _two_sample_test(self, evaluator: str, system: str, scenario: str) -> TwoSampleTest:
        """The test on a held-out half; where a half is too small, nothing is significant."""
        try:
            return self.tables.two_sample_test(evaluator, system, scenario)
        except BadInput as error:
            sides = f"{system} and humans" if system else "human and random replies"
            self.collector.warn(f"No test of {evaluator} on {sides}, so p is 1: {error}")
            nan = float("nan")
            return TwoSampleTest(nan, nan, 1.0, 1.0, 0)

    def _versus_random(self, evaluator: str, system: str) -> None:
        """Add a system against random replies (Li et al., 2017, sec. 4.3)."""
        what = "machine-vs-random"
        table = self.tables.try_table(what, evaluator, system, "machine_random")
        if table is None:
            return
        measure = measures.accuracy_interval(table, self.run.seed)
        details = {
            "response_only_accuracy": measures.accuracy(table, RESPONSE_ONLY),
            "gap": measures.context_gain(table),
        }
        self._add("machine_vs_random", system, evaluator, measure, details)

    def _add_details(self) -> None:
        """Add what no verdict depends on: normalised formats, curves, equal lengths, ERE."""
        for (system, evaluator), comparison in self.findings.comparisons.items():
            if evaluator not in self.frozen:
                self.curves += learning_curve(self.tables, evaluator, system, comparison.success)
                length_matched(self.tables, self.collector, evaluator, system)
                normalised(self.tables, self.collector, evaluator, system)
            add_reliability(self.tables, self.collector, evaluator, system)

    def _add(
        self, metric: str, system: str, evaluator: str, measure: Measure, details: dict[str, Any]
    ) -> None:
        fit = self.tables.fit_details(evaluator, system, measure.n)
        self.collector.add(metric, system, evaluator, measure, fit, details)

    def _describe_systems(self) -> None:
        """Add distinct-n of the humans and of every system."""
        passages = {"human": self.data.human}
        passages |= {name: self.data.answers(name) for name in self.data.names}
        for system, replies in passages.items():
            numbers = distinct(replies["response"][:])
            values = {name: value for name, value in numbers.items() if name != "n"}
            self.collector.describe(system, values, numbers["n"])

    def _write_evaluation(self, settings: Mapping[str, Any]) -> EvaluationResults:
        main, strongest = self.tables.main, {row.system: row.evaluator for row in self.verdicts}
        cues = self._cues()  # it may warn
        results = EvaluationResults(
            results=tuple(self.collector.results),
            warnings=self.collector.all_warnings(),
            settings=settings,
            signature=self._signature(),
            verdicts=tuple(self.verdicts),
            leaks=self.findings.leak_check.leaks,
            cues=cues,
            curves=tuple(self.curves),
            examples=extreme_examples(self.data, main, strongest),
        )
        write_replies(self.tables.folder.path, self.data, self.run.seed)
        write_results(self.tables.folder.path, results, main)
        return results

    def _cues(self) -> tuple[Cue, ...]:
        reports = self.findings.leak_check.reports
        warn = self.collector.warn
        return cues_of(self.data.systems, self.data.human, reports, self.run.seed, warn)

    def _signature(self) -> str:
        return signature(
            evaluators="+".join(self.evaluators), folds=self.tables.folds,
            ctx=self.collector.context, n=len(self.data.human), interval="auto",
            seed=self.run.seed, **library_versions(),
        )  # fmt: skip


def evaluate(data: EvaluationData, run: EvaluationRun, **options: Any) -> EvaluationResults:
    """Adversarial evaluation of systems.

    Args:
        data (`EvaluationData`):
            Human passages and systems: see [`align`].
        run (`EvaluationRun`):
            Settings.
        options:
            Further fields of [`Study`].

    Returns:
        `EvaluationResults`: Also written to the output folder.
    """
    return Study(data, replace(run), **options)()


def reliability(data: EvaluationData, run: EvaluationRun, **options: Any) -> ReliabilityResults:
    """The four scenarios of reliability by every evaluator, and no more.

    Args:
        data (`EvaluationData`):
            Human passages and systems: see [`align`].
        run (`EvaluationRun`):
            Settings.
        options:
            Further fields of [`Study`].

    Returns:
        `ReliabilityResults`: Also written to the output folder.
    """
    return Study(data, replace(run), **options).reliability()
