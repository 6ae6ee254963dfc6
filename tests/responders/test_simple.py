from collections import Counter
from dataclasses import replace

import pytest

from dialeval.dialogues import BadInput, Passage, Turn, iterate, to_passages
from dialeval.responders import respond
from dialeval.responders.simple import (
    ConstantResponder,
    NextResponder,
    ParrotResponder,
    RandomResponder,
)
from tests.conftest import talk


def drawn(responder, passages) -> dict[str, str]:
    return {each.id: each.response for each in respond(responder, passages)}


def with_turns(*texts: str, speaker: str = "A") -> Passage:
    return Passage(tuple(Turn(speaker, text) for text in texts), "", id="p")


def test_a_parrot_says_the_last_turn_and_leaves_the_rest_alone():
    passages = talk(3, 4)
    found = respond(ParrotResponder(), passages)
    assert [each.response for each in found] == [each.context[-1].text for each in passages]
    for passage, said in zip(passages, found, strict=True):
        assert said == replace(passage, response=said.response, author="parrot")


@pytest.mark.parametrize(("turn", "text"), [(0, "a"), (1, "b"), (-1, "c"), (-3, "a")])
def test_a_parrot_says_the_turn_it_is_told_to(turn, text):
    assert respond(ParrotResponder(turn), [with_turns("a", "b", "c")])[0].response == text


def test_a_parrot_does_not_say_what_was_not_spoken():
    context = (Turn("system", "be nice"), Turn("A", "hi"))
    for turn in (0, -1, "random"):
        assert respond(ParrotResponder(turn), [Passage(context, "")])[0].response == "hi"


@pytest.mark.parametrize("turn", [3, -4])
def test_a_parrot_refuses_a_turn_that_is_not_there(turn):
    with pytest.raises(BadInput, match=f"turn {turn} of passage 'p', whose context has 3.*random"):
        respond(ParrotResponder(turn), [with_turns("a", "b", "c")])


def test_a_parrot_needs_something_to_say():
    with pytest.raises(BadInput, match="context has 0"):
        respond(ParrotResponder("random"), [with_turns("rules", speaker="system")])
    with pytest.raises(BadInput, match="not 'first'"):
        ParrotResponder("first")


def test_a_random_parrot_draws_every_turn_about_equally_often_whatever_the_order():
    passages = [
        Passage(tuple(Turn("A", f"{turn}") for turn in "abcd"), "", id=f"p{number}")
        for number in range(800)
    ]
    parrot = ParrotResponder("random")
    found = drawn(parrot, passages)
    assert found == drawn(parrot, passages[::-1]) == drawn(parrot, to_passages(passages))
    assert drawn(parrot, passages[17:18]) == {"p17": found["p17"]}
    assert found != drawn(ParrotResponder("random", seed=1), passages)
    counts = Counter(found.values())
    assert set(counts) == set("abcd") and min(counts.values()) > 150  # 200 each, sd 12


def test_random_replies_are_human_replies_of_other_dialogues():
    human = talk(12, 5)
    pool = [*human, *(each.with_response("I am a bot", "bot") for each in human)]
    homes = {each.response: each.dialogue_id for each in human}
    found = respond(RandomResponder(pool), human)
    for passage, said in zip(human, found, strict=True):
        assert said.author == "random"
        assert said.source_dialogue_id == homes[said.response] != passage.dialogue_id
        assert said.dialogue_id == passage.dialogue_id and said.context == passage.context


def test_random_replies_depend_on_no_order_and_on_no_batch():
    human = talk(12, 5)
    random = RandomResponder(human)
    found = drawn(random, human)
    assert found == drawn(random, human[::-1]) == drawn(random, to_passages(human))
    assert found == drawn(RandomResponder(to_passages(human[::-1])), human)
    assert all(drawn(random, [each]) == {each.id: found[each.id]} for each in human)
    assert found != drawn(RandomResponder(human, seed=1), human)


def test_every_reply_of_another_dialogue_is_equally_likely():
    pool = talk(3, 3)  # two replies in each of three dialogues
    asked = [replace(pool[2], id=f"q{number}") for number in range(800)]  # all of dialogue t1
    counts = Counter(drawn(RandomResponder(pool), asked).values())
    assert set(counts) == {each.response for each in pool if each.dialogue_id != "t1"}
    assert min(counts.values()) > 150  # 200 each, sd 12


def test_a_conversation_that_goes_on_draws_anew():
    start = talk(1, 2)[0]
    longer = [replace(start, context=start.context * size) for size in range(1, 20)]
    assert len(set(each.response for each in respond(RandomResponder(talk(50)), longer))) > 10


def test_a_passage_of_an_unknown_dialogue_may_draw_any_reply():
    one = talk(1, 3)
    stranger = replace(one[0], dialogue_id="elsewhere", id="s")
    assert respond(RandomResponder(one), [stranger])[0].source_dialogue_id == "t0"


def test_a_pool_of_one_dialogue_cannot_answer_it():
    with pytest.raises(BadInput, match="all 2 replies of the pool are of dialogue 't0'.*'t0#1'"):
        respond(RandomResponder(talk(1, 3)), talk(1, 3))


def test_a_pool_without_humans_is_refused():
    with pytest.raises(BadInput, match="the pool of 1 passages holds no human reply"):
        RandomResponder([talk(1, 2)[0].with_response("hi", "bot")])


def test_next_gives_the_utterance_after_the_true_response():
    passages = [each for each in talk(2, 5) if each.following]
    found = respond(NextResponder(), to_passages(passages))
    texts = {each.id: each.response for each in talk(2, 6)}
    for passage, said in zip(passages, found, strict=True):
        dialogue, at = passage.id.split("#")
        assert said.response == texts[f"{dialogue}#{int(at) + 1}"]


def test_next_names_what_has_nothing_following_it_before_it_answers():
    stream = NextResponder().stream(talk(2, 3))
    with pytest.raises(BadInput, match="2 of 4 passages .* the first is 't0#2'. Leave out"):
        next(stream)


def test_a_constant_says_the_same_to_everybody(human):
    found = respond(ConstantResponder("I don't know."), human)
    assert {each.response for each in found} == {"I don't know."} and len(found) == len(human)
    assert [each.id for each in found] == [each.id for each in iterate(human)]


def test_signatures_tell_responders_apart():
    pool = talk(3, 3)
    responders = [
        ParrotResponder(), ParrotResponder(0), ParrotResponder("random"),
        ParrotResponder("random", seed=1), NextResponder(), ConstantResponder("a"),
        ConstantResponder("b"), RandomResponder(pool), RandomResponder(pool, seed=1),
        RandomResponder(pool[1:]), RandomResponder(pool, name="stranger"),
    ]  # fmt: skip
    signatures = [each.signature for each in responders]
    assert len(set(signatures)) == len(signatures)
    assert all(":" in part for text in signatures for part in text.split("|"))
    assert RandomResponder(pool).signature == RandomResponder(pool[::-1]).signature
