"""Verdicts: three questions answered apart, each with a table worked out by hand."""

import re
from dataclasses import replace

import pytest

from dialeval.metrics.significance import holm
from dialeval.protocols.evaluation.decision import Control, Findings
from dialeval.protocols.evaluation.measures import Measure
from dialeval.protocols.evaluation.twosample import TwoSampleTest
from dialeval.protocols.evaluation.verdict import ALPHA, Reading, Relevance, Trust, verdict

SURE = Trust(
    control=0.8,
    control_low=0.77,
    families=frozenset({"surface", "context"}),
    detectable={"random human replies": 0.1},
)
NONE = Reading("stack", 0.505, 0.48, 0.53, p_value=0.4)
APART = Reading("stack", 0.7, 0.66, 0.74, p_value=0.0002)
WIDE = Reading("stack", 0.52, 0.44, 0.6, p_value=0.3)
SMALL = Reading("stack", 0.512, 0.505, 0.521, p_value=0.003)
WEAK = Trust()


@pytest.mark.parametrize(
    ("readings", "trust", "expected"),
    [
        # A detected difference needs no control, no power and no second family.
        ([APART], SURE, "distinguishable"),
        ([APART], WEAK, "distinguishable"),
        # Significant, but the whole interval is inside the margin: .521 < .55.
        ([SMALL], SURE, "negligible difference"),
        # That it is negligible is a "no" about its size: a weak evaluator may miss most of it.
        ([SMALL], WEAK, "distinguishable"),
        ([SMALL], replace(SURE, control_low=0.51), "distinguishable"),
        ([replace(SMALL, retrained=False)], SURE, "distinguishable"),
        # The power to detect a planted share is not needed once something was detected, and a
        # format leak is part of what the evaluators saw.
        ([SMALL], replace(SURE, detectable={}, leaks=("case",)), "negligible difference"),
        # Not significant and inside the margin: only with trust is it a "no".
        ([NONE], SURE, "indistinguishable"),
        ([NONE], WEAK, "inconclusive"),
        ([WIDE], SURE, "inconclusive"),
        # Holm over two evaluators: .03 becomes .06, .02 becomes .04.
        ([replace(APART, p_value=0.03), replace(NONE, evaluator="surface")], SURE, "inconclusive"),
        ([replace(APART, p_value=0.02), NONE], SURE, "distinguishable"),
        # The widest interval counts, not the strongest evaluator's alone.
        ([NONE, replace(WIDE, accuracy=0.49)], SURE, "inconclusive"),
        # On the borders.
        ([replace(NONE, p_value=ALPHA)], SURE, "indistinguishable"),
        ([replace(NONE, p_value=ALPHA - 1e-9)], SURE, "negligible difference"),
        ([replace(NONE, high=0.55)], SURE, "inconclusive"),
        ([replace(APART, p_value=ALPHA - 1e-9, high=0.55)], SURE, "distinguishable"),
    ],
)
def test_the_verdict_follows_from_the_numbers(readings, trust, expected):
    assert verdict("bot", readings, trust, n=1_200).verdict == expected


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"control": None, "control_low": None}, "no evaluator could be tested on human and rando"),
        ({"control": 0.53, "control_low": 0.51}, "failed their control: .* accuracy of 53.0 %"),
        ({"families": frozenset({"surface"})}, "no evaluator is known to read the context"),
        ({"families": frozenset()}, "to read the surface or the context"),
        ({"leaks": ("upper-case letters",)}, r"the format differs \(upper-case letters\)"),
        (
            {"detectable": {"random human replies": None}},
            "not certain .* noticed if 20 % of the replies had been random human replies$",
        ),
        (
            {"detectable": {"random human replies": 0.05, "TeamG": None}},
            "noticed if 20 % of the replies had been replies of TeamG$",
        ),
        (
            {"detectable": {"random human replies": None, "TeamG": None}},
            "had been random human replies or replies of TeamG$",
        ),
        ({"detectable": {}}, "it was not measured which share of replaced replies"),
    ],
)
def test_a_no_needs_power_control_two_families_and_no_leak(changes, reason):
    result = verdict("bot", [NONE], replace(SURE, **changes), n=1_200)
    assert result.verdict == "inconclusive" and len(result.reservations) == 1
    assert re.search(reason, result.reservations[0])
    assert f"A difference cannot be ruled out: {result.reservations[0]}." in result.text
    assert verdict("bot", [APART], replace(SURE, **changes), n=1_200).verdict == "distinguishable"


def test_a_small_difference_by_weak_evaluators_says_why_it_may_be_larger():
    text = verdict("bot", [SMALL], replace(SURE, families=frozenset({"surface"})), n=1_200).text
    assert (
        "No evaluator's interval reaches 55 %, but a better one may see more: no evaluator" in text
    )


def test_a_no_says_for_every_source_which_share_would_have_been_noticed():
    shares = {"random human replies": 0.2, "TeamG": 0.05}
    result = verdict("bot", [NONE], replace(SURE, detectable=shares), 9)
    assert result.verdict == "indistinguishable"
    assert result.text.endswith(
        "No evaluator's interval reaches 55 %, and in at least 80 % of cases this run would have "
        "noticed if 20 % of the replies had been random human replies or if 5 % of the replies had "
        "been replies of TeamG."
    )


