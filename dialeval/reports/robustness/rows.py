"""Results of a robustness run as texts of tables and as sentences."""

from collections.abc import Iterable

from dialeval.metrics.results import Result
from dialeval.metrics.robustness_results import (
    INCONCLUSIVE,
    NORMAL,
    OVER_SENSITIVE,
    OVER_STABLE,
    RESPONSIVE,
    ROBUSTNESS_VERDICTS,
    STABLE,
    Estimate,
    RobustnessResults,
    RobustnessVerdict,
    StrategyCoverage,
    SystemRow,
)
from dialeval.reports.format import (
    NONE,
    detail,
    finite,
    format_interval,
    format_list,
    format_signed,
    format_with_interval,
)

KINDS = {"should_not_change": "should not change", "should_change": "should change"}
QUALITY = {
    "activity_f1": "Activity F1", "entity_f1": "Entity F1", "bleu": "BLEU", "chrf": "chrF",
    "likelihood": "log p",
}  # fmt: skip
SIMILARITY = {
    "context_similarity_words": "Cont. (words)", "response_similarity_words": "Resp. (words)",
    "context_similarity_sentence": "Cont. (sentence)",
    "response_similarity_sentence": "Resp. (sentence)",
}  # fmt: skip
TONES = {
    STABLE: "good", RESPONSIVE: "good", OVER_SENSITIVE: "noise", OVER_STABLE: "noise",
    INCONCLUSIVE: "open",
}  # fmt: skip
"""CSS class of each verdict."""
SIGNIFICANT = 0.05


def system_names(results: RobustnessResults) -> list[str]:
    """Names of the systems, in order."""
    return [system.name for system in results.systems]


def sorted_strategies(results: RobustnessResults) -> list[StrategyCoverage]:
    """Strategies with their coverage: those that should change nothing first."""
    order = list(KINDS)
    return sorted(results.strategies, key=lambda strategy: order.index(strategy.kind))


def quality_columns(results: RobustnessResults) -> dict[str, str]:
    """Measures against the reference that were computed, and their names in tables."""
    measured = {result.metric for result in results.results}
    return {metric: name for metric, name in QUALITY.items() if metric in measured}


def format_quality(
    results: RobustnessResults, metric: str, system: str, strategy: str = NORMAL
) -> str:
    """Quality of the replies, times 100 except log p; a star marks a significant loss.

    As in the paper, it is a mean over all contexts, edited or not.

    Args:
        results (`RobustnessResults`):
            The results of the run.
        metric (`str`):
            One of `QUALITY`.
        system (`str`):
            Name of the system.
        strategy (`str`, *optional*, defaults to `"normal"`):
            Name of the strategy.

    Returns:
        `str`: The text of a cell.
    """
    result = results.measured(metric, system, strategy)
    if result is None or finite(result.value) is None:
        return NONE
    value = result.value
    text = f"{value:.3f}".replace("-", "−") if metric == "likelihood" else f"{100 * value:.2f}"
    p = detail(results.measured(f"{metric}_loss", system, strategy), "p")
    return text + ("*" if p is not None and p < SIGNIFICANT else "")


def format_similarity(results: RobustnessResults, metric: str, system: str, strategy: str) -> str:
    """A cosine of Table 4.

    Args:
        results (`RobustnessResults`):
            The results of the run.
        metric (`str`):
            One of `SIMILARITY`.
        system (`str`):
            Name of the system.
        strategy (`str`):
            Name of the strategy.

    Returns:
        `str`: The text of a cell.
    """
    result = results.measured(metric, system, strategy)
    return NONE if result is None or finite(result.value) is None else f"{result.value:.2f}"


def format_effect(verdict: RobustnessVerdict | None) -> str:
    """An effect with its interval."""
    if verdict is None or finite(verdict.effect) is None:
        return NONE
    return f"{format_signed(verdict.effect)} ({format_interval(verdict.low, verdict.high)})"


def format_score_change(result: Result) -> str:
    """The mean change of an evaluator's score with its interval."""
    bounds = (detail(result, "score_change_low"), detail(result, "score_change_high"))
    return f"{format_signed(detail(result, 'score_change'))} ({format_interval(*bounds)})"


def headline(results: RobustnessResults, system: str) -> str:
    """A system in a sentence: its verdicts, with the strategies of each."""
    groups: dict[str, list[str]] = {}
    for strategy in sorted_strategies(results):
        verdict = results.verdict(system, strategy.name)
        if verdict is not None:
            groups.setdefault(verdict.verdict, []).append(strategy.name)
    parts = [f"{name} under {format_list(groups[name])}"
             for name in ROBUSTNESS_VERDICTS if name in groups]  # fmt: skip
    return f"{'; '.join(parts)}." if parts else "No verdict: nothing was edited or measured."


def describe_system(system: SystemRow) -> list[str]:
    """Sentences about a system: its selectivity, and its variation if it samples."""
    return [*_selectivity(system.selectivity), *_self_movement(system.self_movement)]


def _selectivity(selectivity: Estimate | None) -> Iterable[str]:
    if selectivity is None or finite(selectivity.low) is None or finite(selectivity.high) is None:
        return
    low, high = format_signed(selectivity.low), format_signed(selectivity.high)
    difference = f"{format_signed(selectivity.value)} ({low} to {high})"
    if selectivity.low > 0:
        yield f"Its replies change more where they should than where they should not: {difference}."
    elif selectivity.high < 0:
        yield f"Its replies change less where they should than where they should not: {difference}."
    else:
        yield (
            "There is no significant difference between where its replies should change and where "
            f"they should not: {difference}."
        )


def _self_movement(movement: Estimate | None) -> Iterable[str]:
    if movement is not None and finite(movement.value) is not None:
        distance = format_with_interval(movement.value, movement.low, movement.high)
        yield (
            f"It samples: the movement between two answers to the same context is {distance}. This "
            "is subtracted from its effects."
        )


def notes(results: RobustnessResults) -> list[str]:
    """How to read the verdicts."""
    settings = results.settings
    movement = (
        "Movement: 0 is the same reply, 1 is the mean distance between the system's replies in "
        "different dialogues. Effects are over edited contexts."
    )
    margins = (
        f"Margins: {settings.get('margin')} for movement and for changed replies, "
        f"{settings.get('loss_margin')} of the measure for losses against the reference. A system "
        "is stable only if the whole interval lies within the margin."
    )
    return [movement, margins]
