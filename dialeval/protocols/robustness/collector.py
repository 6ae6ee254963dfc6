"""Collects the numbers of a run: every one as a `Result` with its signature."""

from dataclasses import dataclass, field
from typing import Any

from dialeval._version import __version__
from dialeval.metrics.results import Result, signature
from dialeval.metrics.robustness_results import NORMAL, OVER_STABLE, RobustnessVerdict
from dialeval.protocols.robustness.cases import Case
from dialeval.protocols.robustness.effects import Effect
from dialeval.protocols.robustness.evaluators import EvaluatorChange
from dialeval.protocols.robustness.verdicts import verdict
from dialeval.settings.robustness import REPLY_MEASURES, RobustnessRun

_NAN = float("nan")


@dataclass
class ResultCollector:
    """Results, verdicts and warnings of one run."""

    run: RobustnessRun
    encoder: str
    results: list[Result] = field(default_factory=list)
    verdicts: list[RobustnessVerdict] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add_value(
        self, metric: str, system: str, case: Case | None, value: float, n: int, **details: Any
    ) -> None:
        """Add a number without an interval.

        Args:
            metric, system (`str`):
                What was measured, and for which system.
            case (`Case`, *optional*):
                The perturbed contexts; `None` for the normal ones.
            value (`float`):
                The number.
            n (`int`):
                Number of replies behind it.
            details:
                Further numbers about the same quantity.
        """
        made = self._signature(metric, system, case, n)
        details = {**_strategy(case), **details}
        self.results.append(Result(metric, system, "", float(value), _NAN, _NAN, n, made, details))

    def add_effect(
        self, metric: str, system: str, case: Case | None, effect: Effect, **details: Any
    ) -> None:
        """Add an effect with its interval.

        Args:
            metric, system (`str`):
                What was measured, and for which system.
            case (`Case`, *optional*):
                The perturbed contexts; `None` for the normal ones.
            effect (`Effect`):
                The number with its interval.
            details:
                Further numbers about the same quantity.
        """
        details = {**_strategy(case), "p": effect.p, "dialogues": effect.dialogues, **details}
        made = self._signature(metric, system, case, effect.n)
        self.results.append(
            Result(
                metric, system, "", effect.value, effect.low, effect.high, effect.n, made, details
            )
        )

    def add_verdict(
        self, measure: str, system: str, case: Case, effect: Effect, unchanged: Effect
    ) -> None:
        """Add an effect with its verdict; that of the run's measure is the headline.

        Args:
            measure, system (`str`):
                What was measured, and for which system.
            case (`Case`):
                The perturbed contexts.
            effect (`Effect`):
                The effect on the measure.
            unchanged (`Effect`):
                Share of replies that are the same, word for word.
        """
        margin = self.run.margin_of(measure)
        name = verdict(case.kind, effect.low, effect.high, margin, effect.dialogues)
        metric = measure if measure in REPLY_MEASURES else f"{measure}_loss"
        self.add_effect(metric, system, case, effect, margin=margin, verdict=name)
        if measure == "movement" and name == OVER_STABLE and unchanged.value < 0.5:
            self.warn(
                f"{1 - unchanged.value:.0%} of {system}'s replies changed under {case.name}, but "
                "their sentence vectors hardly did: these can miss a word such as “not”. Read the "
                "examples, or base verdicts on whether replies change at all (changed)."
            )
        if measure == self.run.measure:
            row = RobustnessVerdict(
                system, case.name, case.kind, name, measure, effect.value, effect.low, effect.high,
                margin, effect.n, effect.dialogues, unchanged.value, case.coverage,
            )  # fmt: skip
            self.verdicts.append(row)

    def add_evaluator_change(self, change: EvaluatorChange) -> None:
        """Add what a strategy does to an evaluator: its over-sensitivity, or its over-stability."""
        margin, changed = self.run.margin, change.changed
        metric, share = "over_sensitivity", (changed.value, changed.low, changed.high)
        if change.kind == "should_change":  # what stayed the same although it should not
            metric = "over_stability"
            share = (1 - changed.value, 1 - changed.high, 1 - changed.low)
        details = {
            "strategy": change.strategy, "kind": change.kind, "side": change.side,
            "decisions_changed": changed.value, "score_change": change.score_change.value,
            "score_change_low": change.score_change.low,
            "score_change_high": change.score_change.high, "margin": margin,
            "verdict": verdict(change.kind, changed.low, changed.high, margin, change.dialogues),
            "dialogues": change.dialogues,
        }  # fmt: skip
        made = signature(
            metric=metric, evaluator=change.evaluator, strategy=change.strategy, side=change.side,
            n=change.n, seed=self.run.seed, v=__version__,
        )  # fmt: skip
        self.results.append(
            Result(metric, "human", change.evaluator, *share, change.n, made, details)
        )

    def warn(self, text: str) -> None:
        """Add something that a reader has to know, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def _signature(self, metric: str, system: str, case: Case | None, n: int) -> str:
        return signature(
            metric=metric, system=system, strategy=case.signature if case else NORMAL,
            turns=self.run.turns, encoder=self.encoder, resamples=self.run.resamples, n=n,
            seed=self.run.seed, v=__version__,
        )  # fmt: skip


def _strategy(case: Case | None) -> dict[str, str]:
    return {"strategy": case.name, "kind": case.kind} if case else {"strategy": NORMAL, "kind": ""}