def test_an_interval_above_chance_needs_no_narrower_interval_but_a_test():
    wide = replace(NONE, accuracy=0.75, low=0.71, high=0.79, p_value=0.9)
    text = verdict("bot", [wide], SURE, 400).text
    assert "The interval is above 55 %, but the test is not significant: it has half of" in text
    assert "more contexts would" not in text


def test_power_is_no_reservation_where_it_was_not_measured_because_something_was_detected():
    assert verdict("bot", [APART], replace(SURE, detectable={}), 9).reservations == ()
    assert len(verdict("bot", [SMALL], WEAK, 9).reservations) == 2  # no control, no family


def test_a_no_of_evaluators_that_were_not_trained_on_the_system_is_none():
    frozen = replace(NONE, retrained=False)
    assert "no evaluator was trained on this system" in verdict("b", [frozen], SURE, 9).reservations
    assert verdict("bot", [frozen, NONE], SURE, 9).verdict == "indistinguishable"


def test_the_numbers_are_those_of_the_strongest_evaluator_and_the_smallest_p():
    readings = [replace(NONE, evaluator="surface", p_value=0.001), replace(APART, p_value=0.01)]
    result = verdict("bot", readings, SURE, n=1_200)
    assert (result.evaluator, result.accuracy, result.low, result.high) == (
        "stack",
        0.7,
        0.66,
        0.74,
    )
    assert result.p_value == min(holm([0.001, 0.01])) == 0.002
    assert result.text.startswith(
        "stack classifies 70.0 % [66.0 %, 74.0 %] of the responses of bot and of humans correctly; "
        "50 % is chance (p = .002 by surface, Holm over 2 evaluators, 1,200 contexts)."
    )
    weaker = replace(NONE, evaluator="surface", p_value=0.01)
    same = verdict("bot", [weaker, APART], SURE, n=1_200)
    assert "(p < .001, Holm over 2 evaluators, 1,200 contexts)" in same.text


def test_the_margin_is_a_setting():
    assert verdict("bot", [APART], SURE, 100, margin=0.75).verdict == "negligible difference"
    assert verdict("bot", [NONE], SURE, 100, margin=0.52).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("reading", "n", "margin", "needed"),
    [
        # Half the interval is .08 and the margin .03 away: (8 / 3)² as many, less those there are.
        (WIDE, 1_200, 0.55, 1_200 * ((0.08 / 0.03) ** 2 - 1)),
        # Above the margin it is chance that has to be outside: .06 over .07 is nearly enough.
        (Reading("s", 0.57, 0.52, 0.63, 0.06), 1_200, 0.55, 120),
        (replace(WIDE, accuracy=0.5, high=0.551), 50, 0.55, 10),
    ],
)
def test_an_inconclusive_verdict_says_how_many_more_contexts_would_do(reading, n, margin, needed):
    text = verdict("bot", [reading], SURE, n, margin).text
    result = "make this accuracy significant" if reading.accuracy > margin else "bring it below"
    assert f"more contexts would {result}" in text
    count = int(re.search(r"about ([\d,]+) more contexts", text)[1].replace(",", ""))
    assert count == pytest.approx(needed, abs=1)


@pytest.mark.parametrize(
    ("accuracy", "relevance", "flagged"),
    [
        (0.628, Relevance(0.2, 0.1, 0.3), True),  # Li et al.'s sampling: AdverSuc .372
        (0.628, Relevance(0.9, 0.8, 1.0), False),
        (0.628, Relevance(0.4, 0.2, 0.6), False),  # not with its whole interval
        (0.95, Relevance(0.2, 0.1, 0.3), False),  # it does not look human
        (0.628, None, False),
    ],
)
def test_relevance_is_a_second_axis_and_no_verdict(accuracy, relevance, flagged):
    reading = replace(APART, accuracy=accuracy)
    result = verdict("bot", [reading], SURE, 1_200, relevance=relevance)
    assert result.verdict == "distinguishable"
    assert result.relevance == (relevance.value if relevance else None)
    texts = [
        flag for flag in result.flags if flag.startswith("looks human but ignores the context")
    ]
    assert bool(texts) == flagged


def test_flags_of_the_run_are_kept():
    assert verdict("bot", [APART], SURE, 9, flags=["format leak (x)"]).flags == ("format leak (x)",)


def test_relevance_is_by_the_best_control_among_those_that_measure_it():
    def control(value: float) -> Control:
        return Control(Measure(value, value, value, 9), TwoSampleTest(value, value, 0.0, 0.6, 9))

    values = {"saved": 0.95, "stack": 0.8, "embedding": 0.7}
    controls = {name: control(value) for name, value in values.items()}
    first, second = Measure(0.4, 0.3, 0.5, 9), Measure(0.6, 0.5, 0.7, 9)
    findings = Findings(
        controls, relevances={("bot", "embedding"): second, ("bot", "stack"): first}
    )
    assert findings.relevance_of("bot") is first and findings.relevance_of("other") is None
