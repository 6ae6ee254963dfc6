"""Which turns become context and response, and what the papers' filters keep."""

import pytest

from dialeval.dialogues import FILTERS, BadInput, Cut, Dialogue, Filters, Passage, Reply, Turn

DIALOGUE = Dialogue.from_texts(["a", "b", "c", "d", "e"], id="x")


def cut(**settings):
    return [
        ("".join(turn.text for turn in passage.context), passage.response, passage.following)
        for passage in Cut(**settings)(DIALOGUE)
    ]


def test_every_turn_after_the_first_answers_the_last_two():
    assert cut() == [("a", "b", "c"), ("ab", "c", "d"), ("bc", "d", "e"), ("cd", "e", None)]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"responses": "last"}, [("cd", "e", None)]),
        ({"context_turns": 1, "responses": "last"}, [("d", "e", None)]),
        ({"context_turns": 3, "full_context": True}, [("abc", "d", "e"), ("bcd", "e", None)]),
        ({"context_turns": 9, "full_context": True}, []),
    ],
)
def test_settings_of_a_cut(settings, expected):
    assert cut(**settings) == expected


def test_one_passage_is_chosen_by_the_dialogue_and_not_by_its_place():
    chosen = {
        next(iter(Cut(responses="one")(Dialogue.from_texts("abcdefgh", id=str(n))))).response
        for n in range(50)
    }
    assert len(chosen) > 4
    assert cut(responses="one") == cut(responses="one") and len(cut(responses="one")) == 1


def test_a_given_context_is_kept_whole_unless_asked():
    dialogue = Dialogue(DIALOGUE.turns, "x", replies=(Reply("human", "r", id="q"),))
    assert len(next(iter(Cut()(dialogue))).context) == 5
    assert len(next(iter(Cut(context_turns=2)(dialogue))).context) == 2


def test_ids_tell_the_place_and_the_speaker_alternates():
    passages = list(Cut()(DIALOGUE))
    assert [passage.id for passage in passages] == ["x#1", "x#2", "x#3", "x#4"]
    assert [passage.speaker for passage in passages] == ["B", "A", "B", "A"]


def test_nobody_answers_as_the_system():
    turns = Turn("system", "be kind"), Turn("user", "hi")
    (passage,) = Cut()(Dialogue(turns, "x", replies=(Reply("human", "hello"),)))
    assert passage.speaker == "A"
    longer = (turns[0], Turn("assistant", "welcome"), Turn("tool", "{}"), turns[1])
    (passage,) = Cut()(Dialogue(longer, "x", replies=(Reply("human", "hello"),)))
    assert passage.speaker == "assistant"


def test_an_id_made_of_the_words_does_not_depend_on_the_line():
    assert Dialogue.from_texts(["a", "b"]).id == Dialogue.from_texts(["a", "b"]).id
    assert Dialogue.from_texts(["a", "b"]).id != Dialogue.from_texts(["ab"]).id


@pytest.mark.parametrize(
    ("filters", "context", "response", "kept"),
    [
        (FILTERS["li"], "hi", "one two three four five", True),
        (FILTERS["li"], "hi", "one two three four", False),
        (FILTERS["bruni"], "one two three", "one two three", True),
        (FILTERS["bruni"], "one two", "one two three", False),
        (FILTERS["bruni"], "one two three", "w " * 26, False),
        (FILTERS["bruni"], "w " * 26, "one two three", False),
        (FILTERS["bruni"], "one two <unk>", "one two three", False),
        (Filters(forbidden=("[x]",)), "a", "b [x]", False),
        (FILTERS["none"], "a", "", True),
    ],
)
def test_the_papers_filters(filters, context, response, kept):
    assert filters(Passage((Turn("A", context),), response)) is kept


def test_impossible_cuts_are_refused():
    with pytest.raises(BadInput, match="at least 1 turn, but got 0"):
        Cut(context_turns=0)
    with pytest.raises(BadInput, match="every, last or one, but got 'first'"):
        Cut(responses="first")
