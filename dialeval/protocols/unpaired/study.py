"""Unpaired evaluation: every system's pile by every evaluator, with controls of the topic."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dialeval.dialogues import BadInput
from dialeval.dialogues.types import text_key
from dialeval.metrics.cue_results import Cue
from dialeval.metrics.evaluation_results import FormatLeak
from dialeval.metrics.profile_results import Trait
from dialeval.metrics.results import SCHEMA_VERSION, Result, plain, signature, versions
from dialeval.metrics.unpaired_results import (
    MatchedComparison,
    TurnPoint,
    UnpairedResults,
)
from dialeval.protocols.evaluation.collector import library_versions
from dialeval.protocols.evaluation.evaluators import (
    REFERENCES,
    FitContext,
    fitted_names,
    resolve_evaluators,
)
from dialeval.protocols.evaluation.folds import content_key, fitting_folds
from dialeval.protocols.evaluation.frozen import FrozenScorer, frozen_names, load_frozen
from dialeval.protocols.evaluation.language_check import language_warnings
from dialeval.protocols.evaluation.tables import shared_facts
from dialeval.protocols.evaluation.verdict import ALPHA
from dialeval.protocols.evaluation.writing import (
    difference_of_settings,
    output_folder,
    write_results,
    written_settings,
)
from dialeval.protocols.profile.measures import compare_behaviour
from dialeval.protocols.unpaired import findings as derive
from dialeval.protocols.unpaired.findings import SystemFindings
from dialeval.protocols.unpaired.giveaways import find_giveaways
from dialeval.protocols.unpaired.matching import MIN_MATCHES, Matches, match_dialogues
from dialeval.protocols.unpaired.piles import PilePair, Piles, pair_piles, speakers_key
from dialeval.protocols.unpaired.tables import PileTables
from dialeval.protocols.unpaired.verdict import PileReading
from dialeval.protocols.unpaired.views import IN_CONTEXT, OPENING, PARTNER, RESPONSE, STYLE
from dialeval.settings.evaluation import EvaluationRun

WITHOUT_CONTEXT = ("surface", "svm-response", *REFERENCES)
"""Evaluators that do not read contexts, so that seeing them changes nothing."""


@dataclass
class PileStudy:
    """One unpaired run over its piles; every score is computed once and cached.

    Args:
        data (`Piles`):
            The human pile, and the systems'.
        run (`EvaluationRun`):
            Settings.
        fit_context (`FitContext`, *optional*):
            What evaluators share.
        on_progress (`Callable`, *optional*):
            Called with the number of fits, their total, and a description.
    """

    data: Piles
    run: EvaluationRun
    fit_context: FitContext = field(default_factory=FitContext)
    on_progress: Callable[[int, int, str], Any] = lambda done, total, what: None
    results: list[Result] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    matches: list[MatchedComparison] = field(default_factory=list)
    curves: list[TurnPoint] = field(default_factory=list)
    leaks: list[FormatLeak] = field(default_factory=list)
    cues: list[Cue] = field(default_factory=list)
    profile: list[Trait] = field(default_factory=list)

    def __post_init__(self) -> None:
        run, names = self.run, self.run.evaluators or ()
        self.evaluators = resolve_evaluators(run.evaluators)
        folders = frozen_names(names, [*fitted_names(names), "all"])
        self.frozen: dict[str, FrozenScorer] = {
            name: load_frozen(name, where) for name, where in folders.items()
        }
        self.folder = output_folder(run.output_dir)
        sides = {"": self.data.human, **self.data.systems}
        self.contents = {name: content_key(passages) for name, passages in sides.items()}
        self.folds = min(fitting_folds(passages, run.folds) for passages in sides.values())
        self.warnings = list(self.data.warnings)
        self.warnings += language_warnings(self.data.human, self.data.systems, self.evaluators)
        if self.folds < run.folds:
            self.warnings.append(f"{self.folds} folds, not {run.folds}: there are few dialogues.")

    @property
    def readers(self) -> list[str]:
        """The evaluators without the references."""
        return [name for name in self.evaluators if name not in REFERENCES]

    def __call__(self) -> UnpairedResults:
        """Evaluate every system by every evaluator; writes the results and returns them."""
        keys = {name: scorer.key for name, scorer in self.frozen.items()}
        settings = written_settings(
            self.run, self.evaluators, self.folds, self.contents, keys, UnpairedResults.protocol
        )
        with self.folder.lock():
            self.folder.check(settings, difference_of_settings, overwrite=self.run.overwrite)
            self._check_directions()
            findings = {name: self._evaluate(name) for name in self.data.systems}
            self.profile = compare_behaviour(self.data.human, self.data.systems, self.run.seed)
            return self._write(findings, plain(settings))

    def _check_directions(self) -> None:
        """Warn of evaluators of others whose scores seem to mean the opposite."""
        for scorer in self.frozen.values():
            direction = scorer.check_direction(self.data.human, self.data.systems, self.run.seed)
            seen = scorer.check_seen(self.data.human)
            self.warnings += [text for text in (direction, seen) if text]

    def _evaluate(self, system: str) -> SystemFindings:
        """All numbers about one system."""
        piles = pair_piles(self.data.human, self.data.systems[system], system)
        self.warnings += piles.warnings
        tables = self._tables(system, piles)
        self._choose_thresholds(tables)
        format_leaks, cues = find_giveaways(piles, system, self.run.seed, self.warnings.append)
        self.leaks += format_leaks
        self.cues += cues
        readings, errors = [], []
        for evaluator in self.readers:
            try:
                readings.append(self._read(tables, system, evaluator))
            except BadInput as error:
                self.warnings.append(f"{evaluator} could not evaluate {system}: {error}")
                errors.append(error)
        if not readings:
            raise BadInput(
                f"no evaluator could be applied: {errors[0].message}", hint=errors[0].hint
            )
        self._add_references(tables, system)
        readings = self._add_matches(tables, system, readings)
        self._add_dialogues(tables, system, readings)
        return SystemFindings(piles, tables, readings, format_leaks)

    def _choose_thresholds(self, tables: PileTables) -> None:
        for scorer in self.frozen.values():
            key = text_key([scorer.key, self.contents[""], "unpaired", RESPONSE])
            warning = scorer.choose_threshold(tables.rows(RESPONSE).human, self.folder, key)
            self.warnings += [warning] if warning else []

    def _tables(self, system: str, piles: PilePair) -> PileTables:
        facts = [f"schema {SCHEMA_VERSION}", *versions().values(), *shared_facts(self.fit_context)]
        facts += map(speakers_key, (self.data.human, self.data.systems[system]))
        key = text_key([self.contents[""], self.contents[system], str(self.folds), *facts])
        return PileTables(
            piles, key, self.folder, self.folds, self.fit_context, self.frozen,
            lambda what: self.on_progress(self._step(), self._total(), f"{system}: {what}"),
        )  # fmt: skip

    def _step(self) -> int:
        self._done = getattr(self, "_done", 0) + 1
        return self._done

    def _total(self) -> int:
        """Number of tables, about."""
        views = 8 + self.run.seeds
        return max(len(self.data.systems) * len(self.readers) * views, self._done)

    def _read(self, tables: PileTables, system: str, evaluator: str) -> PileReading:
        """The numbers of one evaluator about one system."""
        seed, level = self.run.seed, 1 - ALPHA / max(1, len(self.readers))
        main = tables.table(evaluator, RESPONSE, seed)
        seeds = [
            tables.table(evaluator, RESPONSE, seed + number) for number in range(1, self.run.seeds)
        ]
        reading = derive.response_reading(evaluator, main, seeds, seed, level)
        reading = replace(reading, p_value=tables.p_value(evaluator, RESPONSE, seed))
        if tables.has(PARTNER):
            control = tables.table(evaluator, PARTNER, seed)
            reading = derive.with_control(reading, main, control, seed, level)
            reading = replace(reading, control_p=tables.p_value(evaluator, PARTNER, seed))
        if evaluator not in WITHOUT_CONTEXT and tables.has(PARTNER):
            context = tables.table(evaluator, IN_CONTEXT, seed)
            reading = replace(
                reading,
                context=derive.accuracy_of(context, seed, level),
                context_p=tables.p_value(evaluator, IN_CONTEXT, seed),
            )
        if evaluator not in self.frozen:
            reading = replace(reading, style_p=tables.p_value(evaluator, STYLE, seed))
        self.results += self._reading_results(tables, system, reading)
        return reading

    def _reading_results(
        self, tables: PileTables, system: str, reading: PileReading
    ) -> list[Result]:
        seed, name = self.run.seed, reading.evaluator
        rows = derive.reading_results(system, reading, self._signature(name))
        for metric, view in (("style_accuracy", STYLE), ("opening_control", OPENING)):
            if tables.has(view) and not (view == STYLE and name in self.frozen):
                measure = derive.accuracy_of(tables.table(name, view, seed), seed)
                details = {"p_value": tables.p_value(name, view, seed)}
                rows.append(
                    derive.result(metric, system, name, measure, self._signature(name), details)
                )
        return rows

    def _add_references(self, tables: PileTables, system: str) -> None:
        """The baselines: length alone, and a random guess."""
        for name in REFERENCES:
            table = tables.table(name, RESPONSE, self.run.seed)
            measure = derive.accuracy_of(table, self.run.seed)
            text = self._signature(name)
            self.results += derive.accuracy_results(system, name, measure, text, {})

    def _add_matches(
        self, tables: PileTables, system: str, readings: list[PileReading]
    ) -> list[PileReading]:
        """Compare within dialogues whose partners say comparable things."""
        seed = self.run.seed
        matches = self._match(tables, readings)
        if matches is None:
            return readings
        added = []
        for reading in readings:
            matched = derive.matched_comparison(tables, matches, system, reading.evaluator, seed)
            if matched is not None:
                self.matches.append(matched)
                self.results += derive.matched_results(matched, self._signature(matched.evaluator))
            added.append(replace(reading, matched=matched))
        return added

    def _match(self, tables: PileTables, readings: list[PileReading]) -> Matches | None:
        controlled = [reading for reading in readings if reading.control is not None]
        if not controlled:
            return None
        best = max(controlled, key=lambda item: item.control.value)  # type: ignore[union-attr]
        seed = self.run.seed
        matches = match_dialogues(tables.table(best.evaluator, PARTNER, seed), seed)
        return matches if len(matches) >= MIN_MATCHES else None

    def _add_dialogues(self, tables: PileTables, system: str, readings: list[PileReading]) -> None:
        """Whole dialogues by every evaluator, and the curve of the strongest one."""
        strongest = max(readings, key=lambda item: item.response.value).evaluator
        for reading in readings:
            name = reading.evaluator
            rows, points = derive.dialogue_results(
                tables, system, name, self.run.seed, self._signature(name), name == strongest
            )
            self.results += rows
            self.curves += points

    def _write(
        self, findings: Mapping[str, SystemFindings], settings: Mapping[str, Any]
    ) -> UnpairedResults:
        verdicts = derive.pile_verdicts(findings, self.run.margin)
        strongest = {verdict.system: verdict.evaluator for verdict in verdicts}
        results = UnpairedResults(
            results=tuple(self.results),
            warnings=tuple(dict.fromkeys(self.warnings)),
            settings=settings,
            signature=self._signature("+".join(self.evaluators)),
            verdicts=tuple(verdicts),
            matches=tuple(self.matches),
            curves=tuple(self.curves),
            profile=tuple(self.profile),
            leaks=tuple(self.leaks),
            cues=tuple(self.cues),
            examples={
                name: derive.extreme_responses(item, strongest[name], self.run.seed)
                for name, item in findings.items()
            },
        )
        write_results(self.folder.path, results, self._score_tables(findings))
        return results

    def _score_tables(
        self, findings: Mapping[str, SystemFindings]
    ) -> dict[tuple[str, str, str], pa.Table]:
        return {
            (evaluator, system, view): item.tables.table(evaluator, view, self.run.seed)
            for system, item in findings.items()
            for evaluator in [reading.evaluator for reading in item.readings]
            for view in (RESPONSE, PARTNER)
            if item.tables.has(view)
        }

    def _signature(self, evaluator: str) -> str:
        turns = np.asarray([len(context) for context in self.data.human["context"][:1000]])
        return signature(
            protocol="unpaired", evaluator=evaluator, folds=self.folds, unit="dialogue",
            ctx=int(turns.max()) if len(turns) else 0, interval="auto",
            seed=self.run.seed, **library_versions(),
        )  # fmt: skip


def evaluate_piles(data: Piles, run: EvaluationRun, **options: Any) -> UnpairedResults:
    """Unpaired evaluation of systems.

    Args:
        data (`Piles`):
            The human pile, and the systems'.
        run (`EvaluationRun`):
            Settings.
        options:
            Further fields of [`PileStudy`].

    Returns:
        `UnpairedResults`: Also written to the output folder.
    """
    return PileStudy(data, replace(run), **options)()
