"""The first screen of the page: the answer about each system, and the numbers behind it."""

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from dialeval.metrics.cue_results import Cue, CueExample
from dialeval.metrics.evaluation_results import INCONCLUSIVE, EvaluationResults, Verdict
from dialeval.metrics.results import SECOND_HUMAN
from dialeval.reports.drawing import percent_scale
from dialeval.reports.evaluation.advice import together
from dialeval.reports.evaluation.headline import Headline, cue_phrase, headlines, ranked
from dialeval.reports.evaluation.rows import (
    Row,
    accuracy_bounds,
    accuracy_phrase,
    only_reliability,
    verdict_phrase,
)
from dialeval.reports.format import (
    NONE,
    clean_text,
    detail,
    format_count,
    format_p_value,
    format_percent,
    format_result,
    format_share,
    format_signed,
    of_hundred,
)

View = dict[str, Any]
"""What a template prints."""
FIRST_CUES = 3
"""Cues on the first screen."""
FIRST_EXAMPLE = 90
"""Characters of an example on the first screen."""
FIRST_WARNINGS = 4
"""Warnings on the first screen, a line each."""
SIGNS = {"length": "▲", "format": "◆", "normalised": "□", "human": "○"}
"""How marks on the scale are drawn."""


def system_cards(
    results: EvaluationResults, rows: Sequence[Row], systems: Mapping[str, int]
) -> list[View]:
    """One card per system: its headline, cues, warnings, next step and numbers.

    Args:
        results (`EvaluationResults`):
            Results of the run.
        rows (`Sequence[Row]`):
            Its rows.
        systems (`Mapping[str, int]`):
            The number of each system.

    Returns:
        `list[View]`: The hardest to distinguish first; then systems without a verdict.
    """
    if only_reliability(rows):
        return []
    index = {(row.system, row.evaluator): row for row in rows}
    items = {item.system: item for item in ranked(headlines(results))}
    cards = [
        _card(item, systems[name], index.get((name, item.verdict.evaluator), Row(name, "")))
        | {"leaks": [leak for leak in results.leaks if leak.system == name]}
        for name, item in items.items()
        if name in systems
    ]
    missing = [name for name in systems if name not in items and name != SECOND_HUMAN]
    return cards + [{"number": systems[name], "system": name, "missing": True} for name in missing]


def _badge_class(badge: str) -> str:
    """The class of a badge in the style sheet.

    Examples:
        >>> _badge_class("weak evaluator"), _badge_class("not measured")
        ('weak', 'not-measured')
    """
    return badge.removesuffix(" evaluator").replace(" ", "-")


def _card(item: Headline, number: int, row: Row) -> View:
    return {
        "number": number, "system": item.system, "missing": False, "title": item.title,
        "tone": item.tone, "percent": format_percent(item.verdict.accuracy),
        "text": item.text, "certainty": item.certainty, "reason": item.reason,
        "no_cues": item.no_cues,
        "verdict": verdict_phrase(item.verdict.verdict), "explanation": item.verdict.text,
        "reservations": _reservations(item.verdict), "step": item.step,
        "first_warnings": item.warnings[:FIRST_WARNINGS],
        "more_warnings": max(len(item.warnings) - FIRST_WARNINGS, 0),
        "trust": item.trust, "level": _badge_class(item.trust.badge), "scale": scale_of(item),
        "short_scale": scale_of(item, short=True), "legend": _legend(item, row),
        "cues": [cue_view(cue, at) for at, cue in enumerate(item.cues)],
        "first_cues": [cue_view(cue, at) for at, cue in enumerate(item.cues[:FIRST_CUES])],
        "together": together_sentence(item.cues),
        "upper_bound": row.upper_bound,
        "evidence": [*_evidence(row, item.verdict), *_planted(item.verdict)],
    }  # fmt: skip


def _reservations(verdict: Verdict) -> Sequence[str]:
    """Why the run cannot say that there is no difference, where that is the question."""
    return verdict.reservations if verdict.verdict == INCONCLUSIVE else ()


def scale_of(item: Headline, short: bool = False) -> Markup:
    """The bar from 50 to 100 %: the accuracy, its interval, and what to compare it with."""
    verdict = item.verdict
    shown = [mark for mark in item.marks if not short or mark.kind == "format"]
    marks = [(SIGNS[mark.kind], mark.value, mark.kind) for mark in shown]
    described = "; ".join(f"{mark.name} {format_percent(mark.value)}" for mark in item.marks)
    alt = f"Accuracy of the evaluator {format_percent(verdict.accuracy)}, between 50 and 100 %"
    alt += f"; for comparison: {described}" if described else ""
    return percent_scale(verdict.accuracy, verdict.low, verdict.high, marks, alt, axis=not short)


