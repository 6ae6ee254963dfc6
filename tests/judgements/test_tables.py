"""Files of judgements: written, read back, and as crowd platforms write them."""

import pytest

from dialeval.errors import BadInput
from dialeval.judgements import Judgement, annotator_quality, read_judgements, write_judgements
from dialeval.judgements.annotators import passing

ROWS = [
    Judgement("a", "1", "real", "real", system="human", truth="real", seconds=3.5),
    Judgement("b", "1", 'fake, "or" not\n=1+1', "real", system="human", truth="real", test=True),
    Judgement("c", "2", 4.0, "rating", scale="fluency", system="bot"),
]


@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_a_file_is_read_as_it_was_written(tmp_path, ending):
    path = write_judgements(ROWS, tmp_path / f"rows.{ending}")
    assert read_judgements(path) == ROWS


def test_a_table_with_tabs_keeps_quotation_marks_and_refuses_tabs(tmp_path):
    rows = [Judgement("a", 'the "item"', "real", "real", system='Team"A"'), ROWS[2]]
    assert read_judgements(write_judgements(rows, tmp_path / "rows.tsv")) == rows
    for text in ("one\ttwo", "one\ntwo"):
        with pytest.raises(BadInput, match="item 'x' has a tab or a line break. Name a file"):
            write_judgements([Judgement("a", "x", text)], tmp_path / "more.tsv")
    assert not (tmp_path / "more.tsv").exists()


def test_a_column_per_scale_is_read_as_one_judgement_each(write):
    text = (
        "\ufeffJudgeID\tInstanceID\tSystemID\tRelevance\tInformativeness\n"
        'anon0\tx\tTeam"A\t3\t4\nanon1\tx\tTeam"A\t2\t5\n'
    )
    rows = read_judgements(write("per-judge.tsv", text))
    assert [(row.annotator, row.scale, row.answer) for row in rows] == [
        ("anon0", "Relevance", 3.0), ("anon0", "Informativeness", 4.0),
        ("anon1", "Relevance", 2.0), ("anon1", "Informativeness", 5.0),
    ]  # fmt: skip
    assert {row.system for row in rows} == {'Team"A'}
    chosen = read_judgements(write("again.tsv", text), scales=["Relevance"])
    assert {row.scale for row in chosen} == {"Relevance"}


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x1c"])
def test_a_line_separator_inside_a_text_ends_no_row(write, mark):
    text = f"annotator\titem\tnote\trating\nann\tx\tone{mark}two\t3\nbob\tx\t\t4\r\n"
    rows = read_judgements(write("rows.tsv", text))
    assert [(row.annotator, row.answer) for row in rows] == [("ann", 3.0), ("bob", 4.0)]


def test_results_of_a_crowd_platform_are_read(write):
    text = "WorkerId,Input.item,Input.system,WorkTimeInSeconds,Answer.answer\nW1,7,bot,12,real\n"
    [row] = read_judgements(write("results.csv", text))
    assert row == Judgement("W1", "7", "real", system="bot", seconds=12.0)


def test_columns_can_be_named(write):
    text = "who_did,what,said_so\nann,x,win\n"
    names = {"annotator": "who_did", "item": "what", "answer": "said_so"}
    [row] = read_judgements(write("own.csv", text), names)
    assert (row.annotator, row.item, row.answer) == ("ann", "x", "win")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "item,answer\nx,1\n", "--column annotator=NAME"),
        ("a.csv", "annotator,item,note\na,x,hm\n", "--column answer=NAME"),
        ("a.csv", "annotator,item,answer\na,,1\n", "a.csv:2.*item is empty"),
        ("a.csv", "annotator,item,answer\na,x,\n", "the answer is"),
        ("a.csv", "annotator,item,answer\na,x,NaN\n", "a.csv:2.*'NaN'; leave out answers that"),
        ("a.csv", "annotator,item,fluency\na,x,4\na,y,nan\n", "a.csv:3.*the answer is 'nan'"),
        ("a.jsonl", '{"annotator": "a", "item": "x", "answer": NaN}\n', "the answer is nan"),
        ("a.jsonl", "[1]\n", "a.jsonl:1.*found a list"),
        ("a.jsonl", "{\n", "expected JSON"),
        ("a.csv", "", "no judgements here"),
    ],
)
def test_bad_files_are_explained(write, name, text, message):
    with pytest.raises(BadInput, match=message):
        read_judgements(write(name, text))


def test_unknown_columns_endings_and_files(write, tmp_path):
    path = write("a.csv", "annotator,item,answer\na,x,1\n")
    with pytest.raises(BadInput, match="unknown field 'speed'"):
        read_judgements(path, {"speed": "answer"})
    with pytest.raises(BadInput, match="unknown column 'Answer'"):
        read_judgements(path, {"answer": "Answer"})
    with pytest.raises(BadInput, match="ends in .jsonl, .csv or .tsv"):
        write_judgements(ROWS, tmp_path / "rows.xlsx")
    with pytest.raises(BadInput, match="no such file"):
        read_judgements(tmp_path / "none.csv")


# Annotators


def judged(name, wrong, seconds, items=20):
    truth = ["real", "fake"]
    rows = []
    for item in range(items):
        answer = truth[(item + (item in wrong)) % 2]
        test = item < 10
        known = truth[item % 2] if test else ""
        rows.append(
            Judgement(name, str(item), answer, "real", truth=known, test=test, seconds=seconds)
        )
    return rows


def test_quality_counts_test_questions_speed_and_agreement():
    rows = judged("good", {15}, 10.0) + judged("other", set(), 12.0) + judged("third", set(), 9.0)
    rows += judged("bad", {0, 1, 10, 11, 12, 13, 14, 16, 17}, 1.0)
    quality = {row.annotator: row for row in annotator_quality(rows)}
    good, bad = quality["good"], quality["bad"]
    assert (good.n, good.n_test, good.test_accuracy, good.seconds) == (10, 10, 1.0, 10.0)
    assert good.agreement == 0.9 and good.passed and good.flags == ()
    assert bad.test_accuracy == 0.8 and not bad.passed
    assert bad.flags == ("failed test questions", "fast", "disagrees")
    kept = passing(rows)
    assert {row.annotator for row in kept} == {"good", "other", "third"} and len(kept) == 30


def test_ratings_are_correlated_with_the_mean_of_the_others():
    rows = [
        Judgement(name, str(item), float(value), "rating", scale="s")
        for name, values in {
            "a": [1, 2, 3, 4, 5],
            "b": [1, 2, 3, 4, 5],
            "c": [5, 4, 3, 2, 1],
        }.items()
        for item, value in enumerate(values)
    ]
    quality = {row.annotator: row for row in annotator_quality(rows)}
    assert quality["a"].agreement is None  # the mean of b and c is constant
    assert quality["c"].agreement == pytest.approx(-1.0) and quality["c"].flags == ("disagrees",)


def test_numbers_pass_test_questions_whose_truth_is_a_number():
    rows = [Judgement("ann", f"t{n}", float(n % 2), truth=str(n % 2), test=True) for n in range(6)]
    [quality] = annotator_quality(rows)
    assert quality.test_accuracy == 1 and quality.passed
    [quality] = annotator_quality([Judgement("ann", "t", 4.0, truth="good", test=True)])
    assert quality.test_accuracy == 0
