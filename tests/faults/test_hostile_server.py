"""A server that echoes the key in any form, sends without end, or sends halves of characters."""

import json
import tracemalloc
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote

import pytest

from dialeval.dialogues import BadInput
from dialeval.responders import endpoint_client
from dialeval.responders.endpoint import EndpointResponder
from dialeval.responders.journal import generate
from tests.conftest import talk
from tests.responders.endpoint_server import ask, completion, serving

KEY = "sk-proj-Abc/123+xyz987-hidden"
FORMS = {
    "plain": lambda header: header.split()[1],
    "header": lambda header: header,
    "base64": lambda header: b64encode(header.split()[1].encode()).decode(),
    "header in base64": lambda header: b64encode(header.encode()).decode(),
    "shifted base64": lambda header: b64encode(b"x" + header.split()[1].encode()).decode(),
    "urlsafe base64": lambda header: urlsafe_b64encode(header.split()[1].encode()).decode(),
    "percent": lambda header: quote(header.split()[1], safe=""),
    "masked": lambda header: f"{header.split()[1][:9]}****{header[-4:]}",
}


@pytest.fixture
def server():
    with serving() as running:
        yield running


def _refuse_with(server, form, in_reason):
    def act(handler):
        echo = FORMS[form](handler.headers["Authorization"])
        body = json.dumps({"error": f"Bad key: '{echo}'"}).encode()
        handler.send_response(401, f"Bad key {echo}" if in_reason else "Unauthorized")
        handler.send_header("Content-Length", str(0 if in_reason else len(body)))
        handler.end_headers()
        handler.wfile.write(b"" if in_reason else body)

    for passage in talk(1, 2):
        server.plan[passage.context[-1].text] = [act]


@pytest.mark.parametrize("in_reason", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_an_echoed_key_is_not_shown(server, monkeypatch, form, in_reason):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    _refuse_with(server, form, in_reason)
    with pytest.raises(BadInput, match="Bad key") as caught:
        list(ask(server).stream(talk(1, 2)))
    _assert_hidden(str(caught.value), KEY, f"Bearer {KEY}")


@pytest.mark.parametrize("form", FORMS)
def test_an_echoed_password_is_not_shown(server, form):
    url = server.url.replace("//", "//user:secret-word-9@")
    _refuse_with(server, form, in_reason=True)
    with pytest.raises(BadInput, match="Bad key") as caught:
        list(EndpointResponder(url, "tiny", retries=0).stream(talk(1, 2)))
    _assert_hidden(str(caught.value), "secret-word-9", "user:secret-word-9")


def _assert_hidden(message, *secrets):
    assert "***" in message
    for secret in secrets:
        coded = b64encode(secret.encode()).decode()
        for form in (secret, coded, b64encode(coded.encode()).decode()):
            assert form[4:12] not in message


def test_a_reply_without_end_is_refused_before_it_fills_the_memory(server, monkeypatch):
    monkeypatch.setattr(endpoint_client, "LARGEST_BODY", 1 << 20)
    sent = 0

    def act(handler):
        nonlocal sent
        handler.send_response(200)
        handler.end_headers()
        for _ in range(1024):  # 64 MB, unless the client hangs up
            handler.wfile.write(b"x" * (1 << 16))
            sent += 1 << 16

    server.plan[talk(1, 2)[0].context[-1].text] = [act]
    tracemalloc.start()
    with pytest.raises(BadInput, match="larger than 1 MB"):
        list(ask(server, retries=3).stream(talk(1, 2)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20 and sent < 32 << 20
    assert len(server.bodies) == 1  # a retry would only fetch it again


def test_half_a_character_in_an_answer_is_replaced(server, tmp_path):
    server.plan[talk(1, 2)[0].context[-1].text] = [completion("hm \ud83d and \ud83d\ude00")]
    output = generate(ask(server), talk(1, 2), tmp_path / "out.jsonl").path
    assert json.loads(output.read_text("utf-8"))["response"] == "hm \ufffd and \U0001f600"
