"""Fields that a server refuses are renamed or left out, once, and remembered."""

import pytest

from dialeval.dialogues import BadInput, Passage, Turn
from dialeval.responders import respond
from dialeval.responders.optional_fields import refused_field
from tests.responders.endpoint_server import Server, ask, refusing, serving, status


@pytest.fixture
def server() -> Server:
    with serving() as running:
        yield running


def questions(*texts: str) -> list[Passage]:
    return [Passage((Turn("A", text),), "", id=text, dialogue_id=text) for text in texts]


def test_the_newer_name_of_a_limit_is_used_after_one_refusal(server, caplog):
    server.usual = refusing("max_tokens")
    responder = ask(server, concurrency=1, max_tokens=9)
    respond(responder, questions("a", "b", "c"))
    respond(responder, questions("d"))
    names = [
        sorted({"max_tokens", "max_completion_tokens"} & body.keys()) for body in server.bodies
    ]
    assert names == [["max_tokens"], *[["max_completion_tokens"]] * 4]
    assert {body["max_completion_tokens"] for body in server.bodies[1:]} == {9}
    assert not caplog.records


def test_several_refused_fields_are_left_out_and_said_once(server, caplog):
    server.usual = refusing("temperature", "seed", "max_tokens")
    server.together = 4
    responder = ask(server, concurrency=4, temperature=0.0)
    assert not responder.samples
    assert len(respond(responder, questions(*"abcdefgh"))) == 8
    last = server.bodies[-1]
    assert {"model", "messages", "max_completion_tokens"} == last.keys()
    messages = [record.getMessage() for record in caplog.records]
    assert sorted(text.partition("`")[2].partition("`")[0] for text in messages) == [
        "seed", "temperature",
    ]  # fmt: skip
    assert responder.samples  # its temperature is no longer 0


def test_other_refusals_stay_errors(server):
    server.usual = status(400, "max_tokens is too large: 128. The maximum is 64.")
    with pytest.raises(BadInput, match="too large"):
        respond(ask(server, concurrency=1), questions("a"))
    assert len(server.bodies) == 1


def test_a_server_that_refuses_whatever_is_sent_is_not_asked_forever(server):
    server.usual = status(400, "unknown parameter: max_tokens, max_completion_tokens")
    with pytest.raises(BadInput, match="unknown parameter"):
        respond(ask(server, concurrency=1), questions("a"))
    assert len(server.bodies) <= 3


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Unsupported value: 'temperature' does not support 0 with this model.", "temperature"),
        (
            '{"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}',
            "seed",
        ),
        ('{"error": {"message": "Unsupported: max_tokens", "param": "top_p"}}', "top_p"),
        ('{"error": "unknown field my_temperature"}', ""),
        ("The model does not exist", ""),
    ],
)
def test_the_refused_field_is_read_from_the_message(text, name):
    assert refused_field(text) == name
