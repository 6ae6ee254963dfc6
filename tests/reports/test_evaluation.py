"""Tables of an evaluation: terminal, Markdown, LaTeX and notebook."""

import re
from dataclasses import replace

import pytest
from rich.cells import cell_len

from dialeval.metrics.cue_results import Cue
from dialeval.metrics.evaluation_results import (
    CurvePoint,
    FormatLeak,
    ReliabilityResults,
)
from dialeval.reports.evaluation import (
    evaluation_table,
    headline_lines,
    notebook_html,
    render_report,
    to_latex,
    to_markdown,
    to_text,
    warning_lines,
)
from dialeval.reports.evaluation.columns import notes_of
from dialeval.reports.evaluation.headline import cue_phrase, headlines, is_by_format, ranked
from dialeval.reports.evaluation.rows import (
    FLAT,
    TOO_FEW_POINTS,
    UPPER_BOUND,
    rows_of,
    saturation,
)
from dialeval.reports.evaluation.sections import system_numbers
from dialeval.reports.evaluation.text import escape_latex
from tests.reports.invented import (
    NAN,
    NASTY,
    Page,
    by_transfer,
    change,
    rename_system,
    result_of,
    short,
    shown,
)


def test_the_terminal_shows_every_number_of_a_row(evaluation):
    lines = shown(evaluation_table(evaluation, 116), 116).splitlines()
    line = next(line for line in lines if " svm-u" in line)
    main, machine = result_of(evaluation, "adversuc"), result_of(evaluation, "machine_vs_random")
    numbers = [main.value, machine.value, 0.6, 0.8125,
               result_of(evaluation, "ere").value, main.details["auroc"]]  # fmt: skip
    for number in numbers:
        assert short(number) in line
    assert f" {100 * (1 - main.value):.0f} % " in line
    assert f" {100 * (1 - main.high):.0f}–{100 * (1 - main.low):.0f} " in line
    assert line.startswith("bot") and " 120 " in line and "−.030" in line and "<.001" in line
    assert " .62 " in line  # relevance


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
        "- **bot**: **distinguishable from human**. svm-unigram detects bot. "
        "Note: format leak of bot."
    )
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + 12 and {line.count("|") for line in table} == {15}
    assert short(result_of(evaluation, "adversuc").value) in table[2]
    assert text.endswith("[^signature]: `folds:5|ctx:2|seed:0|v:0.1.0`\n")


def test_markdown_escapes_what_a_user_wrote(evaluation):
    bot = tuple(row for row in evaluation.results if row.system == "bot")
    evaluation = replace(evaluation, results=bot, signature="a ``b`` c")
    text = to_markdown(rename_system(evaluation, "bot", NASTY))
    line = next(line for line in text.splitlines() if "svm-unigram" in line and "|" in line[:2])
    assert "<script" not in text and "\x1b" not in text
    assert len(re.findall(r"(?<!\\)\|", line)) == 15
    assert "``` a ``b`` c ```" in text


