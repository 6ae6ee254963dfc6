"""The report of an evaluation: its tables, its page, and what is left when parts are missing."""

import copy
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from rich.console import Console

from dialeval.metrics import adversuc, auroc, ere, versus_random
from dialeval.reports.evaluation import (
    evaluation_table,
    latex,
    to_latex,
    to_markdown,
    verdict_lines,
)
from dialeval.reports.evaluation_html import write_report
from dialeval.reports.evaluation_plots import averaged_roc, by_length, corner, read_scores
from dialeval.reports.evaluation_rows import UPPER_BOUND, Row, rows, saturation

SHIFTS = {"bot": 1.5, "parrot": 0.5, "sampler": 0.1}  # how much lower a machine scores than a human
EVALUATORS = {"svm-unigram": 1.0, "hierarchical": 1.6, "coin": 0.0, "length": 0.3}
SCENARIOS = {"human_human": 0.0, "machine_machine": 0.0, "human_random": 0.8, "human_next": 0.4}
NASTY = '<script>alert(1)</script>"onmouseover="alert(2)\' $x_{ & % \\ | ` *a* [/b] \x1b[31m \ud800'
VOID = {"meta", "br", "img", "hr", "link", "input"}


def drawn(rng, n: int, shift: float) -> dict[str, np.ndarray]:
    """Scores of n humans and n others that are lower by a shift, in pairs and five folds."""
    label = np.repeat([1, 0], n)
    score = 1 / (1 + np.exp(-rng.normal(np.where(label == 1, shift / 2, -shift / 2), 1)))
    return {
        "label": label,
        "score": score,
        "taken": score >= 0.5,
        "pair": np.tile(np.arange(n), 2),
        "fold": np.tile(np.arange(n) % 5, 2),
        "tokens": 1 + rng.poisson(8, 2 * n),
    }


def result(metric, system, evaluator, told, key, **details) -> dict:
    ends = {name: told.get(name) for name in ("low", "high", "n")}
    row = {"metric": metric, "system": system, "evaluator": evaluator, "value": told[key]}
    return {**row, **ends, "signature": "folds:5|seed:0", "details": details}


def judged(rng, n: int, system: str, judge: str, shift: float) -> tuple[list[dict], dict]:
    """What one judge finds for one system, and the scores that it rests on."""
    main = drawn(rng, n, shift * EVALUATORS[judge])
    random = drawn(rng, n, 0.8 * EVALUATORS[judge])
    groups = {name: drawn(rng, n, far * EVALUATORS[judge]) for name, far in SCENARIOS.items()}
    few = {"resamples": 200}
    first = adversuc(
        main["score"], main["label"], pairs=main["pair"].tolist(), folds=main["fold"], **few
    )
    second = versus_random(random["score"], random["label"], **few)
    third = ere(
        np.concatenate([each["score"] for each in groups.values()]),
        np.concatenate([each["label"] for each in groups.values()]),
        [name for name in groups for _ in range(2 * n)],
        **few,
    )
    names = ("accuracy", "machines_predicted_human", "pairwise_accuracy", "auroc", "tpr_at_5_fpr")
    beside = {name: first[name] for name in names}
    return [
        result("adversuc", system, judge, first, "adversuc", p_value=0.0002, **beside),
        result(
            "machine_vs_random", system, judge, second, "accuracy", response_only=0.6, gap=-0.03
        ),
        result(
            "ere",
            system,
            judge,
            third,
            "ere",
            scenarios=third["scenarios"],
            ere_mode="retrained",
            coin=third["coin"],
            noise_floor=third["noise_floor"],
        ),
    ], main


def learned(system: str, judge: str, value: float) -> list[dict]:
    """A curve that has become flat, but for the first system, where it still falls."""
    last = 0.2 if system == "bot" else 0.02
    points = ((0.25, 2 * last), (0.5, last), (1.0, 0))
    return [
        {"system": system, "evaluator": judge, "share": share, "n_train": int(1600 * share),
         "adversuc": value + more, "low": value + more - 0.03, "high": value + more + 0.03}
        for share, more in points
    ]  # fmt: skip


