"""One system under all strategies: its numbers, its effects, its worst replies."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from dialeval.metrics.overlap import bleu, bleu_counts, sentence_chrf
from dialeval.protocols.robustness.cases import NORMAL, Case, dialogues_of
from dialeval.protocols.robustness.collector import ResultCollector
from dialeval.protocols.robustness.effects import (
    ANY,
    Columns,
    Effect,
    bleu_loss_of,
    effects,
    loss_of,
    mean_of,
)
from dialeval.protocols.robustness.measuring import Measures, facts
from dialeval.protocols.robustness.similarity import likeness


class SystemStudy:
    """One system under all strategies."""

    def __init__(self, measures: Measures, cases: Sequence[Case], collector: ResultCollector):
        self.measures, self.cases, self.collector = measures, cases, collector
        self.answers, self.run = measures.answers, collector.run
        self.name = self.answers.name
        self.groups = dialogues_of(measures.passages)
        self.normal = measures.quality(NORMAL)
        self.likelihood = measures.likelihood()
        self.floor = None if self.answers.again is None else measures.movement(self.answers.again)
        self.moves = {
            case.name: measures.movement(self.answers.perturbed[case.name]) for case in cases
        }
        self.same = {
            case.name: _equal(self.answers.normal, self.answers.perturbed[case.name])
            for case in cases
        }

    def measure(self) -> dict[str, Any]:
        """Note every number; gives what is known of the system itself."""
        self._note_means(None, self.normal, self.likelihood)
        for case in self.cases:
            self._note_case(case)
        if self.measures.unit is None:
            self.collector.warn(
                f"{self.name} says the same to everybody, or there is one dialogue only: its "
                "movement is 1 - cosine, without a unit."
            )
        told = {"name": self.name, "signature": self.answers.signature,
                "samples": self.floor is not None, "unit": self.measures.unit,
                "words": self.measures.words.name}  # fmt: skip
        return {**told, **self._floor(), **self._selectivity()}

    def _note_case(self, case: Case) -> None:
        quality = self.measures.quality(case.name)
        likelihood = self.measures.likelihood(case)
        self._note_means(case, quality, likelihood)
        self._note_likeness(case)
        rows = case.edited
        if not rows.any():
            return
        groups = [group for group, edited in zip(self.groups, rows, strict=True) if edited]
        parts = self._parts(case, quality, likelihood)
        found = effects(parts, groups, resamples=self.run.resamples, level=self.run.level,
                        seed=self.run.seed)  # fmt: skip
        unchanged = found.pop("unchanged")
        self.collector.effect("unchanged", self.name, case, unchanged)
        for measure, effect in found.items():
            self.collector.judged(measure, self.name, case, effect, unchanged)
        if self.run.measure not in found:
            self.collector.warn(
                f"{self.run.measure} could not be measured for {self.name}, so it has no verdict "
                "by it."
            )

    def _parts(
        self, case: Case, quality: Mapping[str, np.ndarray], likelihood: np.ndarray | None
    ) -> dict[str, Columns]:
        """What each edited context adds to the effects."""
        rows = case.edited
        moved = self.moves[case.name] - (0.0 if self.floor is None else self.floor)
        parts = {
            "movement": mean_of(moved[rows], (0.0, np.inf) if self.floor is None else ANY),
            "changed": self._changed(case),
            "unchanged": mean_of(self.same[case.name][rows].astype(float), (0.0, 1.0)),
        }
        for name, values in quality.items():
            both = self.normal[name][rows], values[rows]
            parts[name] = bleu_loss_of(*both) if name == "bleu" else loss_of(*both)
        if likelihood is not None:
            parts["likelihood"] = mean_of((self.likelihood - likelihood)[rows])
        return parts

    def _changed(self, case: Case) -> Columns:
        """Replies that are not the same word for word, beyond those that differ by themselves."""
        differ = 1.0 - self.same[case.name]
        if self.answers.again is None:
            return mean_of(differ[case.edited], (0.0, 1.0))
        own = 1.0 - _equal(self.answers.normal, self.answers.again)
        return mean_of((differ - own)[case.edited])

    def _note_means(
        self, case: Case | None, quality: Mapping[str, np.ndarray], likelihood: np.ndarray | None
    ) -> None:
        """What replies to all contexts are worth, edited or not, as in the paper's Table 2."""
        found = dict(quality) | ({} if likelihood is None else {"likelihood": likelihood})
        for name, values in found.items():
            known = np.isfinite(values) if values.ndim == 1 else values[:, -1] > 0
            if known.any():
                value = values[known].mean() if values.ndim == 1 else bleu(values.sum(0))
                self.collector.value(name, self.name, case, value, int(known.sum()))

    def _note_likeness(self, case: Case) -> None:
        """Cosines of contexts and of replies, of all contexts as in the paper's Table 4."""
        before, after = self.answers.normal, self.answers.perturbed[case.name]
        for kind, embed in (("words", self.measures.words), ("sentence", self.measures.sentence)):
            near = {"context": self.measures.contexts_near(case, embed),
                    "response": likeness(embed, before, after)}  # fmt: skip
            for what, values in near.items():
                metric = f"{what}_similarity_{kind}"
                name = getattr(embed, "name", "embedder")
                self.collector.value(metric, self.name, case, values.mean(), len(values), by=name)
        counts = bleu_counts(after, before).sum(0)
        shared = {"reply_bleu": bleu(counts), "reply_chrf": sentence_chrf(after, before).mean()}
        for metric, value in shared.items():
            self.collector.value(metric, self.name, case, value, len(after))

    def _floor(self) -> dict[str, Any]:
        """How far a sampling system moves by itself."""
        if self.floor is None:
            return {}
        found = self._effect(self.floor, self.groups)
        self.collector.effect("self_movement", self.name, None, found)
        return {"self_movement": {"value": found.value, "low": found.low, "high": found.high}}

    def _selectivity(self) -> dict[str, Any]:
        """Whether it moves more where it must than where it must not, on the same contexts."""
        means = {}
        for kind in ("should_change", "should_not_change"):
            own = [np.where(case.edited, self.moves[case.name], np.nan)
                   for case in self.cases if case.kind == kind]  # fmt: skip
            table = np.array(own).reshape(len(own), len(self.groups))
            counts = np.isfinite(table).sum(0)
            with np.errstate(divide="ignore", invalid="ignore"):
                means[kind] = np.nansum(table, 0) / counts
        gaps = means["should_change"] - means["should_not_change"]
        known = np.isfinite(gaps)
        if not known.any():
            return {}
        groups = [self.groups[row] for row in np.flatnonzero(known)]
        found = self._effect(gaps[known], groups)
        self.collector.effect("selectivity", self.name, None, found)
        return {"selectivity": {"value": found.value, "low": found.low, "high": found.high}}

    def _effect(self, values: np.ndarray, groups: Sequence[str]) -> Effect:
        return effects({"mean": mean_of(values)}, groups, resamples=self.run.resamples,
                       level=self.run.level, seed=self.run.seed)["mean"]  # fmt: skip

    def records(self) -> Iterator[dict[str, Any]]:
        """A record for each context under each strategy."""
        for case in self.cases:
            numbers = {"movement": self.moves[case.name]}
            for row in range(len(self.groups)):
                yield facts(row, self.measures, case, numbers)

    def examples(self, most: int) -> list[dict[str, Any]]:
        """Where it moved furthest though it should not have, and least though it should."""
        found = []
        for case in self.cases:
            rows = np.flatnonzero(case.edited)
            moved = self.moves[case.name][rows]
            worst = np.argsort(moved if case.kind == "should_change" else -moved, kind="stable")
            for row in rows[worst[:most]]:
                found.append(
                    facts(int(row), self.measures, case, {"movement": self.moves[case.name]})
                )
        return found


def _equal(texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """Which texts are the same word for word."""
    pairs = zip(texts, others, strict=True)
    return np.array([one.split() == two.split() for one, two in pairs], dtype=bool)
