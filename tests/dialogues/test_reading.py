"""From files to passages: duplicates, whole pairs, bad input."""

import gzip
import json

import pytest

from dialeval.dialogues import (
    BadInput,
    Cut,
    Filters,
    ReadOptions,
    iterate,
    read,
    read_dialogues,
    read_passages,
    write_passages,
)
from dialeval.dialogues.normaliser import normalise_passages

GOOD = {"id": "a", "dialogue_id": "d1", "context": ["hi"], "response": "hello"}


def responses(passages):
    return [passage.response for passage in iterate(passages)]


def test_unknown_columns_and_roles_are_kept(write):
    context = [{"role": "user", "content": "hi"}, "yes?"]
    path = write("own.jsonl", [{**GOOD, "context": context, "author": "bot", "rating": 4.5}])
    (passage,) = iterate(read_passages(path))
    assert [(turn.speaker, turn.text) for turn in passage.context] == [
        ("user", "hi"),
        ("B", "yes?"),
    ]
    assert (passage.author, passage.extra) == ("bot", {"rating": 4.5})


def test_chat_messages_are_turns_without_the_system_prompt(write):
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "user", "content": "bye"},
    ]
    path = write("chat.jsonl", [{"messages": messages, "model": "smol"}])
    passages = list(iterate(read_passages(path)))
    assert [(passage.response, passage.author) for passage in passages] == [
        ("hello", "smol"),  # "hi" has no context: only a system message comes before it
        ("bye", "human"),
    ]
    assert [turn.speaker for turn in passages[0].context] == ["user"]


def test_a_json_array_is_read_like_lines(write):
    path = write("own.json", json.dumps([GOOD, {**GOOD, "id": "b", "response": "hey"}], indent=1))
    assert responses(read_passages(path)) == ["hello", "hey"]
    assert responses(read_passages(path, num_proc=2)) == ["hello", "hey"]


def test_gzip_bom_and_crlf_are_no_obstacle(write):
    text = "\ufeff" + "\r\n".join(json.dumps({**GOOD, "id": str(n)}) for n in range(3)) + "\r\n"
    path = write("own.jsonl.gz", gzip.compress(text.encode()))
    passages, report = read(path)
    assert report.passages == 3 and responses(passages) == ["hello"] * 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"context": ["hi"', "expected JSON"),
        ('{"context": ["hi"], "reply": "x"}', "no 'response' here, only 'context', 'reply'"),
        ('{"context": [], "response": "x"}', "the context is empty"),
        ('{"context": ["hi", " "], "response": "x"}', "turn 2 of the context is empty"),
        ('{"context": ["hi"], "response": "  "}', "the response of 'human' is empty"),
        ('{"context": ["hi"], "response": 3}', "expected a text as response, found 3"),
        ('{"context": 3, "response": "x"}', "expected a list of turns as context, found 3"),
        ('{"context": [3], "response": "x"}', "expected a text or"),
        ('["hi", "x"]', "expected an object"),
        (b'{"context": ["caf\xe9"], "response": "x"}', "expected UTF-8, found byte 0xe9"),
        (json.dumps(GOOD), "occurred already in line 1"),
    ],
)
def test_a_bad_line_is_named_once_and_can_be_skipped(write, line, message):
    lines = [json.dumps(GOOD).encode(), line if isinstance(line, bytes) else line.encode()]
    lines.append(json.dumps({**GOOD, "id": "c", "response": "fine"}).encode())
    path = write("own.jsonl", b"\n".join(lines))
    with pytest.raises(BadInput, match="own.jsonl:2: ") as error:
        read(path)
    assert message in str(error.value)
    assert "--" in str(error.value)  # what to do about it
    passages, report = read(path, ReadOptions(skip_bad=True))
    assert responses(passages) == ["hello", "fine"]
    assert [(problem.line, message in problem.message) for problem in report.problems] == [
        (2, True)
    ]


def test_bad_lines_keep_their_numbers_over_processes(write):
    lines = [json.dumps({**GOOD, "id": str(number)}) for number in range(40)]
    lines[7] = lines[31] = "{"
    path = write("own.jsonl", "\n".join(lines))
    _, report = read(path, ReadOptions(skip_bad=True, num_proc=3))
    assert [problem.line for problem in report.problems] == [8, 32]


