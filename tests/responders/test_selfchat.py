from dataclasses import replace

import pytest

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.responders import answer
from dialeval.responders.selfchat import self_chat
from dialeval.responders.simple import NextResponder, ParrotResponder, RandomResponder
from tests.conftest import talk


class Counter:
    """Says its name and how many turns it has heard; remembers the sizes of its batches."""

    signature = "responder:counter"

    def __init__(self, name: str, silent_after: int = 99, several: int = 1):
        self.name, self.silent_after, self.several = name, silent_after, several
        self.heard: list[list[Passage]] = []

    def stream(self, passages):
        self.heard.append(list(passages))
        for index in reversed(range(len(passages))):
            turns = len(passages[index].context)
            text = f"{self.name} {turns}" if turns < self.silent_after else " "
            for number in range(self.several):
                yield index, answer(passages[index], text, self, hypothesis=number)


def shape(dialogue) -> list[tuple[str, str, str]]:
    return [(turn.speaker, turn.text, turn.author) for turn in dialogue.turns]


def test_two_responders_speak_in_turn_after_the_context():
    passage = talk(1, 4)[-1]
    (dialogue,) = self_chat(Counter("x"), Counter("y"), [passage])
    assert shape(dialogue) == [
        ("B", "line 1 of talk 0", "human"),
        ("A", "line 2 of talk 0", "human"),
        ("B", "x 2", "x"),
        ("A", "y 3", "y"),
        ("B", "x 4", "x"),
    ]
    assert dialogue.id == "t0#3@x+y"
    assert dialogue.extra == {
        "context_turns": 2, "from_passage": "t0#3", "from_dialogue": "t0", "turns_cut": 0,
    }  # fmt: skip


@pytest.mark.parametrize("kind", [list, to_passages])
def test_all_conversations_take_a_turn_together_and_keep_their_order(kind):
    passages = talk(5, 3)
    one, two = Counter("x"), Counter("y")
    chats = list(self_chat(one, two, kind(passages), turns=5))
    assert [item.id for item in chats] == [f"{item.id}@x+y" for item in passages]
    assert [len(batch) for batch in one.heard] == [10, 10, 10]
    assert [len(batch) for batch in two.heard] == [10, 10]
    assert all(len(chat.turns) == chat.extra["context_turns"] + 5 for chat in chats)


def test_a_responder_may_talk_to_itself():
    same = Counter("x")
    (dialogue,) = self_chat(same, same, talk(1, 2), turns=4)
    assert [turn.speaker for turn in dialogue.turns] == ["A", "B", "A", "B", "A"]
    assert [turn.author for turn in dialogue.turns] == ["human", *["x"] * 4]


def test_questions_tell_neither_the_true_response_nor_the_old_id():
    passage = replace(talk(1, 4)[0], extra={"rating": 5})
    one = Counter("x")
    list(self_chat(one, one, [passage], turns=2))
    first, second = one.heard[0][0], one.heard[1][0]
    for question in (first, second):
        assert (question.response, question.following, dict(question.extra)) == ("", None, {})
        assert question.dialogue_id == "t0"
    assert (first.id, second.id) == ("t0#1+0", "t0#1+1")
    assert (first.speaker, second.speaker) == ("B", "A")
    assert second.context == (*passage.context, Turn("B", "x 1", "x"))


@pytest.mark.parametrize(
    ("context", "speaker", "expected"),
    [
        ([("A", "hi")], "", ["B", "A"]),
        ([("B", "hi")], "", ["A", "B"]),
        ([("A", "hi")], "A", ["B", "A"]),  # who has just spoken does not answer
        ([("A", "hi"), ("B", "ho")], "B", ["A", "B"]),
        ([("C", "hi"), ("A", "ho")], "D", ["D", "A"]),
        ([("system", "rules"), ("user", "hi")], "assistant", ["assistant", "user"]),
        ([("user", "hi"), ("system", "rules")], "assistant", ["assistant", "user"]),
        ([("system", "rules"), ("A", "hi")], "", ["B", "A"]),
    ],
)
def test_speakers_alternate_from_whoever_is_to_answer(context, speaker, expected):
    passage = Passage(tuple(Turn(*turn) for turn in context), "", id="p", speaker=speaker)
    (dialogue,) = self_chat(Counter("x"), Counter("y"), [passage], turns=2)
    assert [turn.speaker for turn in dialogue.turns[len(context) :]] == expected


def test_an_empty_answer_ends_its_dialogue_and_is_counted(caplog):
    passages = talk(1, 4)  # contexts of one, two and two turns
    two = Counter("y", silent_after=3)
    chats = list(self_chat(Counter("x"), two, passages))
    new = [chat.turns[chat.extra["context_turns"] :] for chat in chats]
    texts = [[turn.text for turn in turns] for turns in new]
    assert texts == [["x 1", "y 2", "x 3"], ["x 2"], ["x 2"]]
    assert [record.getMessage() for record in caplog.records] == [
        "2 of 3 conversations ended before 3 turns, with an empty answer."
    ]


def test_when_all_have_ended_nobody_is_asked_again():
    one, two = Counter("x", silent_after=0), Counter("y")
    assert [len(chat.turns) for chat in self_chat(one, two, talk(1, 3))] == [1, 2]
    assert (len(one.heard), two.heard) == (1, [])


def test_responders_without_a_model_can_chat():
    pool = talk(20, 4)
    chats = list(self_chat(RandomResponder(pool), ParrotResponder(), pool[:3], turns=4))
    for passage, chat in zip(pool, chats, strict=False):
        new = chat.turns[len(passage.context) :]
        assert new[0].text == new[1].text and new[2].text == new[3].text
        assert new[0].text != new[2].text
        assert not any(f"talk {passage.dialogue_id[1:]}" == turn.text[10:] for turn in new)


def test_a_passage_without_an_id_gets_one_from_its_words():
    passage = replace(talk(1, 2)[0], id="")
    (dialogue,) = self_chat(ParrotResponder(), ParrotResponder(), [passage])
    assert len(dialogue.id.removesuffix("@parrot+parrot")) == 16


def test_what_cannot_go_on_is_refused():
    passages = talk(1, 3)
    with pytest.raises(BadInput, match="x gave 4 responses to 2 contexts"):
        list(self_chat(Counter("x", several=2), Counter("y"), passages))
    with pytest.raises(BadInput, match="`turns` is at least 1, but got 0"):
        list(self_chat(Counter("x"), Counter("y"), passages, turns=0))
    with pytest.raises(BadInput, match="passage 'p' has no turn to continue from"):
        list(self_chat(Counter("x"), Counter("y"), [Passage((Turn("system", "s"),), "", id="p")]))
    with pytest.raises(BadInput, match="have no following utterance"):
        list(self_chat(NextResponder(), Counter("y"), passages))
