"""A Hub that lies: other names, hashes, sizes and contents than it announced, on loopback."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.hub.protocol import etag_of
from tests.hub.server import Handler, Hub, running

Lie = Callable[["HostileHandler", str], bool]
"""Answers a request for a file in another way; returns whether it did."""


class HostileHandler(Handler):
    """A request to a repository that may have lies in its settings."""

    def _lie(self, name: str) -> Any:
        return self.repo.settings.get(name)

    def tree(self, path: str | None = None) -> None:
        extra = self._lie("listed") or []
        rows = [self._entry(name, oid) for name, oid in self.repo.commits[self.sha].items()]
        self.answer([*rows, *extra])

    def info(self) -> None:
        change = self._lie("info")
        if change is None:
            super().info()
            return
        self.change = change
        super().info()
        del self.change

    def answer(self, value: Any, status: int = 200, **headers: str) -> None:
        super().answer(
            {**value, **getattr(self, "change", {})} if isinstance(value, dict) else value,
            status,
            **headers,
        )

    def resolve(self, path: str) -> None:
        self.server.tokens.add(self.token)  # type: ignore[attr-defined]
        lie = self._lie("resolve")
        if lie is None or not lie(self, path):
            super().resolve(path)

    def content(self, path: str) -> tuple[bytes, dict[str, str]]:
        """What the repository has, with true headers."""
        oid = self.repo.commits[self.sha][path]
        blob = self.server.blob(oid)
        return blob.read_bytes(), {"X-Repo-Commit": self.sha, "ETag": f'"{etag_of(path, blob)}"'}


def only(name: str, act: Callable[[HostileHandler, bytes, dict[str, str]], None]) -> Lie:
    """A lie about one file of a repository.

    Args:
        name (`str`):
            The file.
        act (`Callable`):
            Takes the request, the true content and the true headers, and answers.
    """

    def lie(handler: HostileHandler, path: str) -> bool:
        if path != name:
            return False
        act(handler, *handler.content(path))
        return True

    return lie


def changed_after_head(handler: HostileHandler, content: bytes, headers: dict[str, str]) -> None:
    """Another content of the same size, under the hash that was announced."""
    body = content if handler.command == "HEAD" else content.replace(b"length", b"Length")
    handler.send(200, body, headers)


def cut(handler: HostileHandler, content: bytes, headers: dict[str, str]) -> None:
    """Half of the content, as if it were all."""
    body = content if handler.command == "HEAD" else content[: len(content) // 2]
    handler.send(200, body, headers)


def etag(value: str) -> Callable[[HostileHandler, bytes, dict[str, str]], None]:
    """The true content with another ETag."""

    def act(handler: HostileHandler, content: bytes, headers: dict[str, str]) -> None:
        handler.send(200, content, {**headers, "ETag": f'"{value}"'})

    return act


def commit(value: str) -> Callable[[HostileHandler, bytes, dict[str, str]], None]:
    """The true content, as if of another commit."""

    def act(handler: HostileHandler, content: bytes, headers: dict[str, str]) -> None:
        handler.send(200, content, {**headers, "X-Repo-Commit": value})

    return act


def redirected(url: str) -> Callable[[HostileHandler, bytes, dict[str, str]], None]:
    """The address of another server."""

    def act(handler: HostileHandler, content: bytes, headers: dict[str, str]) -> None:
        linked = {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(content))}
        handler.send(302, b"", {**headers, **linked, "Location": url})

    return act


def endless(handler: HostileHandler, content: bytes, headers: dict[str, str]) -> None:
    """A body of 256 MB in chunks, where some bytes were announced."""
    if handler.command == "HEAD":
        handler.send(200, content, headers)
        return
    handler.send_response(200)
    for name, value in {**headers, "Transfer-Encoding": "chunked"}.items():
        handler.send_header(name, value)
    handler.end_headers()
    block = b" " * (1 << 20)
    for _ in range(256):
        handler.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
        handler.server.sent += len(block)  # type: ignore[attr-defined]
    handler.wfile.write(b"0\r\n\r\n")


def listed(path: str, size: int = 2, kind: str = "file") -> dict[str, Any]:
    """An entry of a file list."""
    return {"type": kind, "path": path, "size": size, "oid": "0" * 40}


def dumped(value: Any) -> bytes:
    """JSON as bytes."""
    return json.dumps(value).encode()


@contextmanager
def hostile(folder: Path) -> Iterator[Hub]:
    """A hostile Hub that runs during the block."""
    with running(folder) as hub:
        hub.RequestHandlerClass = HostileHandler
        hub.sent, hub.tokens = 0, set()  # type: ignore[attr-defined]
        yield hub
