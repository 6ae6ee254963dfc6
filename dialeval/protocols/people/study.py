"""A study of human judgements: everything that `dialeval agreement` prints."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from operator import attrgetter
from typing import Any

from scipy.stats import norm

from dialeval._version import __version__
from dialeval.errors import BadInput
from dialeval.judgements import Judgement, agreement, annotator_quality, bradley_terry, win_rate
from dialeval.judgements.annotators import passing
from dialeval.judgements.planning import items_for_difference, judgements_for_preference
from dialeval.metrics.judgement_results import PEOPLE, AnnotatorRow, JudgementResults, Plan
from dialeval.metrics.results import Result, signature
from dialeval.protocols.people.detection import (
    negatives,
    real_or_not,
    table_of,
    which_is_human,
)
from dialeval.protocols.people.ratings import (
    compare_metrics,
    correlations,
    mean_ratings,
    rating_plans,
    rating_strengths,
    system_ratings,
)
from dialeval.protocols.people.scores import MetricScores
from dialeval.settings.people import StudySettings

MEAN_SCALE = "mean of scales"


def study_judgements(
    judgements: Sequence[Judgement],
    metrics: Sequence[MetricScores] = (),
    settings: StudySettings | None = None,
) -> JudgementResults:
    """Agreement, detection, preferences, ratings, annotators and correlations.

    Annotators below the required accuracy on test questions, and the test questions themselves,
    do not count.

    Args:
        judgements (`Sequence[Judgement]`):
            All answers.
        metrics (`Sequence[MetricScores]`, *optional*):
            Metrics and discriminators that scored the same replies.
        settings (`StudySettings`, *optional*):
            Settings.

    Returns:
        `JudgementResults`: Typed results.

    Raises:
        BadInput: No judgement counts.
    """
    run = settings or StudySettings()
    quality = annotator_quality(judgements, required=run.required)
    counted = [_with_task(row) for row in passing(judgements, run.required)]
    given = [row for row in counted if row.is_given]
    if not given:
        raise BadInput(
            f"none of the {len(judgements)} judgements counts: every annotator is below an "
            f"accuracy of {run.required:g} on test questions, or answered nothing else.",
            hint="Lower --required.",
        )
    study = _Study(counted, metrics, run)
    failed = [row.annotator for row in quality if not row.passed]
    warnings = [*study.warnings()]
    if failed:
        warnings.append(f"{len(failed)} annotators failed the test questions and do not count.")
    return JudgementResults(
        results=study.results,
        warnings=tuple(warnings),
        settings=asdict(run),
        signature=study.signature,
        annotators=tuple(AnnotatorRow(**asdict(row)) for row in quality),
        plans=tuple(study.plans()),
        n_judgements=len(given),
        n_items=len({row.item for row in counted}),
    )


def _with_task(row: Judgement) -> Judgement:
    """The judgement with its task, which tables of others do not name."""
    if row.task:
        return row
    if isinstance(row.answer, float):
        return replace(row, task="rating")
    return replace(row, task="better" if row.opponent else "real")


class _Study:
    """One study, part by part."""

    def __init__(
        self, rows: Sequence[Judgement], metrics: Sequence[MetricScores], run: StudySettings
    ):
        self.rows, self.metrics, self.run = rows, metrics, run
        self.draws: dict[str, Any] = {"resamples": run.resamples, "seed": run.seed}
        self.signature = signature(
            judgements=len(rows), required=run.required, **self.draws, v=__version__
        )
        self.scales = sorted({row.scale for row in rows if row.task == "rating"})

    @cached_property
    def results(self) -> tuple[Result, ...]:
        """Every number of the study."""
        return tuple(self._results())

    def _results(self) -> Iterator[Result]:
        numbers = (self.run.resamples, self.run.seed, self.signature)
        yield from self._agreements()
        yield from real_or_not(self.rows, self.metrics, *numbers)
        yield from which_is_human(self.rows, *numbers)
        yield from self._preferences()
        for scale, ratings in self._ratings():
            yield from system_ratings(ratings, scale, *numbers)
            yield from rating_strengths(ratings, scale, min(self.run.resamples, 200), *numbers[1:])
            yield from correlations(ratings, scale, self.metrics, *numbers)
            yield from compare_metrics(ratings, scale, self.metrics, *numbers)

    def warnings(self) -> Iterator[str]:
        """What a reader has to know."""
        for (task, scale), rows in sorted(self._by_task().items()):
            if len({row.unit for row in rows}) == len(rows):
                name = f"{task}, {scale}" if scale else task
                yield f"{name}: every reply was judged once, so agreement is unknown."
        for negative in negatives(self.rows):
            if not table_of(self.rows, negative):
                yield (
                    f"No real replies were judged beside those of {negative}, so nothing shows "
                    "whether people recognise them: calling everything fake would be right."
                )

    def plans(self) -> Iterator[Plan]:
        """How many items would settle each question."""
        for result in self._of("detection", PEOPLE):
            items = int(result.details["n_items"])
            settled = not result.low <= 0.5 <= result.high
            # Answers about one item go together, so the spread is that between items.
            spread = (result.high - result.low) / (2 * norm.ppf(0.975)) * math.sqrt(items)
            needed = items_for_difference(round(result.value - 0.5, 6), spread)
            yield Plan(
                f"Do people recognise {result.system} better than by chance?",
                items,
                needed,
                settled,
            )
        for result in self._of("win_rate", PEOPLE):
            details = result.details
            needed = judgements_for_preference(
                details["items_won"],
                details["items_lost"],
                details["n_items"] - details["items_won"] - details["items_lost"],
            )
            question = f"Is {result.system} preferred to {details['opponent']}?"
            yield Plan(question, details["n_items"], needed, details["p_value"] < 0.05)
        for scale, ratings in self._ratings():
            if scale == MEAN_SCALE or len(self.scales) == 1:
                yield from rating_plans(ratings, scale)

    def _of(self, metric: str, evaluator: str) -> list[Result]:
        return [row for row in self.results if (row.metric, row.evaluator) == (metric, evaluator)]

    def _ratings(self) -> Iterator[tuple[str, dict[tuple[str, str], float]]]:
        """Ratings of each scale, and their mean where there are several."""
        for scale in self.scales:
            yield scale, mean_ratings(self.rows, scale)
        if len(self.scales) > 1:
            yield MEAN_SCALE, mean_ratings(self.rows, None)

    def _by_task(self) -> dict[tuple[str, str], list[Judgement]]:
        """The judgements of each task and scale that somebody gave."""
        groups: dict[tuple[str, str], list[Judgement]] = {}
        for row in filter(attrgetter("is_given"), self.rows):
            groups.setdefault((row.task, row.scale), []).append(row)
        return groups

    def _agreements(self) -> Iterator[Result]:
        for (task, scale), rows in sorted(self._by_task().items()):
            level = "ordinal" if task == "rating" else "nominal"
            try:
                numbers = agreement(
                    [row.answer for row in rows], [row.unit for row in rows], level=level,
                    groups=[row.item for row in rows], **self.draws,
                )  # fmt: skip
            except ValueError:
                continue
            details = {"task": task, "scale": scale, **numbers}
            for metric in ("fleiss_pi", "krippendorff_alpha"):
                value, low, high = (
                    _number(numbers[f"{metric}{end}"])  # type: ignore[literal-required]  # built
                    for end in ("", "_low", "_high")
                )
                yield Result(
                    metric,
                    "",
                    PEOPLE,
                    value,
                    low,
                    high,
                    numbers["n_items"],
                    self.signature,
                    details,
                )

    def _preferences(self) -> Iterator[Result]:
        rows = [row for row in self.rows if row.task == "better"]
        pairs = sorted({(row.system, row.opponent) for row in rows})
        for system, opponent in pairs:
            chosen = [row for row in rows if (row.system, row.opponent) == (system, opponent)]
            numbers = win_rate(
                [str(row.answer) for row in chosen], [row.item for row in chosen], **self.draws
            )
            yield Result(
                "win_rate", system, PEOPLE, numbers["win"], numbers["win_low"], numbers["win_high"],
                numbers["n"], self.signature, {"opponent": opponent, **numbers},
            )  # fmt: skip
        if len({name for pair in pairs for name in pair}) > 2:
            strengths = bradley_terry(
                [(row.system, row.opponent, str(row.answer)) for row in rows],
                [row.item for row in rows],
                resamples=min(self.run.resamples, 200),
                seed=self.run.seed,
            )
            for row in strengths:
                details = {"rank_low": row.rank_low, "rank_high": row.rank_high}
                yield Result(
                    "strength", row.system, PEOPLE, row.strength, row.low, row.high, row.n,
                    self.signature, details,
                )  # fmt: skip


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
