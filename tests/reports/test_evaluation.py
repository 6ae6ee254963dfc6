"""The report of an evaluation: tables, page, and behaviour when parts are missing."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rich.console import Console

from dialeval.metrics import adversuc, auroc, ere, versus_random
from dialeval.metrics.evaluation_results import (
    CurvePoint,
    EvaluationResults,
    Example,
    SystemExamples,
    Verdict,
)
from dialeval.metrics.results import Result
from dialeval.reports.evaluation import (
    evaluation_table,
    notebook_html,
    render_report,
    to_latex,
    to_markdown,
    to_text,
    verdict_lines,
    write_report,
)
from dialeval.reports.evaluation.plots import average_roc, corner, read_scores, scores_by_length
from dialeval.reports.evaluation.rows import (
    FLAT,
    TOO_FEW_POINTS,
    UPPER_BOUND,
    Row,
    rows_of,
    saturation,
)
from dialeval.reports.evaluation.text import escape_latex
from dialeval.reports.glossary import GLOSSARY, glossary_link

SHIFTS = {"bot": 1.5, "parrot": 0.5, "sampler": 0.1}  # how much lower a machine scores than a human
EVALUATORS = {"svm-unigram": 1.0, "hierarchical": 1.6, "coin": 0.0, "length": 0.3}
SCENARIOS = {"human_human": 0.0, "machine_machine": 0.0, "human_random": 0.8, "human_next": 0.4}
NASTY = '<script>alert(1)</script>"onmouseover="alert(2)\' $x_{ & % \\ | ` *a* [/b] \x1b[31m \ud800'
VOID = {"meta", "br", "img", "hr", "link", "input"}
NAN = float("nan")


def simulate_scores(rng, n: int, shift: float) -> dict[str, np.ndarray]:
    """Scores of n humans and n others that are lower by a shift, in pairs and five folds."""
    label = np.repeat([1, 0], n)
    score = 1 / (1 + np.exp(-rng.normal(np.where(label == 1, shift / 2, -shift / 2), 1)))
    return {
        "label": label,
        "score": score,
        "predicted_human": score >= 0.5,
        "pair": np.tile(np.arange(n), 2),
        "fold": np.tile(np.arange(n) % 5, 2),
        "tokens": 1 + rng.poisson(8, 2 * n),
    }


def make_result(metric, system, evaluator, numbers: dict, key: str, **details) -> Result:
    bounds = (numbers.get("low", NAN), numbers.get("high", NAN), numbers.get("n", 0))
    return Result(metric, system, evaluator, numbers[key], *bounds, "folds:5|seed:0", details)


def simulate_evaluator(
    rng, n: int, system: str, evaluator: str, shift: float
) -> tuple[list[Result], dict[str, np.ndarray]]:
    """The results of one evaluator for one system, and the scores behind AdverSuc."""
    scale = EVALUATORS[evaluator]
    main = simulate_scores(rng, n, shift * scale)
    random = simulate_scores(rng, n, 0.8 * scale)
    groups = {name: simulate_scores(rng, n, far * scale) for name, far in SCENARIOS.items()}
    few = {"resamples": 200}
    first = adversuc(
        main["score"], main["label"], pairs=main["pair"].tolist(), folds=main["fold"], **few
    )
    second = versus_random(random["score"], random["label"], **few)
    third = ere(
        np.concatenate([group["score"] for group in groups.values()]),
        np.concatenate([group["label"] for group in groups.values()]),
        [name for name in groups for _ in range(2 * n)],
        **few,
    )
    names = ("accuracy", "machines_predicted_human", "pairwise_accuracy", "auroc", "tpr_at_5_fpr")
    details = {name: first[name] for name in names}
    errors = {"scenarios": third["scenarios"], "noise_floor": third["noise_floor"]}
    machine = {"response_only": 0.6, "gap": -0.03}
    return [
        make_result("adversuc", system, evaluator, first, "adversuc", p_value=0.0002, **details),
        make_result("machine_vs_random", system, evaluator, second, "accuracy", **machine),
        make_result("ere", system, evaluator, third, "ere", **errors),
    ], main


def learning_curve(system: str, evaluator: str, value: float) -> list[CurvePoint]:
    """A curve that has become flat, except for the first system, where it still falls."""
    last = 0.2 if system == "bot" else 0.02
    points = ((0.25, 2 * last), (0.5, last), (1.0, 0))
    return [
        CurvePoint(system, evaluator, share, int(1600 * share), value + more, value + more - 0.03,
                   value + more + 0.03)
        for share, more in points
    ]  # fmt: skip


def example(number: int) -> Example:
    turns = tuple(f"turn {turn} of talk {number}" for turn in range(8))
    return Example(turns, f"reply {number}", f"human reply {number}", 0.9, "svm-unigram")


def invent(folder, n: int = 60, systems=tuple(SHIFTS), seed: int = 0) -> EvaluationResults:
    """Fill a folder as `dialeval evaluate` does; returns what `results.json` holds."""
    rng = np.random.default_rng(seed)
    results: list[Result] = []
    tables: list[dict] = []
    curves: list[CurvePoint] = []
    verdicts: list[Verdict] = []
    for system in systems:
        for evaluator in EVALUATORS:
            shift = SHIFTS.get(system, 0.7)
            numbers, scores = simulate_evaluator(rng, n, system, evaluator, shift)
            results += numbers
            tables.append({**scores, "system": [system] * 2 * n, "evaluator": [evaluator] * 2 * n})
            curves += learning_curve(system, evaluator, numbers[0].value)
        verdicts += [
            Verdict(system, evaluator, "distinguishable", f"{evaluator} detects {system}.")
            for evaluator in ("svm-unigram", "hierarchical")
        ]
        results.append(make_result("distinct_1", system, "", {"value": 0.125}, "value"))
    control = {"value": 0.8125, "low": 0.79, "high": 0.83, "n": 2 * n}
    for evaluator in EVALUATORS:
        results.append(make_result("human_vs_random", "", evaluator, control, "value"))
    examples = SystemExamples((example(1), example(2)), (example(3),))
    evaluation = EvaluationResults(
        results=tuple(results), verdicts=tuple(verdicts), curves=tuple(curves),
        examples=dict.fromkeys(systems, examples), warnings=("Two contexts left out.",),
        settings={"folds": 5, "decision": {"threshold": 0.5}}, versions={"dialeval": "0.1.0"},
        signature="folds:5|ctx:2|seed:0|v:0.1.0",
    )  # fmt: skip
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    scenario = ["human_machine"] * len(columns["score"])
    parquet.write_table(pa.table({**columns, "scenario": scenario}), folder / "scores.parquet")
    evaluation.save(folder)
    return evaluation


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, invent(folder)


@pytest.fixture
def evaluation(invented) -> EvaluationResults:
    return invented[1]


def change(evaluation: EvaluationResults, edit: Callable[[Result], Result]) -> EvaluationResults:
    """The same evaluation with every result edited."""
    return replace(evaluation, results=tuple(map(edit, evaluation.results)))


def rename_system(evaluation: EvaluationResults, old: str, new: str) -> EvaluationResults:
    return change(evaluation, lambda row: replace(row, system=new) if row.system == old else row)


def by_transfer(evaluation: EvaluationResults, evaluator: str | None = None) -> EvaluationResults:
    """The same evaluation with the ERE of an evaluator, or of all, measured by transfer."""

    def edit(row: Result) -> Result:
        matches = row.metric == "ere" and evaluator in (None, row.evaluator)
        return replace(row, metric="ere_transfer") if matches else row

    return change(evaluation, edit)


def without_metric(evaluation: EvaluationResults, metric: str) -> EvaluationResults:
    rows = tuple(row for row in evaluation.results if row.metric != metric)
    return replace(evaluation, results=rows)


def result_of(
    evaluation: EvaluationResults, metric: str, system="bot", evaluator="svm-unigram"
) -> Result:
    result = evaluation.get(metric, system, evaluator)
    assert result is not None
    return result


def short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


class Page(HTMLParser):
    """A parsed page: tags, which must all be closed, their attributes, ids, and the text."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(page if isinstance(page, str) else page.read_text(encoding="utf-8"))
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if "style" not in self.open else ""

    def values(self, name) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def page(invented) -> Page:
    return Page(write_report(invented[0]))


