"""The HTML page of an evaluation, also when parts are missing."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from dialeval.metrics import auroc
from dialeval.metrics.cue_results import Cue
from dialeval.metrics.evaluation_results import (
    EvaluationResults,
    SystemExamples,
)
from dialeval.metrics.results import Result
from dialeval.reports.evaluation import (
    evaluation_table,
    notebook_html,
    render_report,
    to_latex,
    to_markdown,
    write_report,
)
from dialeval.reports.evaluation.plots import average_roc, corner, read_scores, scores_by_length
from dialeval.reports.evaluation.rows import (
    Row,
)
from dialeval.reports.glossary import GLOSSARY, glossary_link
from tests.reports.invented import (
    EVALUATORS,
    NAN,
    NASTY,
    SHIFTS,
    Page,
    change,
    example,
    invent,
    result_of,
    short,
    shown,
    without_metric,
)


def test_the_averaged_roc_has_the_area_that_the_metric_has(invented):
    scores = read_scores(invented[0] / "scores.parquet")
    assert set(scores) == {(system, name) for system in SHIFTS for name in EVALUATORS}
    for (system, evaluator), part in scores.items():
        area = result_of(invented[1], "adversuc", system, evaluator).details["auroc"]
        assert np.trapezoid(average_roc(part), dx=0.01) == pytest.approx(area, abs=0.02)


def test_the_roc_of_tied_scores_is_a_straight_line(invented):
    scores = next(iter(read_scores(invented[0] / "scores.parquet").values()))
    tied = replace(scores, fold=0 * scores.fold, score=0 * scores.score)
    assert average_roc(tied) == pytest.approx(np.linspace(0, 1, 101))
    assert auroc(tied.score, tied.human) == 0.5


def test_scores_by_length_are_means_and_quartiles_of_equal_classes(invented):
    scores = next(iter(read_scores(invented[0] / "scores.parquet").values()))
    score = np.linspace(0, 1, 40)
    tokens = np.repeat([2.0, 6.0], 20)
    human = np.ones(40, dtype=bool)
    summaries = scores_by_length(type(scores)(human, human, score, human, tokens), human)
    assert summaries[0] == pytest.approx([2, 6])  # 2 classes of 20
    assert summaries[1] == pytest.approx([score[:20].mean(), score[20:].mean()])
    assert summaries[2:, 0] == pytest.approx(np.quantile(score[:20], [0.25, 0.75]))


def test_corners_are_named_by_adversuc_and_machine_vs_random():
    def row(x: float, y: float) -> Row:
        first = Result("adversuc", "bot", "svm", x, NAN, NAN, 10, "")
        return Row("bot", "svm", first, replace(first, metric="machine_vs_random", value=y))

    pairs = ((0.04, 0.94), (0.37, 0.68), (0.4, 0.9), (0.1, 0.55), (0.1, NAN))
    names = [corner(row(x, y)) for x, y in pairs]
    assert names == ["low-high", "high-low", "high-high", "low-low", None]


def test_the_page_has_every_section_in_order_with_the_verdict_first(page):
    order = ["verdict", "cues", "relevance", "results", "reliability", "examples", "scores",
             "length", "learning", "corners", "warnings", "settings", "signature",
             "glossary"]  # fmt: skip
    ids = page.values("id")
    assert [name for name in ids if name in order] == order
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href")} <= set(ids)


def test_column_headers_link_to_glossary_entries_in_the_page(page):
    links = [link for link in page.values("href") if link.startswith("#glossary-")]
    terms = {link.removeprefix("#glossary-") for link in links}
    assert {"adversuc", "ere", "human-vs-random", "machine-vs-random", "p-value",
            "clustered-interval", "saturation", "context-gain"} <= terms  # fmt: skip
    for term in terms:
        assert GLOSSARY[term].title in page.text and GLOSSARY[term].text in page.text
    with pytest.raises(ValueError, match="Unknown term 'x'"):
        glossary_link("x")


def test_the_page_shows_the_numbers_of_the_results(invented, page):
    for row in invented[1].results:
        assert short(row.value) in page.text, row.metric
    scenario = result_of(invented[1], "ere").details["scenarios"]["human_next"]
    assert f"+{scenario['deviation']:.3f}".replace("+0", "+") in page.text
    accuracy = 100 * (1 - result_of(invented[1], "adversuc").value)
    assert f"{accuracy:.0f} % (AdverSuc ≤ " in page.text
    for text in ("svm-unigram detects bot.", "One rule, “system if it SHOUTS”",
                 "detectable share of random human replies", "human reply 3", "turn 7 of talk 1",
                 "2 earlier turns", "Two contexts left out.", "decision.threshold",
                 "folds:5|ctx:2"):  # fmt: skip
        assert text in page.text


def assert_only_own_script(page: Page) -> None:
    """One script, without a source, that the page's policy allows by its hash."""
    assert page.tags.count("script") == 1
    [policy] = [value for value in page.values("content") if "default-src" in value]
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy
    digest = base64.b64encode(hashlib.sha256(page.script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert page.script.startswith('"use strict";') and "alert" not in page.script


def test_the_page_is_self_contained(page):
    assert_only_own_script(page)
    assert "link" not in page.tags and "img" not in page.tags
    assert not [value for value in page.values("src") + page.values("xlink:href")]
    assert all(link.startswith("#") for link in page.values("href"))
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    source = json.dumps(page.attributes) + page.text
    assert "http://" not in source and "https://" not in source and "url(" not in source


def test_pictures_and_tables_can_be_read_aloud(page):
    assert page.tags.count("caption") == page.tags.count("table") > 0
    scopes = page.values("scope")
    assert set(scopes) == {"col", "row", "rowgroup"} and len(scopes) == page.tags.count("th")
    plots = page.tags.count("svg") - page.attributes.count(("svg", "aria-hidden", "true"))
    assert plots == 3 * (1 + 2 + 2 + 1) + 2 + 1  # and the scatter of human-like and relevant
    assert page.values("role").count("img") == plots + 3 * 2  # and two scales per system
    assert all(page.values("aria-label"))


def test_the_same_results_give_the_same_bytes(invented, tmp_path):
    again = invent(tmp_path)
    assert again.to_dict() == invented[1].to_dict()
    first, second = write_report(invented[0]), write_report(tmp_path)
    assert first.read_bytes() == second.read_bytes() == write_report(tmp_path).read_bytes()
    assert not list(tmp_path.glob("*.part"))


def make_nasty(value: Any) -> Any:
    """The same JSON with every text replaced by a nasty one."""
    if isinstance(value, dict):
        return {key: make_nasty(item) for key, item in value.items()}
    if isinstance(value, list):
        return [make_nasty(item) for item in value]
    return NASTY if isinstance(value, str) else value


def test_nothing_that_a_user_or_model_wrote_becomes_markup(evaluation, tmp_path):
    content = evaluation.to_dict()
    texts = ("verdicts", "warnings", "settings", "versions", "signature")
    content |= {name: make_nasty(content[name]) for name in texts}
    content["leaks"] = make_nasty(content["leaks"])
    content["examples"] = {NASTY: make_nasty(content["examples"]["bot"])}
    content["settings"] = {NASTY: NASTY}
    for row in [*content["results"], *content["curves"]]:
        row["system"] = row["system"] and NASTY
        row["evaluator"] = row["evaluator"] and (NASTY + row["evaluator"])
    (tmp_path / "results.json").write_text(json.dumps(content))
    label = [1, 0] * 5
    n, name = len(label), NASTY[:-1]  # a table cannot hold half a surrogate pair
    columns = {"system": [name] * n, "evaluator": [name] * n, "fold": [0] * n, "label": label}
    columns |= {"scenario": ["human_machine"] * n, "score": np.linspace(0, 1, n)}
    columns |= {"predicted_human": [True] * n, "tokens": [3] * n}
    parquet.write_table(pa.table(columns), tmp_path / "scores.parquet")
    content["verdicts"].append({**content["verdicts"][0], "system": name})
    whole = json.dumps(content).replace("\\ud800", "\\ufffd")  # half a pair is refused
    (tmp_path / "results.json").write_text(whole)
    page = Page(write_report(tmp_path))
    assert_only_own_script(page)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    cleaned = NASTY.replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")
    assert page.text.count(cleaned) > 20
    assert f"ROC curves of the evaluators of {cleaned[:-1]}" in page.values("aria-label")


def drop(*names: str) -> Callable[[EvaluationResults], EvaluationResults]:
    empty = EvaluationResults(results=())
    values = {name: getattr(empty, name) for name in names}
    return lambda evaluation: replace(evaluation, **values)


def remove_numbers(evaluation: EvaluationResults) -> EvaluationResults:
    nothing = {"value": NAN, "low": NAN, "high": NAN, "n": 0, "details": {}}
    return change(evaluation, lambda row: replace(row, **nothing))


def remove_a_scenario(evaluation: EvaluationResults) -> EvaluationResults:
    def edit(row: Result) -> Result:
        if "scenarios" not in row.details:
            return row
        scenarios = {**row.details["scenarios"]}
        del scenarios["human_next"]
        return replace(row, details={**row.details, "scenarios": scenarios})

    return change(evaluation, edit)


def examples_of_bot(examples: SystemExamples) -> Callable[[EvaluationResults], EvaluationResults]:
    return lambda evaluation: replace(evaluation, examples={"bot": examples})


MISSING: dict[str, tuple[Callable[[EvaluationResults], EvaluationResults], str]] = {
    "no machine-vs-random": (lambda x: without_metric(x, "machine_vs_random"), "no system has a"),
    "no ERE": (lambda x: without_metric(x, "ere"), "There is no ERE in this run"),
    "a scenario missing": (remove_a_scenario, "Is the evaluator reliable?"),
    "no control": (lambda x: without_metric(x, "human_vs_random"), "AdverSuc"),
    "no AdverSuc": (lambda x: without_metric(x, "adversuc"), "machine-vs-random"),
    "no curves": (drop("curves"), "No learning curve was measured"),
    "empty examples": (examples_of_bot(SystemExamples()), "This run has no examples."),
    "no examples of a kind": (examples_of_bot(SystemExamples((example(1),))), "None."),
    "no verdicts": (drop("verdicts"), "no verdict"),
    "no warnings, settings": (drop("warnings", "settings", "signature"), "Warnings"),
    "no numbers": (remove_numbers, "–"),
    "nothing": (lambda x: EvaluationResults(results=()), "There are no results."),
}


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_part_is_reported_and_the_rest_is_shown(evaluation, invented, tmp_path, name):
    remove, sentence = MISSING[name]
    evaluation = remove(evaluation)
    evaluation.save(tmp_path)
    (tmp_path / "scores.parquet").write_bytes((invented[0] / "scores.parquet").read_bytes())
    page = Page(write_report(tmp_path))
    assert sentence in page.text
    assert "None" not in page.text.replace("None.", "") and not re.search(r"\bnan\b", page.text)
    table = shown(evaluation_table(evaluation))
    for text in (table, to_markdown(evaluation), to_latex(evaluation), notebook_html(evaluation)):
        assert "None" not in text and not re.search(r"\bnan\b", text)


def test_a_run_without_scores_has_a_report_without_their_plots(evaluation, tmp_path):
    evaluation.save(tmp_path)
    page = Page(write_report(tmp_path))
    assert "There are no scores in this folder" in page.text
    assert "svm-unigram detects bot." in page.text


def test_missing_scores_and_scores_of_one_class_are_plotted_as_far_as_possible(
    evaluation, tmp_path
):
    columns = {"system": ["bot"] * 4, "evaluator": ["svm-unigram"] * 4, "label": [1, 1, 1, 0]}
    columns |= {"scenario": ["human_machine"] * 4, "fold": [0] * 4, "predicted_human": [True] * 4}
    columns |= {"score": [0.5, 0.5, 0.7, None], "tokens": [3, None, 3, 3]}
    parquet.write_table(pa.table(columns), tmp_path / "scores.parquet")
    evaluation.save(tmp_path)
    assert len(read_scores(tmp_path / "scores.parquet")["bot", "svm-unigram"].score) == 3
    assert not re.search(r"\bnan\b", write_report(tmp_path).read_text())


@pytest.mark.parametrize("content", [b"no table", None])
def test_scores_that_cannot_be_read_say_what_to_do(evaluation, tmp_path, content):
    evaluation.save(tmp_path)
    parquet.write_table(pa.table({"score": [0.5]}), tmp_path / "scores.parquet")
    if content:
        (tmp_path / "scores.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="scores.parquet: expected a table .*Run `dialeval"):
        write_report(tmp_path)


def test_scores_of_other_scenarios_are_not_plotted(evaluation, tmp_path, invented):
    table = parquet.read_table(invented[0] / "scores.parquet")
    other = pa.array(["machine_random"] * len(table))
    table = table.set_column(table.schema.get_field_index("scenario"), "scenario", other)
    parquet.write_table(table, tmp_path / "scores.parquet")
    evaluation.save(tmp_path)
    assert "There are no scores in this folder" in Page(write_report(tmp_path)).text


@pytest.mark.parametrize("count", [1, 20])
def test_one_system_or_twenty_fit_the_page_and_the_table(tmp_path, count):
    names = [f"a system with a rather long name, number {number}" for number in range(count)]
    evaluation = invent(tmp_path, n=20, systems=names)
    page = Page(write_report(tmp_path))
    assert page.text.count("distinguishable from human") >= count and names[-1] in page.text
    assert max(map(len, shown(evaluation_table(evaluation)).splitlines())) <= 100


def test_a_thousand_contexts_and_six_systems_stay_below_two_megabytes(tmp_path):
    evaluation = invent(tmp_path, n=1000, systems=list("abcdef"))
    long = replace(example(0), context=("word " * 1000,) * 50, response="word " * 5000)
    examples = SystemExamples((long,) * 50, (long,) * 50)
    replace(evaluation, examples=dict.fromkeys("abcdef", examples)).save(tmp_path)
    assert write_report(tmp_path).stat().st_size < 2_000_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        ("{", "expected JSON"),
        ("[]", "found a list"),
        ("{}", "schema version 1"),
    ],
)
def test_a_folder_without_results_says_what_to_do(tmp_path, content, words):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(ValueError, match=f"{words}.*Run `dialeval evaluate`"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_cues_say_what_they_add_to_the_stronger_ones(evaluation):
    def cue(text, accuracy, gain):
        numbers = (0.4, 0.1, accuracy, accuracy - 0.1, accuracy + 0.1, 0.01)
        return Cue("bot", "word", text, "system", *numbers, f"rule {text}", gain=gain)

    cues = (cue("zig", 0.7, 0.2), cue("zag", 0.65, 0.084), cue("zog", 0.6, -0.01))
    page = render_report(replace(evaluation, cues=cues))
    items = re.findall(r"<li><span class=\"cue-bar\">.*?</li>", page, re.DOTALL)
    assert "adds" not in items[0] and "right in 70 of 100 cases" in items[0]
    assert "adds 8 to those above" in items[1] and "adds nothing to those above" in items[2]
    assert "All 3 cues together are right in 77 of 100 cases." in page  # .5 + .2 + .084 - .01
    old = tuple(replace(item, gain=None) for item in cues)  # as results of earlier versions
    assert "adds" not in render_report(replace(evaluation, cues=old)).partition('id="cues"')[0]