def example(number: int) -> dict:
    turns = [f"turn {turn} of talk {number}" for turn in range(8)]
    return {"context": turns, "response": f"reply {number}", "human": f"human reply {number}",
            "score": 0.9, "evaluator": "svm-unigram"}  # fmt: skip


def invent(folder, n: int = 60, systems=tuple(SHIFTS), seed: int = 0) -> dict:
    """Fill a folder as `dialeval evaluate` does, and give what stands in `results.json`."""
    rng = np.random.default_rng(seed)
    results, tables, curves, verdicts = [], [], [], []
    for system in systems:
        for judge in EVALUATORS:
            found, scores = judged(rng, n, system, judge, SHIFTS.get(system, 0.7))
            results += found
            tables.append({**scores, "system": [system] * 2 * n, "evaluator": [judge] * 2 * n})
            curves += learned(system, judge, found[0]["value"])
        verdicts += [
            {"system": system, "evaluator": judge, "verdict": "told apart",
             "text": f"{judge} tells {system} apart."}
            for judge in ("svm-unigram", "hierarchical")
        ]  # fmt: skip
        results.append(result("distinct_1", system, "", {"value": 0.125}, "value"))
    for judge in EVALUATORS:
        control = {"value": 0.8125, "low": 0.79, "high": 0.83, "n": 2 * n}
        results.append(result("human_vs_random", "", judge, control, "value"))
    both = {"fooling": [example(1), example(2)], "obvious": [example(3)]}
    told = {
        "results": results, "verdicts": verdicts, "curves": curves,
        "examples": {system: both for system in systems}, "warnings": ["Two contexts left out."],
        "settings": {"folds": 5, "judge": {"threshold": 0.5}}, "versions": {"dialeval": "0.1.0"},
        "signature": "folds:5|ctx:2|seed:0|v:0.1.0",
    }  # fmt: skip
    columns = {name: np.concatenate([each[name] for each in tables]) for name in tables[0]}
    scenario = ["human_machine"] * len(columns["score"])
    parquet.write_table(pa.table({**columns, "scenario": scenario}), folder / "scores.parquet")
    save(folder, told)
    return told


def save(folder, told: dict) -> None:
    (folder / "results.json").write_text(json.dumps(told))


@pytest.fixture(scope="module")
def invented(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    return folder, invent(folder)


@pytest.fixture
def told(invented) -> dict:
    return copy.deepcopy(invented[1])


class Page(HTMLParser):
    """What a browser would find: tags that close, their attributes, ids, and the text."""

    def __init__(self, path):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], ""
        self.feed(path.read_text(encoding="utf-8"))
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *each) for each in attributes]
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
        return [value for _, each, value in self.attributes if each == name]


@pytest.fixture(scope="module")
def page(invented) -> Page:
    return Page(write_report(invented[0]))