def _legend(item: Headline, row: Row) -> list[tuple[str, str, str]]:
    """Sign, value and name of everything on the scale."""
    value = format_percent(item.verdict.accuracy)
    wrong = NONE if item.verdict.accuracy is None else format_share(1 - item.verdict.accuracy, 2)
    evaluator = f"evaluator {row.label}".strip() + f" (AdverSuc {wrong})"
    named = [("●", value, evaluator)] if value != NONE else []
    return named + [
        (SIGNS[mark.kind], format_percent(mark.value), mark.name) for mark in item.marks
    ]


def _adds(gain: float | None) -> str:
    """What a cue adds to the stronger ones, in words; empty where that is unknown."""
    if gain is None:
        return ""
    points = round(100 * gain)
    return f"adds {points} to those above" if points > 0 else "adds nothing to those above"


def together_sentence(cues: Sequence[Cue]) -> str:
    """How often several cues together are right; empty where that is unknown."""
    accuracy = together(cues)
    if accuracy is None:
        return ""
    return f"All {len(cues)} cues together are right in {of_hundred(accuracy)} cases."


def cue_view(cue: Cue, number: int = 0) -> View:
    """A cue as the page shows it; `number` says how many stronger ones there are."""
    return {
        "kind": cue.kind,
        "phrase": cue_phrase(cue),
        "alone": of_hundred(cue.accuracy),
        "bar": f"{100 * min(max(2 * cue.accuracy - 1, 0), 1):.0f}",
        "interval": f"{100 * cue.low:.0f}–{100 * cue.high:.0f}",
        "p": format_p_value(cue.p_holm),
        "adds": _adds(cue.gain) if number else "",
        "rule": cue.rule,
        "hint": cue.hint,
        "side": "human" if cue.side == "human" else "machine",
        "first_example": mark_parts(shorten_example(cue.examples[0])) if cue.examples else "",
        "examples": [mark_parts(example) for example in cue.examples],
    }


def shorten_example(example: CueExample, most: int = FIRST_EXAMPLE) -> CueExample:
    """The beginning of an example, or the part around its first mark where that comes later.

    Examples:
        >>> shorten_example(CueExample(("one two three ", "four", " five six")), 24).parts
        ('one two three ', 'four', ' five …')
        >>> shorten_example(CueExample(("", "a", " word and ", "a", " b")), 11).parts
        ('', 'a', ' word and …')
    """
    lead, *rest = example.parts
    if rest and len(lead) + len(rest[0]) > most:
        lead = f"…{lead[-(most // 2) :]}"
    parts, room = list[str](), most
    for at, part in enumerate((lead, *rest)):
        if len(part) > room and at % 2:  # a cue that does not fit is left out, and not marked
            parts[-1] = f"{parts[-1].rstrip()} …"
            break
        if len(part) > room:
            parts.append(part[:room].rpartition(" ")[0] + " …")
            break
        parts.append(part)
        room -= len(part)
    return CueExample(tuple(parts))


def mark_parts(example: CueExample) -> Markup:
    """A response with its cue in `<mark>`; every part is escaped."""
    parts = [
        Markup("<mark>{}</mark>").format(clean_text(part)) if at % 2 else clean_text(part)
        for at, part in enumerate(example.parts)
    ]
    return Markup("").join(parts)


def _evidence(row: Row, verdict: Verdict) -> list[tuple[str, str]]:
    """The numbers behind a verdict, without those that are missing."""
    minimum = detail(row.adversuc, "minimum_detectable_accuracy")
    low, high = accuracy_bounds(row.adversuc)
    interval = NONE if low is None else f"{format_percent(low)} to {format_percent(high)}"
    relevance = format_result(row.relevance)
    if not relevance.strip(NONE):  # by the evaluator that reads the context, if this one does not
        relevance = format_share(verdict.relevance)
    facts = [
        ("evaluator", row.evaluator),
        ("accuracy", accuracy_phrase(row)),
        ("its 95 % interval, alone", interval),
        ("responses", NONE if row.adversuc is None else format_count(row.adversuc.n)),
        ("p-value", format_p_value(detail(row.adversuc, "p_value"))),
        ("control: human-vs-random", format_result(row.control)),
        ("machine-vs-random", format_result(row.machine)),
        ("gain from reading the context", format_signed(detail(row.machine, "gap"))),
        ("relevance", relevance),
        ("ERE by transfer" if row.by_transfer else "ERE", format_result(row.ere)),
        ("minimum detectable accuracy", format_percent(minimum)),
    ]
    return [(name, value) for name, value in facts if value.strip(NONE)]


def _planted(verdict: Verdict) -> list[tuple[str, str]]:
    """What a run that detected no difference would have detected."""
    return [
        (f"detectable share of {source}", NONE if share is None else format_percent(share))
        for source, share in verdict.detectable.items()
    ]
