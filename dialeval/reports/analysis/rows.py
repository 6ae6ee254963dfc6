"""Rows of the tables about a discriminator, the same for the terminal and the page."""

from collections.abc import Iterator
from typing import Any

from dialeval.metrics.analysis_results import AnalysisResults
from dialeval.metrics.results import Result
from dialeval.reports.format import (
    NONE,
    format_count,
    format_interval,
    format_p_value,
    format_share,
    format_signed,
    one_line,
    shorten,
)
from dialeval.reports.sections import TableView

_LABELS = {
    "accuracy": "accuracy, both sides counting equally",
    "average_precision": "average precision of the human class",
    "length_correlation": "score and length of the response, Spearman",
    "bag_of_words": "balanced accuracy of the response’s words alone in predicting the",
    "rank_correlation": "ranking of sampled responses and likelihood, Spearman",
    "rank_correlation_equal_length": "the same among responses of equal length",
}
_SIGNED = ("length_correlation", "rank_correlation", "rank_correlation_equal_length")


def numbers_view(results: AnalysisResults) -> TableView:
    """The main numbers."""
    rows = [
        [_label(row), _value(row), _bounds(row), format_count(row.n)]
        for row in results.results
        if row.metric in _LABELS
    ]
    return TableView("Numbers, with 95 % intervals where there are any",
                     ["measure", "value", "95 %", "n"], rows)  # fmt: skip


def _label(row: Result) -> str:
    text = _LABELS[row.metric]
    if row.metric == "bag_of_words":
        return f"{text} {'decisions' if row.system == 'decisions' else 'author'}"
    return f"{text} ({row.system} responses)" if row.system else text


def _value(row: Result) -> str:
    return format_signed(row.value) if row.metric in _SIGNED else format_share(row.value)


def _bounds(row: Result) -> str:
    if row.metric in _SIGNED:
        low, high = format_signed(row.low), format_signed(row.high)
        return NONE if NONE in (low, high) else f"{low} to {high}"
    return format_interval(row.low, row.high)


def bin_views(results: AnalysisResults) -> Iterator[TableView]:
    """Errors by length, first word and frequency."""
    for group in dict.fromkeys(row.group for row in results.bins):
        rows = [
            [
                one_line(row.name) or "(empty)",
                format_share(row.error),
                format_interval(row.low, row.high),
                format_share(row.score),
                format_share(row.human),
                format_count(row.n),
            ]
            for row in results.bins
            if row.group == group
        ]
        heads: list[Any] = [group, "error", "95 %", "mean score", "share human", "n"]
        yield TableView(f"Errors by {group} of the response", heads, rows)


def cosine_view(results: AnalysisResults) -> TableView:
    """Cosine of context and response."""
    rows = [
        [
            "judged human and machine" if row.details["sides"] == "judged" else "truly so",
            format_signed(row.details["positive"]),
            format_signed(row.details["negative"]),
            f"{row.details['z']:.2f}".replace("-", "−"),
            format_p_value(row.details["p_value"]),
            format_count(row.n),
        ]
        for row in results.select("cosine_gap")
    ]
    heads: list[Any] = ["passages", "human", "machine", "z", "p (rank sum)", "n"]
    return TableView("Mean cosine of the states of context and response", heads, rows)


def attention_view(results: AnalysisResults) -> TableView:
    """Attention on the response by outcome."""
    rows = [
        [row.system, format_share(row.value), format_interval(row.low, row.high),
         format_count(row.n)]
        for row in results.select("attention_on_response")
    ]  # fmt: skip
    heads: list[Any] = ["outcome", "on the response", "95 %", "n"]
    return TableView("Share of the attention that lies on the response", heads, rows)


def feature_views(results: AnalysisResults) -> Iterator[TableView]:
    """What distinguishes the sides in the data, and in the decisions."""
    titles = {"data": "human and machine responses",
              "decisions": "responses predicted human and machine"}  # fmt: skip
    for sides, title in titles.items():
        rows = [
            [
                one_line(row.feature),
                row.kind,
                "human" if row.z > 0 else "machine",
                format_signed(row.log_odds),
                f"{row.z:.1f}".replace("-", "−"),
                format_p_value(row.p_holm),
                f"{row.human:,} : {row.machine:,}",
                " · ".join(shorten(one_line(text), 80) for text in row.examples),
            ]
            for row in results.features
            if row.sides == sides
        ]
        heads: list[Any] = ["feature", "kind", "typical of", ("log-odds", "log-odds"), "z",
                            "p (Holm)", "human : machine", "examples"]  # fmt: skip
        yield TableView(f"What distinguishes {title}", heads, rows, text=(1, 2, 7))


def ranking_view(results: AnalysisResults) -> TableView:
    """Top responses of equal length by discriminator and by likelihood."""
    rows = [
        [
            shorten(one_line(" / ".join(row.context)), 120),
            str(row.length),
            " · ".join(map(one_line, row.by_discriminator)),
            " · ".join(map(one_line, row.by_likelihood)),
            format_signed(row.spearman),
            format_count(row.n),
        ]
        for row in results.rankings
    ]
    heads: list[Any] = ["context", "length", "top by discriminator", "top by likelihood", "ρ", "n"]
    caption = "Sampled responses of the same length, ranked by discriminator and by likelihood"
    return TableView(caption, heads, rows, text=(2, 3))
