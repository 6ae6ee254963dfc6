"""An analysis of a discriminator as one self-contained HTML page."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from markupsafe import Markup

from dialeval.files import atomic_write_text
from dialeval.metrics.analysis_results import OUTCOMES, AnalysisResults, Curve, WordPicture
from dialeval.reports.analysis import rows
from dialeval.reports.drawing import Frame
from dialeval.reports.format import (
    clean_text,
    first_clause,
    format_share,
    format_signed,
    of_hundred,
    one_line,
    shorten,
)
from dialeval.reports.sections import AnswerView, SectionView, render_sections

_METHODS = {
    "attention": "attention: darker words have more weight",
    "integrated-gradients": "integrated gradients: blue speaks for human, orange for machine",
    "gradient-x-input": "gradient times input: blue speaks for human, orange for machine",
    "linear": "exact weights: blue speaks for human, orange for machine",
    "occlusion": "change of the score without the word: blue speaks for human, orange for machine",
}
_EXPLAINED = 0.85
"""Share of the decisions from which the words of the response are said to explain them."""
_LONGEST = 160  # words of a picture, the last ones


def write_analysis_report(folder: Path | str) -> Path:
    """Write `report.html` from the `results.json` in a folder."""
    page = render_analysis(AnalysisResults.load(folder))
    return atomic_write_text(Path(folder) / "report.html", page)


def render_analysis(results: AnalysisResults) -> str:
    """The page, the same for the same results; all texts are escaped."""
    accuracy = results.select("accuracy")
    name = one_line(accuracy[0].evaluator) if accuracy else "the discriminator"
    lead = f"{name} on {accuracy[0].n:,} passages." if accuracy else ""
    title = f"What {name} looks at"
    return render_sections(
        title, lead, list(_sections(results)), results, answers=list(_answers(results, name))
    )


def _answers(results: AnalysisResults, name: str) -> Iterator[AnswerView]:
    """How often it is right, and whether the response alone explains its decisions."""
    for row in results.select("accuracy"):
        bounds = f"95 % {100 * row.low:.0f} to {100 * row.high:.0f}; " if row.low < row.high else ""
        lines = []
        for words in results.select("bag_of_words"):
            if words.system == "decisions":
                reads = "hardly reads the context" if words.value >= _EXPLAINED else "reads more"
                lines.append(
                    f"The words of the response alone predict its decisions in "
                    f"{of_hundred(words.value)} cases: it {reads}."
                )
        for item in results.select("length_correlation"):
            if not item.system:
                rank = format_signed(item.value)
                lines.append(f"Its score follows the length of the response by Spearman {rank}.")
        title = f"{name} is right in {of_hundred(row.value)} cases ({bounds}50 is chance)"
        yield AnswerView(title, lines, cautions=[first_clause(text) for text in results.warnings])


def _sections(results: AnalysisResults) -> Iterator[SectionView]:
    yield SectionView(
        "numbers", "Numbers",
        notes=["If the words of the response alone predict the decisions well, the discriminator "
               "hardly reads the context."],
        tables=[rows.numbers_view(results)], pictures=list(_pictures(results)),
    )  # fmt: skip
    yield SectionView(
        "words", "What it reads: words",
        notes=["The surest decisions of each kind. The line | separates context and response."],
        blocks=list(_word_blocks(results)),
    )  # fmt: skip
    yield SectionView(
        "states", "Context and response",
        notes=["Bruni and Fernández (2017) found higher cosines in passages judged real, and about "
               "90 % of the attention on the response there, 50 % in passages judged fake."],
        tables=[rows.cosine_view(results), rows.attention_view(results)],
    )  # fmt: skip
    yield SectionView(
        "ranking", "Ranking by discriminator and by likelihood",
        notes=["Kannan and Vinyals (2016) found a mean correlation of −.02 at equal length."],
        tables=[rows.ranking_view(results)],
    )  # fmt: skip
    yield SectionView(
        "features", "What distinguishes the sides",
        notes=["Log-odds with an informative prior; only features whose p-value stays below .05 "
               "after Holm’s correction."],
        tables=list(rows.feature_views(results)),
    )  # fmt: skip
    yield SectionView("errors", "Where it errs", tables=list(rows.bin_views(results)))


def _pictures(results: AnalysisResults) -> Iterator[tuple[Markup, str]]:
    curves = {curve.name: curve for curve in results.curves}
    if "precision-recall" in curves:
        frame = Frame((0.0, 1.0), (0.0, 1.0))
        line = frame.line(*_points(curves["precision-recall"]), "line c0")
        caption = "Precision against recall of the human class."
        yield frame.to_svg([line], ("recall", "precision"), caption), caption
    sides = [(kind, curves.get(f"score by length, {kind}")) for kind in ("human", "machine")]
    present = [(kind, curve) for kind, curve in sides if curve is not None and curve.x]
    if present:
        yield _length_picture(present)
    if "reliability" in curves and curves["reliability"].x:
        frame = Frame((0.0, 1.0), (0.0, 1.0))
        x, y = _points(curves["reliability"])
        parts = [frame.line([0, 1], [0, 1], "chance"), frame.line(x, y, "line c0"),
                 frame.dots(x, y, "dot c0")]  # fmt: skip
        caption = "Reliability: share of humans by P(human); dashed: calibrated."
        yield frame.to_svg(parts, ("P(human)", "share human"), caption), caption


def _length_picture(sides: list[tuple[str, Curve]]) -> tuple[Markup, str]:
    longest = max(max(curve.x) for _, curve in sides)
    values = [value for _, curve in sides for value in curve.y]
    is_share = min(values) >= 0 and max(values) <= 1
    span = (0.0, 1.0) if is_share else (min(values) - 0.1, max(values) + 0.1)
    frame = Frame((0.0, max(longest, 1.0)), span)
    parts = []
    for kind, curve in sides:
        parts += [frame.line(*_points(curve), f"line {kind}"),
                  frame.dots(*_points(curve), f"dot {kind}")]  # fmt: skip
    caption = "Mean score by length of the response: human (blue) and machine (orange, dashed)."
    return frame.to_svg(parts, ("tokens", "score"), caption), caption


def _points(curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    return np.array(curve.x), np.array(curve.y)


def _word_blocks(results: AnalysisResults) -> Iterator[Markup]:
    """Pictures of passages, by method and outcome."""
    for method in dict.fromkeys(picture.method for picture in results.pictures):
        yield Markup("<h3>{}</h3>").format(_METHODS.get(method, method).capitalize())
        for outcome in OUTCOMES:
            for picture in results.pictures:
                if (picture.method, picture.outcome) == (method, outcome):
                    yield word_picture(picture)


def word_picture(picture: WordPicture) -> Markup:
    """A passage whose words are shaded by their weights."""
    sizes = np.abs(picture.weights)
    top = float(sizes.max()) if len(sizes) and sizes.max() > 0 else 1.0
    first = max(0, len(picture.words) - _LONGEST)
    words = [Markup("…")] if first else []
    for index, (word, weight) in enumerate(zip(picture.words, picture.weights, strict=True)):
        if index == picture.response_at:
            words.append(Markup(" <b>|</b> "))
        if index >= first:
            words.append(_word(word, weight, top))
    caption = (
        f"{picture.outcome}, written by {shorten(one_line(picture.author), 30)}, score "
        f"{format_share(picture.score)}"
    )
    shape = Markup('<figure class="whole"><p dir="auto">{}</p><figcaption>{}</figcaption></figure>')
    return shape.format(Markup(" ").join(words), caption)


def _word(word: str, weight: float, top: float) -> Markup:
    share = round(70 * abs(weight) / top)
    tone = "human" if weight >= 0 else "machine"
    style = f"background: color-mix(in srgb, var(--{tone}) {share}%, transparent)"
    span = Markup('<span style="{}" title="{:+.3g}">{}</span>')
    return span.format(style, weight, clean_text(word))