def shown(table, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()


def value_of(told, metric, system="bot", judge="svm-unigram"):
    keys = {"metric": metric, "system": system, "evaluator": judge}
    return next(row for row in told["results"] if keys.items() <= row.items())


def without(told, metric) -> None:
    told["results"] = [row for row in told["results"] if row["metric"] != metric]


def test_the_terminal_shows_every_number_of_a_row(told):
    line = next(each for each in shown(evaluation_table(told)).splitlines() if " svm-u" in each)
    main, machine = value_of(told, "adversuc"), value_of(told, "machine_vs_random")
    numbers = [main["value"], main["low"], main["high"], machine["value"], 0.6, 0.8125,
               value_of(told, "ere")["value"], main["details"]["auroc"]]  # fmt: skip
    for number in numbers:
        assert f"{number:.3f}".removeprefix("0") in line
    assert line.startswith("bot") and " 120 " in line and "−.030" in line and "<.001" in line


def test_the_table_fits_a_hundred_columns_without_cutting_a_number(told):
    lines = shown(evaluation_table(told)).splitlines()
    assert max(map(len, lines)) <= 100
    assert not [line for line in lines if "…" in line]
    assert len([line for line in lines if re.search(r" (svm-unigram|hierarchical) ", line)]) == 6


def test_reference_rows_are_dimmed_and_stand_last(told):
    told["results"].reverse()
    found = rows(told)
    assert [row.reference for row in found] == [False, False, True, True] * 3
    assert [row.style for row in evaluation_table(told).rows] == ["", "", "dim", "dim"] * 3


def test_an_error_by_transfer_never_stands_in_the_column_of_retrained_judges(told):
    value_of(told, "ere", judge="hierarchical")["metric"] = "ere_transfer"
    heads, _, first, second = to_markdown(told).split("\n| ", 1)[1].splitlines()[:4]
    at = [cell.strip() for cell in heads.strip("|").split("|")].index("ERE")
    assert "ERE (transfer)" in heads
    one, two = ([cell.strip() for cell in line.strip("|").split("|")] for line in (first, second))
    assert one[at] != "–" and one[at + 1] == "–"
    assert two[at] == "–" and two[at + 1] != "–"
    assert "not comparable with ERE" in to_markdown(told)
    for row in told["results"]:
        row["metric"] = "ere_transfer" if row["metric"] == "ere" else row["metric"]
    assert "| ERE |" not in to_markdown(told)


def test_a_second_human_is_dimmed_stands_last_and_has_no_card(told, tmp_path):
    for row in told["results"]:
        row["system"] = "second human" if row["system"] == "bot" else row["system"]
    told["verdicts"] = [each for each in told["verdicts"] if each["system"] != "bot"]
    told["curves"] = [each for each in told["curves"] if each["system"] != "bot"]
    told["examples"].pop("bot", None)
    found = rows(told)
    assert [row.system for row in found][-4:] == ["second human"] * 4
    assert all(row.reference for row in found[-4:]) and not found[0].reference
    assert "what another human's replies get" in to_markdown(told)
    (tmp_path / "results.json").write_text(json.dumps(told))
    page = Page(write_report(tmp_path)).text
    assert "second human" in page and "no verdict" not in page and "2 systems," in page


def test_a_narrow_terminal_is_spared_columns_but_neither_names_nor_numbers(told):
    value_of(told, "ere", judge="hierarchical")["metric"] = "ere_transfer"
    lines = shown(evaluation_table(told, 80), 80).splitlines()
    assert max(map(len, lines)) <= 80 and not any("…" in line for line in lines)
    row = next(line for line in lines if "hierarch" in line)
    assert share_of(told, "hierarchical") in row and "AUROC" not in "".join(lines)


def share_of(told, judge: str) -> str:
    return f"{value_of(told, 'adversuc', judge=judge)['value']:.3f}".removeprefix("0")


def test_markdown_has_the_verdicts_the_table_and_the_signature_as_a_footnote(told):
    text = to_markdown(told)
    assert text.startswith("- **bot: told apart** (svm-unigram). svm-unigram tells bot apart.")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 12 and {line.count("|") for line in table} == {13}
    assert f"{value_of(told, 'adversuc')['value']:.3f}"[1:] in table[2]
    assert text.endswith("[^signature]: `folds:5|ctx:2|seed:0|v:0.1.0`\n")


def test_markdown_makes_nothing_of_what_a_user_wrote(told):
    told["results"] = [
        {**row, "system": NASTY} for row in told["results"] if row["system"] == "bot"
    ]
    told["signature"] = "a ``b`` c"
    text = to_markdown(told)
    line = next(line for line in text.splitlines() if "svm-unigram" in line and "|" in line[:2])
    assert "<script" not in text and "\x1b" not in text
    assert len(re.findall(r"(?<!\\)\|", line)) == 13
    assert "``` a ``b`` c ```" in text


def test_latex_is_a_booktabs_table_with_the_signature_below(told):
    text = to_latex(told)
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    lines = [line for line in body.splitlines() if "&" in line]
    assert len(lines) == 12 and all(
        line.count("&") == 11 and line.endswith(r"\\") for line in lines
    )
    assert f"{value_of(told, 'adversuc')['value']:.3f}"[1:] in lines[0]
    assert text.index(r"folds:5\textbar{}") > text.index(r"\end{tabular}")
    assert text.count(r"\begin{") == text.count(r"\end{") == 2


def test_latex_escapes_every_command_and_column(told):
    wanted = r"{\char34}\$x\_\{ \& \% \textbackslash{} \textbar{} {*}a{*} {[}/b{]} \textless{}"
    assert latex('"$x_{ & % \\ | *a* [/b] <') == wanted
    assert latex("a--b-c") == "a-{}-b-c"
    value_of(told, "adversuc")["system"] = "[1 & 2] % $"
    line = next(line for line in to_latex(told).splitlines() if line.startswith("{[}1"))
    assert line.startswith(r"{[}1 \& 2{]} \% \$ & svm-unigram & ")


def test_a_name_cannot_reach_the_terminal_as_markup_or_control(told):
    for row in told["results"] + told["verdicts"]:
        row["system"] = row["system"] and "[red]x[/] \x1b[31m"
    text = shown(evaluation_table(told), 200) + shown(verdict_lines(told)[0])
    assert text.count("[red]x[/] \ufffd[31m") == 2 and "\x1b" not in text


@pytest.mark.parametrize(
    ("half", "whole", "high", "said"),
    [
        (0.30, 0.20, 0.25, UPPER_BOUND),
        (0.24, 0.20, 0.25, "flat within its noise"),
        (0.15, 0.20, 0.25, "flat within its noise"),
        (0.30, 0.20, None, "too few points to say"),
        (None, 0.20, 0.25, "too few points to say"),
    ],
)
def test_a_curve_that_falls_by_more_than_its_noise_is_an_upper_bound(half, whole, high, said):
    point = {"system": "bot", "evaluator": "svm"}
    curve = [{**point, "share": 0.25, "adversuc": 0.4, "high": 0.45}]
    curve += [{**point, "share": 0.5, "adversuc": half, "high": 0.4}]
    curve += [{**point, "share": 1.0, "adversuc": whole, "high": high}]
    assert saturation({"curves": curve}) == {("bot", "svm"): said}


def test_an_upper_bound_is_marked_in_every_table(told, page):
    bots = {row.system for row in rows(told) if row.upper_bound}
    value = f"{value_of(told, 'adversuc')['value']:.3f}"[1:]
    assert bots == {"bot"}
    assert f"≤ {value}" in shown(evaluation_table(told)) and f"≤ {value}" in page.text
    assert rf"$\le$ {value}" in to_latex(told)
    assert page.text.count(f"svm-unigram: {UPPER_BOUND}") == 1
    assert page.text.count("svm-unigram: flat within its noise") == 2


def test_the_averaged_roc_has_the_area_that_the_metric_has(invented):
    scores = read_scores(invented[0] / "scores.parquet")
    assert set(scores) == {(system, judge) for system in SHIFTS for judge in EVALUATORS}
    for (system, judge), each in scores.items():
        area = value_of(invented[1], "adversuc", system, judge)["details"]["auroc"]
        assert np.trapezoid(averaged_roc(each), dx=0.01) == pytest.approx(area, abs=0.02)


def test_the_roc_of_tied_scores_is_a_straight_line(invented):
    each = next(iter(read_scores(invented[0] / "scores.parquet").values()))
    tied = type(each)(each.human, 0 * each.fold, 0 * each.score, each.taken, each.tokens)
    assert averaged_roc(tied) == pytest.approx(np.linspace(0, 1, 101))
    assert auroc(tied.score, tied.human) == 0.5


def test_scores_by_length_are_means_and_quartiles_of_equal_classes(invented):
    each = next(iter(read_scores(invented[0] / "scores.parquet").values()))
    score = np.linspace(0, 1, 40)
    tokens = np.repeat([2.0, 6.0], 20)
    human = np.ones(40, dtype=bool)
    made = type(each)(human, human, score, human, tokens)
    found = by_length(made, human)  # 2 classes of 20
    assert found[0] == pytest.approx([2, 6])
    assert found[1] == pytest.approx([score[:20].mean(), score[20:].mean()])
    assert found[2:, 0] == pytest.approx(np.quantile(score[:20], [0.25, 0.75]))


def test_corners_are_named_by_adversuc_and_machine_vs_random():
    made = [
        corner(Row("bot", "svm", adversuc={"value": x}, machine={"value": y}))
        for x, y in ((0.04, 0.94), (0.37, 0.68), (0.4, 0.9), (0.1, 0.55), (0.1, None))
    ]
    assert made == ["low-high", "high-low", "high-high", "low-low", None]


def test_the_page_has_every_section_in_order_with_the_verdict_first(page):
    order = ["verdict", "results", "reliability", "scores", "corners", "length", "learning",
             "examples", "warnings", "settings", "signature"]  # fmt: skip
    ids = page.values("id")
    assert [each for each in ids if each in order] == order
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.values("href")} <= set(ids)


