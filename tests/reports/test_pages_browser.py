"""Reports in Chromium: filters, search and order, the policy, and nothing that is cut off."""

import re
from dataclasses import replace

import pytest

from dialeval.metrics.comparison_results import Comparison, Pair, SystemSummary
from dialeval.reports.adversarial.html import render_study
from dialeval.reports.att import write_att_report
from dialeval.reports.comparison import write_comparison
from dialeval.reports.evaluation import render_report
from dialeval.reports.evaluation.plots import read_scores
from dialeval.reports.evaluation.replies import Replies
from dialeval.reports.robustness import render_report as render_robustness
from dialeval.reports.unpaired import unpaired_page
from tests.reports import test_att, test_robustness
from tests.reports.browser import WIDTHS, assert_fits, messages, open_chromium, show
from tests.reports.invented import invent
from tests.reports.test_adversarial import study
from tests.reports.test_answers import piles

pytestmark = pytest.mark.browser
game_results, robustness_results = test_att.results, test_robustness.results
A4 = 700
"""Pixels between the margins of a page of paper."""
SYSTEMS = ("bot", "another-system-with-a-long-name")


@pytest.fixture(scope="module")
def browser():
    chromium = open_chromium()
    yield chromium
    chromium.quit()


def replies() -> Replies:
    """Six replies of each system; the evaluator takes every second one for human."""
    rows, scores = [], {}
    for system in SYSTEMS:
        for number in range(6):
            text = " ".join(["word"] * (number + 1)) + f" n{number}"
            rows.append({"id": f"p{number}", "system": system, "context": ["hi", "how are you?"],
                         "human": "fine", "response": text, "cut": number == 5})  # fmt: skip
            score = (number * 7 % 6) / 6
            scores[system, "svm-unigram", False, f"p{number}"] = (score, score > 0.4)
            scores[system, "svm-unigram", True, f"p{number}"] = (0.9, True)
    return Replies(rows, scores, ["svm-unigram"])


@pytest.fixture(scope="module")
def evaluation_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    results = invent(folder, systems=SYSTEMS)
    page = render_report(results, read_scores(folder / "scores.parquet"), replies())
    (folder / "evaluation.html").write_text(page, "utf-8")
    return folder / "evaluation.html"


VISIBLE = """
return [...document.querySelectorAll("#replies > article")].filter(x => x.offsetParent)
  .map(x => x.querySelector(".machine").lastChild.textContent.trim());
"""


def choose(browser, name: str, value: str) -> list[str]:
    """Set a filter as a person would, and give the replies that are left."""
    browser.execute_script(
        "const item = document.forms.filters.elements[arguments[0]];"
        "if (item.type === 'checkbox') item.checked = arguments[1] === 'on';"
        "else item.value = arguments[1];"
        "item.dispatchEvent(new Event('input', {bubbles: true}));",
        name, value,
    )  # fmt: skip
    return browser.execute_script(VISIBLE)


def test_replies_are_filtered_searched_and_sorted(browser, evaluation_page):
    show(browser, evaluation_page, 1200)
    assert len(browser.execute_script(VISIBLE)) == 12
    assert len(choose(browser, "system", "1")) == 6
    assert len(choose(browser, "search", "n3")) == 1
    assert "n3" in choose(browser, "search", "N3 WORD")[0]
    assert len(choose(browser, "search", "")) == 6
    assert [text[-2:] for text in choose(browser, "order", "long")] == [
        f"n{number}" for number in (5, 4, 3, 2, 1, 0)
    ]
    # Scores are 0, 1, 2, 3, 4, 5 sixths of the replies 0, 1, 2, 3, 4, 5 (7 n mod 6 = n).
    assert choose(browser, "order", "high")[0].endswith("n5")
    assert len(choose(browser, "decision", "1")) == 3  # 0, 1/6 and 2/6 are below .4
    assert len(choose(browser, "decision", "")) == 6
    assert len(choose(browser, "least", "6")) == 2  # a reply has one word more than its number + 1
    choose(browser, "least", "")
    assert len(choose(browser, "cut", "on")) == 1
    assert "1 of 1 replies" in browser.find_element("id", "shown").text
    assert messages(browser) == []


