"""What pages made of sections say first: the answer, its bars, and what to be careful about."""

import re
from dataclasses import replace

import pytest

from dialeval.metrics.analysis_results import AnalysisResults
from dialeval.metrics.audit_results import (
    AT_MOST,
    KNOWN_ONLY,
    SHARE,
    UNLIKE,
    AuditCheck,
    AuditGroup,
    AuditResults,
)
from dialeval.metrics.evaluation_results import FormatLeak
from dialeval.metrics.judgement_results import PEOPLE, JudgementResults, Plan
from dialeval.metrics.profile_results import Trait
from dialeval.metrics.results import Result
from dialeval.metrics.unpaired_results import CONFOUNDED, PileVerdict, UnpairedResults
from dialeval.reports.analysis.html import render_analysis
from dialeval.reports.audit import audit_page
from dialeval.reports.drawing import percent_scale
from dialeval.reports.format import first_clause
from dialeval.reports.people.html import render_judgements
from dialeval.reports.people.rows import answer_title
from dialeval.reports.people.table import judgement_tables
from dialeval.reports.unpaired import unpaired_page
from tests.reports.invented import NASTY, shown


def card_of(page: str) -> str:
    """The text of the first card, without its marks and its folded part."""
    card = page.partition('<article class="card answer')[2].partition("</article>")[0]
    visible = card.partition(">")[2].partition("<details")[0]
    return " ".join(re.sub("<[^>]+>", " ", visible).split())


def number(metric: str, value: float, system: str = "bot", **details) -> Result:
    return Result(metric, system, "surface", value, value - 0.05, value + 0.05, 90, "", details)


def piles(**changes) -> UnpairedResults:
    verdict = PileVerdict(
        "bot", "distinguishable", "Everything in words.", "surface", 0.8, 0.75, 0.85, 0.0004, 0.7,
        human_dialogues=1_095, system_dialogues=93, flags=("format leak (capitals): a rule",),
    )  # fmt: skip
    return UnpairedResults(
        results=(number("accuracy", 0.8), number("topic_control", 0.7)),
        verdicts=(replace(verdict, **changes),),
        leaks=(FormatLeak("bot", "capitals", "system if it SHOUTS", 0.67, 0.6, 0.7),),
        profile=(
            Trait("bot", "emoji", "style", "share of turns", 0.1, 0.2, 0.9, 0.8, 1, 0.2, 0.4),
            Trait("bot", "words per turn", "length", "words", 14.1, 7, -0.8, -0.9, -0.7, 0, 0),
        ),
    )


def test_two_piles_are_answered_with_their_control():
    page = unpaired_page(piles())
    card = card_of(page)
    assert "Can bot be distinguished from humans?" in page
    assert card.startswith("bot can usually be spotted distinguishable The evaluator surface is")
    assert "right about 80 of 100 single replies; 50 is chance." in card
    assert "95 % interval 75 to 85, 1,095 human dialogues and 93 of bot, p &lt; .001." in card
    assert "words per turn 7.0 (humans 14.1); “system if it SHOUTS” alone is right in 67" in card
    assert "Can I trust it? The topic does not explain it (control 70 of 100)." in card
    assert "“system if it SHOUTS” alone is right in 67 of 100" in card
    assert "single replies 80 % right in 80 of 100" in card and "topic control 70 %" in card
    careful = (
        "Careful: Format leak: one rule alone is right in 67 of 100 cases (“system if it SHOUTS”)"
    )
    assert careful in card
    assert "Everything in words." not in card and "Everything in words." in page
    confounded = card_of(unpaired_page(piles(verdict=CONFOUNDED)))
    assert confounded.startswith("bot differs, but the topic may explain it confounded by topic")
    assert "collect both piles" in confounded
    no_control = card_of(unpaired_page(piles(verdict="inconclusive", control=None)))
    assert "Can I trust it? Not measured: no turns of partners" in no_control


def test_two_piles_have_five_lines_in_the_terminal():
    lines = str(piles()).splitlines()
    assert lines[0] == "bot can usually be spotted: right in 80 of 100 (chance 50), 95 % 75 to 85"
    assert [line.split()[0] for line in lines[1:5]] == ["Why", "Trust", "Careful", "Next"]
    assert "words per turn 7.0 (humans 14.1)" in lines[1] and "emoji" not in lines[1]
    assert "(control 70 of 100)" in lines[2] and "67 of 100" in lines[3]
    assert any("surface" in line and "80 % (75–85)" in line for line in lines[5:])


@pytest.mark.parametrize(
    ("kind", "title"),
    [(SHARE, "About 25 % of the replies are machine-written"),
     (KNOWN_ONLY, "About 25 % of the replies are like the machine file; no share of all machines"),
     (AT_MOST, "At most 30 % of the replies are like the machine file"),
     (UNLIKE, "At least 20 % of the replies are unlike the reference")],
)  # fmt: skip
def test_an_audit_is_answered_with_the_bound_that_it_has(kind, title):
    checks = (AuditCheck("fit", 1, True, "It fits."), AuditCheck("shift", 1, False, "Topics: bad."))
    results = AuditResults(
        results=(number("machine_share", 0.25, dialogues=40),), kind=kind, text="In a sentence.",
        checks=checks,
    )  # fmt: skip
    card = card_of(audit_page(results))
    assert card.startswith(f"{title} In a sentence. Can I trust it? 1 of 2 checks passed.")
    assert "share 25 % interval 20 to 30 %" in card and "Careful: Topics: bad" in card


