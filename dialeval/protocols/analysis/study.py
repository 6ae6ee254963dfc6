"""An analysis of a discriminator: everything that `dialeval analyse` prints."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dialeval._version import __version__
from dialeval.dialogues import Passage
from dialeval.metrics.analysis_results import AnalysisResults, RankedContext
from dialeval.metrics.results import Result, signature
from dialeval.protocols.analysis import bruni, errors, kannan
from dialeval.protocols.analysis.decisions import HUMAN, Decisions, decide
from dialeval.protocols.analysis.features import typical_features
from dialeval.settings.analysis import AnalysisRun

OnProgress = Callable[[float, float, str], None]
_PARTS = 6


def analyse(
    scorer: Any,
    passages: Sequence[Passage],
    run: AnalysisRun | None = None,
    generator: Any = None,
    on_progress: OnProgress | None = None,
) -> AnalysisResults:
    """What a discriminator looks at, on passages with known authors.

    Args:
        scorer (`Scorer`):
            The discriminator.
        passages (`Sequence[Passage]`):
            Human passages and those of systems; random replies are added where all are human.
        run (`AnalysisRun`, *optional*):
            Settings.
        generator (`Responder`, *optional*):
            A local model whose sampled responses are ranked.
        on_progress (`Callable`, *optional*):
            Called with done, total and a description.

    Returns:
        `AnalysisResults`: Typed results.
    """
    settings = run or AnalysisRun()
    study = _Study(scorer, settings, on_progress or (lambda *_: None))
    return study(passages, generator)


class _Study:
    def __init__(self, scorer: Any, run: AnalysisRun, on_progress: OnProgress):
        self.scorer, self.run, self.on_progress = scorer, run, on_progress
        self.warnings: list[str] = []
        self.signature = ""

    def __call__(self, passages: Sequence[Passage], generator: Any) -> AnalysisResults:
        self.on_progress(0, _PARTS, "scoring")
        decisions = decide(self.scorer, passages, self.run.seed)
        self.signature = signature(
            disc=self.scorer.name, n=len(decisions.passages), seed=self.run.seed, v=__version__
        )
        self._warn(decisions, passages)
        self.on_progress(1, _PARTS, "errors")
        results = [*self._numbers(decisions)]
        bins = tuple(errors.error_bins(decisions, self.run.resamples, self.run.seed))
        self.on_progress(2, _PARTS, "states and attention")
        results += bruni.cosine_results(self.scorer, decisions, self.run.seed, self.signature)
        results += bruni.attention_results(self.scorer, decisions, self.run.seed, self.signature)
        self.on_progress(3, _PARTS, "words")
        features = tuple(typical_features(decisions))
        self.on_progress(4, _PARTS, "pictures")
        pictures = bruni.pictures(
            self.scorer, decisions, self.run.pictures, self.run.method, self.run.steps
        )
        tables: list[RankedContext] = []
        if generator is not None:
            tables, ranked = self._rank(decisions, generator)
            results += ranked
        return AnalysisResults(
            results=tuple(results),
            warnings=tuple(self.warnings),
            settings={**asdict(self.run), "discriminator": self.scorer.signature},
            signature=self.signature,
            curves=tuple(self._curves(decisions)),
            bins=bins,
            pictures=tuple(pictures),
            features=features,
            rankings=tuple(tables[: kannan.MOST_TABLES]),
        )

    def _warn(self, decisions: Decisions, passages: Sequence[Passage]) -> None:
        if all(passage.author == HUMAN for passage in passages):
            self.warnings.append("All responses are human: random replies stand for the machine.")
        if decisions.predicted.all() or not decisions.predicted.any():
            side = "human" if decisions.predicted.all() else "machine"
            self.warnings.append(f"The discriminator predicts {side} for every response.")

    def _numbers(self, decisions: Decisions) -> Iterator[Result]:
        name, rows = self.scorer.name, np.ones(len(decisions.human), dtype=bool)
        accuracy, low, high = decisions.accuracy(self.run.resamples, self.run.seed)
        yield self._result("accuracy", name, accuracy, low, high, len(rows))
        yield self._result(
            "average_precision", name, kannan.average_precision(decisions), n=len(rows)
        )
        for side, chosen in (("", rows), ("human", decisions.human), ("machine", ~decisions.human)):
            value, p_value = kannan.length_correlation(decisions, chosen)
            yield self._result(
                "length_correlation", name, value, n=int(chosen.sum()), system=side, p_value=p_value
            )
        for target, labels in (("decisions", decisions.predicted), ("truth", decisions.human)):
            explained = errors.bag_of_words_accuracy(decisions, labels, self.run.seed)
            if explained is not None:
                yield self._result("bag_of_words", name, explained, n=len(rows), system=target)

    def _result(
        self,
        metric: str,
        name: str,
        value: float,
        low: float = float("nan"),
        high: float = float("nan"),
        n: int = 0,
        system: str = "",
        **details: Any,
    ) -> Result:
        return Result(metric, system, name, value, low, high, n, self.signature, details)

    def _curves(self, decisions: Decisions) -> Iterator[Any]:
        yield kannan.precision_recall(decisions)
        yield from kannan.length_curves(decisions)
        reliability = errors.reliability_curve(decisions)
        if reliability is not None:
            yield reliability

    def _rank(
        self, decisions: Decisions, generator: Any
    ) -> tuple[list[RankedContext], list[Result]]:
        human = [row for row, is_human in zip(decisions.passages, decisions.human, strict=True)
                 if is_human]  # fmt: skip
        order = np.random.default_rng(self.run.seed).permutation(len(human))
        chosen = [human[index] for index in order[: self.run.contexts]]
        groups = kannan.sample_responses(generator, chosen, self.on_progress)
        tables, overall, equal = kannan.rankings(self.scorer, generator, groups)
        ranked = kannan.ranking_results(
            overall, equal, self.scorer.name, self.run.resamples, self.run.seed, self.signature
        )
        return tables, list(ranked)