def test_without_javascript_every_reply_is_listed(browser, evaluation_page):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(evaluation_page.resolve().as_uri())
        articles = browser.find_elements("css selector", "#replies > article")
        assert len(articles) == 12 and not browser.find_element("id", "filters").is_displayed()
        browser.find_element("css selector", "#examples-fold > summary").send_keys("\n")
        assert all(article.is_displayed() for article in articles)
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_policy_of_a_page_stops_other_scripts_and_requests(browser, evaluation_page, tmp_path):
    evil = evaluation_page.read_text("utf-8").replace(
        "</body>",
        '<script>document.title = "changed"</script><img src="http://127.0.0.1:9/x.png"></body>',
    )
    path = tmp_path / "evil.html"
    path.write_text(evil, "utf-8")
    messages(browser)
    show(browser, path, 1200)
    assert browser.title != "changed"
    blocked = messages(browser)
    assert len(blocked) >= 2 and all("Content Security Policy" in text for text in blocked)


def test_a_link_unfolds_the_section_it_points_to(browser, evaluation_page):
    browser.get(evaluation_page.resolve().as_uri())
    fold = browser.find_element("id", "cues-fold")
    assert fold.get_attribute("open") is None
    browser.execute_script("location.hash = 'cues'")
    assert browser.execute_async_script(
        "const done = arguments[0];"
        "setTimeout(() => done(document.getElementById('cues-fold').open), 100)"
    )


def test_nothing_is_cut_off_in_print(browser, evaluation_page):
    assert_fits(browser, evaluation_page, A4, media="print")
    show(browser, evaluation_page, 1200)


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_of_an_evaluation_is_cut_off(browser, evaluation_page, width):
    assert_fits(browser, evaluation_page, width)
    assert messages(browser) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_of_the_other_pages_is_cut_off(
    browser, game_results, robustness_results, tmp_path, width
):
    texts = {"robustness": render_robustness(robustness_results), "regs": render_study(study())}
    paths = [write_att_report(test_att.save(tmp_path / "att", game_results))]
    for name, text in texts.items():
        paths.append(tmp_path / f"{name}.html")
        paths[-1].write_text(text, "utf-8")
    paths.append(write_comparison(comparison(), tmp_path / "comparison.html"))
    for path in paths:
        assert_fits(browser, path, width)
        assert messages(browser) == [], path


def comparison() -> Comparison:
    pair = Pair(
        "svm", *SYSTEMS, 0.2, 0.1, 0.1, 0.05, 0.15, 0.001, 0.001, 0.06, 0.04, None, 3, 100, 50, 0,
        0, 0.05, (), 0.002, True,
    )  # fmt: skip
    systems = [
        SystemSummary(name, "x", name, "svm", value, 100, value - 0.05, value + 0.04)
        for name, value in zip(SYSTEMS, (0.2, 0.1), strict=True)
    ]
    groups = {"svm": [[SYSTEMS[0]], [SYSTEMS[1]]]}
    return Comparison([pair], systems, groups, [], [], {"seed": 0})


def test_a_comparison_is_ranked_by_accuracy(tmp_path):
    swapped = replace(comparison(), systems=comparison().systems[::-1])
    page = write_comparison(swapped, tmp_path / "page.html").read_text("utf-8")
    assert page.index("right in 80 of 100") < page.index("right in 90 of 100")
    assert "95 % 76 to 85, 100 contexts; AdverSuc .200" in page  # 1 - (.2 + .04) and 1 - (.2 - .05)
    [first, second] = re.findall(r'class="range" style="left:([\d.]+)%;width:([\d.]+)%"', page)
    assert first == ("52.0", "18.0") and second == ("72.0", "18.0")  # on a scale from .5 to 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_dot_differs_from_what_is_behind_it(browser, tmp_path, scheme):
    (tmp_path / "piles.html").write_text(unpaired_page(piles()), "utf-8")
    show(browser, tmp_path / "piles.html", 1200, scheme)
    colours = browser.execute_script(
        "return [...document.querySelectorAll('circle.dot')].map(x => [getComputedStyle(x).fill,"
        " getComputedStyle(x.closest('figure')).backgroundColor])"
    )
    assert colours
    for pair in colours:
        dot, behind = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in pair)
        assert abs(dot - behind) > 200, pair
