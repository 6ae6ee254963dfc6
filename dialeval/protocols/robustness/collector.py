"""What a run has found so far: every number as a `Result` with its signature."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dialeval._version import __version__
from dialeval.metrics.results import Result, signature
from dialeval.protocols.robustness.cases import NORMAL, Case
from dialeval.protocols.robustness.effects import Effect
from dialeval.protocols.robustness.judges import JudgeChange
from dialeval.protocols.robustness.settings import REPLIES, RobustnessRun
from dialeval.protocols.robustness.verdicts import STUCK, verdict

_NONE = float("nan")


@dataclass
class ResultCollector:
    """Results, verdicts and warnings of one run."""

    run: RobustnessRun
    encoder: str
    results: list[Result] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def value(
        self, metric: str, system: str, case: Case | None, value: float, n: int, **details: Any
    ) -> None:
        """Note a number without an interval; `None` for a case is the normal contexts."""
        told = {**_names(case), **details}
        ends = (_NONE, _NONE, n, self._signature(metric, system, case, n))
        self.results.append(Result(metric, system, "", float(value), *ends, told))

    def effect(
        self, metric: str, system: str, case: Case | None, found: Effect, **details: Any
    ) -> None:
        """Note an effect with its interval."""
        told = {**_names(case), "p": found.p, "dialogues": found.dialogues, **details}
        how = self._signature(metric, system, case, found.n)
        ends = (found.low, found.high, found.n, how)
        self.results.append(Result(metric, system, "", found.value, *ends, told))

    def judged(
        self, measure: str, system: str, case: Case, found: Effect, unchanged: Effect
    ) -> None:
        """Note an effect and what it means; the run's measure is the headline."""
        margin = self.run.margin_of(measure)
        ends = (found.low, found.high, margin)
        said = verdict(case.kind, *ends, found.dialogues)
        metric = measure if measure in REPLIES else f"{measure}_loss"
        self.effect(metric, system, case, found, margin=margin, verdict=said)
        if measure == "movement" and said == STUCK and unchanged.value < 0.5:
            self.warn(
                f"{1 - unchanged.value:.0%} of {system}'s replies changed under {case.name}, but "
                "hardly in their vectors, which may not notice a word such as “not”: read the "
                "examples, or let verdicts go by whether replies change at all (changed)."
            )
        if measure == self.run.measure:
            self.verdicts.append(
                {"system": system, "strategy": case.name, "kind": case.kind, "verdict": said,
                 "measure": measure, "effect": found.value, "low": found.low, "high": found.high,
                 "margin": margin, "n": found.n, "dialogues": found.dialogues,
                 "unchanged": unchanged.value, "coverage": case.coverage}
            )  # fmt: skip

    def judge(self, change: JudgeChange) -> None:
        """Note what a strategy does to a judge: its over-sensitivity, or its over-stability."""
        margin = self.run.margin
        said = verdict(change.kind, change.low, change.high, margin, change.dialogues)
        over = "over_sensitivity" if change.kind == "should_not_change" else "over_stability"
        share = (change.changed, change.low, change.high)
        if over == "over_stability":  # what stayed although it should not
            share = (1 - change.changed, 1 - change.high, 1 - change.low)
        moved, low, high = change.score_change
        told = {
            "strategy": change.strategy, "kind": change.kind, "side": change.side,
            "decisions_changed": change.changed, "score_change": moved, "score_change_low": low,
            "score_change_high": high, "margin": margin, "verdict": said,
            "dialogues": change.dialogues,
        }  # fmt: skip
        how = signature(
            metric=over, evaluator=change.judge, strategy=change.strategy, side=change.side,
            n=change.n, seed=self.run.seed, v=__version__,
        )  # fmt: skip
        self.results.append(Result(over, "human", change.judge, *share, change.n, how, told))

    def warn(self, text: str) -> None:
        """Note what a reader has to know, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def _signature(self, metric: str, system: str, case: Case | None, n: int) -> str:
        return signature(
            metric=metric, system=system, strategy=case.signature if case else NORMAL,
            turns=self.run.turns, encoder=self.encoder, resamples=self.run.resamples, n=n,
            seed=self.run.seed, v=__version__,
        )  # fmt: skip


def _names(case: Case | None) -> dict[str, str]:
    return {"strategy": case.name, "kind": case.kind} if case else {"strategy": NORMAL, "kind": ""}


def coverage_of(cases: Sequence[Case]) -> list[dict[str, Any]]:
    """What each strategy could do here."""
    return [
        {"name": case.name, "kind": case.kind, "signature": case.signature,
         "coverage": case.coverage, "edited": int(case.edited.sum()), "n": len(case.edited),
         "foreign": case.foreign}
        for case in cases
    ]  # fmt: skip
