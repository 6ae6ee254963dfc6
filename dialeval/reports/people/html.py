"""A study of human judgements as one self-contained HTML page."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup

from dialeval.files import atomic_write_text
from dialeval.metrics.judgement_results import PEOPLE, JudgementResults
from dialeval.metrics.results import Result
from dialeval.reports.drawing import Frame
from dialeval.reports.format import format_share, one_line, plural, shorten
from dialeval.reports.people import rows
from dialeval.reports.ranking import RankedBar, ranking
from dialeval.reports.sections import AnswerView, SectionView, render_sections

TITLE = "Do people agree, and what do they say?"
_ROW = 24  # pixels of a row in a picture


def write_judgement_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    page = render_judgements(JudgementResults.load(folder))
    return atomic_write_text(Path(folder) / "report.html", page)


def render_judgements(results: JudgementResults) -> str:
    """The page, the same for the same results; all texts are escaped."""
    lead = (
        f"{plural(results.n_judgements, 'judgement')} about {plural(results.n_items, 'item')} by "
        f"{plural(len(results.annotators), 'annotator')}."
    )
    return render_sections(
        TITLE, lead, list(_sections(results)), results, answers=[_answer(results)]
    )


def _answer(results: JudgementResults) -> AnswerView:
    """Whether people agree, and whom they rate highest."""
    ratings = rows.ranked_ratings(results)
    lowest = min((row.low for row in ratings), default=0.0)
    highest = max((row.high for row in ratings), default=1.0)
    margin = 0.1 * (highest - lowest) or 0.5
    bars = [
        RankedBar(
            one_line(row.system), row.value,
            f"95 % {rows.number(row.low)} to {rows.number(row.high)}", row.low, row.high,
            number=rows.number(row.value),
        )
        for row in ratings
    ]  # fmt: skip
    start, end = lowest - margin, highest + margin
    ranks = ranking(bars, start=start, end=end)
    scale = f"bars go from {rows.number(start, 1)} to {rows.number(end, 1)}"
    caption = f"Mean ratings with their 95 % intervals, the highest first; {scale}."
    return AnswerView(rows.answer_title(results), rows.answer_lines(results), caption, ranks)


def _sections(results: JudgementResults) -> Iterator[SectionView]:
    yield SectionView(
        "agreement", "Do annotators agree?",
        notes=["1 is perfect agreement and 0 what chance gives. Three annotators who judged real "
               "and random replies had a π of .30 (Bruni and Fernández, 2017)."],
        tables=[rows.agreement_view(results)],
    )  # fmt: skip
    yield SectionView(
        "detection", "People and discriminators on the same items",
        notes=["P, R, F1: precision, recall and F1 of each class. π: agreement among annotators, "
               "and of a discriminator with their majority. All answers about an item count."],
        tables=list(rows.detection_views(results)),
        pictures=_detection_picture(results),
    )  # fmt: skip
    yield SectionView("pairs", "Which was written by a human", tables=[rows.pairs_view(results)])
    yield SectionView(
        "preferences", "Which is better",
        tables=[rows.preference_view(results)], blocks=_preference_bars(results),
    )  # fmt: skip
    yield SectionView(
        "ranking", "Ranking of the systems",
        notes=["Strength: log-strength of a Bradley-Terry model of which reply of an item is "
               "rated higher. Rank: the ranks of 95 % of the resamples."],
        tables=list(rows.ranking_views(results)), pictures=_rating_pictures(results),
    )  # fmt: skip
    yield SectionView(
        "correlation", "Do metrics agree with people?",
        notes=["Over systems: does a metric rank systems as people do? Over replies: does it "
               "recognise good replies? Williams’ test takes points to be independent; the "
               "interval of the difference draws items and systems."],
        tables=[*rows.correlation_views(results), *rows.gap_views(results)],
    )  # fmt: skip
    yield SectionView("plans", "How many more judgements", tables=[rows.plan_view(results.plans)])
    yield SectionView("annotators", "Annotators", tables=[rows.annotator_view(results)])


def _detection_picture(results: JudgementResults) -> list[tuple[Markup, str]]:
    """Accuracy with intervals, one row per evaluator and kind of negative."""
    detected = results.select("detection")
    return _intervals(
        detected,
        [f"{one_line(row.evaluator)}, {one_line(row.system)}" for row in detected],
        (0.0, 1.0),
        "accuracy",
        "Accuracy of people and discriminators with 95 % intervals; .5 is a random guess.",
        chance=0.5,
    )


def _rating_pictures(results: JudgementResults) -> list[tuple[Markup, str]]:
    pictures: list[tuple[Markup, str]] = []
    rated = [row for row in results.select("rating") if row.evaluator == PEOPLE]
    for scale in dict.fromkeys(row.details["scale"] for row in rated):
        chosen = [row for row in rated if row.details["scale"] == scale]
        low, high = min(row.low for row in chosen), max(row.high for row in chosen)
        margin = max(0.1, 0.1 * (high - low))
        pictures += _intervals(
            chosen,
            [one_line(row.system) for row in chosen],
            (low - margin, high + margin),
            "mean rating",
            f"{one_line(scale) or 'Rating'}: means with 95 % intervals over items.",
        )
    return pictures


def _intervals(
    chosen: Sequence[Result],
    names: Sequence[str],
    span: tuple[float, float],
    axis: str,
    caption: str,
    chance: float | None = None,
) -> list[tuple[Markup, str]]:
    """Values with intervals, one below the other, and their names beside them."""
    if not chosen:
        return []
    height = _ROW * len(chosen) + 50
    left = 16 + 6 * min(24, max(map(len, names)))
    frame = Frame(span, (0.0, len(chosen) + 0.0), 460, height, left=left)
    parts = [] if chance is None else [frame.line([chance] * 2, [0, len(chosen)], "chance")]
    for index, (row, name) in enumerate(zip(chosen, names, strict=True)):
        up = len(chosen) - index - 0.5
        bounds = np.clip([row.low, row.high], *span)
        if np.isfinite(bounds).all():
            parts.append(frame.line(bounds, [up, up], "whisker"))
        parts.append(frame.dots([row.value], [up], "dot human", 4))
        label = Markup('<text class="tick end" x="{}" y="{:.1f}">{}</text>')
        parts.append(label.format(left - 8, float(frame.up(up)) + 4, shorten(name, 24)))
    return [(_without_vertical_ticks(frame, parts, axis, caption), caption)]


def _without_vertical_ticks(frame: Frame, parts: list[Markup], axis: str, alt: str) -> Markup:
    """The picture with names in place of numbers on the vertical axis."""
    shape = Markup('<svg class="plot" role="img" viewBox="0 0 {} {}" aria-label="{}">{}</svg>')
    inside = Markup("").join([*frame.horizontal_axis(axis), *parts])
    return shape.format(frame.width, frame.height, alt, inside)


def _preference_bars(results: JudgementResults) -> list[Markup]:
    """Win, tie and lose as one bar per pair."""
    bar = Markup(
        '<figure><svg class="plot" role="img" viewBox="0 0 400 26" aria-label="{}">'
        '<rect x="0" y="3" width="{:.1f}" height="20" fill="var(--good)"/>'
        '<rect x="{:.1f}" y="3" width="{:.1f}" height="20" fill="var(--line)"/>'
        '<rect x="{:.1f}" y="3" width="{:.1f}" height="20" fill="var(--machine)"/></svg>'
        "<figcaption>{}</figcaption></figure>"
    )
    blocks = []
    for result in results.select("win_rate"):
        win, lose, tie = (400 * result.details[name] for name in ("win", "lose", "tie"))
        caption = (
            f"{one_line(result.system)} wins {format_share(result.details['win'])}, ties "
            f"{format_share(result.details['tie'])}, loses {format_share(result.details['lose'])} "
            f"against {one_line(result.details['opponent'])}"
        )
        blocks.append(bar.format(caption, win, win, tie, win + tie, lose, caption))
    return blocks
