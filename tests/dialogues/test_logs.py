"""Records of chat models, large documents, pipes, and columns that clash with ours."""

import csv
import gzip
import json
import os
import threading

import pytest

from dialeval.dialogues import BadInput, ReadOptions, iterate, read, read_passages, write_passages
from dialeval.dialogues.formats import format_of
from dialeval.dialogues.json_stream import JsonStream


def responses(path, **options):
    return [(p.response, p.author) for p in iterate(read_passages(path, **options))]


@pytest.mark.parametrize(
    ("record", "format"),
    [
        ({"prompt": "far?", "completion": "no"}, "prompts"),
        ({"prompt": "far?", "response": "no"}, "prompts"),
        ({"prompt": [{"role": "user", "content": "far?"}],
          "completion": [{"role": "assistant", "content": "no"}]}, "prompts"),
        ({"instruction": "far?", "input": "", "output": "no"}, "prompts"),
        ({"instruction": "far?", "context": "a map", "response": "no"}, "prompts"),
        ({"conversation": [{"role": "user", "content": "far?"},
                           {"role": "assistant", "content": "no"}]}, "chat"),
        ({"conversations": [{"from": "human", "value": "far?"},
                            {"from": "gpt", "value": "no"}]}, "chat"),
    ],
)  # fmt: skip
def test_one_answer_is_the_sides_whatever_its_format(record, format, write):
    path = write("data.jsonl", [record])
    assert format_of(path).name == format
    assert responses(path, side="human") == [("no", "human")]
    assert responses(path, side="bot") == [("no", "bot")]


def test_alpaca_input_belongs_to_the_prompt(write):
    path = write("alpaca.jsonl", [{"instruction": "Sum up.", "input": "A map.", "output": "Map."}])
    (passage,) = iterate(read_passages(path))
    assert [turn.text for turn in passage.context] == ["Sum up.\nA map."]


def test_chosen_is_human_and_rejected_a_system(write):
    talk = [{"role": "user", "content": "far?"}]
    rows = [
        {"prompt": "far?", "chosen": "no", "rejected": "As an AI ..."},
        {"chosen": [*talk, {"role": "assistant", "content": "yes"}],
         "rejected": [*talk, {"role": "assistant", "content": "hm"}], "rejected_model": "m"},
    ]  # fmt: skip
    path = write("pairs.jsonl", rows)
    assert responses(path) == [("no", "human"), ("As an AI ...", "rejected"),
                               ("yes", "human"), ("hm", "m")]  # fmt: skip


def test_a_tool_call_does_not_cost_a_chained_conversation(write):
    call = {"type": "function_call", "name": "find", "arguments": "{}", "call_id": "c1"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "{}"}

    def output(text):
        content = [{"type": "output_text", "text": text}]
        return [{"type": "message", "role": "assistant", "content": content}]

    exchanges = [("r1", None, "far?", [call]), ("r2", "r1", [result], output("no")),
                 ("r3", "r2", "and back?", output("the same")), ("r4", "", "alone?", output("yes")),
                 ("", None, "who?", output("me"))]  # fmt: skip
    names = ("id", "previous_response_id", "input", "output")
    rows = [dict(zip(names, row, strict=True)) | {"object": "response"} for row in exchanges]
    passages = [*iterate(read_passages(write("responses.jsonl", rows), side="bot"))]
    contexts = [[turn.text for turn in passage.context] for passage in passages]
    assert contexts == [["far?"], ["far?", "no", "and back?"], ["alone?"], ["who?"]]
    assert [passage.response for passage in passages] == ["no", "the same", "yes", "me"]
    assert [passage.dialogue_id for passage in passages[:3]] == ["r1", "r1", "r4"]


