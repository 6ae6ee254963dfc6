import asyncio
import logging
import socket
import threading
from dataclasses import replace

import pytest

from dialeval.dialogues import BadInput, Passage, Turn, to_passages
from dialeval.responders import respond
from dialeval.responders.endpoint import EndpointResponder, to_messages
from tests.conftest import talk
from tests.responders.endpoint_server import (
    Pauses,
    Server,
    ask,
    completion,
    echo_key,
    raw,
    serving,
    slow,
    status,
    wait_until,
)

KEY = "sk-proj-Abc/123+xyz987"


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch):
    for name in ("OPENAI_API_KEY", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Server:
    with serving() as running:
        yield running


def questions(*texts: str) -> list[Passage]:
    return [Passage((Turn("A", text),), "", id=f"q-{text}", dialogue_id=text) for text in texts]


def texts(passages: list[Passage]) -> list[str]:
    return [passage.response for passage in passages]


@pytest.mark.parametrize("kind", [list, to_passages])
def test_answers_come_in_the_order_of_the_passages(server, kind):
    responses = respond(ask(server), kind(questions("one", "two", "three")))
    assert texts(responses) == ["re: one", "re: two", "re: three"]
    assert [passage.author for passage in responses] == ["tiny"] * 3
    assert [passage.id for passage in responses] == ["q-one", "q-two", "q-three"]
    assert responses[0].extra == {}


def test_the_request_says_what_the_settings_say(server):
    responder = ask(
        server,
        name="bot",
        system_prompt="be brief",
        temperature=0.5,
        top_p=0.9,
        max_tokens=7,
        extra_body={"top_k": 3, "max_tokens": None, "max_completion_tokens": 7},
    )
    respond(responder, questions("hi"))
    body = server.bodies[0]
    assert 0 <= body.pop("seed") < 2**31
    assert body == {
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hi"},
        ],
        "temperature": 0.5,
        "top_p": 0.9,
        "max_completion_tokens": 7,
        "top_k": 3,
    }
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    ("ending", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/v1/", "/v1/chat/completions"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/serve/v2?api-version=7", "/serve/v2/chat/completions?api-version=7"),
    ],
)
def test_the_address_may_be_given_in_full_or_in_part(server, ending, path):
    url = server.url.removesuffix("/v1") + ending
    respond(EndpointResponder(url, "tiny"), questions("hi"))
    assert server.paths == [path]


def test_seeds_depend_on_seed_passage_and_number_and_on_no_order(server):
    def sent(passages, **settings):
        server.bodies.clear()
        respond(ask(server, **settings), passages)
        seeds = {}
        for body in server.bodies:
            seeds.setdefault(body["messages"][-1]["content"], set()).add(body["seed"])
        return seeds

    one, two = questions("one", "two")
    first = sent([one, two])
    assert first == sent([two, one]) == {**sent([one]), **sent([two], concurrency=1)}
    assert first["one"] != first["two"]
    assert first["one"] != sent([one], seed=1)["one"]
    several = sent([one], n=3)["one"]
    assert len(several) == 3 and first["one"] < several


def test_roles_alternate_back_from_the_last_speaker():
    def roles(*turns):
        passage = Passage(tuple(Turn(*turn) for turn in turns), "")
        return [(message["role"], message["content"]) for message in to_messages(passage)]

    assert roles(("A", "1"), ("B", "2"), ("A", "3")) == [
        ("user", "1"), ("assistant", "2"), ("user", "3"),
    ]  # fmt: skip
    assert roles(("A", "1"), ("B", "2")) == [("assistant", "1"), ("user", "2")]
    assert roles(("assistant", "1"), ("user", "2")) == [("assistant", "1"), ("user", "2")]
    assert roles(("A", "1"), ("A", "2"), ("B", "3"), ("B", "4")) == [
        ("assistant", "1 2"), ("user", "3 4"),
    ]  # fmt: skip
    assert roles(("", "1"), ("", "2")) == [("assistant", "1"), ("user", "2")]
    assert roles(("?", "1"), ("?", "2")) == [("assistant", "1"), ("user", "2")]
    assert roles(("developer", "s"), ("user", "1"), ("tool", "{}")) == [
        ("system", "s"), ("user", "1"),
    ]  # fmt: skip
    assert roles(("system", "s"), ("user", "1"), ("assistant", "2"), ("user", "3")) == [
        ("system", "s"), ("user", "1"), ("assistant", "2"), ("user", "3"),
    ]  # fmt: skip