def test_the_page_shows_the_numbers_of_the_results(invented, page):
    for row in invented[1]["results"]:
        assert f"{row['value']:.3f}".removeprefix("0") in page.text, row["metric"]
    scenario = value_of(invented[1], "ere")["details"]["scenarios"]["human_next"]
    assert f"+{scenario['deviation']:.3f}".replace("+0", "+") in page.text
    for text in ("tells bot apart.", "human reply 3", "turn 7 of talk 1", "2 earlier turns",
                 "Two contexts left out.", "judge.threshold", "folds:5|ctx:2"):  # fmt: skip
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
    assert not [each for each in page.values("aria-label") if not each]


def test_the_same_results_give_the_same_bytes(invented, tmp_path):
    again = invent(tmp_path)
    assert again == invented[1]
    first, second = write_report(invented[0]), write_report(tmp_path)
    assert first.read_bytes() == second.read_bytes() == write_report(tmp_path).read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_nothing_that_a_user_or_model_wrote_becomes_markup(told, tmp_path):
    def nasty(value):
        if isinstance(value, dict):
            return {key: nasty(each) for key, each in value.items()}
        if isinstance(value, list):
            return [nasty(each) for each in value]
        return NASTY if isinstance(value, str) else value

    texts = ("verdicts", "warnings", "settings", "versions", "signature")
    told |= {name: nasty(told[name]) for name in texts}
    told["examples"] = {NASTY: nasty(told["examples"]["bot"])}
    told["settings"] = {NASTY: NASTY}
    for row in [*told["results"], *told["curves"]]:
        row["system"] = row["system"] and NASTY
        row["evaluator"] = row["evaluator"] and (NASTY + row["evaluator"])
    save(tmp_path, told)
    label = [1, 0] * 5
    n = len(label)
    columns = {"system": [NASTY.replace("\ud800", "\ufffd")] * n, "evaluator": [NASTY[:-1]] * n}
    columns |= {"scenario": ["human_machine"] * n, "label": label, "fold": [0] * n}
    columns |= {"score": np.linspace(0, 1, n), "taken": [True] * n, "tokens": [3] * n}
    parquet.write_table(pa.table(columns), tmp_path / "scores.parquet")
    page = Page(write_report(tmp_path))
    assert "script" not in page.tags
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    shown = NASTY.replace("\x1b", "\ufffd").replace("\ud800", "\ufffd")
    assert page.text.count(shown) > 20
    assert f"ROC curves of the judges of {shown}" in page.values("aria-label")


