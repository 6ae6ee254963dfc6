"""One table for all: the columns of the context, the human and the systems."""

import csv
import json

import pytest

from dialeval.dialogues import ReadOptions, iterate, read

ROWS = [
    {"prompt": f"question {n}?", "person": f"well, {n} maybe", "bot": f"Answer {n}.", "b2": f"{n}"}
    for n in range(12)
]
COLUMNS = {"columns": {"context": "prompt"}, "answers": {"human": "person", "bot": "bot"}}


def write_csv(path, rows):
    with path.open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path


@pytest.mark.parametrize("name", ["qa.csv", "qa.jsonl"])
def test_one_table_gives_the_answers_of_all_authors(name, tmp_path):
    path = tmp_path / name
    if name == "qa.csv":
        write_csv(path, ROWS)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    passages, report = read(path, ReadOptions(**COLUMNS))
    first, second = list(iterate(passages))[:2]
    assert (first.response, first.author) == ("well, 0 maybe", "human")
    assert (second.response, second.author) == ("Answer 0.", "bot")
    assert first.context[0].text == second.context[0].text == "question 0?"
    assert (report.passages, report.skipped) == (24, {})


def test_missing_answers_are_counted(tmp_path):
    path = write_csv(tmp_path / "qa.csv", [{**ROWS[0], "bot": ""}, *ROWS[1:]])
    passages, report = read(path, ReadOptions(**COLUMNS))
    assert (len(passages), report.skipped) == (23, {"rows without an answer of bot": 1})


def test_a_table_is_evaluated_and_needs_its_columns(run, tmp_path):
    path = write_csv(tmp_path / "qa.csv", ROWS)
    code, _, err = run("evaluate", "--pairs", path, "--context", "prompt", "--human", "person",
                       "--system", "parrot")  # fmt: skip
    assert code == 2 and "--pairs needs the columns" in err
    code, _, err = run("evaluate", "--pairs", path, "--context", "nothing", "--human", "person",
                       "--system", "bot=bot")  # fmt: skip
    assert code == 2 and "no 'nothing' here, only 'prompt', 'person', 'bot', 'b2'" in err
    code, _, err = run("evaluate", "--pairs", path, "--context", "prompt", "--human", "person",
                       "--system", "bot=nope")  # fmt: skip
    assert code == 2 and "no row has an answer of bot: the column 'nope' is missing" in err


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"context": ["hi"], "response": "a", "following": 5}, "expected a text as following"),
        ({"context": ["hi"], "response": "a", "extra": "x"}, "expected an object as extra"),
        ({"context": [{"role": "a", "text": None}], "response": "a"}, "expected a text or"),
    ],
)
def test_records_of_other_types_are_one_sentence(record, message, write):
    with pytest.raises(ValueError, match=message):
        read(write("own.jsonl", [record]))