def test_several_answers_are_numbered_and_come_together(server):
    server.plan["two"] = [completion(), completion("other"), status(400)]
    received, problem = [], None
    try:
        for index, passage in ask(server, n=3, concurrency=1).stream(questions("one", "two")):
            received.append((index, passage.response, passage.extra["hypothesis"]))
    except BadInput as error:
        problem = str(error)
    assert received == [(0, "re: one", 0), (0, "re: one", 1), (0, "re: one", 2)]
    assert "1 of 2 passages got no answer" in problem


def test_no_more_requests_are_under_way_than_allowed(server):
    server.together = 3
    respond(ask(server, concurrency=3), questions(*map(str, range(12))))
    assert server.most == 3


def test_the_limit_holds_for_several_answers_too(server):
    server.together = 4
    responses = respond(ask(server, concurrency=4, n=5), questions("a", "b", "c"))
    assert server.most == 4
    assert [passage.extra["hypothesis"] for passage in responses] == [0, 1, 2, 3, 4] * 3


def test_answers_are_given_as_they_complete(server):
    server.plan["first"] = [slow(30)]
    stream = ask(server, timeout=60).stream(questions("first", "second", "third"))
    assert {next(stream)[0], next(stream)[0]} == {1, 2}
    stream.close()


PASSING = {
    "429": status(429),
    "408": status(408),
    "409": status(409),
    "500": status(500),
    "503": status(503),
    "malformed JSON": raw("{"),
    "an error as a completion": raw('{"error": {"message": "upstream"}}'),
    "no choices": raw('{"choices": []}'),
    "a number as content": raw('{"choices": [{"message": {"content": 3}}]}'),
    "a list": raw("[]"),
    "half a body": raw('{"choices": [{"message": {"content": "hal', more=50),
}


@pytest.mark.parametrize("kind", PASSING)
def test_a_passing_failure_is_tried_again(server, kind):
    server.plan["hi"] = [PASSING[kind], PASSING[kind], completion("well")]
    assert texts(respond(ask(server), questions("hi"))) == ["well"]
    assert server.attempts["hi"] == 3
    assert len({body["seed"] for body in server.bodies}) == 1  # the same question


def test_a_request_that_takes_too_long_is_made_again(server):
    server.plan["hi"] = [slow(30), completion("well")]
    assert texts(respond(ask(server, timeout=0.2), questions("hi"))) == ["well"]


def test_pauses_double_with_jitter_of_the_row(server):
    server.plan["hi"] = [status(500)] * 4 + [completion()]
    pauses = [Pauses(), Pauses(), Pauses()]
    for pause, seed in zip(pauses, (0, 0, 1), strict=True):
        server.attempts.clear()
        respond(ask(server, sleep=pause, backoff=0.5, seed=seed), questions("hi"))
    assert pauses[0].seconds == pauses[1].seconds != pauses[2].seconds
    for attempt, seconds in enumerate(pauses[0].seconds):
        assert 0.25 * 2**attempt <= seconds <= 0.5 * 2**attempt


def test_a_server_that_names_the_pause_is_obeyed(server):
    server.plan["hi"] = [status(429, Retry_After="17"), completion()]
    pause = Pauses()
    respond(ask(server, sleep=pause), questions("hi"))
    assert pause.seconds == [17.0]


def test_a_pause_may_be_named_by_a_date(server):
    server.plan["past"] = [
        status(503, Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), completion()
    ]  # fmt: skip
    server.plan["odd"] = [status(503, Retry_After="soon"), completion()]
    pause = Pauses()
    respond(ask(server, sleep=pause), questions("past", "odd"))
    assert all(0.5 <= seconds <= 1 for seconds in pause.seconds) and len(pause.seconds) == 2
    server.plan["far"] = [status(503, Retry_After="Wed, 21 Oct 2115 07:28:00 GMT")]
    with pytest.raises(BadInput, match=r"asks for a pause of [\d.e+]+ s"):
        respond(ask(server), questions("far"))
    assert server.attempts["far"] == 1