def drop(*names):
    def change(told):
        for name in names:
            told.pop(name)

    return change


def null_everything(told):
    for row in told["results"]:
        row |= {"value": None, "low": None, "high": None, "n": None, "details": None}


def forget_a_scenario(told):
    for row in told["results"]:
        row["details"].get("scenarios", {}).pop("human_next", None)


MISSING = {
    "no machine-vs-random": (lambda told: without(told, "machine_vs_random"), "no system has a"),
    "no ERE": (lambda told: without(told, "ere"), "There is no ERE in this run"),
    "a scenario missing": (forget_a_scenario, "Can the judge be trusted?"),
    "no control": (lambda told: without(told, "human_vs_random"), "AdverSuc"),
    "no AdverSuc": (lambda told: without(told, "adversuc"), "machine-vs-random"),
    "no curves": (drop("curves"), "No learning curve was measured"),
    "empty examples": (lambda told: told.update(examples={"bot": {}}), "kept no examples."),
    "no examples of a kind": (lambda told: told["examples"]["bot"].update(obvious=[]), "None."),
    "no verdicts": (drop("verdicts"), "no verdict"),
    "no warnings, settings": (drop("warnings", "settings", "versions", "signature"), "Remarks"),
    "nulls": (null_everything, "–"),
    "null lists": (lambda told: told.update(dict.fromkeys(told)), "There are no results."),
    "nothing": (lambda told: told.clear(), "There are no results."),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_a_missing_part_is_said_and_the_rest_stands(told, invented, tmp_path, name):
    change, said = MISSING[name]
    change(told)
    save(tmp_path, told)
    (tmp_path / "scores.parquet").write_bytes((invented[0] / "scores.parquet").read_bytes())
    page = Page(write_report(tmp_path))
    assert said in page.text
    assert "None" not in page.text.replace("None.", "") and not re.search(r"\bnan\b", page.text)
    for text in (shown(evaluation_table(told)), to_markdown(told), to_latex(told)):
        assert "None" not in text


def test_a_run_without_scores_has_a_report_without_their_pictures(told, tmp_path):
    save(tmp_path, told)
    page = Page(write_report(tmp_path))
    assert "There are no scores in this folder" in page.text and "tells bot apart." in page.text


def test_scores_that_are_missing_or_of_one_class_are_drawn_as_far_as_they_go(told, tmp_path):
    columns = {"system": ["bot"] * 4, "evaluator": ["svm-unigram"] * 4, "label": [1, 1, 1, 0]}
    columns |= {"scenario": ["human_machine"] * 4, "fold": [0] * 4, "taken": [True] * 4}
    columns |= {"score": [0.5, 0.5, 0.7, None], "tokens": [3, None, 3, 3]}
    parquet.write_table(pa.table(columns), tmp_path / "scores.parquet")
    save(tmp_path, told)
    assert len(read_scores(tmp_path / "scores.parquet")["bot", "svm-unigram"].score) == 3
    assert not re.search(r"\bnan\b", write_report(tmp_path).read_text())


@pytest.mark.parametrize("content", [b"no table", None])
def test_scores_that_cannot_be_read_say_what_to_do(told, tmp_path, content):
    save(tmp_path, told)
    parquet.write_table(pa.table({"score": [0.5]}), tmp_path / "scores.parquet")
    if content:
        (tmp_path / "scores.parquet").write_bytes(content)
    with pytest.raises(ValueError, match="scores.parquet: expected a table .*Run `dialeval"):
        write_report(tmp_path)


def test_scores_of_other_scenarios_are_not_drawn(told, tmp_path, invented):
    table = parquet.read_table(invented[0] / "scores.parquet")
    other = pa.array(["machine_random"] * len(table))
    table = table.set_column(table.schema.get_field_index("scenario"), "scenario", other)
    parquet.write_table(table, tmp_path / "scores.parquet")
    save(tmp_path, told)
    assert "There are no scores in this folder" in Page(write_report(tmp_path)).text


@pytest.mark.parametrize("count", [1, 20])
def test_one_system_or_twenty_fit_the_page_and_the_table(tmp_path, count):
    names = [f"a system with a rather long name, number {number}" for number in range(count)]
    told = invent(tmp_path, n=20, systems=names)
    page = Page(write_report(tmp_path))
    assert page.text.count("told apart") >= count and names[-1] in page.text
    assert max(map(len, shown(evaluation_table(told)).splitlines())) <= 100


def test_a_thousand_contexts_and_six_systems_stay_below_two_megabytes(tmp_path):
    told = invent(tmp_path, n=1000, systems=list("abcdef"))
    long = {**example(0), "context": ["word " * 1000] * 50, "response": "word " * 5000}
    told["examples"] = {name: {"fooling": [long] * 50, "obvious": [long] * 50} for name in "abcdef"}
    save(tmp_path, told)
    assert write_report(tmp_path).stat().st_size < 2_000_000


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "found no file"), ("{", "expected JSON"), ("[]", "found a list")],
)
def test_a_folder_without_results_says_what_to_do(tmp_path, content, said):
    if content is not None:
        (tmp_path / "results.json").write_text(content)
    with pytest.raises(ValueError, match=f"{said}.*Run `dialeval evaluate`"):
        write_report(tmp_path)
    assert not (tmp_path / "report.html").exists()
