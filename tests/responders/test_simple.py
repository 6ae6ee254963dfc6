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
    return {passage.id: passage.response for passage in respond(responder, passages)}


def with_turns(*texts: str, speaker: str = "A") -> Passage:
    return Passage(tuple(Turn(speaker, text) for text in texts), "", id="p")


def test_a_parrot_says_the_last_turn_and_leaves_the_rest_alone():
    passages = talk(3, 4)
    responses = respond(ParrotResponder(), passages)
    assert [passage.response for passage in responses] == [
        passage.context[-1].text for passage in passages
    ]
    for passage, reply in zip(passages, responses, strict=True):
        assert reply == replace(passage, response=reply.response, author="parrot")


@pytest.mark.parametrize(("turn", "text"), [(0, "a"), (1, "b"), (-1, "c"), (-3, "a")])
def test_a_parrot_says_the_turn_it_is_told_to(turn, text):
    assert respond(ParrotResponder(turn), [with_turns("a", "b", "c")])[0].response == text


def test_a_parrot_does_not_say_what_was_not_spoken():
    context = (Turn("system", "be nice"), Turn("A", "hi"), Turn("tool", "{}"))
    for turn in (0, -1, "random"):
        assert respond(ParrotResponder(turn), [Passage(context, "")])[0].response == "hi"


@pytest.mark.parametrize("turn", [3, -4])
def test_a_parrot_refuses_a_turn_that_is_not_there(turn):
    with pytest.raises(BadInput, match=f"turn {turn} of passage 'p', whose context has 3.*random"):
        respond(ParrotResponder(turn), [with_turns("a", "b", "c")])


def test_a_parrot_needs_something_to_say():
    with pytest.raises(BadInput, match="context has 0"):
        respond(ParrotResponder("random"), [with_turns("rules", speaker="system")])
    with pytest.raises(BadInput, match="but got 'first'"):
        ParrotResponder("first")


def test_a_random_parrot_draws_every_turn_about_equally_often_whatever_the_order():
    passages = [
        Passage(tuple(Turn("A", f"{turn}") for turn in "abcd"), "", id=f"p{number}")
        for number in range(800)
    ]
    parrot = ParrotResponder("random")
    responses = drawn(parrot, passages)
    assert responses == drawn(parrot, passages[::-1]) == drawn(parrot, to_passages(passages))
    assert drawn(parrot, passages[17:18]) == {"p17": responses["p17"]}
    assert responses != drawn(ParrotResponder("random", seed=1), passages)
    counts = Counter(responses.values())
    assert set(counts) == set("abcd") and min(counts.values()) > 150  # 200 each, sd 12


def test_random_replies_are_human_replies_of_other_dialogues():
    human = talk(12, 5)
    pool = [*human, *(passage.with_response("I am a bot", "bot") for passage in human)]
    homes = {passage.response: passage.dialogue_id for passage in human}
    responses = respond(RandomResponder(pool), human)
    for passage, reply in zip(human, responses, strict=True):
        assert reply.author == "random"
        assert reply.source_dialogue_id == homes[reply.response] != passage.dialogue_id
        assert reply.dialogue_id == passage.dialogue_id and reply.context == passage.context


def test_random_replies_depend_on_no_order_and_on_no_batch():
    human = talk(12, 5)
    random = RandomResponder(human)
    responses = drawn(random, human)
    assert responses == drawn(random, human[::-1]) == drawn(random, to_passages(human))
    assert responses == drawn(RandomResponder(to_passages(human[::-1])), human)
    assert all(drawn(random, [passage]) == {passage.id: responses[passage.id]} for passage in human)
    assert responses != drawn(RandomResponder(human, seed=1), human)


def test_every_reply_of_another_dialogue_is_equally_likely():
    pool = talk(3, 3)  # two replies in each of three dialogues
    queries = [replace(pool[2], id=f"q{number}") for number in range(800)]  # all of dialogue t1
    counts = Counter(drawn(RandomResponder(pool), queries).values())
    assert set(counts) == {passage.response for passage in pool if passage.dialogue_id != "t1"}
    assert min(counts.values()) > 150  # 200 each, sd 12


def test_a_conversation_that_goes_on_draws_anew():
    start = talk(1, 2)[0]
    longer = [replace(start, context=start.context * size) for size in range(1, 20)]
    assert len(set(passage.response for passage in respond(RandomResponder(talk(50)), longer))) > 10


def test_a_passage_of_an_unknown_dialogue_may_draw_any_reply():
    one = talk(1, 3)
    stranger = replace(one[0], dialogue_id="elsewhere", id="s")
    assert respond(RandomResponder(one), [stranger])[0].source_dialogue_id == "t0"


def test_a_pool_of_one_dialogue_cannot_answer_it():
    with pytest.raises(BadInput, match="all 2 replies of the pool are from dialogue 't0'.*'t0#1'"):
        respond(RandomResponder(talk(1, 3)), talk(1, 3))


def test_a_pool_without_humans_is_refused():
    with pytest.raises(BadInput, match="the pool of 1 passages contains no human reply"):
        RandomResponder([talk(1, 2)[0].with_response("hi", "bot")])


def test_next_gives_the_utterance_after_the_true_response():
    passages = [passage for passage in talk(2, 5) if passage.following]
    responses = respond(NextResponder(), to_passages(passages))
    texts = {passage.id: passage.response for passage in talk(2, 6)}
    for passage, reply in zip(passages, responses, strict=True):
        dialogue, at = passage.id.split("#")
        assert reply.response == texts[f"{dialogue}#{int(at) + 1}"]


def test_next_names_what_has_nothing_following_it_before_it_answers():
    stream = NextResponder().stream(talk(2, 3))
    with pytest.raises(BadInput, match="2 of 4 passages .* the first is 't0#2'. Leave out"):
        next(stream)


def test_a_constant_says_the_same_to_everybody(human):
    responses = respond(ConstantResponder("I don't know."), human)
    assert {passage.response for passage in responses} == {"I don't know."} and len(
        responses
    ) == len(human)
    assert [passage.id for passage in responses] == [passage.id for passage in iterate(human)]


def test_signatures_tell_responders_apart():
    pool = talk(3, 3)
    responders = [
        ParrotResponder(), ParrotResponder(0), ParrotResponder("random"),
        ParrotResponder("random", seed=1), NextResponder(), ConstantResponder("a"),
        ConstantResponder("b"), RandomResponder(pool), RandomResponder(pool, seed=1),
        RandomResponder(pool[1:]), RandomResponder(pool, name="stranger"),
    ]  # fmt: skip
    signatures = [responder.signature for responder in responders]
    assert len(set(signatures)) == len(signatures)
    assert all(":" in part for text in signatures for part in text.split("|"))
    assert RandomResponder(pool).signature == RandomResponder(pool[::-1]).signature
