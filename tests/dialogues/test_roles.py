"""Whose turns are the responses: by role, never by a silent guess."""

import json

import pytest

from dialeval.dialogues import BadInput, ReadOptions, iterate, read, read_passages
from dialeval.dialogues.roles import LOOK_AHEAD, position


def message(role, content, **more):
    return {"role": role, "content": content, **more}


SUPPORT = [
    message("system", "You are kind."),
    message("user", "my screen is black"),
    message("assistant", None, tool_calls=[{"id": "1", "function": {"name": "lookup"}}]),
    message("tool", '{"status": "off"}', tool_call_id="1"),
    message("assistant", "is it plugged in?"),
    message("developer", "Be brief."),
    message("user", "oh. no."),
    message("assistant", "plug it in, please"),
]
LOG = [{"id": "a", "messages": SUPPORT}]


def responses(passages):
    return [(passage.response, passage.author) for passage in iterate(passages)]


def test_a_role_selects_responses_and_the_side_is_their_author(write):
    path = write("log.jsonl", LOG)
    agents = read_passages(path, role="assistant", side="human")
    assert responses(agents) == [("is it plugged in?", "human"), ("plug it in, please", "human")]
    customers = read_passages(path, role="user", side="simulator")
    assert responses(customers) == [("oh. no.", "simulator")]
    (passage,) = iterate(customers)
    assert [turn.text for turn in passage.context] == ["my screen is black", "is it plugged in?"]
    assert position(passage) == 2


def test_openings_are_responses_without_a_context_where_wanted(write):
    from dialeval.dialogues import Cut

    path = write("log.jsonl", LOG)
    passages = read_passages(path, role="user", side="human", cut=Cut(openings=True))
    assert [passage.response for passage in iterate(passages)] == ["my screen is black", "oh. no."]
    assert [len(passage.context) for passage in iterate(passages)] == [0, 2]


def test_what_is_no_turn_is_counted_and_does_not_cost_the_conversation(write):
    _, report = read(write("log.jsonl", LOG), ReadOptions(role="any", side="bot"))
    assert report.skipped == {
        "system messages": 1,
        "tool calls": 1,
        "tool messages": 1,
        "developer messages": 1,
    }
    assert (report.dialogues, report.passages, report.problems) == (1, 3, [])


def test_null_and_parts_without_text_are_skipped(write):
    picture = [{"type": "image_url", "image_url": {"url": "x"}}]
    seen = [{"type": "text", "text": "see"}, *picture]
    messages = [message("user", picture), message("user", seen), message("assistant", None),
                message("assistant", "a cat")]  # fmt: skip
    path = write("log.jsonl", [{"messages": messages}])
    passages, report = read(path, ReadOptions(role="assistant", side="bot"))
    assert responses(passages) == [("a cat", "bot")]
    assert report.skipped == {"messages without text": 2}


def test_several_roles_are_refused_with_their_counts(write):
    path = write("log.jsonl", LOG * 1)
    with pytest.raises(BadInput) as error:
        read(path, ReadOptions(side="human"))
    assert "assistant (2 turns) or user (1 turn)" in str(error.value)
    assert "--role assistant" in error.value.hint


def test_a_long_file_is_refused_before_it_is_read_whole(write):
    path = write("log.jsonl", [{"id": str(n), "messages": SUPPORT} for n in range(LOOK_AHEAD)])
    with path.open("a") as file:
        file.write("this line is never parsed\n")
    with pytest.raises(BadInput, match="could be those of"):
        read(path, ReadOptions(side="human"))


def test_one_role_that_can_answer_needs_no_option(write):
    rows = [{"id": str(n), "messages": [message("user", f"hi {n}"), message("assistant", "yes")]}
            for n in range(3)]  # fmt: skip
    passages, report = read(write("qa.jsonl", rows), ReadOptions(side="human"))
    assert responses(passages) == [("yes", "human")] * 3
    assert report.roles == {"assistant": 3}


def test_a_role_that_nobody_has_lists_the_speakers(write):
    with pytest.raises(BadInput) as error:
        read(write("log.jsonl", LOG), ReadOptions(role="agent"))
    assert "no turn is by 'agent', only by user (2 turns) or assistant (2 turns)" in str(
        error.value
    )


@pytest.mark.parametrize(("role", "wanted"), [("assistant", "hello"), ("GPT", "hello")])
def test_roles_have_several_names(role, wanted, write):
    turns = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "hello"}]
    path = write("share.jsonl", [{"conversations": turns}])
    assert [p.response for p in iterate(read_passages(path, role=role))] == [wanted]


def test_authors_that_messages_state_need_no_role(write):
    messages = [message("A", "hi", author="human"), message("B", "hello", author="bot")]
    passages = read_passages(write("chat.jsonl", [{"messages": messages}]), side="human")
    assert responses(passages) == [("hello", "bot")]


def test_a_role_selects_passages_by_their_speaker(write):
    rows = [
        {"context": ["hi"], "response": "hello", "speaker": "assistant", "author": "x"},
        {"context": ["hi", "hello"], "response": "bye", "speaker": "user", "author": "human"},
    ]
    path = write("passages.jsonl", rows)
    assert responses(read_passages(path, role="assistant", side="human")) == [("hello", "human")]
    unmarked = write("unmarked.jsonl", [{"context": ["hi"], "response": "hello"}])
    assert responses(read_passages(unmarked, role="user", side="human")) == [("hello", "human")]


def test_roles_are_counted_over_processes(write):
    rows = [json.dumps({"id": str(n), "messages": SUPPORT}) for n in range(40)]
    path = write("log.jsonl", "\n".join(rows) + "\n")
    options = {"role": "assistant", "side": "bot", "keep_duplicates": True}
    one, single = read(path, ReadOptions(**options))
    two, double = read(path, ReadOptions(**options, num_proc=2))
    assert list(iterate(one)) == list(iterate(two))
    assert (single.skipped, single.roles) == (double.skipped, double.roles)
    assert single.roles == {"assistant": 80}
