"""What counts as a behaviour in one turn, and what only looks like it."""

import pytest

from dialeval.protocols.profile.traits import TRAITS

HESITATIONS = """Uh, I don't know|um what|hmm okay|it's kind of cold|I kind of like it|Kind of.
He was sort of nice.|You know, it rains|it was, you know, hard|It's hard, you know?
I mean, why not|well i mean it works|I guess so|wait...|that's kinda sad|erm yes|mm, maybe"""
OTHERS = """What kind of food do you like?|this kind of music|a sort of cake|all sorts of things
Do you know him?|You know what I want|did you know|if you know|You know that I can't
That's kind of you.|that's very kind of you|some kind of joke|It is the kind of thing
What do you mean?|That's what I mean.|I mean it.|I meant it|5 mm wide|Uh-huh"""


def shows(name, text):
    (trait,) = (trait for trait in TRAITS if trait.name == name)
    return trait.in_turn(text)


@pytest.mark.parametrize("text", HESITATIONS.replace("\n", "|").split("|"))
def test_a_hesitation(text):
    assert shows("hesitations", text)


@pytest.mark.parametrize("text", OTHERS.replace("\n", "|").split("|"))
def test_words_of_hesitations_that_mean_something_else(text):
    assert not shows("hesitations", text)