def test_latex_is_a_booktabs_table_with_the_signature_below(evaluation):
    text = to_latex(evaluation)
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    lines = [line for line in body.splitlines() if "&" in line]
    assert len(lines) == 12 and all(
        line.count("&") == 13 and line.endswith(r"\\") for line in lines
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
    text = shown(evaluation_table(evaluation), 200) + shown(headline_lines(evaluation)[0])
    assert text.count("[red]x[/] \ufffd[31m") == 2 and "\x1b" not in text


def test_the_headline_answers_in_five_lines(evaluation):
    lines = [line.plain for line in headline_lines(evaluation, 120)][:5]
    assert lines[0] == (
        "bot is given away by its format: one rule is right in 88 of 100 (chance 50), the "
        "evaluator in 77, 95 % 70 to 80"
    )
    assert [line.split()[0] for line in lines[1:]] == ["Why", "Trust", "Careful", "Next"]
    assert "“system if it SHOUTS”" in lines[1]
    assert lines[4].endswith("dialeval data leaks human.jsonl bot.jsonl --normalise")


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_every_fact_is_one_line_of_the_terminal(evaluation, width):
    name = "a system with a very long name 日本語 that says what it is"
    evaluation = rename_system(evaluation, "bot", name)
    lines = headline_lines(evaluation, width)
    assert len(lines) == 5 * len(evaluation.verdicts)
    for line in lines:
        assert "\n" not in line.plain
        assert cell_len(line.plain) <= width or line.plain.startswith("  Next")  # to be copied
    assert "right in 88 of 100" in lines[0].plain or width == 60  # the name is cut before it


def test_the_first_line_has_what_fits_of_how_sure_it_is(evaluation):
    [line] = [line.plain for line in headline_lines(evaluation, 200) if "parrot" in line.plain][:1]
    assert ", 95 % " in line and " contexts" in line and ", p " in line
    [short_line] = [
        line.plain for line in headline_lines(evaluation, 80) if line.plain.startswith("parrot")
    ]
    assert line.startswith(short_line)


def test_the_signature_is_printed_once_and_in_one_line(evaluation):
    for width in (60, 100):
        assert to_text(evaluation, width).count(evaluation.signature) == 1


def test_warnings_of_the_run_are_short_lines_and_few(evaluation):
    long = (
        "No next turns in the data, and no contexts of two turns to take them from: ERE is a mean."
    )
    texts = (long, *(f"Number {n} was left out: it has too few replies." for n in range(5)))
    lines = warning_lines(replace(evaluation, warnings=texts))
    assert lines[0] == "No next turns in the data"
    assert len(lines) == 4 and lines[-1] == "3 more in the report"
    about_bot = replace(evaluation, warnings=("bot answers 3 of 4 human contexts.",))
    assert warning_lines(about_bot) == []  # it is in the lines about bot
    assert "answers 3 of 4" in " ".join(line.plain for line in headline_lines(about_bot, 400))


def test_results_print_as_a_table_and_show_as_html_in_a_notebook(evaluation):
    text, html = to_text(evaluation), notebook_html(evaluation)
    assert str(evaluation) == text and evaluation._repr_html_() == html
    value = short(result_of(evaluation, "adversuc").value)
    for part in (value, "svm-unigram", "bot"):
        assert part in text and part in html
    assert "is given away by its format" in text and "distinguishable from human" in html
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


def cue(text: str, rule: str, measures: str, system: float, human: float, kind="format") -> Cue:
    return Cue("bot", kind, text, "system", system, human, 0.6, 0.5, 0.7, 0.01, rule, measures)


@pytest.mark.parametrize(
    ("item", "phrase"),
    [(cue("upper-case letters", "system if share of capitals above 6 %", "share of capitals", 0.041,
          0.0437), "share of capitals: 4.1 % on average, 4.4 % for humans"),
     (cue("length in tokens", "system if at most 10 tokens", "tokens", 8.55, 13.04, "length"),
      "length: 8.6 tokens on average, 13.0 for humans"),
     (cue("length in tokens", "system if 7 to 11 tokens", "tokens", 9.24, 9.21, "length"),
      "7 to 11 tokens: 9.24 tokens on average, 9.21 for humans"),
     (cue("repeated response", "system if more than 0 other", "other", 1.3, 0.23, "content"),
      "other replies with the same words: 1.3 on average, 0.2 for humans")],
)  # fmt: skip
def test_the_two_numbers_of_a_cue_differ_where_they_are_not_equal(item, phrase):
    assert cue_phrase(item) == phrase


def test_the_same_response_is_warned_about_first_and_nothing_twice(evaluation):
    system = evaluation.verdicts[0].system
    flag = "9 of 60 replies were cut"
    verdict = replace(evaluation.verdicts[0], flags=(flag,))
    warnings = (
        f"{system}: {flag}.",
        f"{system} gives the same response to every context: 'A, b.'.",
    )
    results = replace(evaluation, verdicts=(verdict,), warnings=warnings)
    careful = next(str(line) for line in headline_lines(results) if "Careful" in str(line))
    assert careful.split(None, 1)[1].startswith(f"{system} gives the same response to every conte")
    assert warning_lines(results) == []


def test_the_error_of_a_random_guess_is_that_of_the_scenarios_that_were_measured(evaluation):
    four = notes_of(rows_of(evaluation))
    assert any("0 is perfect, .25 a random guess" in note for note in four)
    scenarios = {
        "scenarios": {key: {} for key in ("human_human", "machine_machine", "human_random")}
    }
    three = [
        replace(row, metric="ere_three", details=scenarios) if row.metric == "ere" else row
        for row in evaluation.results
    ]
    notes = notes_of(rows_of(replace(evaluation, results=tuple(three))))
    assert any("0 is perfect, .167 a random guess" in note for note in notes)


def test_a_cue_that_is_right_more_often_than_the_evaluator_is_said_and_ranks_number_systems(
    evaluation,
):
    verdict = evaluation.verdicts[0]
    strong = replace(cue("copied", "system if copied", "copied", 1.0, 0.1), system=verdict.system)
    results = replace(evaluation, cues=(replace(strong, accuracy=1.0),))
    careful = "One cue alone does better than the evaluator (100 of 100)"
    (item,) = (item for item in headlines(results) if item.system == verdict.system)
    assert careful in [caution.short for caution in item.warnings]
    (item,) = (item for item in headlines(evaluation) if item.system == verdict.system)
    assert careful not in [caution.short for caution in item.warnings]
    numbers = system_numbers(evaluation, rows_of(evaluation))
    order = [item.system for item in ranked(headlines(evaluation))]
    assert [numbers[name] for name in order] == list(range(1, len(order) + 1))


def first(results):
    """The answer about the first system of a run."""
    system = results.verdicts[0].system
    return next(item for item in headlines(results) if item.system == system)


def test_cues_that_are_right_more_often_together_are_a_warning(evaluation):
    system, high = evaluation.verdicts[0].system, evaluation.verdicts[0].high
    one = replace(cue("copied", "system if copied", "copied", 1.0, 0.1), system=system)
    gains = (high - 0.52, 0.06)
    cues = tuple(replace(one, accuracy=high - 0.1, gain=gain) for gain in gains)
    short = first(replace(evaluation, cues=cues)).warnings
    assert any("All cues together do better than the evaluator" in item.short for item in short)
    cues = tuple(replace(item, gain=gain - 0.03) for item, gain in zip(cues, gains, strict=True))
    short = first(replace(evaluation, cues=cues)).warnings
    assert not any("cue" in item.short for item in short)


def test_an_evaluator_that_is_always_right_needs_no_more_training_data(evaluation):
    more = "More training data would make the evaluator better"
    assert more in [item.short for item in first(evaluation).warnings]
    verdicts = (replace(evaluation.verdicts[0], accuracy=0.998), *evaluation.verdicts[1:])
    results = replace(evaluation, verdicts=verdicts)
    assert more not in [item.short for item in first(results).warnings]


@pytest.mark.parametrize(("accuracy", "by_format"), [(0.874, True), (0.89, False)])
def test_a_format_rule_that_is_as_good_as_shown_gives_a_system_away(
    evaluation, accuracy, by_format
):
    verdict = evaluation.verdicts[0]
    leak = FormatLeak(verdict.system, "spaces", "system if spaces", 0.87, 0.8, 0.9)
    assert is_by_format(replace(verdict, accuracy=accuracy), leak, None) is by_format


def test_the_terminal_has_the_accuracy_after_normalising(evaluation):
    system = evaluation.verdicts[0].system
    leak = FormatLeak(system, "spaces", "system if spaces", 0.6, 0.55, 0.65)
    row = result_of(evaluation, "adversuc")
    details = {**row.details, "normalised": {"value": 0.3, "low": 0.2, "high": 0.4, "n": 20}}
    normalised = replace(row, metric="adversuc_normalised", value=0.3, details=details)
    results = replace(evaluation, leaks=(leak,), cues=(), results=(*evaluation.results, normalised))
    text = "\n".join(map(str, headline_lines(results, 120)))
    assert "Format leak: one rule right in 60; evaluator normalised 70" in text


def test_a_p_value_that_contradicts_the_interval_is_explained(evaluation):
    def notes(p_value: float) -> str:
        row = result_of(evaluation, "adversuc")
        row = replace(row, low=0.1, high=0.3, details={**row.details, "p_value": p_value})
        return " ".join(notes_of(rows_of(replace(evaluation, results=(row,)))))

    assert "where it contradicts the interval" in notes(0.8)
    assert "contradicts" not in notes(0.01)


def test_reliability_fits_a_terminal_of_80_columns(evaluation):
    rows = tuple(row for row in evaluation.results if row.metric == "ere")
    text = to_text(ReliabilityResults(results=rows), 80)
    assert "human/" in text and "Noise" not in text and "noise" not in text
    assert max(map(cell_len, text.splitlines())) <= 80
    assert "Intervals are conditional on the trained evaluators." in " ".join(text.split())


def test_a_warning_about_a_longer_name_is_not_about_the_shorter_one(evaluation):
    verdict = evaluation.verdicts[0]
    longer = replace(verdict, system=f"{verdict.system}-2")
    text = f"{longer.system} answers 5 of 9 human contexts."
    results = replace(evaluation, verdicts=(verdict, longer), warnings=(*evaluation.warnings, text))
    about = {
        item.system: [warning.text.lower() for warning in item.warnings]
        for item in headlines(results)
    }
    assert text in about[longer.system] and text not in about[verdict.system]