@pytest.mark.parametrize("code", [400, 404, 422, 307])
def test_other_refusals_fail_at_once_with_the_words_of_the_server(server, code):
    server.plan["hi"] = [status(code, "roles must alternate", Location="http://elsewhere")]
    with pytest.raises(BadInput, match=f"{code} .*: roles must alternate .*run the same command"):
        respond(ask(server), questions("hi"))
    assert server.attempts["hi"] == 1


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('{"error": "plain"}', "plain"),
        ('{"detail": [{"loc": "body"}]}', r'\[{"loc": "body"}\]'),
        ("<html>\n busy </html>", "<html> busy </html>"),
        ("", "no message."),
        ("x" * 1000, "x{300} "),
    ],
)
def test_messages_of_any_shape_are_shown(server, text, shown):
    server.plan["hi"] = [lambda handler: handler.send(400, text)]
    with pytest.raises(BadInput, match=f"400 Bad Request: {shown}"):
        respond(ask(server), questions("hi"))


def test_what_is_finished_or_under_way_is_given_before_the_error(server):
    refused, under_way = threading.Event(), threading.Semaphore(0)

    def refuse(handler):
        for _ in "de":  # both others are being asked before the refusal comes
            under_way.acquire(timeout=5)
        status(400, "no")(handler)
        refused.set()

    def come_after(handler):
        under_way.release()
        refused.wait(5)
        server.closing.wait(0.1)  # the refusal has arrived by now
        completion()(handler)

    server.plan |= {"b": [completion()], "c": [refuse], "d": [come_after], "e": [come_after]}
    indices = []
    with pytest.raises(BadInput, match="1 of 9 passages got no answer and 4 were not started"):
        for index, _ in ask(server, concurrency=3).stream(questions(*"abcdefghi")):
            indices.append(index)
    assert sorted(indices) == [0, 1, 3, 4]
    assert set(server.attempts) == set("abcde")


def test_after_the_last_attempt_the_error_says_how_many_why_and_what_to_do(server):
    for text in "ab":
        server.plan[text] = [status(500, "out of memory")]
    with pytest.raises(BadInput) as caught:
        respond(ask(server, retries=2, name="bot"), questions("a", "b"))
    assert server.attempts == {"a": 3, "b": 3}
    host = server.url.removeprefix("http://").removesuffix("/v1")
    assert str(caught.value) == (
        f"bot at {host}: 2 of 2 passages got no answer. The last reason: 500 Internal Server "
        "Error: out of memory Check the server's log, and run the same command again: finished "
        "work is kept."
    )


def test_too_many_requests_are_blamed_on_the_concurrency(server):
    server.plan["a"] = [status(429)]
    with pytest.raises(BadInput, match="429 .*: not now Lower the concurrency, and run the same"):
        respond(ask(server, retries=1), questions("a"))


def test_a_server_that_is_down_is_to_be_started():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    pause = Pauses()
    responder = EndpointResponder(f"http://127.0.0.1:{port}", "tiny", retries=3, sleep=pause)
    with pytest.raises(BadInput, match=f"127.0.0.1:{port}.* Start the server"):
        respond(responder, questions("hi"))
    assert len(pause.seconds) == 3


def test_the_key_is_read_when_a_request_is_made(server, monkeypatch):
    responder = ask(server, api_key_env="MY_KEY")
    respond(responder, questions("hi"))
    monkeypatch.setenv("MY_KEY", f" {KEY}\n")
    respond(responder, questions("hi"))
    sent = [headers.get("Authorization") for headers in server.headers]
    assert sent == [None, f"Bearer {KEY}"]


@pytest.mark.parametrize("code", [401, 500])
def test_the_key_appears_nowhere(server, monkeypatch, caplog, capfd, code):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server.plan["hi"] = [echo_key(code)]
    responder = ask(server, retries=0)
    with caplog.at_level(logging.DEBUG), pytest.raises(BadInput) as caught:
        respond(responder, questions("hi"))
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert "Bad key ***" in str(caught.value)
    shown = [
        str(caught.value),
        repr(responder),
        responder.signature,
        caplog.text,
        *capfd.readouterr(),
    ]
    for secret in (KEY, KEY[:8], KEY[-4:]):
        assert not any(secret in text for text in shown)
    assert caught.value.__cause__ is None
    assert code != 401 or "environment variable OPENAI_API_KEY" in str(caught.value)


def test_a_key_that_no_header_can_hold_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one\nsk-two")
    with pytest.raises(BadInput, match="not allowed in a header") as caught:
        respond(ask(server), questions("hi"))
    assert "sk-" not in str(caught.value) and not server.bodies