def shown(table, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def test_the_terminal_shows_every_number_of_a_row(evaluation):
    lines = shown(evaluation_table(evaluation, 110), 110).splitlines()
    line = next(line for line in lines if " svm-u" in line)
    main, machine = result_of(evaluation, "adversuc"), result_of(evaluation, "machine_vs_random")
    numbers = [main.value, main.low, main.high, machine.value, 0.6, 0.8125,
               result_of(evaluation, "ere").value, main.details["auroc"]]  # fmt: skip
    for number in numbers:
        assert short(number) in line
    assert f" {100 * (1 - main.value):.0f} % " in line
    assert line.startswith("bot") and " 120 " in line and "−.030" in line and "<.001" in line


def test_the_table_fits_a_hundred_columns_without_cutting_a_number(evaluation):
    lines = shown(evaluation_table(evaluation)).splitlines()
    assert max(map(len, lines)) <= 100
    assert not [line for line in lines if "…" in line]
    assert len([line for line in lines if re.search(r" (svm-unigram|hierarchical) ", line)]) == 6


def test_reference_rows_are_dimmed_and_come_last(evaluation):
    evaluation = replace(evaluation, results=evaluation.results[::-1])
    rows = rows_of(evaluation)
    assert [row.reference for row in rows] == [False, False, True, True] * 3
    assert [row.style for row in evaluation_table(evaluation).rows] == ["", "", "dim", "dim"] * 3


def test_an_error_by_transfer_is_never_in_the_column_of_retrained_evaluators(evaluation):
    text = to_markdown(by_transfer(evaluation, "hierarchical"))
    heads, _, first, second = text.split("\n| ", 1)[1].splitlines()[:4]
    index = [cell.strip() for cell in heads.strip("|").split("|")].index("ERE")
    assert "ERE (transfer)" in heads
    one, two = ([cell.strip() for cell in line.strip("|").split("|")] for line in (first, second))
    assert one[index] != "–" and one[index + 1] == "–"
    assert two[index] == "–" and two[index + 1] != "–"
    assert "not comparable with ERE" in text
    assert "| ERE |" not in to_markdown(by_transfer(evaluation))


def test_a_second_human_is_dimmed_comes_last_and_has_no_card(evaluation):
    evaluation = replace(
        rename_system(evaluation, "bot", "second human"),
        verdicts=tuple(item for item in evaluation.verdicts if item.system != "bot"),
        curves=tuple(item for item in evaluation.curves if item.system != "bot"),
        examples={name: item for name, item in evaluation.examples.items() if name != "bot"},
    )
    rows = rows_of(evaluation)
    assert [row.system for row in rows][-4:] == ["second human"] * 4
    assert all(row.reference for row in rows[-4:]) and not rows[0].reference
    assert "the responses of another human" in to_markdown(evaluation)
    page = Page(render_report(evaluation)).text
    assert "second human" in page and "no verdict" not in page and "2 systems," in page


def test_a_narrow_terminal_shows_fewer_columns_but_all_names_and_adversuc(evaluation):
    table = evaluation_table(by_transfer(evaluation, "hierarchical"), 80)
    lines = shown(table, 80).splitlines()
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    row = next(line for line in lines if "hierarch" in line)
    value = result_of(evaluation, "adversuc", evaluator="hierarchical").value
    assert short(value) in row and "AUROC" not in "".join(lines)


def test_markdown_has_the_verdicts_the_table_and_the_signature_as_a_footnote(evaluation):
    text = to_markdown(evaluation)
    assert text.startswith(
        "- **bot**, evaluated by svm-unigram: **distinguishable from human**. "
        "svm-unigram detects bot."
    )
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 12 and {line.count("|") for line in table} == {14}
    assert short(result_of(evaluation, "adversuc").value) in table[2]
    assert text.endswith("[^signature]: `folds:5|ctx:2|seed:0|v:0.1.0`\n")


def test_markdown_escapes_what_a_user_wrote(evaluation):
    bot = tuple(row for row in evaluation.results if row.system == "bot")
    evaluation = replace(evaluation, results=bot, signature="a ``b`` c")
    text = to_markdown(rename_system(evaluation, "bot", NASTY))
    line = next(line for line in text.splitlines() if "svm-unigram" in line and "|" in line[:2])
    assert "<script" not in text and "\x1b" not in text
    assert len(re.findall(r"(?<!\\)\|", line)) == 14
    assert "``` a ``b`` c ```" in text


def test_latex_is_a_booktabs_table_with_the_signature_below(evaluation):
    text = to_latex(evaluation)
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    lines = [line for line in body.splitlines() if "&" in line]
    assert len(lines) == 12 and all(
        line.count("&") == 12 and line.endswith(r"\\") for line in lines
    )
    assert short(result_of(evaluation, "adversuc").value) in lines[0]
    assert text.index(r"folds:5\textbar{}") > text.index(r"\end{tabular}")
    assert text.count(r"\begin{") == text.count(r"\end{") == 2


def test_latex_escapes_every_command_and_column(evaluation):
    wanted = r"{\char34}\$x\_\{ \& \% \textbackslash{} \textbar{} {*}a{*} {[}/b{]} \textless{}"
    assert escape_latex('"$x_{ & % \\ | *a* [/b] <') == wanted
    assert escape_latex("a--b-c") == "a-{}-b-c"
    text = to_latex(rename_system(evaluation, "bot", "[1 & 2] % $"))
    line = next(line for line in text.splitlines() if line.startswith("{[}1"))
    assert line.startswith(r"{[}1 \& 2{]} \% \$ & svm-unigram & ")


def test_a_name_cannot_reach_the_terminal_as_markup_or_control(evaluation):
    name = "[red]x[/] \x1b[31m"
    verdicts = tuple(replace(item, system=name) for item in evaluation.verdicts)
    evaluation = change(
        replace(evaluation, verdicts=verdicts),
        lambda row: replace(row, system=row.system and name),
    )
    text = shown(evaluation_table(evaluation), 200) + shown(verdict_lines(evaluation)[0])
    assert text.count("[red]x[/] \ufffd[31m") == 2 and "\x1b" not in text


def test_a_verdict_line_says_by_which_evaluator(evaluation):
    line = verdict_lines(evaluation)[0].plain
    accuracy = 100 * (1 - result_of(evaluation, "adversuc").value)
    assert line.startswith(
        "bot, evaluated by svm-unigram: distinguishable from human. "
        f"Evaluator accuracy {accuracy:.0f} % (AdverSuc ≤ ."
    )
    assert line.endswith(" svm-unigram detects bot.")


def test_results_print_as_a_table_and_show_as_html_in_a_notebook(evaluation):
    text, html = to_text(evaluation), notebook_html(evaluation)
    assert str(evaluation) == text and evaluation._repr_html_() == html
    value = short(result_of(evaluation, "adversuc").value)
    for part in ("distinguishable from human", value, "svm-unigram"):
        assert part in text and part in html
    assert "&lt;script" in notebook_html(rename_system(evaluation, "bot", NASTY))
    assert "<script" not in notebook_html(rename_system(evaluation, "bot", NASTY))


@pytest.mark.parametrize(
    ("half", "whole", "high", "state"),
    [
        (0.30, 0.20, 0.25, UPPER_BOUND),
        (0.24, 0.20, 0.25, FLAT),
        (0.15, 0.20, 0.25, FLAT),
        (0.30, 0.20, NAN, TOO_FEW_POINTS),
        (NAN, 0.20, 0.25, TOO_FEW_POINTS),
    ],
)
def test_a_curve_that_falls_by_more_than_its_noise_is_an_upper_bound(half, whole, high, state):
    values = ((0.25, 0.4, 0.45), (0.5, half, 0.4), (1.0, whole, high))
    curve = [CurvePoint("bot", "svm", share, 10, value, 0, top) for share, value, top in values]
    assert saturation(curve) == {("bot", "svm"): state}
    assert saturation(curve[:1]) == {("bot", "svm"): TOO_FEW_POINTS}


def test_an_upper_bound_is_marked_in_every_table(evaluation, page):
    bots = {row.system for row in rows_of(evaluation) if row.upper_bound}
    value = short(result_of(evaluation, "adversuc").value)
    assert bots == {"bot"}
    assert f"≤ {value}" in shown(evaluation_table(evaluation)) and f"≤ {value}" in page.text
    assert rf"$\le$ {value}" in to_latex(evaluation)
    assert page.text.count(f"svm-unigram: {UPPER_BOUND}") == 1
    assert page.text.count(f"svm-unigram: {FLAT}") == 2


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
    order = ["verdict", "results", "reliability", "scores", "corners", "length", "learning",
             "examples", "warnings", "settings", "signature", "glossary"]  # fmt: skip
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
    for text in ("svm-unigram detects bot.", "human reply 3", "turn 7 of talk 1",
                 "2 earlier turns", "Two contexts left out.", "decision.threshold",
                 "folds:5|ctx:2"):  # fmt: skip
        assert text in page.text


def test_the_page_is_self_contained(page):
    assert "script" not in page.tags and "link" not in page.tags and "img" not in page.tags
    assert not [value for value in page.values("src") + page.values("xlink:href")]
    assert all(link.startswith("#") for link in page.values("href"))
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    source = json.dumps(page.attributes) + page.text
    assert "http://" not in source and "https://" not in source and "url(" not in source


def test_pictures_and_tables_can_be_read_aloud(page):
    assert page.tags.count("caption") == page.tags.count("table") > 0
    scopes = page.values("scope")
    assert set(scopes) == {"col", "row", "rowgroup"} and len(scopes) == page.tags.count("th")
    plots = page.tags.count("svg") - page.values("aria-hidden").count("true")
    assert page.values("role").count("img") == plots == 3 * (1 + 2 + 2 + 1) + 2
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
    content["verdicts"].append(dict.fromkeys(content["verdicts"][0], name))
    (tmp_path / "results.json").write_text(json.dumps(content))
    page = Page(write_report(tmp_path))
    assert "script" not in page.tags
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
