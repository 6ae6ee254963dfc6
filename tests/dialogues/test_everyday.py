"""The shapes in which people have conversations: each recognised by itself, and read rightly."""

import json

import pytest

from dialeval.dialogues import BadInput, ReadOptions, iterate, read, read_passages
from dialeval.dialogues.formats import format_of, formats
from tests.dialogues.everyday import (
    ANSWERS,
    CHAT,
    OTHER_NAMES,
    PAIRS,
    QUESTIONS,
    RESPONSES,
    SDIALOG,
    SHAPES,
    SLACK,
    TRANSCRIPT,
    TURN_ROWS,
    lines,
    table,
)


def responses(path, **options):
    passages = read_passages(path, **{"side": "bot", **options})
    return [passage.response for passage in iterate(passages)]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_a_shape_is_recognised_and_its_answers_are_read(shape, write):
    path = write(shape.file, shape.content)
    assert format_of(path).name == shape.format
    passages, report = read(path, ReadOptions(role=shape.role, side="bot"))
    answers = {passage.response: passage for passage in iterate(passages)}
    expected = ANSWERS[:1] if shape.name == "one printed object" else ANSWERS
    assert set(expected) == {text for text in answers if text != "I am an AI."}
    assert [answers[text].context[-1].text for text in expected] == QUESTIONS[: len(expected)]
    assert not report.problems
    if shape.format != "preferences":  # which say who wrote what
        assert {answers[text].author for text in expected} == {"bot"}


@pytest.mark.parametrize("shape", [s for s in SHAPES if s.role], ids=lambda shape: shape.name)
def test_a_role_that_nobody_has_is_refused(shape, write):
    with pytest.raises(BadInput, match="no turn is by 'nobody', only by"):
        read(write(shape.file, shape.content), ReadOptions(role="nobody", side="bot"))


@pytest.mark.parametrize("name", sorted(formats()))
def test_every_format_has_an_example(name):
    assert formats()[name].example


def test_columns_of_turns_can_have_any_names(write):
    names = {"dialogue_id": "ticket", "speaker": "who", "text": "said"}
    for path in (write("t.csv", table(OTHER_NAMES)), write("t.jsonl", lines(OTHER_NAMES))):
        assert responses(path, columns=names, role="agent") == ANSWERS
    with pytest.raises(BadInput, match="no format fits"):
        read(write("t.csv", table(OTHER_NAMES)))


def test_rows_of_turns_may_be_interleaved_and_numbered(write):
    rows = [{**row, "turn_id": n % 2} for n, row in enumerate(TURN_ROWS)]
    path = write("t.csv", table([*rows[1::2], *rows[::2]]))
    passages, report = read(path, ReadOptions(role="agent", side="bot"))
    assert sorted(passage.response for passage in iterate(passages)) == sorted(ANSWERS)
    assert [note.split(":")[0] for note in report.notes] == [
        "The rows of a conversation are not together",
        "Turns are sorted by their numbers or times, not as in the file.",
    ]


def test_a_bad_row_of_turns_is_reported_once(write):
    path = write("t.csv", table([*TURN_ROWS, {"conversation_id": "", "speaker": "a", "text": "x"}]))
    _, report = read(path, ReadOptions(role="agent", side="bot", skip_bad=True))
    assert [problem.message for problem in report.problems] == ["no 'conversation_id' in this row."]


def test_a_response_continues_the_one_before_it(write):
    second = {**RESPONSES[1], "previous_response_id": "resp_0"}
    path = write("log.jsonl", lines([RESPONSES[0], second]))
    _, passage = iterate(read_passages(path, side="bot"))
    assert [turn.text for turn in passage.context] == [QUESTIONS[0], ANSWERS[0], QUESTIONS[1]]
    assert passage.dialogue_id == "resp_0"


