"""The report of a robustness run: its words, its tables, its page."""

import io
import json
from html.parser import HTMLParser

import pytest
from rich.console import Console

from dialeval.reports.robustness import headlines, robustness_tables, table_four, table_two
from dialeval.reports.robustness_html import marked, render, write_robustness_report
from dialeval.reports.robustness_rows import Index, floor_words, selectivity_words

NASTY = '<script>alert(1)</script>"onmouseover="alert(2)\' [red]x[/] \x1b[31m'
VOID = {"meta", "br"}


def result(metric, strategy, value, low=None, high=None, evaluator="", system="bot", **details):
    details = {"strategy": strategy, "kind": "should_change", **details}
    return {"metric": metric, "system": system, "evaluator": evaluator, "value": value, "low": low,
            "high": high, "n": 30, "signature": "s", "details": details}  # fmt: skip


def said(strategy, kind, verdict, effect, low, high):
    return {"system": "bot", "strategy": strategy, "kind": kind, "verdict": verdict,
            "measure": "movement", "effect": effect, "low": low, "high": high, "margin": 0.1,
            "n": 30, "dialogues": 28, "unchanged": 0.25, "coverage": 0.9}  # fmt: skip


@pytest.fixture
def told():
    changing = {"kind": "should_change", "coverage": 0.9, "edited": 27, "n": 30, "foreign": 0}
    staying = {**changing, "kind": "should_not_change"}
    return {
        "results": [
            result("activity_f1", "normal", 0.0594), result("entity_f1", "normal", 0.0352),
            result("likelihood", "normal", -4.8841),
            result("activity_f1", "swap", 0.061), result("entity_f1", "swap", 0.0342),
            result("likelihood", "swap", -4.9),
            result("activity_f1_loss", "swap", -0.03, -0.05, -0.01, p=0.01),
            result("entity_f1_loss", "swap", 0.03, -0.05, 0.1, p=0.4),
            result("context_similarity_words", "swap", 0.9961),
            result("response_similarity_words", "swap", 0.7149),
            result("over_stability", "negate", 0.8, 0.7, 0.9, "judge", "human", side="context",
                   decisions_changed=0.2, score_change=-0.1, score_change_low=-0.2,
                   score_change_high=-0.05, verdict="moves as it must"),
        ],
        "verdicts": [said("swap", "should_not_change", "moves too much", 0.43, 0.3, 0.55),
                     said("negate", "should_change", "does not move", 0.02, 0.0, 0.06)],
        "systems": [{"name": "bot", "signature": "gen:bot", "samples": False, "unit": 0.8,
                     "words": "bot's own",
                     "selectivity": {"value": -0.4, "low": -0.5, "high": -0.3}}],
        "strategies": [{"name": "negate", "signature": "AddNegation()", **changing},
                       {"name": "swap", "signature": "RandomSwap()", **staying}],
        "examples": [{"system": "bot", "strategy": "swap", "kind": "should_not_change",
                      "context": ["I like tea", "so do I"], "perturbed_context": ["", ""],
                      "edits": [[[0, "I like", "like I"]], []], "reference": "me too",
                      "response": "good", "perturbed_response": "bad", "movement": 0.9}],
        "warnings": ["a warning"],
        "settings": {"contexts": 30, "margin": 0.1, "loss_margin": 0.05, "encoder": "minilm"},
        "versions": {"dialeval": "0.1"},
        "signature": "robustness:movement|n:30",
    }  # fmt: skip


def shown(*parts, width=140) -> str:
    console = Console(file=io.StringIO(), width=width)
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def test_a_system_in_a_sentence(told):
    text = " ".join(shown(*headlines(told), width=400).split())
    assert text.startswith("bot: moves too much under swap; does not move under negate.")
    assert "It moves less where it must than where it must not: −.400 (−.500 to −.300)." in text


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.1, 0.3, "moves more where it must"), (-0.1, 0.3, "cannot be said"), (None, None, "")],
)
def test_selectivity_in_words(low, high, words):
    found = selectivity_words({"selectivity": {"value": 0.2, "low": low, "high": high}})
    assert words in found and bool(found) == bool(words)


def test_the_floor_of_a_sampling_system_is_told():
    found = floor_words({"self_movement": {"value": 0.5, "low": 0.4, "high": 0.6}})
    assert "two answers to the same context are .500 (.400–.600) apart" in found
    assert floor_words({}) == ""


def test_table_two_has_the_papers_layout_and_stars(told):
    lines = shown(table_two(told)).splitlines()
    normal = next(line for line in lines if line.startswith("Normal Input"))
    swap = next(line for line in lines if line.startswith("swap"))
    assert normal.split() == ["Normal", "Input", "5.94", "3.52", "−4.884"]
    assert swap.split() == ["swap", "6.10*", "3.42", "−4.900"]
    assert lines.index(swap) > lines.index(normal)


def test_table_four_shows_cosines(told):
    text = shown(table_four(told))
    assert "1.00" in text and "0.71" in text and "bot's own" in text


def test_should_not_change_comes_first(told):
    assert [each["name"] for each in Index(told).strategies] == ["swap", "negate"]


def test_all_tables_can_be_printed(told):
    text = shown(*robustness_tables(told))
    assert "+.430 (.300–.550)" in text and "25 %" in text and "moves too much" in text
    assert "judge" in text and "−.100 (−.200–−.050)" in text
    told["results"] = [each for each in told["results"] if not each["evaluator"]]
    assert len(robustness_tables(told)) == 3


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.ids, self.links, self.marks = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        found = dict(attributes)
        assert not [name for name in found if name.startswith("on")]
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "mark":
            self.marks.append(data)


def test_the_page_is_whole_and_marks_the_edits(told, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(told), "utf-8")
    path = write_robustness_report(tmp_path)
    text = path.read_text("utf-8")
    page = Page(text)
    assert not page.open and "script" not in page.seen
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.marks == ["I like", "like I"]
    for words in ("Strategies by systems", "AddNegation()", "a warning", "robustness:movement|n:30",
                  "over-stability", "moves too much", "--shade: 26%"):  # fmt: skip
        assert words in text


def test_whatever_somebody_wrote_is_escaped(told):
    text = (
        json.dumps(told).replace("bot", "NASTY").replace("I like", "NASTY").replace("good", "NASTY")
    )
    text = text.replace("NASTY", json.dumps(NASTY)[1:-1])
    page = render(json.loads(text))
    assert "<script" not in page and "\x1b" not in page and "&lt;script&gt;" in page
    Page(page)
    for part in (*headlines(json.loads(text)), *robustness_tables(json.loads(text))):
        assert "\x1b" not in shown(part)


def test_a_run_without_anything_is_a_page_too():
    page = render({"results": [], "systems": [], "strategies": [], "verdicts": []})
    assert "There are no results." in page
    assert not Page(page).open


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"results of a robustness run.*dialeval robustness"):
        write_robustness_report(tmp_path)


def test_texts_are_cut_at_their_edits():
    log = [[0, "", "not "], [5, "b", ""]]
    assert list(marked("aaaa b c", log, "before")) == [
        ("", False), ("", True), ("aaaa ", False), ("b", True), (" c", False),
    ]  # fmt: skip
    assert "".join(piece for piece, _ in marked("aaaa b c", log, "after")) == "not aaaa  c"