def test_credentials_and_query_of_the_address_are_sent_but_not_shown(server):
    url = server.url.replace("//", "//me:secret-word@") + "?token=hidden-value"
    server.plan["hi"] = [status(403, "no entry for secret-word, hidden-value, hidden%2Dvalue")]
    responder = EndpointResponder(url, "tiny")
    with pytest.raises(BadInput, match="no entry for") as caught:
        respond(responder, questions("hi"))
    assert server.headers[0]["Authorization"] == "Basic bWU6c2VjcmV0LXdvcmQ="
    assert server.paths == ["/v1/chat/completions?token=hidden-value"]
    for shown in (str(caught.value), responder.signature, repr(responder)):
        assert not any(word in shown for word in ("secret", "hidden", "me:"))


def test_the_signature_tells_apart_what_changes_answers_and_nothing_else():
    base = EndpointResponder("http://u:p@host:80/v1?k=v", "m", system_prompt="s")
    assert base.signature == (
        "responder:m|model:m|host:host:80|system:e64984c3aacf6ede|n:1|temperature:default|"
        "top_p:default|max_tokens:128|seed:0"
    )
    changed = {
        "model": "x", "system_prompt": "t", "n": 2, "temperature": 0.1, "top_p": 0.5,
        "max_tokens": 9, "seed": 1, "extra_body": {"top_k": 1}, "url": "http://other",
    }  # fmt: skip
    for setting, value in changed.items():
        assert replace(base, **{setting: value}).signature != base.signature, setting
    for setting in ("concurrency", "timeout", "retries", "backoff"):
        assert replace(base, **{setting: 3}).signature == base.signature


def test_reasoning_is_dropped_and_cut_answers_are_marked(server):
    server.plan["a"] = [completion("<think>hm</think>\n yes ")]
    server.plan["b"] = [completion("fine", reasoning_content="hm, let me see")]
    server.plan["c"] = [completion("and so", finish="length")]
    responses = respond(ask(server), questions("a", "b", "c"))
    assert texts(responses) == ["yes", "fine", "and so"]
    assert [dict(passage.extra) for passage in responses] == [{}, {}, {"cut": True}]


def test_empty_answers_are_kept_and_counted_once(server, caplog):
    server.plan["a"] = [completion("")]
    server.plan["b"] = [raw('{"choices": [{"message": {"content": null}}]}')]
    server.plan["c"] = [completion("<think>I never come to an end", finish="length")]
    responses = respond(ask(server), questions("a", "b", "c", "d"))
    assert texts(responses) == ["", "", "", "re: d"]
    assert [passage.extra.get("empty") for passage in responses] == [True, True, True, None]
    assert responses[2].extra["cut"]
    assert [record.getMessage() for record in caplog.records] == [
        "3 of 4 answers of tiny are empty; a model that reasons needs a larger max_tokens."
    ]


def test_it_works_inside_a_running_event_loop(server):
    async def notebook():
        return respond(ask(server), questions("hi"))

    assert texts(asyncio.run(notebook())) == ["re: hi"]


def test_a_reader_who_stops_early_leaves_nothing_running(server, caplog):
    server.plan.update({f"{number}": [slow(30)] for number in range(1, 50)})
    stream = ask(server, timeout=60, concurrency=4).stream(questions(*map(str, range(50))))
    assert next(stream)[0] == 0
    assert wait_until(lambda: server.here == 4)
    stream.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "endpoint"]
    requests = len(server.bodies)
    assert requests <= 6
    server.closing.set()
    assert not wait_until(lambda: len(server.bodies) > requests, seconds=0.1)
    assert not caplog.records


def test_a_stream_that_nobody_reads_asks_nothing(server):
    ask(server).stream(questions("hi")).close()
    assert not server.bodies


def test_no_passages_need_no_server():
    assert respond(EndpointResponder("http://127.0.0.1:9", "tiny"), []) == []


def test_a_context_of_many_turns_is_sent_whole(server):
    passage = talk(1, 6)[-1]
    respond(ask(server), [passage])
    assert [(m["role"], m["content"]) for m in server.bodies[0]["messages"]] == [
        ("assistant", passage.context[0].text),
        ("user", passage.context[1].text),
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "localhost:8000"}, "starting with http"),
        ({"url": "http://"}, "starting with http"),
        ({"n": 0}, "`n` is at least 1, but got 0"),
        ({"concurrency": 0}, "`concurrency` is at least 1"),
        ({"retries": -1}, "`retries` is at least 0"),
        ({"temperature": -0.1}, "`temperature` is at least 0"),
        ({"timeout": 0}, "`timeout` is at least"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(BadInput, match=message):
        EndpointResponder(**{"url": "http://localhost", "model": "tiny", **settings})
