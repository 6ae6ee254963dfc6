"""A project, a server in its own process, and a client, for tests of the annotation page."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

from dialeval.judgements.items import Candidate, Item
from dialeval.judgements.project import Project
from dialeval.judgements.store import JudgementStore

TAG = "<script>document.title='pwned'</script>"
SERVER = """
import sys
from dialeval.judgements.store import JudgementStore
from dialeval.judgements.web.app import WebSettings, build_app
import uvicorn
settings = WebSettings(open_door=sys.argv[3] == "open", requests=int(sys.argv[4]))
app = build_app(JudgementStore(sys.argv[1]), settings)
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def make_items(task: str = "real", count: int = 30, tests: int = 0) -> list[Item]:
    """Items of which every text contains a script tag; the last ones are test questions."""
    items = []
    for number in range(count + tests):
        context = (("A", f"how is it {number} {TAG}"), ("B", "fine"))
        if task in ("human", "better"):
            candidates = (
                Candidate("bot", (f"machine {number}", "more")),
                Candidate("human", (f"person {number}",)),
            )
            truth = "lose" if task == "human" or number >= count else ""
        else:
            author = "human" if number % 2 else "random"
            candidates = (Candidate(author, (f"reply {number} {TAG}",)),)
            truth = {"human": "real", "random": "fake"}[author] if task == "real" else ""
        items.append(Item(f"i{number}", context, candidates, truth, number >= count))
    return items


def make_store(folder: Path, task: str = "real", count: int = 30, tests: int = 0, **settings):
    project = Project(task, **settings)
    return JudgementStore.create(folder / "judgements.db", project, make_items(task, count, tests))


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """The page in a process of its own, which can be killed and started again."""

    def __init__(self, path: Path, door: str = "open", requests: int = 10_000):
        self.path, self.door, self.requests, self.port = path, door, requests, free_port()
        self.process: subprocess.Popen | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Server":
        words = [str(self.path), str(self.port), self.door, str(self.requests)]
        self.process = subprocess.Popen([sys.executable, "-c", SERVER, *words])
        for _ in range(400):
            assert self.process.poll() is None, "the server ended"
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    return self
            except OSError:
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """End the process as a crash would."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(20)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()


@contextmanager
def serving(path: Path, door: str = "open", requests: int = 10_000):
    server = Server(path, door, requests).start()
    try:
        yield server
    finally:
        server.stop()


class Client:
    """A browser without scripts: cookies, forms and redirects."""

    def __init__(self, server: Server):
        self.server, self.cookie, self.page, self.status = server, "", "", 0

    def request(self, method: str, path: str, form: dict | None = None, **headers: str):
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        send = {"Cookie": self.cookie} if self.cookie else {}
        body = urlencode(form) if form is not None else None
        if body is not None:
            send["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, {**send, **headers})
        response = connection.getresponse()
        self.status, self.headers = response.status, response.headers
        self.page = response.read().decode()
        for cookie in response.headers.get_all("set-cookie") or ():
            self.cookie = cookie.partition(";")[0]
        connection.close()
        if self.status == 303:
            return self.request("GET", response.headers["location"])
        return self

    def get(self, path: str = "/"):
        return self.request("GET", path)

    def field(self, name: str) -> str:
        pattern = rf'name="{name}" value="([^"]*)"'
        return unescape(re.search(pattern, self.page).group(1))

    def fields(self, form_id: str, *names: str) -> dict:
        part = self.page.partition(f'id="{form_id}"')[2].partition("</form>")[0]
        return {
            name: unescape(re.search(rf'name="{name}" value="([^"]*)"', part).group(1))
            for name in names
        }

    def join(self, name: str, path: str = "/"):
        self.get(path)
        form = {"csrf": self.field("csrf"), "token": self.field("token"), "name": name}
        return self.request("POST", "/join", form)

    def answer(self, value: str = "real", **more: str):
        form = self.fields("answer", "csrf", "item") | {"answer": value, "seconds": "0.01"} | more
        return self.request("POST", "/answer", form)

    def undo(self):
        return self.request("POST", "/undo", self.fields("undo", "csrf", "item"))

    @property
    def item(self) -> str:
        return self.fields("answer", "item")["item"]
