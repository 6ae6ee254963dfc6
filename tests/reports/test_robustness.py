"""Reports of a robustness run: sentences, tables, and the page."""

import io
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from dialeval.metrics.results import Result
from dialeval.metrics.robustness_results import (
    Estimate,
    RobustnessExample,
    RobustnessResults,
    RobustnessVerdict,
    StrategyCoverage,
    SystemRow,
)
from dialeval.reports.robustness import (
    headlines,
    render_report,
    robustness_tables,
    write_robustness_report,
)
from dialeval.reports.robustness.html import mark_edits
from dialeval.reports.robustness.rows import describe_system, sorted_strategies
from dialeval.reports.robustness.table import table_four, table_two

NASTY = '<script>alert(1)</script>"onmouseover="alert(2)\' [red]x[/] \x1b[31m'
VOID = {"meta", "br"}
NAN = float("nan")


def result(metric, strategy, value, low=NAN, high=NAN, evaluator="", system="bot", **details):
    details = {"strategy": strategy, "kind": "should_change", **details}
    return Result(metric, system, evaluator, value, low, high, 30, "s", details)


def verdict(strategy, kind, name, effect, low, high):
    return RobustnessVerdict(
        "bot", strategy, kind, name, "movement", effect, low, high, margin=0.1, n=30, dialogues=28,
        unchanged=0.25, coverage=0.9,
    )  # fmt: skip


@pytest.fixture
def results():
    evaluator = {
        "side": "context", "decisions_changed": 0.2, "score_change": -0.1,
        "score_change_low": -0.2, "score_change_high": -0.05, "verdict": "responsive",
    }  # fmt: skip
    return RobustnessResults(
        results=(
            result("activity_f1", "normal", 0.0594), result("entity_f1", "normal", 0.0352),
            result("likelihood", "normal", -4.8841),
            result("activity_f1", "swap", 0.061), result("entity_f1", "swap", 0.0342),
            result("likelihood", "swap", -4.9),
            result("activity_f1_loss", "swap", -0.03, -0.05, -0.01, p=0.01),
            result("entity_f1_loss", "swap", 0.03, -0.05, 0.1, p=0.4),
            result("context_similarity_words", "swap", 0.9961),
            result("response_similarity_words", "swap", 0.7149),
            result("over_stability", "negate", 0.8, 0.7, 0.9, "svm", "human", **evaluator),
        ),
        verdicts=(
            verdict("swap", "should_not_change", "over-sensitive", 0.43, 0.3, 0.55),
            verdict("negate", "should_change", "over-stable", 0.02, 0.0, 0.06),
        ),
        systems=(
            SystemRow("bot", "gen:bot", False, 0.8, "bot's own",
                      selectivity=Estimate(-0.4, -0.5, -0.3)),
        ),
        strategies=(
            StrategyCoverage("negate", "should_change", "AddNegation()", 0.9, 27, 30),
            StrategyCoverage("swap", "should_not_change", "RandomSwap()", 0.9, 27, 30),
        ),
        examples=(
            RobustnessExample(
                "bot", "swap", "should_not_change", "p0", "d0", True, ("I like tea", "so do I"),
                ("like I tea", "so do I"), (((0, "I like", "like I"),), ()), "me too", "good",
                "bad", 0.9,
            ),
        ),
        warnings=("a warning",),
        settings={"contexts": 30, "margin": 0.1, "loss_margin": 0.05, "encoder": "minilm"},
        versions={"dialeval": "0.1"},
        signature="robustness:movement|n:30",
    )  # fmt: skip


def shown(*parts, width=140) -> str:
    console = Console(file=io.StringIO(), width=width)
    for part in parts:
        console.print(part)
    return console.file.getvalue()


def test_a_system_in_a_sentence(results):
    text = " ".join(shown(*headlines(results), width=400).split())
    assert text.startswith("bot: over-sensitive under swap; over-stable under negate.")
    assert (
        "Its replies change less where they should than where they should not: −.400 (−.500 to "
        "−.300)." in text
    )


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(0.1, 0.3, "change more where they should"), (-0.1, 0.3, "no significant"), (NAN, NAN, "")],
)
def test_selectivity_in_words(low, high, words):
    sentences = describe_system(SystemRow("bot", selectivity=Estimate(0.2, low, high)))
    assert words in "".join(sentences) and bool(sentences) == bool(words)


