"""The badge of an evaluator: an ERE counts only as far as it comes from reading contexts."""

import pytest

from dialeval.metrics.evaluation_results import EvaluationResults, Verdict
from dialeval.metrics.results import Result
from dialeval.reports.evaluation.advice import trust_of
from dialeval.reports.evaluation.columns import columns_of
from dialeval.reports.evaluation.headline import headlines
from dialeval.reports.evaluation.rows import Row
from dialeval.reports.evaluation.sections import reliability_tables


def row(error: float, metric: str = "ere", **details) -> Row:
    return Row("bot", "stack", ere=Result(metric, "bot", "stack", error, 0.0, 1.0, 9, "", details))


@pytest.mark.parametrize(
    ("item", "level"),
    [
        # At most half of what guessing has: .25 / 2, or .167 / 2 over three scenarios.
        (row(0.12), "reliable"),
        (row(0.13), "weak"),
        (row(0.08, "ere_three"), "reliable"),
        (row(0.09, "ere_three"), "weak"),
        (row(0.02, "ere_transfer"), "not measured"),
        (Row("bot", "stack"), "not measured"),
        # The twin without contexts is right in 85 % of next turns: (0 + 0 + 0 + .5) / 4.
        (row(0.04, above_blind={"ere": 0.13, "blind": 0.85}), "weak"),
        (row(0.04, above_blind={"ere": 0.05, "blind": 0.52}), "reliable"),
        (row(0.2, above_blind={"ere": 0.1, "blind": 0.5}), "weak"),  # the larger one counts
        # There was no twin, so nobody knows; but a large error is large in any case.
        (row(0.04, above_blind=None), "not measured"),
        (row(0.2, above_blind=None), "weak"),
    ],
)
def test_the_badge_follows_from_the_errors(item, level):
    assert trust_of(item, "distinguishable").level == level


def test_the_badge_names_the_error_that_counts():
    trust = trust_of(row(0.04, above_blind={"ere": 0.13, "blind": 0.85}), "inconclusive")
    assert "ERE .040" in trust.text and ".130 above what next turns reveal" in trust.text
    assert "a better evaluator may find a difference" in trust.text
    plain = trust_of(row(0.04, above_blind={"ere": 0.04, "blind": 0.4}), "inconclusive")
    assert "alone reveal" not in plain.text


def test_the_terminal_does_not_doubt_a_significant_difference():
    """A weak evaluator makes a "no" doubtful, not a "yes"."""
    difference = trust_of(row(0.18), "distinguishable").facts
    assert difference == ["significant, by a weak evaluator (ERE .180, a random guess .250)"]
    assert trust_of(row(0.18), "inconclusive").facts[0].startswith("weak evaluator (ERE .180")
    assert trust_of(row(0.1), "distinguishable").facts[0].startswith("reliable evaluator (")
    assert trust_of(Row("bot", "stack"), "distinguishable").facts == [
        "significant; ERE not measured"
    ]
    assert trust_of(Row("bot", "stack"), "inconclusive").facts == ["not measured"]


@pytest.mark.parametrize(
    ("item", "verdict", "badge"),
    [
        (row(0.18), "distinguishable", "significant"),
        (row(0.18), "indistinguishable", "weak evaluator"),
        (row(0.1), "distinguishable", "reliable evaluator"),
        (Row("bot", "stack"), "distinguishable", "significant"),
        (Row("bot", "stack"), "inconclusive", "not measured"),
    ],
)
def test_the_badge_is_about_the_answer(item, verdict, badge):
    assert trust_of(item, verdict).badge == badge


def test_the_table_of_reliability_has_both_errors():
    item = row(0.04, above_blind={"ere": 0.13, "blind": 0.85})
    [(_, [line])] = reliability_tables([item])[0]["groups"]
    assert (line["ere"], line["above"]) == (".040", ".130")
    column = {column.name: column for column in columns_of([item])}["ERE above response only"]
    assert column.cell(item) == ".130" and column.cell(row(0.04)) == "–"


@pytest.mark.parametrize(
    ("relevance", "high", "mentioned"),
    [
        (0.3, 0.4, True),
        (0.3, 0.6, False),
        (0.3, None, True),
        (0.7, 0.8, False),
        (None, None, False),
    ],
)
def test_replies_ignore_their_contexts_only_with_the_whole_interval(relevance, high, mentioned):
    verdict = Verdict("bot", "distinguishable", "", "stack", 0.9, 0.8, 0.95, n=100,
                      relevance=relevance, relevance_high=high)  # fmt: skip
    results = EvaluationResults(results=(), warnings=(), settings={}, signature="",
                                verdicts=(verdict,))  # fmt: skip
    [item] = headlines(results)
    assert bool(item.reason) == bool(item.short_reason) == mentioned
