from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialeval.perturbations import Edit, replay
from dialeval.perturbations.questions import QuestionStatement

LIGHT = QuestionStatement(tagger="light")

TO_STATEMENT = [
    ("Are you ready?", "You are ready."),
    ("Am I late?", "I am late."),
    ("Is it cold ?", "It is cold ."),
    ("Can I help you?", "I can help you."),
    ("Will they come?", "They will come."),
    ("Do you like tea?", "You like tea."),
    ("Does he like tea?", "He likes tea."),
    ("Did you go home?", "You went home."),
    ("Do you really like it?", "You really like it."),
    ("Have you finished?", "You have finished."),
    ("Isn't it nice?", "It isn't nice."),
    ("Don't you like it?", "You don't like it."),
    ("Do you have any money?", "You have some money."),
    ("Is there a bank?", "There is a bank."),
    ("Well , are you sure ?", "Well , you are sure ."),
    ("Did you?", "You did."),
    ("are you there?", "you are there."),
]

TO_QUESTION = [
    ("You are ready.", "Are you ready?"),
    ("I am late.", "Am I late?"),
    ("I'm late.", "Am I late?"),
    ("It's cold.", "Is it cold?"),
    ("It's been cold.", "Has it been cold?"),
    ("We'll see it.", "Will we see it?"),
    ("I'd enjoy that.", "Would I enjoy that?"),
    ("He likes tea.", "Does he like tea?"),
    ("I went home.", "Did I go home?"),
    ("They live here.", "Do they live here?"),
    ("I have seen it.", "Have I seen it?"),
    ("I have a dog.", "Do I have a dog?"),
    ("Yes , I have .", "Yes , have I ?"),
    ("You don't know.", "Don't you know?"),
    ("There is time.", "Is there time?"),
    ("I really like it.", "Do I really like it?"),
    ("That ’ s smart .", "Is that smart ?"),
    ("i have a problem", "do i have a problem?"),
    ("Good idea . You can come .", "Good idea . Can you come ?"),
]


@pytest.mark.parametrize(("text", "expected"), TO_STATEMENT + TO_QUESTION)
def test_sentences_are_inverted(text, expected):
    assert LIGHT(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello!",
        "What is your name?",
        "The man is here.",
        "Have you ever been there?",
        "Tea or coffee?",
        "I am tired , so I go home now .",
        "You are welcome.",
        "Go home!",
        "😀?",
    ],
)
def test_what_is_not_safe_has_no_edits(text):
    assert LIGHT.edits(text, Random(0)) == []


def test_edits_name_the_inversion_and_the_mark():
    assert LIGHT.edits("Are you ready?", Random(0)) == [
        Edit(0, "Are you", "You are"),
        Edit(13, "?", "."),
    ]


PIECES = """
I you he it there is are isn't 's I'm I'd do does did have had can like likes any not been really
tea , . ? ! Yes that the
"""
WORDS = st.sampled_from([*PIECES.split(), "\t", "\n", "’ ll"])


@given(st.lists(WORDS, max_size=20).map(" ".join) | st.text())
def test_edits_replay_and_are_deterministic(text):
    edits = LIGHT.edits(text, Random(0))
    assert edits == LIGHT.edits(text, Random(1))
    assert (replay(text, edits) != text) == bool(edits)