SIMULATIONS = [
    {"id": f"s{n}", "task_id": "1", "messages": [
        {"role": "assistant", "content": "Hi!", "tool_calls": None},
        {"role": "user", "content": f"my order {n}"},
        {"role": "assistant", "content": None, "tool_calls": [{"name": "find"}]},
        {"role": "tool", "content": "{}"},
        {"role": "assistant", "content": f"found {n}"}]}
    for n in range(3)
]  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_tau2_results_are_read_by_role(indent, write):
    path = write(
        "results.json", json.dumps({"info": {}, "simulations": SIMULATIONS}, indent=indent)
    )
    assert format_of(path).name == "tau2"
    assert responses(path, role="user", side="sim") == [(f"my order {n}", "sim") for n in range(3)]
    assert [text for text, _ in responses(path, role="assistant")] == [
        "found 0",
        "found 1",
        "found 2",
    ]
    with pytest.raises(BadInput, match="could be those of"):
        read(path, ReadOptions(side="sim"))


@pytest.mark.parametrize("indent", [None, 2])
def test_tau2_results_are_recognised_by_simulations_after_long_tasks(indent, write):
    tasks = [{"id": str(n), "description": "x" * 500} for n in range(3_000)]
    run = {"timestamp": "now", "info": {"user_info": {"llm": "a"}}, "tasks": tasks}
    path = write("results.json", json.dumps({**run, "simulations": SIMULATIONS}, indent=indent))
    assert format_of(path).name == "tau2"
    assert responses(path, role="user", side="sim")[0] == ("my order 0", "sim")
    with pytest.raises(BadInput, match="no format fits"):
        format_of(write("other.json", json.dumps(run, indent=indent)))


def test_prompts_keep_their_further_columns(write):
    rows = [{"prompt": f"far {n}?", "response": "no", "worker": f"w{n}", "id": n} for n in range(2)]
    passages = list(iterate(read_passages(write("crowd.jsonl", rows))))
    assert [dict(passage.extra) for passage in passages] == [{"worker": "w0"}, {"worker": "w1"}]


def test_tables_with_semicolons_are_read(write):
    path = write("qa.csv", 'question;answer\n"far; really?";no, 2 km\nback?;yes\n')
    assert format_of(path).name == "csv"
    assert [text for text, _ in responses(path)] == ["no, 2 km", "yes"]
    turns = "ticket;who;said\n1;a;hi, you\n1;b;hello\n2;a;far?\n2;b;no\n"
    columns = {"dialogue_id": "ticket", "speaker": "who", "text": "said"}
    read_as = {"columns": columns, "role": "b", "side": "human"}
    assert [text for text, _ in responses(write("t.csv", turns), **read_as)] == ["hello", "no"]


def test_sdialog_and_one_printed_object_are_read(write):
    turns = [{"speaker": "Ann", "text": "Hi!"}, {"speaker": "Bo", "text": "Hello."}]
    dialogue = {"version": "1", "id": 7, "complete": True, "personas": None, "turns": turns}
    path = write("one.json", json.dumps(dialogue, indent=2))
    assert format_of(path).name == "sdialog"
    assert responses(path, role="bo", side="sim") == [("Hello.", "sim")]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    path = write("chat.json", json.dumps({"messages": messages}, indent=2))
    assert responses(path, side="bot") == [("hello", "bot")]


def test_a_stream_gives_items_with_their_lines(tmp_path):
    path = tmp_path / "x.json"
    items = [{"n": n, "text": "é" * 700_000} for n in range(4)]  # longer than a chunk
    path.write_text(json.dumps(items, indent=0, ensure_ascii=False), encoding="utf-8")
    with path.open("rb") as file:
        read_items = list(JsonStream(file))
    assert [item for _, item in read_items] == items
    assert [line for line, _ in read_items] == [2, 6, 10, 14]


@pytest.mark.parametrize("text", ["[{\n", '[{"a": 1},\n {"b" 2}]', '[{"a": "x'])
def test_a_broken_array_is_named_with_its_file(text, write):
    with pytest.raises(BadInput, match=r"own\.json"):
        read(write("own.json", text), ReadOptions(format="passages"))


def test_a_pipe_is_read_whole(tmp_path):
    row = {"context": ["hi " * 50], "response": "hello"}
    lines = "".join(json.dumps({**row, "id": str(n)}) + "\n" for n in range(3_000))
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(lines))
    writer.start()
    passages, _ = read(pipe, ReadOptions(keep_duplicates=True))
    writer.join()
    assert len(passages) == 3_000