def test_the_variation_of_a_sampling_system_is_described():
    (sentence,) = describe_system(SystemRow("bot", self_movement=Estimate(0.5, 0.4, 0.6)))
    assert "between two answers to the same context is .500 (.400–.600)" in sentence
    assert describe_system(SystemRow("bot")) == []


def test_table_two_has_the_papers_layout_and_stars(results):
    lines = shown(table_two(results)).splitlines()
    normal = next(line for line in lines if line.startswith("Normal Input"))
    swap = next(line for line in lines if line.startswith("swap"))
    assert normal.split() == ["Normal", "Input", "5.94", "3.52", "−4.884"]
    assert swap.split() == ["swap", "6.10*", "3.42", "−4.900"]
    assert lines.index(swap) > lines.index(normal)


def test_table_four_shows_cosines(results):
    text = shown(table_four(results))
    assert "1.00" in text and "0.71" in text and "bot's own" in text


def test_should_not_change_comes_first(results):
    assert [strategy.name for strategy in sorted_strategies(results)] == ["swap", "negate"]


def test_all_tables_can_be_printed(results):
    text = shown(*robustness_tables(results))
    assert "+.430 (.300–.550)" in text and "25 %" in text and "over-sensitive" in text
    assert "svm" in text and "−.100 (−.200–−.050)" in text
    systems = tuple(row for row in results.results if not row.evaluator)
    assert len(robustness_tables(replace(results, results=systems))) == 3


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.ids, self.links, self.marks = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.seen.append(tag)
        values = dict(attributes)
        assert not [name for name in values if name.startswith("on")]
        self.ids += [values["id"]] if "id" in values else []
        self.links += [values["href"]] if "href" in values else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "mark":
            self.marks.append(data)


def test_the_page_is_complete_and_marks_the_edits(results, tmp_path):
    results.save(tmp_path)
    path = write_robustness_report(tmp_path)
    text = path.read_text("utf-8")
    page = Page(text)
    assert not page.open and page.seen.count("script") == 1
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert page.marks == ["I like", "like I"]
    for words in ("Strategies by systems", "AddNegation()", "a warning", "robustness:movement|n:30",
                  "over-stability", "over-sensitive", "--shade: 26%"):  # fmt: skip
        assert words in text
    for term in ("effect", "margin", "coverage", "over-stability", "similarity", "score-change"):
        assert f"#glossary-{term}" in page.links and f"glossary-{term}" in page.ids


def test_texts_of_users_and_models_are_escaped(results):
    def nasty(value):
        if isinstance(value, dict):
            return {key: nasty(item) for key, item in value.items()}
        if isinstance(value, list):
            return [nasty(item) for item in value]
        names = ("bot", "I like", "good", "svm")
        return NASTY if isinstance(value, str) and value in names else value

    results = RobustnessResults.from_dict(nasty(results.to_dict()))
    page = render_report(results)
    assert page.count("<script") == 1 and "\x1b" not in page and "&lt;script&gt;" in page
    Page(page)
    for part in (*headlines(results), *robustness_tables(results)):
        assert "\x1b" not in shown(part)


def test_a_run_without_results_has_a_page():
    page = render_report(RobustnessResults(results=()))
    assert "There are no results." in page
    assert not Page(page).open


def test_a_folder_without_results_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"no such file.*dialeval robustness"):
        write_robustness_report(tmp_path)


def test_texts_are_cut_at_their_edits():
    log = [[0, "", "not "], [5, "b", ""]]
    assert list(mark_edits("aaaa b c", log, "before")) == [
        ("", False), ("", True), ("aaaa ", False), ("b", True), (" c", False),
    ]  # fmt: skip
    assert "".join(piece for piece, _ in mark_edits("aaaa b c", log, "after")) == "not aaaa  c"
