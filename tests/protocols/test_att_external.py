"""Attackers from elsewhere: how they are named, and what is kept of what they say."""

import json

import pytest

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.protocols.att import external_attackers
from dialeval.protocols.att.external import answers_of
from dialeval.responders.simple import ConstantResponder
from tests.responders.endpoint_server import serving, status


def passages(count: int = 5) -> list[Passage]:
    return [
        Passage(
            id=f"p{n}", dialogue_id=f"d{n}", corpus="c", language="en",
            context=(Turn("a", f"question {n}"),), response=f"human {n}", author="human",
        )
        for n in range(count)
    ]  # fmt: skip


def test_a_server_is_named_with_its_model_and_answers(tmp_path):
    with serving() as server:
        found = external_attackers([f"bot=tiny@{server.url}"], max_new_tokens=7, seed=3)
        said = answers_of(found["bot"], passages(), tmp_path / "bot.jsonl")
        bodies = server.bodies
    assert [each.response for each in said] == [f"re: question {n}" for n in range(5)]
    assert {each.author for each in said} == {"bot"}
    assert {(body["model"], body["max_tokens"], body["temperature"]) for body in bodies} == {
        ("tiny", 7, 1.0)
    }


def test_without_a_name_the_model_gives_it():
    found = external_attackers(["org/tiny@http://localhost:1/v1"])
    assert found["org/tiny"].model == "org/tiny"


def test_a_server_that_fails_is_asked_only_what_is_left(tmp_path):
    path = tmp_path / "bot.jsonl"
    with serving() as server:
        responder = external_attackers([f"bot=tiny@{server.url}"])["bot"]
        server.plan["question 3"] = [status(400, "no"), status(400, "no")]
        with pytest.raises(BadInput, match="no"):
            answers_of(responder, passages(), path)
        del server.plan["question 3"]
        before = dict(server.attempts)
        said = answers_of(responder, passages(), path)
        again = {text: server.attempts[text] - before.get(text, 0) for text in server.attempts}
    assert [each.response for each in said] == [f"re: question {n}" for n in range(5)]
    assert again["question 3"] == 1
    assert again["question 0"] == 0


def test_a_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as told:
        external_attackers(["bot=tiny@http://me:secret@localhost:1/v1"])
    assert "secret" not in str(told.value)


def test_stored_responses_attack_with_their_first_answer(tmp_path):
    rows = [
        {"id": each.id, "context": [{"role": "a", "content": each.context[0].text}],
         "response": f"{which} {each.id}", "author": "old", "hypothesis": number}
        for each in passages() for number, which in enumerate(("first", "second"))
    ]  # fmt: skip
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    found = external_attackers([f"old={path}"])
    said = answers_of(found["old"], passages(), tmp_path / "said.jsonl")
    assert [each.response for each in said] == [f"first p{n}" for n in range(5)]


def test_the_same_words_to_every_context_are_all_kept(tmp_path):
    said = answers_of(ConstantResponder("i do not know", "dull"), passages(), tmp_path / "d.jsonl")
    assert [(each.id, each.response) for each in said] == [
        (f"p{n}", "i do not know") for n in range(5)
    ]


@pytest.mark.parametrize("told", ["=file.jsonl", "bot=", ""])
def test_an_attacker_without_name_or_source_is_refused_with_the_forms(told):
    with pytest.raises(BadInput, match="name=model@http"):
        external_attackers([told])


def test_two_attackers_of_one_name_are_refused():
    with pytest.raises(BadInput, match="called 'a'"):
        external_attackers(["a=m@http://localhost:1", "a=n@http://localhost:1"])
