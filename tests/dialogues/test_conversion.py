"""What people have in memory becomes passages, and bad rows are named."""

import pandas
import pytest
from datasets import Dataset

from dialeval.dialogues import BadInput, iterate, to_passages
from dialeval.dialogues.conversion import as_passages

TEXTS = ["Fine.", "No."]
CONTEXTS = [["Hi!", "How are you?"], "Coffee?"]
CHAT = [
    [
        {"role": "system", "content": "Be nice."},
        {"role": "user", "content": "Hi!"},
        {"role": "assistant", "content": "How are you?"},
        {"role": "user", "content": "Fine."},
    ],
    [{"role": "user", "content": "Coffee?"}, {"role": "assistant", "content": "No."}],
]
RECORDS = [
    {"context": ["Hi!", "How are you?"], "response": "Fine."},
    {"context": ["Coffee?"], "response": "No."},
]


@pytest.mark.parametrize(
    ("data", "contexts"),
    [
        (TEXTS, CONTEXTS),
        (tuple(TEXTS), CONTEXTS),
        (CHAT, None),
        ([{"messages": messages} for messages in CHAT], None),
        ([["Hi!", "How are you?", "Fine."], ["Coffee?", "No."]], None),
        (RECORDS, None),
        (pandas.DataFrame(RECORDS), None),
        (Dataset.from_list(RECORDS), None),
        (pandas.DataFrame({"response": TEXTS}), CONTEXTS),
    ],
    ids=["texts", "tuple", "chat", "messages", "turns", "records", "pandas", "datasets", "column"],
)
def test_every_shape_gives_the_same_passages(data, contexts):
    passages = list(iterate(as_passages(data, author="bot", contexts=contexts)))
    assert [passage.response for passage in passages] == TEXTS
    assert [[t.text for t in p.context] for p in passages] == [["Hi!", "How are you?"], ["Coffee?"]]
    assert [passage.author for passage in passages] == ["bot", "bot"]
    assert [passage.id for passage in passages] == ["0", "1"]


def test_rows_with_the_same_context_share_a_dialogue_unless_told_otherwise():
    same = as_passages(["a", "b", "c"], author="human", contexts=["x", "x", "y"])
    assert len(set(same["dialogue_id"])) == 2
    given = as_passages(["a", "b"], author="human", contexts=["x", "x"], dialogue_ids=[1, 2])
    assert given["dialogue_id"][:] == ["1", "2"]
    records = [{**RECORDS[0], "dialogue_id": "d7", "id": "q1"}]
    [passage] = iterate(as_passages(records, author="human"))
    assert (passage.dialogue_id, passage.id) == ("d7", "q1")


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_id_is_no_id(missing):
    rows = [
        {"context": "hi", "response": "hello", "id": missing, "dialogue_id": missing},
        {"context": "bye", "response": "see you", "id": missing, "dialogue_id": missing},
        {"context": "tea?", "response": "yes", "id": "x", "dialogue_id": "d"},
    ]
    for data in (rows, pandas.DataFrame(rows)):
        passages = as_passages(data, author="human")
        assert passages["id"][:] == ["0", "1", "x"]
        assert len(set(passages["dialogue_id"])) == 3 and passages["dialogue_id"][2] == "d"