def test_a_first_line_over_64_kb_is_recognised(write):
    path = write("long.jsonl", [{"note": "x" * 100_000, "context": ["hi"], "response": "hello"}])
    assert format_of(path).name == "passages"


@pytest.mark.parametrize("damage", [lambda data: data[:-20], lambda data: data[:30] + b"x" * 40])
def test_a_broken_gzip_file_is_one_sentence(damage, write):
    rows = "".join(json.dumps({"context": ["hi"], "response": f"h{n}"}) + "\n" for n in range(999))
    path = write("own.jsonl.gz", damage(gzip.compress(rows.encode())))
    with pytest.raises(BadInput, match="gzip"):
        read(path)


def test_our_columns_win_over_extra_ones(write, tmp_path):
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}]
    path = write("clash.jsonl", [{"messages": messages, "response": "z", "author": "bot"}])
    written = write_passages(read_passages(path), tmp_path / "out.jsonl")
    assert json.loads(written.read_text())["response"] == "yo"
    row = {"context": ["hi"], "response": "yo", "extra": {"response": "evil"}}
    written = write_passages(read_passages(write("e.jsonl", [row])), tmp_path / "out.jsonl")
    assert json.loads(written.read_text())["response"] == "yo"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full"])
def test_a_device_without_an_end_is_refused(device):
    with pytest.raises(BadInput, match=f"{device}: expected a file or a pipe, found a device"):
        read(device)


def test_notices_of_a_messenger_may_have_several_lines_and_midnight_is_no_gap(write):
    path = write(
        "chat.txt",
        "[31/12/2025, 22:10:00] Ann created the group\nDescription:\nwe plan a trip\n"
        "[31/12/2025, 22:15:03] The trip: Messages and calls are end-to-end encrypted. No one\n"
        "[31/12/2025, 22:15:03] Ann: are you coming?\n[31/12/2025, 22:16:40] Bo: on my way\n",
    )
    (passage,) = iterate(read_passages(path))
    assert (passage.context[0].text, passage.response) == ("are you coming?", "on my way")
    clock = write("late.txt", "[23:55] Ann: still up?\n[00:10] Bo: yes\n[00:12] Ann: me too\n")
    assert [passage.response for passage in iterate(read_passages(clock))] == ["yes", "me too"]


def test_rows_without_a_finite_number_keep_the_order_of_the_file(write):
    rows = "a,user,one,3\na,bot,two,nan\na,user,three,1\n"
    path = write("turns.csv", f"conversation_id,speaker,text,turn\n{rows}")
    texts = [passage.response for passage in iterate(read_passages(path))]
    assert texts == ["two", "three"]


@pytest.mark.parametrize("is_reversed", [False, True])
def test_an_answer_of_langsmith_is_read_once_whatever_run_is_first(write, is_reversed):
    rows = []
    for name in ("a", "b"):
        outer = {"id": name, "trace_id": name, "run_type": "chain"}
        inner = {"id": f"{name}2", "trace_id": name, "parent_run_id": name, "run_type": "llm"}
        texts = {"inputs": {"question": f"{name}?"}, "outputs": {"answer": f"{name}!"}}
        rows += [outer | texts, inner | texts]
    lone = {"id": "c2", "trace_id": "c", "parent_run_id": "c", "run_type": "llm"}
    rows.append({**lone, "inputs": {"question": "c?"}, "outputs": {"answer": "c!"}})
    path = write("runs.jsonl", rows[::-1] if is_reversed else rows)
    passages, report = read(path, ReadOptions(role="assistant"))
    assert sorted(passage.response for passage in iterate(passages)) == ["a!", "b!", "c!"]
    assert report.skipped == {"runs inside or around another run": 2}


def test_a_cell_may_hold_a_long_conversation(tmp_path):
    words = "word " * 20_000
    messages = [
        {"role": role, "content": f"{words}{number}"}
        for number, role in enumerate(["user", "assistant"] * 2)
    ]
    path = tmp_path / "chats.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["id", "messages"], ["a", json.dumps(messages)]])
    passages, _ = read(path, ReadOptions(role="assistant"))
    assert [passage.response[-1] for passage in iterate(passages)] == ["1", "3"]
