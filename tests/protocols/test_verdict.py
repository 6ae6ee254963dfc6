"""Verdicts: which one follows from which evidence, in which order, and their sentences."""

import re
from dataclasses import replace

import pytest

from dialeval.protocols.evaluation.verdict import ALPHA, SAME, Evidence, verdict

SAME_AS_HUMANS = Evidence(
    accuracy=0.505, low=0.48, high=0.53, p_value=0.4, control=0.8, control_p=0.0001, n=1_200
)
WEAK = {"control": 0.51, "control_p": 0.3}
APART = {"accuracy": 0.7, "low": 0.66, "high": 0.74, "p_value": 0.0002}
NOISE = {"random": 0.55, "below_control": True}
WIDE = {"accuracy": 0.52, "low": 0.44, "high": 0.6}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "indistinguishable"),
        (WIDE, "inconclusive"),
        (NOISE, "context-independent"),
        (APART, "distinguishable"),
        (WEAK, "evaluator too weak"),
        # Where several hold, the first of the order counts.
        ({**WEAK, **APART}, "distinguishable"),  # a detected difference needs no control
        ({**WEAK, **APART, **NOISE}, "distinguishable"),
        ({**WEAK, **NOISE}, "evaluator too weak"),
        ({**APART, **NOISE}, "distinguishable"),
        ({**WIDE, **NOISE}, "context-independent"),
        # On the borders.
        ({"control_p": ALPHA}, "evaluator too weak"),
        ({"control_p": ALPHA - 1e-9}, "indistinguishable"),
        ({"p_value": ALPHA}, "indistinguishable"),
        ({"p_value": ALPHA - 1e-9}, "distinguishable"),
        ({"high": SAME}, "inconclusive"),
        ({"random": 0.55, "below_control": False}, "indistinguishable"),
        ({"control": None, "control_p": 1.0, **APART}, "distinguishable"),
        ({"control": None, "control_p": 1.0}, "evaluator too weak"),
    ],
)
def test_the_verdict_follows_the_order(changes, expected):
    assert verdict("bot", "svm", replace(SAME_AS_HUMANS, **changes)).verdict == expected


SENTENCES = {
    "weak, surface": (
        {**WEAK, **APART},
        "svm distinguishes bot from humans: accuracy 0.700 [0.660, 0.740], p < .001, 1,200 "
        "contexts. It does not distinguish human from random replies (accuracy 0.510, p 0.300), so "
        "the difference may be in the style alone.",
    ),
    "weak, nothing": (
        WEAK,
        "svm failed its control: it does not distinguish human from random replies (accuracy "
        "0.510, p 0.300), so it may not use the context at all. That it does not distinguish bot "
        "from humans (accuracy 0.505 [0.480, 0.530], p 0.400, 1,200 contexts) proves nothing.",
    ),
    "no control": (
        {"control": None, "control_p": 1.0},
        "svm failed its control: it could not be tested on human and random replies, so it may "
        "not use the context at all. That it does not distinguish bot from humans (accuracy 0.505 "
        "[0.480, 0.530], p 0.400, 1,200 contexts) proves nothing.",
    ),
    "distinguishable": (
        APART,
        "svm distinguishes bot from humans: accuracy 0.700 [0.660, 0.740], p < .001, 1,200 "
        "contexts. It also distinguishes human from random replies (accuracy 0.800, p < .001).",
    ),
    "context-independent": (
        NOISE,
        "svm does not distinguish bot from humans: accuracy 0.505 [0.480, 0.530], p 0.400, 1,200 "
        "contexts. But it distinguishes bot's replies from random ones with an accuracy of only "
        "0.550, significantly less well than human from random replies (accuracy 0.800, p < "
        ".001): the replies look human but hardly depend on the context.",
    ),
    "indistinguishable": (
        {},
        "svm distinguishes human from random replies (accuracy 0.800, p < .001), but not bot from "
        "humans: accuracy 0.505 [0.480, 0.530], p 0.400, 1,200 contexts; the whole interval lies "
        "below 0.55.",
    ),
    "inconclusive": (
        WIDE,
        "svm distinguishes human from random replies (accuracy 0.800, p < .001), but the data do "
        "not show whether bot can be distinguished from humans: accuracy 0.520 [0.440, 0.600], "
        "p 0.400, 1,200 contexts. About 7,333 more contexts would settle it.",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentences_are_whole_and_say_what_they_rest_on(name):
    changes, expected = SENTENCES[name]
    text = verdict("bot", "svm", replace(SAME_AS_HUMANS, **changes)).text
    assert text == expected
    assert text.endswith(".") and "  " not in text and not re.search(r"\bIt \(", text)


def test_more_contexts_are_as_many_as_shrink_the_interval_to_the_gap():
    # Half the width is .08 and .03 are left up to .55: (8/3)^2 times as many are needed in all.
    evidence = replace(SAME_AS_HUMANS, **WIDE)
    needed = (0.08 / 0.03) ** 2 * 1_200 - 1_200
    assert f"About {needed:,.0f} more" in verdict("bot", "svm", evidence).text
    # Above .55 the gap is to .5.
    evidence = replace(evidence, accuracy=0.56, low=0.48, high=0.64)
    needed = (0.08 / 0.06) ** 2 * 1_200 - 1_200
    assert f"About {needed:,.0f} more" in verdict("bot", "svm", evidence).text


def test_more_contexts_are_never_none_and_never_endless():
    few = replace(SAME_AS_HUMANS, accuracy=0.6, low=0.55, high=0.65, p_value=0.06, n=50)
    assert "About 10 more" in verdict("bot", "svm", few).text
    on_the_border = replace(SAME_AS_HUMANS, accuracy=0.5499, low=0.45, high=0.65)
    count = re.search(r"About ([\d,]+) more", verdict("bot", "svm", on_the_border).text)[1]
    assert 1_200 < int(count.replace(",", "")) < 1_000_000