def test_processes_do_not_change_the_result(write):
    records = [
        {
            "id": f"{n}",
            "dialogue_id": f"d{n // 3}",
            "context": [f"a{n}"],
            "response": "word " * (n % 7 + 1),
        }
        for n in range(100)
    ]
    path = write("own.jsonl", records)
    options = {"filters": Filters(min_response=3)}
    one, two = (read(path, ReadOptions(num_proc=n, **options)) for n in (1, 2))
    assert list(iterate(one[0])) == list(iterate(two[0]))
    assert one[1].passages == two[1].passages == sum(n % 7 + 1 >= 3 for n in range(100))


def test_files_that_cannot_be_used_say_why(write, tmp_path):
    with pytest.raises(BadInput, match=r"no such file\. Did you mean own\.jsonl"):
        read(write("own.jsonl", [GOOD]).with_name("own.json"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="found a directory"):
        read(tmp_path / "empty")
    with pytest.raises(BadInput, match="the file is empty"):
        read(write("empty.jsonl", ""))
    with pytest.raises(
        BadInput, match="unknown format 'dailydialogue'. Did you mean 'dailydialog'"
    ):
        read(write("a.txt", "x"), ReadOptions(format="dailydialogue"))
    (tmp_path / "any.csv").write_text("question,reply\nhi,hello\n")
    with pytest.raises(BadInput, match="columns are.*question.*reply.*--column context=NAME"):
        read(tmp_path / "any.csv")
    with pytest.raises(BadInput, match="no format fits its first line 'just some words'"):
        read(write("words.txt", "just some words\n"))
    with pytest.raises(BadInput, match="expected UTF-8 text, found UTF-16"):
        read(write("wide.jsonl", json.dumps(GOOD).encode("utf-16")), ReadOptions(format="passages"))


def test_duplicate_dialogues_go_but_repeated_responses_stay(write):
    lines = ["a __eou__ yes __eou__", "b __eou__ yes __eou__", "a __eou__ yes __eou__"]
    path = write("talk.txt", "\n".join(lines))
    passages, report = read(path)
    assert responses(passages) == ["yes", "yes"]
    assert (report.dialogues, report.duplicate_dialogues) == (3, 1)
    assert len(read_passages(path, keep_duplicates=True)) == 3


def test_equal_replies_to_equal_contexts_can_be_kept(write):
    record = {"context": ["How are you?"], "response": "Fine.", "author": "bot"}
    rows = [{**record, "id": name, "dialogue_id": name} for name in ("p1", "p2")]
    path = write("bot.jsonl", "\n".join(map(json.dumps, rows)))
    assert len(read_passages(path)) == 1
    assert len(read_passages(path, keep_equal_replies=True)) == 2
    talk = write("talk.txt", "a __eou__ yes __eou__\na __eou__ yes __eou__\n")
    assert len(read_passages(talk, keep_equal_replies=True)) == 1  # the same dialogue twice


def test_duplicates_go_across_splits_and_files(write):
    train = write("train.txt", "a __eou__ b __eou__ c __eou__\nd __eou__ e __eou__\n")
    test = write("test.txt", "f __eou__ g __eou__\na __eou__ b __eou__ c __eou__\n")
    passages, report = read(train, against=[test])
    assert responses(passages) == ["e"] and report.seen_elsewhere == 1
    together, report = read([test, train])
    assert responses(together) == ["g", "b", "c", "e"] and report.duplicate_dialogues == 1


def test_a_dialogue_cut_by_someone_else_is_a_duplicate_only_as_a_whole(write):
    def row(id, dialogue, context, response):
        return {"id": id, "dialogue_id": dialogue, "context": [context], "response": response}

    rows = [
        row("1", "d1", "hi", "hello"), row("2", "d1", "hello", "bye"),
        row("3", "d2", "hi", "hello"), row("4", "d2", "hello", "ciao"),
        row("5", "d3", "hello", "bye"), row("6", "d3", "hi", "hello"),
    ]  # fmt: skip
    passages, report = read(write("own.jsonl", rows))
    assert [passage.id for passage in iterate(passages)] == ["1", "2", "3", "4"]
    assert report.duplicate_dialogues == 1


def test_a_pair_without_ids_is_a_dialogue_by_itself(write):
    rows = [{"context": ["hi"], "response": "hello"}] * 2 + [{"context": ["hi"], "response": "yo"}]
    assert responses(read_passages(write("own.jsonl", rows))) == ["hello", "yo"]


def test_filters_drop_whole_pairs_and_never_one_class(write):
    texts = {"1": ("a b c d e", "a b"), "2": ("a", "a b c d e"), "3": ("a b c", "d e f")}
    rows = [
        {"id": n, "dialogue_id": n, "context": [f"q {n}"], "response": text, "author": author}
        for n, both in texts.items()
        for author, text in zip(("human", "bot"), both, strict=True)
    ]
    options = ReadOptions(filters=Filters(min_response=3))
    passages, report = read(write("own.jsonl", rows), options)
    assert [(passage.id, passage.author) for passage in iterate(passages)] == [
        ("3", "human"),
        ("3", "bot"),
    ]
    assert report.filtered == 4


def test_columns_can_be_named(write):
    path = write("table.csv", "context,reply,stars\nhi,hello,5\n")
    with pytest.raises(BadInput, match="--column response=NAME"):
        read(path)
    (passage,) = iterate(read_passages(path, columns={"response": "reply"}))
    assert (passage.response, passage.extra) == ("hello", {"stars": "5"})


def test_csv_with_too_many_cells_is_one_error(write):
    with pytest.raises(BadInput, match="table.csv:3: expected 2 cells, found more"):
        read(write("table.csv", "context,response\nhi,hello\nhi,well, hello\n"))


def test_a_hub_dataset_is_read_by_name(write, tmp_path):
    (tmp_path / "owner" / "name").mkdir(parents=True)
    write("owner/name/test.jsonl", [GOOD])
    for name in ("hub:owner/name:test", "hub:owner/name"):
        assert responses(read_passages(name)) == ["hello"]
    with pytest.raises(BadInput, match="it has the splits test, not 'train'"):
        read("hub:owner/name:train")
    with pytest.raises(BadInput, match="the dataset cannot be loaded"):
        read("nobody/nothing")


def test_read_dialogues_streams(write):
    path = write("talk.txt", "a __eou__ b __eou__\nbroken")
    dialogues = read_dialogues(path)
    assert [turn.text for turn in next(dialogues).turns] == ["a", "b"]
    with pytest.raises(BadInput, match="talk.txt:2: expected __eou__ at the end"):
        next(dialogues)


def test_an_author_can_be_given(write):
    path = write("talk.txt", "a __eou__ b __eou__")
    assert [p.author for p in iterate(read_passages(path, author="bot"))] == ["bot"]


def test_only_one_passage_a_dialogue(write):
    path = write("talk.txt", "a __eou__ b __eou__ c __eou__ d __eou__")
    assert responses(read_passages(path, cut=Cut(responses="last"))) == ["d"]


def test_a_bad_item_of_an_array_is_named_by_its_line(write):
    path = write("own.json", json.dumps([GOOD, {"context": ["hi"]}], indent=1))
    line = path.read_text().splitlines().index(" {", 2) + 1
    with pytest.raises(BadInput, match=f"own.json:{line}: no 'response' here"):
        read(path)


def test_json_that_python_refuses_is_no_traceback(write):
    for odd in ("9" * 5000, "[" * 100_000):
        path = write("own.jsonl", f"{json.dumps(GOOD)}\n{odd}\n")
        with pytest.raises(BadInput, match="own.jsonl:2: expected JSON"):
            read(path)


def test_a_context_in_one_cell_can_be_taken_apart(write):
    path = write("table.csv", "context,response\nhi||hello,bye\n")
    (passage,) = iterate(read_passages(path, turn_separator="||"))
    assert [turn.text for turn in passage.context] == ["hi", "hello"]


def test_two_ratings_of_one_pair_are_two_records(write):
    row = {"context": ["hi"], "response": "hello"}
    path = write("rated.jsonl", [{**row, "rating": n} for n in (1, 2, 2)])
    assert [p.extra["rating"] for p in iterate(read_passages(path))] == [1, 2]


def test_equal_lines_without_context_all_count(write):
    passages = read_passages(write("out.hyp", "yes\nno\nyes\n"))
    assert responses(passages) == ["yes", "no", "yes"]


def test_what_a_machine_did_not_say_is_read_when_the_record_says_so(write):
    records = [{"context": ["hi"], "response": "", "author": "bot", "empty": True}]
    passages, _ = read(write("silent.jsonl", records))
    assert passages["response"][:] == [""]
    with pytest.raises(BadInput, match="empty"):
        read(write("lost.jsonl", [{"context": ["hi"], "response": "", "author": "bot"}]))


def test_normalised_responses_without_contexts_read_back(write, tmp_path):
    lines, _ = read(write("said.txt", "Hello !\n...\nwell well\n"), ReadOptions(format="lines"))
    write_passages(normalise_passages(lines), tmp_path / "normalised.jsonl")
    back, _ = read(tmp_path / "normalised.jsonl")
    assert len(back) == 3
    assert back["response"][0] == "hello"
