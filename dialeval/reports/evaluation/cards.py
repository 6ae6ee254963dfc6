"""The card of each system at the top of the page: its verdict and the numbers behind it."""

from collections.abc import Mapping, Sequence
from typing import Any

from dialeval.metrics.evaluation_results import (
    DISTINGUISHABLE,
    INDISTINGUISHABLE,
    NEGLIGIBLE,
    EvaluationResults,
    Verdict,
)
from dialeval.metrics.results import SECOND_HUMAN
from dialeval.reports.evaluation.rows import (
    Row,
    accuracy_phrase,
    bounds_of,
    headline_verdicts,
    only_reliability,
    verdict_phrase,
)
from dialeval.reports.format import (
    NONE,
    detail,
    format_count,
    format_interval,
    format_p_value,
    format_percent,
    format_result,
    format_share,
    format_signed,
)

View = dict[str, Any]
"""What a template prints."""
_TONES = {  # CSS class of a verdict, the best one first
    INDISTINGUISHABLE: "good",
    NEGLIGIBLE: "noise",
    DISTINGUISHABLE: "apart",
}
_NO_VERDICT = Verdict("", "no verdict", "This run has no verdict about it.")


def verdict_cards(
    results: EvaluationResults, rows: Sequence[Row], systems: Mapping[str, int]
) -> list[View]:
    """One card per system: its verdict, the numbers behind it, and its format leaks.

    Args:
        results (`EvaluationResults`):
            Results of the run.
        rows (`Sequence[Row]`):
            Its rows.
        systems (`Mapping[str, int]`):
            The number of each system.

    Returns:
        `list[View]`: In the order of the numbers.
    """
    if only_reliability(rows):
        return []
    index = {(row.system, row.evaluator): row for row in rows}
    headlines = headline_verdicts(results)
    cards = []
    for system, number in systems.items():
        if system == SECOND_HUMAN:
            continue
        verdict = headlines.get(system, _NO_VERDICT)
        row = index.get((system, verdict.evaluator), Row(system, ""))
        cards.append({
            "number": number, "system": system, "verdict": verdict_phrase(verdict.verdict),
            "tone": _TONES.get(verdict.verdict, "open"), "text": verdict.text,
            "flags": verdict.flags, "evidence": [*_evidence(row), *_planted(verdict)],
            "upper_bound": row.upper_bound,
            "leaks": [leak for leak in results.leaks if leak.system == system],
        })  # fmt: skip
    return cards


def group_by_verdict(cards: Sequence[View]) -> dict[str, list[View]]:
    """The cards by verdict, the best verdict first."""
    order = ["good", "noise", "apart", "open"]
    groups: dict[str, list[View]] = {}
    for card in sorted(cards, key=lambda card: order.index(card["tone"])):
        groups.setdefault(card["verdict"], []).append(card)
    return groups


def _evidence(row: Row) -> list[tuple[str, str]]:
    """The numbers behind a verdict, without those that are missing."""
    minimum = detail(row.adversuc, "minimum_detectable_accuracy")
    facts = [
        ("evaluator", row.evaluator),
        ("evaluator accuracy", accuracy_phrase(row)),
        ("AdverSuc, 95 % interval", format_interval(*bounds_of(row.adversuc))),
        ("responses", NONE if row.adversuc is None else format_count(row.adversuc.n)),
        ("p-value", format_p_value(detail(row.adversuc, "p_value"))),
        ("control: human-vs-random", format_result(row.control)),
        ("machine-vs-random", format_result(row.machine)),
        ("gain from reading the context", format_signed(detail(row.machine, "gap"))),
        ("relevance", format_result(row.relevance)),
        ("AdverSuc, format normalised", format_result(row.normalised)),
        ("ERE by transfer" if row.by_transfer else "ERE", format_result(row.ere)),
        ("minimum detectable accuracy", format_share(minimum)),
    ]
    return [(name, value) for name, value in facts if value.strip(NONE)]


def _planted(verdict: Verdict) -> list[tuple[str, str]]:
    """What a run that detected no difference would have detected."""
    return [
        (f"detectable share of {source}", NONE if share is None else format_percent(share))
        for source, share in verdict.detectable.items()
    ]