def test_passages_and_files_are_taken_as_they_are(tmp_path, write):
    passages = to_passages(iterate(as_passages(RECORDS, author="human")))
    assert as_passages(passages, author="human") is passages
    path = write("x.jsonl", '{"context": ["Coffee?"], "response": "No."}\n')
    assert as_passages(path, author="bot")["author"][:] == ["bot"]


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (TEXTS, {}, r"texts without contexts. Pass contexts="),
        (TEXTS, {"contexts": ["x"]}, r"2 responses of bot, but 1 contexts"),
        ([{"response": "No."}], {}, r"row 0 of bot: there is no 'context', only response"),
        ([["alone"]], {}, r"row 0 of bot: a conversation needs a context and a response"),
        ([3], {}, r"row 0 of bot: expected a text, messages or a dictionary, but got 3"),
        ([{"context": "x", "response": None}], {}, r"the response is None, not a text"),
        ([{"context": 3, "response": "x"}], {}, r"the context is 3, not a text or a list"),
        ([{"context": [None], "response": "x"}], {}, r"a turn of the context is not a text"),
        ([{"context": [], "response": "x"}], {}, r"there is no context"),
        ([], {}, r"there are no responses of bot"),
        (3, {}, r"cannot read responses from an object of type int"),
        ("nowhere.jsonl", {}, r"nowhere.jsonl: no such file"),
    ],
)
def test_bad_data_is_one_sentence_that_names_the_row(data, options, message):
    with pytest.raises(BadInput, match=message):
        as_passages(data, author="bot", **options)


TALKS = [
    [{"role": "user", "content": f"is {n} far?"}, {"role": "assistant", "content": f"no {n}"},
     {"role": "user", "content": f"thanks {n}"}, {"role": "assistant", "content": f"bye {n}"}]
    for n in range(2)
]  # fmt: skip
TURNS = [
    {"conversation_id": n, "speaker": message["role"], "text": message["content"]}
    for n, talk in enumerate(TALKS)
    for message in talk
]


@pytest.mark.parametrize(
    "data",
    [
        TALKS,
        [{"messages": talk} for talk in TALKS],
        {"conversation": TALKS},
        pandas.DataFrame({"conversations": TALKS}),
        Dataset.from_dict({"messages": TALKS}),
        TURNS,
        pandas.DataFrame(TURNS),
        {name: [row[name] for row in TURNS] for name in TURNS[0]},
    ],
    ids=["lists", "records", "columns", "pandas", "datasets", "turns", "frame", "turn columns"],
)
def test_a_role_selects_the_responses_of_conversations(data):
    passages = list(iterate(as_passages(data, author="sim", role="user")))
    assert [passage.response for passage in passages] == ["thanks 0", "thanks 1"]
    assert {passage.author for passage in passages} == {"sim"}
    with pytest.raises(BadInput, match="no turn is by 'nobody', only by user"):
        as_passages(data, author="sim", role="nobody")


def test_prompts_in_memory_are_read_as_in_a_file():
    data = {"prompt": ["Hi!", "Coffee?"], "completion": TEXTS}
    for shape in (data, pandas.DataFrame(data), Dataset.from_dict(data)):
        passages = list(iterate(as_passages(shape, author="human")))
        assert [(p.context[0].text, p.response) for p in passages] == [
            ("Hi!", "Fine."), ("Coffee?", "No."),
        ]  # fmt: skip
    pairs = [{"prompt": "Hi!", "chosen": "Hey.", "rejected": "Greetings, human."}]
    assert as_passages(pairs, author="human")["response"][:] == ["Hey."]


def test_turns_of_several_roles_are_refused_without_a_role():
    with pytest.raises(BadInput, match="could be those of"):
        as_passages(TURNS, author="sim")


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(BadInput, match=r"differ in length \(context: 1, response: 2\)"):
        as_passages({"context": ["a"], "response": ["b", "c"]}, author="bot")


def test_tool_calls_and_parts_of_messages_do_not_cost_a_conversation():
    chat = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "is it"}, {"type": "image_url"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "x"}]},
        {"role": "tool", "content": "42"},
        {"role": "assistant", "content": "yes"},
    ]
    for messages in (chat, [*chat, *chat[2:4]]):
        (passage,) = iterate(as_passages([messages], author="bot"))
        assert [turn.text for turn in passage.context] == ["is it"]
        assert passage.response == "yes"
    with pytest.raises(BadInput, match="row 0 of bot: the last message has no text"):
        as_passages([[{"role": "user", "content": "a"}, *chat[1:3]]], author="bot")
