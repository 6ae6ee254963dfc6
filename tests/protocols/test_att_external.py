"""External attackers: how they are specified, and which of their responses are used."""

import json

import pytest

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.protocols.att import external_attackers
from dialeval.protocols.att.external import collect_responses
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


def test_a_server_is_specified_with_its_model_and_answers(tmp_path):
    with serving() as server:
        attackers = external_attackers([f"bot=tiny@{server.url}"], max_new_tokens=7, seed=3)
        answers = collect_responses(attackers["bot"], passages(), tmp_path / "bot.jsonl")
        bodies = server.bodies
    assert [answer.response for answer in answers] == [f"re: question {n}" for n in range(5)]
    assert {answer.author for answer in answers} == {"bot"}
    assert {(body["model"], body["max_tokens"], body["temperature"]) for body in bodies} == {
        ("tiny", 7, 1.0)
    }


def test_the_default_name_is_that_of_the_model():
    attackers = external_attackers(["org/tiny@http://localhost:1/v1"])
    assert attackers["org/tiny"].model == "org/tiny"


def test_after_a_server_error_only_missing_contexts_are_requested(tmp_path):
    path = tmp_path / "bot.jsonl"
    with serving() as server:
        responder = external_attackers([f"bot=tiny@{server.url}"])["bot"]
        server.plan["question 3"] = [status(400, "no"), status(400, "no")]
        with pytest.raises(BadInput, match="no"):
            collect_responses(responder, passages(), path)
        del server.plan["question 3"]
        before = dict(server.attempts)
        answers = collect_responses(responder, passages(), path)
        again = {text: server.attempts[text] - before.get(text, 0) for text in server.attempts}
    assert [answer.response for answer in answers] == [f"re: question {n}" for n in range(5)]
    assert again["question 3"] == 1
    assert again["question 0"] == 0


def test_a_password_in_a_url_is_refused_and_not_printed():
    with pytest.raises(BadInput, match="OPENAI_API_KEY") as error:
        external_attackers(["bot=tiny@http://me:secret@localhost:1/v1"])
    assert "secret" not in str(error.value)


def test_the_first_stored_response_is_used(tmp_path):
    rows = [
        {"id": passage.id, "context": [{"role": "a", "content": passage.context[0].text}],
         "response": f"{which} {passage.id}", "author": "old", "hypothesis": number}
        for passage in passages() for number, which in enumerate(("first", "second"))
    ]  # fmt: skip
    path = tmp_path / "old.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    attackers = external_attackers([f"old={path}"])
    answers = collect_responses(attackers["old"], passages(), tmp_path / "answers.jsonl")
    assert [answer.response for answer in answers] == [f"first p{n}" for n in range(5)]


def test_repeated_responses_are_all_kept(tmp_path):
    dull = ConstantResponder("i do not know", "dull")
    answers = collect_responses(dull, passages(), tmp_path / "d.jsonl")
    assert [(answer.id, answer.response) for answer in answers] == [
        (f"p{n}", "i do not know") for n in range(5)
    ]


@pytest.mark.parametrize("spec", ["=file.jsonl", "bot=", ""])
def test_an_attacker_without_name_or_source_is_refused_with_the_forms(spec):
    with pytest.raises(BadInput, match="name=model@http"):
        external_attackers([spec])


def test_two_attackers_of_one_name_are_refused():
    with pytest.raises(BadInput, match="called 'a'"):
        external_attackers(["a=m@http://localhost:1", "a=n@http://localhost:1"])