def test_an_audit_that_shows_no_machine_does_not_ask_where_they_come_from():
    share = replace(number("machine_share", 0.01, dialogues=40), low=0.0, high=0.03)
    card = card_of(audit_page(AuditResults(results=(share,), kind=SHARE, text="In a sentence.")))
    assert card.startswith("No sign of machine-written replies: at most 3 % are In a sentence.")
    assert "where they come from" not in card and "About" not in card


def test_an_audit_by_worker_names_who_stands_out_and_what_to_do_next():
    groups = [
        AuditGroup("w1", 40, 40, 0.9, 0.8, 1.0, 0.95, 0.001, 0.004, True),
        AuditGroup("w2", 30, 30, 0.1, 0.0, 0.2, 0.05, 0.5, 0.5, False),
    ]
    results = AuditResults(
        results=(number("machine_share", 0.25, dialogues=40),), kind=SHARE, text="In a sentence.",
        groups=tuple(groups), by="worker",
    )  # fmt: skip
    card = card_of(audit_page(results))
    assert "By worker: 1 of 2 groups stands out: w1 (90 %)." in card
    assert "What next: look at how the replies" in card and "no finding against a person" in card
    assert "w1 90 % stands out 80 to 100 %; replies: 40" in card and "w2 10 %" not in card
    assert "--by COLUMN" in card_of(audit_page(replace(results, groups=(), by="")))


def judgements(alpha: float = 0.3) -> JudgementResults:
    details = {
        "task": "rating", "scale": "Fluency", "level": "ordinal", "observed_agreement": 0.5,
        "n_items": 9, "n_judgements": 27, "krippendorff_alpha": alpha,
        "krippendorff_alpha_low": alpha - 0.1, "krippendorff_alpha_high": alpha + 0.1,
    }  # fmt: skip
    ratings = [
        Result("rating", name, PEOPLE, value, value - 0.1, value + 0.1, 9, "", {"scale": "Fluency"})
        for name, value in ((NASTY, 2.0), ("best", 4.0))
    ]
    agreement = Result("fleiss_pi", "", PEOPLE, 0.2, 0.1, 0.3, 9, "", details)
    return JudgementResults(results=(agreement, *ratings), n_judgements=27, n_items=9)


def test_judgements_are_answered_with_agreement_and_the_ranking():
    page = render_judgements(judgements())
    card = card_of(page)
    assert card.startswith("Annotators agree weakly Krippendorff’s α (1 is perfect, 0 chance): ")
    assert (
        "Fluency +.300 (+.200 to +.400)" in card and "Rated highest (Fluency): best, 4.00" in card
    )
    assert card.index("best 4.00") < card.index("2.00 95 % 1.90 to 2.10")
    assert "What next: quote means over many items only" in card
    plans = (Plan("a is better", 40, 90, False), Plan("b is better", 40, 50, False))
    card = card_of(render_judgements(replace(judgements(), plans=plans)))
    assert "What next: judge about 10 more items to settle “b is better”." in card
    assert "<script>alert" not in page
    assert "Annotators agree weakly" in shown(judgement_tables(judgements())[1])


@pytest.mark.parametrize(
    ("alpha", "words"),
    [
        (0.85, "agree well"),
        (0.7, "tentative"),
        (0.5, "in part"),
        (0.19, "hardly"),
        (-0.2, "hardly"),
    ],
)
def test_agreement_has_a_name(alpha, words):
    assert words in answer_title(judgements(alpha))


def test_an_analysis_is_answered_with_what_explains_the_decisions():
    words = Result("bag_of_words", "decisions", "d", 0.9, float("nan"), float("nan"), 40, "")
    accuracy = Result("accuracy", "", "d", 0.75, 0.7, 0.8, 40, "")
    results = AnalysisResults(results=(accuracy, words), warnings=("All are human: and more.",))
    card = card_of(render_analysis(results))
    assert card.startswith("d is right in 75 of 100 cases (95 % 70 to 80; 50 is chance)")
    assert "predict its decisions in 90 of 100 cases: it hardly reads the context." in card
    assert "Careful: All are human: and more" in card


def test_a_scale_may_end_before_one():
    assert "width:50.0%" in percent_scale(0.1, None, None, [], "", start=0.0, end=0.2)
    assert "width:100.0%" in percent_scale(0.4, None, None, [], "", start=0.0, end=0.2)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("bot: 3 of 9 replies were cut at the maximal length; they end in the middle of a word and "
         "more.", "bot: 3 of 9 replies were cut at the maximal length"),
        ("One two (three, four " + "five " * 20, "One two (three, four " + "five " * 9 + "five…"),
        ("Short.", "Short"),
    ],
)  # fmt: skip
def test_the_first_clause_says_something_and_is_closed(text, short):
    assert first_clause(text) == short
