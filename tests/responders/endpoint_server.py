"""A chat completions server on loopback that misbehaves as it is told."""

import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dialeval.responders.endpoint import EndpointResponder

Behaviour = Callable[["Handler"], None]


class Server(ThreadingHTTPServer):
    """Answers each request as `plan` has it for the last message; what is not planned goes well.

    Attributes:
        plan: From the text of the last message to what to do at each attempt; the last one stays.
        together: How many requests have to be there before any is answered.
        most: The largest number of requests that were there at once.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.plan: dict[str, list[Behaviour]] = {}
        self.usual: Behaviour = completion()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.attempts: dict[str, int] = defaultdict(int)
        self.together, self.here, self.most = 1, 0, 0
        self.change, self.closing = threading.Condition(), threading.Event()

    def handle_error(self, request, client_address) -> None:
        """Clients that hang up are part of the tests."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def arrive(self, handler: "Handler", body: dict[str, Any]) -> Behaviour:
        """Write a request down and say what to do with it."""
        text = body["messages"][-1]["content"]
        with self.change:
            self.bodies.append(body)
            self.headers.append(dict(handler.headers))
            self.paths.append(handler.path)
            attempt, self.attempts[text] = self.attempts[text], self.attempts[text] + 1
            self.here += 1
            self.most = max(self.most, self.here)
            self.change.notify_all()
            self.change.wait_for(lambda: self.most >= self.together, timeout=2)
        steps = self.plan.get(text, [self.usual])
        return steps[min(attempt, len(steps) - 1)]

    def leave(self) -> None:
        with self.change:
            self.here -= 1


class Handler(BaseHTTPRequestHandler):
    """One request."""

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.body = json.loads(self.rfile.read(size))
        behaviour = self.server.arrive(self, self.body)
        self.has_left = False
        try:
            behaviour(self)
        finally:
            self.leave()

    def leave(self) -> None:
        """Count the request as answered, once: before the client can have the whole answer."""
        if not self.has_left:
            self.has_left = True
            self.server.leave()

    def log_message(self, format, *args):
        """Keep quiet."""

    def send(self, status: int, text: str, headers: dict[str, str] | None = None, more: int = 0):
        """A reply; `more` bytes are promised that never come."""
        content = text.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) + more))
        self.end_headers()
        self.leave()
        self.wfile.write(content)


def completion(content: str | None = None, finish: str = "stop", **message: Any) -> Behaviour:
    """Answer well; by default with the question turned round."""

    def act(handler: Handler) -> None:
        reply = f"re: {handler.body['messages'][-1]['content']}" if content is None else content
        choice = {"message": {"content": reply, **message}, "finish_reason": finish}
        handler.send(200, json.dumps({"choices": [choice]}))

    return act


def refusing(*fields: str, finish: str = "stop") -> Behaviour:
    """Answer well, but refuse these fields, as OpenAI's newer models do."""

    def act(handler: Handler) -> None:
        known = next((name for name in fields if name in handler.body), None)
        if known is None:
            return completion(finish=finish)(handler)
        error = {"message": f"Unsupported parameter: '{known}' is not supported.", "param": known}
        return handler.send(400, json.dumps({"error": error}))

    return act


def status(code: int, message: str = "not now", **headers: str) -> Behaviour:
    """Answer with an error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    text = json.dumps({"error": {"message": message}})
    return lambda handler: handler.send(code, text, named)


def raw(text: str, more: int = 0) -> Behaviour:
    """Answer 200 with any text, of which the end may be missing."""
    return lambda handler: handler.send(200, text, more=more)


def echo_key(code: int) -> Behaviour:
    """Answer with an error that repeats the header with the key."""

    def act(handler: Handler) -> None:
        key = handler.headers["Authorization"].removeprefix("Bearer ")
        masked = f"{key[:7]}****{key[-4:]}"
        handler.send(code, json.dumps({"error": f"Bad key {key}, that is {masked}, or '{key}'."}))

    return act


def slow(seconds: float) -> Behaviour:
    """Answer after a while, unless the server closes."""

    def act(handler: Handler) -> None:
        handler.server.closing.wait(seconds)
        completion("late")(handler)

    return act


@contextmanager
def serving() -> Iterator[Server]:
    """A server that runs in a thread."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


class Pauses:
    """Stands for sleeping: remembers the seconds and lets no time pass."""

    def __init__(self):
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def ask(server: Server, **settings: Any) -> EndpointResponder:
    """A responder that uses a server, in a hurry."""
    defaults = {"model": "tiny", "timeout": 5, "sleep": Pauses()}
    return EndpointResponder(server.url, **{**defaults, **settings})


def wait_until(true: Callable[[], bool], seconds: float = 2.0) -> bool:
    """Whether something comes true in time."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return true()
