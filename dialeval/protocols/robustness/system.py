"""One system under all strategies: its numbers, its effects, its worst replies."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dialeval.metrics.overlap import bleu, bleu_counts, sentence_chrf
from dialeval.metrics.robustness_results import NORMAL, Estimate, RobustnessExample, SystemRow
from dialeval.protocols.robustness.cases import Case, dialogues_of
from dialeval.protocols.robustness.collector import ResultCollector
from dialeval.protocols.robustness.effects import (
    UNBOUNDED,
    Columns,
    Effect,
    bleu_loss_of,
    effects,
    loss_of,
    mean_of,
)
from dialeval.protocols.robustness.measuring import Measures
from dialeval.protocols.robustness.similarity import text_similarity
from dialeval.responders.base import cut_warning


class SystemStudy:
    """One system under all strategies.

    Args:
        measures (`Measures`):
            The system's numbers, per context.
        cases (`Sequence[Case]`):
            The perturbed contexts.
        collector (`ResultCollector`):
            Where results go.
    """

    def __init__(self, measures: Measures, cases: Sequence[Case], collector: ResultCollector):
        self.measures, self.cases, self.collector = measures, cases, collector
        self.answers, self.run = measures.answers, collector.run
        self.name = self.answers.name
        self.groups = dialogues_of(measures.passages)
        self.normal = measures.quality(NORMAL)
        self.likelihood = measures.likelihood()
        again = self.answers.again
        self.self_movement = None if again is None else measures.movement(again)
        self.movement = {
            case.name: measures.movement(self.answers.perturbed[case.name]) for case in cases
        }
        self.unchanged = {
            case.name: _equal(self.answers.normal, self.answers.perturbed[case.name])
            for case in cases
        }

    def measure(self) -> SystemRow:
        """Add every number to the collector; returns the facts about the system itself."""
        self._add_quality(None, self.normal, self.likelihood)
        for case in self.cases:
            self._add_case(case)
        if self.answers.cut:
            cut, count = self.answers.cut, self.answers.count
            self.collector.warn(f"{self.name}: {cut_warning(cut, count)}.")
        if self.measures.unit is None:
            self.collector.warn(
                f"{self.name} always gives the same reply, or there is only one dialogue: its "
                "movement is 1 - cosine, not divided by a unit."
            )
        return SystemRow(
            self.name, self.answers.signature, self.self_movement is not None,
            self.measures.unit, self.measures.words.name, self._add_self_movement(),
            self._add_selectivity(),
        )  # fmt: skip

    def _add_case(self, case: Case) -> None:
        quality = self.measures.quality(case.name)
        likelihood = self.measures.likelihood(case)
        self._add_quality(case, quality, likelihood)
        self._add_similarity(case)
        if not case.edited.any():
            return
        groups = [self.groups[row] for row in case.edited_rows]
        parts = self._parts(case, quality, likelihood)
        by_measure = effects(parts, groups, resamples=self.run.resamples, level=self.run.level,
                             seed=self.run.seed)  # fmt: skip
        unchanged = by_measure.pop("unchanged")
        self.collector.add_effect("unchanged", self.name, case, unchanged)
        for measure, effect in by_measure.items():
            self.collector.add_verdict(measure, self.name, case, effect, unchanged)
        if self.run.measure not in by_measure:
            self.collector.warn(
                f"{self.run.measure} could not be measured for {self.name}, so it has no verdict "
                "by it."
            )

    def _parts(
        self, case: Case, quality: Mapping[str, np.ndarray], likelihood: np.ndarray | None
    ) -> dict[str, Columns]:
        """What each edited context adds to the effects."""
        rows = case.edited
        moved, bounds = self.movement[case.name], (0.0, np.inf)
        if self.self_movement is not None:
            moved, bounds = moved - self.self_movement, UNBOUNDED
        parts = {
            "movement": mean_of(moved[rows], bounds),
            "changed": self._changed(case),
            "unchanged": mean_of(self.unchanged[case.name][rows].astype(float), (0.0, 1.0)),
        }
        for name, values in quality.items():
            both = self.normal[name][rows], values[rows]
            parts[name] = bleu_loss_of(*both) if name == "bleu" else loss_of(*both)
        if likelihood is not None and self.likelihood is not None:
            parts["likelihood"] = mean_of((self.likelihood - likelihood)[rows])
        return parts

    def _changed(self, case: Case) -> Columns:
        """Share of replies that are not the same word for word, minus that of a second draw."""
        differ = 1.0 - self.unchanged[case.name]
        if self.answers.again is None:
            return mean_of(differ[case.edited], (0.0, 1.0))
        differ_again = 1.0 - _equal(self.answers.normal, self.answers.again)
        return mean_of((differ - differ_again)[case.edited])

    def _add_quality(
        self, case: Case | None, quality: Mapping[str, np.ndarray], likelihood: np.ndarray | None
    ) -> None:
        """Mean quality of the replies to all contexts, edited or not, as in the paper's Table 2."""
        numbers = dict(quality) | ({} if likelihood is None else {"likelihood": likelihood})
        for name, values in numbers.items():
            finite = np.isfinite(values) if values.ndim == 1 else values[:, -1] > 0
            if finite.any():
                value = float(values[finite].mean() if values.ndim == 1 else bleu(values.sum(0)))
                self.collector.add_value(name, self.name, case, value, int(finite.sum()))

    def _add_similarity(self, case: Case) -> None:
        """Mean cosines of all contexts and of all replies, as in the paper's Table 4."""
        before, after = self.answers.normal, self.answers.perturbed[case.name]
        for kind, embed in (("words", self.measures.words), ("sentence", self.measures.sentence)):
            similarities = {"context": self.measures.context_similarity(case, embed),
                            "response": text_similarity(embed, before, after)}  # fmt: skip
            encoder = getattr(embed, "name", "embedder")
            for side, values in similarities.items():
                metric = f"{side}_similarity_{kind}"
                self.collector.add_value(
                    metric, self.name, case, values.mean(), len(values), by=encoder
                )
        counts = bleu_counts(after, before).sum(0)
        overlap = {"reply_bleu": bleu(counts), "reply_chrf": sentence_chrf(after, before).mean()}
        for metric, value in overlap.items():
            self.collector.add_value(metric, self.name, case, value, len(after))

    def _add_self_movement(self) -> Estimate | None:
        """Movement between two draws for the same contexts, if the system samples."""
        if self.self_movement is None:
            return None
        effect = self._effect(self.self_movement, self.groups)
        self.collector.add_effect("self_movement", self.name, None, effect)
        return effect.estimate

    def _add_selectivity(self) -> Estimate | None:
        """Movement where replies should change minus where not, on contexts that have both."""
        means = {}
        for kind in ("should_change", "should_not_change"):
            rows = [np.where(case.edited, self.movement[case.name], np.nan)
                    for case in self.cases if case.kind == kind]  # fmt: skip
            table = np.array(rows).reshape(len(rows), len(self.groups))
            counts = np.isfinite(table).sum(0)
            with np.errstate(divide="ignore", invalid="ignore"):
                means[kind] = np.nansum(table, 0) / counts
        gaps = means["should_change"] - means["should_not_change"]
        finite = np.isfinite(gaps)
        if not finite.any():
            return None
        groups = [self.groups[row] for row in np.flatnonzero(finite)]
        effect = self._effect(gaps[finite], groups)
        self.collector.add_effect("selectivity", self.name, None, effect)
        return effect.estimate

    def _effect(self, values: np.ndarray, groups: Sequence[str]) -> Effect:
        return effects({"mean": mean_of(values)}, groups, resamples=self.run.resamples,
                       level=self.run.level, seed=self.run.seed)["mean"]  # fmt: skip

    def records(self) -> Iterator[RobustnessExample]:
        """A record for each context under each strategy."""
        for case in self.cases:
            for row in range(len(self.groups)):
                yield self.measures.example(row, case, self.movement[case.name])

    def examples(self, most: int) -> list[RobustnessExample]:
        """Replies that moved most although they should not, and least although they should."""
        examples = []
        for case in self.cases:
            rows = np.flatnonzero(case.edited)
            moved = self.movement[case.name][rows]
            worst = np.argsort(moved if case.kind == "should_change" else -moved, kind="stable")
            for row in rows[worst[:most]]:
                examples.append(self.measures.example(int(row), case, self.movement[case.name]))
        return examples


def _equal(texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """Which texts are the same word for word."""
    pairs = zip(texts, others, strict=True)
    return np.array([one.split() == two.split() for one, two in pairs], dtype=bool)