def test_a_folder_is_read_file_by_file(write, tmp_path):
    folder = tmp_path / "real"
    (folder / "more").mkdir(parents=True)
    for number, record in enumerate(CHAT):
        (folder / f"{number}.json").write_text(json.dumps({**record, "id": "same"}, indent=1))
    (folder / "more" / "notes.txt").write_text("nothing of interest")
    question, answer = CHAT[0]["messages"][1], {"role": "assistant", "content": "hello there"}
    (folder / "more" / "talk.jsonl").write_text(lines([{"messages": [question, answer]}]))
    assert format_of(folder).name == "folder"
    passages, report = read(folder, ReadOptions(side="bot"))
    assert {passage.response for passage in iterate(passages)} == {*ANSWERS, "hello there"}
    assert len({passage.dialogue_id for passage in iterate(passages)}) == 4
    assert list(report.notes) == [
        "real: read 4 files as chat.",
        "Files in no known format were left out: notes.txt.",
    ]


def test_a_folder_without_conversations_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing of interest")
    with pytest.raises(BadInput, match="found none"):
        read(tmp_path)


@pytest.mark.parametrize("columns", ["chat", "prompts", "turns"])
def test_tables_in_parquet_and_saved_datasets(columns, tmp_path):
    from datasets import Dataset, DatasetDict

    rows = {
        "chat": [{"id": row["id"], "messages": [
            {"role": m["role"], "content": m["content"]} for m in row["messages"]]}
            for row in CHAT],
        "prompts": [{"prompt": question, "response": answer} for question, answer in PAIRS],
        "turns": TURN_ROWS,
    }[columns]  # fmt: skip
    role = "agent" if columns == "turns" else None
    data = Dataset.from_list(rows)
    data.to_parquet(tmp_path / "data.parquet")
    data.save_to_disk(tmp_path / "saved")
    DatasetDict({"train": data}).save_to_disk(tmp_path / "splits")
    for name in ("data.parquet", "saved", "splits"):
        assert responses(tmp_path / name, role=role) == ANSWERS
    DatasetDict({"train": data, "test": data}).save_to_disk(tmp_path / "two")
    with pytest.raises(BadInput, match="splits train, test"):
        read(tmp_path / "two")


def test_names_of_slack_users_come_from_the_export(tmp_path):
    channel = tmp_path / "general"
    channel.mkdir()
    users = [{"id": "U1", "name": "ann"}, {"id": "U2", "name": "shop", "real_name": "The Shop"}]
    (tmp_path / "users.json").write_text(json.dumps(users))
    plain = [{key: value for key, value in row.items() if key != "user_profile"} for row in SLACK]
    (channel / "2026-01-01.json").write_text(json.dumps(plain))
    assert responses(tmp_path, role="The Shop") == ANSWERS


def test_messages_of_several_lines_and_long_silences(write):
    text = (
        "[1/2/26, 23:50] Ann: are you\nawake?\n[2/2/26, 00:10] Bo: yes\n[2/2/26, 09:00] Ann: hi\n"
        "[2/2/26, 09:01] Bo: morning\n"
    )
    passages = read_passages(write("chat.txt", text), role="Bo")
    first, second = iterate(passages)
    assert first.context[0].text == "are you awake?"
    assert first.dialogue_id != second.dialogue_id  # nine hours later


def test_blank_lines_between_turns_separate_no_conversations(write):
    path = write("talk.txt", TRANSCRIPT.replace("\n", "\n\n"))
    passages, report = read(path, ReadOptions(role="Agent", side="bot"))
    assert len({passage.dialogue_id for passage in iterate(passages)}) == 1
    assert not report.notes


def test_whose_turns_are_meant_is_asked_of_every_log(write):
    for name, content in (
        ("a.json", json.dumps(SDIALOG)),
        ("b.txt", TRANSCRIPT.replace("\n\n", "\n")),
    ):
        with pytest.raises(BadInput, match="nothing says which of them are meant"):
            read(write(name, content), ReadOptions(side="bot"))
