"""Verdicts: what is said for which evidence, in which order, and that it reads as English."""

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
        ({}, "cannot be told apart"),
        (WIDE, "inconclusive"),
        (NOISE, "won by noise"),
        (APART, "told apart"),
        (WEAK, "judge too weak to say"),
        # Where several hold, the first of the order counts.
        ({**WEAK, **APART}, "judge too weak to say"),
        ({**WEAK, **APART, **NOISE}, "judge too weak to say"),
        ({**APART, **NOISE}, "told apart"),
        ({**WIDE, **NOISE}, "won by noise"),
        # On the borders.
        ({"control_p": ALPHA}, "judge too weak to say"),
        ({"control_p": ALPHA - 1e-9}, "cannot be told apart"),
        ({"p_value": ALPHA}, "cannot be told apart"),
        ({"p_value": ALPHA - 1e-9}, "told apart"),
        ({"high": SAME}, "inconclusive"),
        ({"random": 0.55, "below_control": False}, "cannot be told apart"),
        ({"control": None, "control_p": 1.0, **APART}, "judge too weak to say"),
    ],
)
def test_the_verdict_follows_the_order(changes, expected):
    assert verdict("bot", "svm", replace(SAME_AS_HUMANS, **changes))[0] == expected


SENTENCES = {
    "weak, tells by surface": (
        {**WEAK, **APART},
        "svm does not tell human from random replies (accuracy 0.510, p 0.300), so nothing shows "
        "that it reads for meaning. It tells bot from humans by their surface (accuracy 0.700 "
        "[0.660, 0.740], p < .001, 1,200 contexts), but what it misses proves nothing about bot.",
    ),
    "weak, tells nothing": (
        WEAK,
        "svm does not tell human from random replies (accuracy 0.510, p 0.300), so nothing shows "
        "that it reads for meaning. That it does not tell bot from humans either (accuracy 0.505 "
        "[0.480, 0.530], p 0.400, 1,200 contexts) proves nothing.",
    ),
    "no control": (
        {"control": None, "control_p": 1.0},
        "svm could not be tried on human and random replies, so nothing shows that it reads for "
        "meaning. That it does not tell bot from humans either (accuracy 0.505 [0.480, 0.530], "
        "p 0.400, 1,200 contexts) proves nothing.",
    ),
    "apart": (
        APART,
        "svm tells bot from humans: accuracy 0.700 [0.660, 0.740], p < .001, 1,200 contexts. "
        "It tells human from random replies at 0.800 (p < .001).",
    ),
    "noise": (
        NOISE,
        "svm does not tell bot from humans: accuracy 0.505 [0.480, 0.530], p 0.400, 1,200 "
        "contexts. But it tells bot's replies from random ones at 0.550 only, and human from "
        "random replies at 0.800 (p < .001): the replies look human and hardly depend on the "
        "context.",
    ),
    "same": (
        {},
        "svm tells human from random replies at 0.800 (p < .001), but not bot from humans: "
        "accuracy 0.505 [0.480, 0.530], p 0.400, 1,200 contexts; the whole interval lies below "
        "0.55.",
    ),
    "open": (
        WIDE,
        "svm tells human from random replies at 0.800 (p < .001), but leaves open whether bot can "
        "be told from humans: accuracy 0.520 [0.440, 0.600], p 0.400, 1,200 contexts. About 7,333 "
        "more contexts would settle it.",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_the_sentences_are_whole_and_say_what_they_rest_on(name):
    changes, expected = SENTENCES[name]
    text = verdict("bot", "svm", replace(SAME_AS_HUMANS, **changes))[1]
    assert text == expected
    assert text.endswith(".") and "  " not in text and not re.search(r"\bIt \(", text)


def test_more_contexts_are_as_many_as_shrink_the_interval_to_the_gap():
    # Half the width is .08 and .03 are left up to .55: (8/3)^2 times as many are needed in all.
    found = replace(SAME_AS_HUMANS, **WIDE)
    needed = (0.08 / 0.03) ** 2 * 1_200 - 1_200
    assert f"About {needed:,.0f} more" in verdict("bot", "svm", found)[1]
    # Above .55 the gap is to .5.
    found = replace(found, accuracy=0.56, low=0.48, high=0.64)
    needed = (0.08 / 0.06) ** 2 * 1_200 - 1_200
    assert f"About {needed:,.0f} more" in verdict("bot", "svm", found)[1]


def test_more_contexts_are_never_none_and_never_endless():
    few = replace(SAME_AS_HUMANS, accuracy=0.6, low=0.55, high=0.65, p_value=0.06, n=50)
    assert "About 10 more" in verdict("bot", "svm", few)[1]
    on_the_border = replace(SAME_AS_HUMANS, accuracy=0.5499, low=0.45, high=0.65)
    count = re.search(r"About ([\d,]+) more", verdict("bot", "svm", on_the_border)[1])[1]
    assert 1_200 < int(count.replace(",", "")) < 1_000_000
