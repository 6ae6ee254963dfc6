"""A Hub server on loopback: repositories with revisions, real files, and faults on demand."""

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.protocol import (
    BINARY,
    READER,
    ROUTES,
    WRITER,
    Fault,
    Repo,
    etag_of,
    git_hash,
    sibling,
)


class Hub(ThreadingHTTPServer):
    """A Hub with empty storage; the keys of `repos` are `models/owner/name`."""

    daemon_threads = True

    def __init__(self, folder: Path):
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.repos: dict[str, Repo] = {}
        self.faults: list[Fault] = []
        self.log: list[str] = []
        self.lock = threading.RLock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request, client_address) -> None:
        """Dropped connections are part of the tests."""

    def store(self, content: bytes) -> str:
        oid = hashlib.sha256(content).hexdigest()
        (self.folder / oid).write_bytes(content)
        return oid

    def blob(self, oid: str) -> Path:
        return self.folder / oid

    def put(self, name: str, files: dict[str, bytes | str], private: bool = False) -> Repo:
        """Create a repository with these files."""
        repo = self.repos.setdefault(name, Repo(private))
        stored = {
            path: self.store(content.encode() if isinstance(content, str) else content)
            for path, content in files.items()
        }
        repo.commit("main", stored)
        return repo

    def files(self, name: str, revision: str = "main") -> dict[str, bytes]:
        """The files of a repository."""
        repo = self.repos[name]
        commit = repo.commits[repo.sha(revision)]
        return {path: self.blob(oid).read_bytes() for path, oid in commit.items()}

    def fail(self, pattern: str, status: int, times: int = 1, **more: Any) -> Fault:
        self.faults.append(Fault(pattern, status, times, **more))
        return self.faults[-1]

    def count(self, pattern: str) -> int:
        """How many requests match a pattern."""
        return sum(bool(re.search(pattern, line)) for line in self.log)


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format, *args):
        """Log nothing."""

    def _any(self):
        parts = urlsplit(self.path)
        path, self.query = unquote(parts.path), parse_qs(parts.query)
        line = f"{self.command} {path}"
        length = int(self.headers.get("Content-Length") or 0)
        fault = self._fault(line)
        if fault and fault.status == 0:
            self.rfile.read(length // 2)
            fault.reached.set()
            self.connection.settimeout(60)
            while self.rfile.read(1 << 16):
                pass
            self.close_connection = True
            return
        self.body = self._chunked() if "Transfer-Encoding" in self.headers else b""
        self.body = self.body or self.rfile.read(length)
        with self.server.lock:
            self.server.log.append(line)
            if fault:
                self.refuse(fault.status, fault.message, **fault.headers)
            else:
                self._route(path)

    do_GET = do_HEAD = do_POST = do_PUT = _any

    def _chunked(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _fault(self, line: str) -> Fault | None:
        with self.server.lock:
            for fault in self.server.faults:
                if fault.seen < fault.after + fault.times and re.search(fault.pattern, line):
                    fault.seen += 1
                    if fault.seen > fault.after:
                        return fault
        return None

    def _route(self, path: str) -> None:
        method = "GET" if self.command == "HEAD" else self.command
        for route_method, pattern, name in ROUTES:
            match = re.fullmatch(pattern, path)
            if route_method == method and match:
                arguments = match.groupdict()
                if "name" in arguments:
                    self.key = f"{arguments.pop('kind') or 'models'}/{arguments.pop('name')}"
                    if not self._check_access(
                        write=method != "GET" and name not in ("paths_info",)
                    ):
                        return
                    self.repo = self.server.repos[self.key]
                    if not self._resolve_revision(arguments):
                        return
                getattr(self, name)(**arguments)
                return
        self.refuse(404, "no such route")

    @property
    def token(self) -> str | None:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ") or None

    def _check_access(self, write: bool) -> bool:
        """Whether this user has access to the repository; if not, the request is answered."""
        if self.path.startswith("/lfs/"):
            return True  # a signed address, without a token
        repo = self.server.repos.get(self.key)
        known = self.token in (WRITER, READER)
        if self.token and not known:
            message = "Invalid credentials in Authorization header"
            self.refuse(401, message, **{"X-Error-Message": message})
        elif repo is None or (repo.private and not known):
            self.refuse(404 if known else 401, "none", **{"X-Error-Code": "RepoNotFound"})
        elif write and self.token != WRITER:
            self.refuse(403 if known else 401, "Forbidden", **{"X-Error-Message": "no right"})
        else:
            return True
        return False

    def _resolve_revision(self, arguments: dict[str, Any]) -> bool:
        """Set the requested commit; if there is none, the request is answered."""
        if "revision" in arguments or (self.command == "GET" and not arguments):
            self.revision = arguments.get("revision") or "main"
            self.sha = self.repo.sha(self.revision)
            if self.sha is None:
                self.refuse(404, "none", **{"X-Error-Code": "RevisionNotFound"})
                return False
            arguments.pop("revision", None)
        return True

    def refuse(self, status: int, message: str, **headers: str) -> None:
        self.answer({"error": message}, status, **headers)

    def answer(self, value: Any, status: int = 200, **headers: str) -> None:
        content = json.dumps(value).encode()
        headers = {"Content-Type": "application/json", **headers}
        self.send(status, content, headers)

    def send(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        headers.setdefault("Content-Length", str(len(content)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def create(self) -> None:
        request = json.loads(self.body)
        if self.token != WRITER:
            headers = {"X-Error-Message": "You don't have the rights"}
            self.refuse(403 if self.token == READER else 401, "no", **headers)
            return
        owner = request.get("organization") or "me"
        name = f"{request.get('type') or 'model'}s/{owner}/{request['name']}"
        status = 409 if name in self.server.repos else 200
        if status == 200:
            private = bool(request.get("private") or request.get("visibility") == "private")
            repo = self.server.repos[name] = Repo(private, request)
            repo.commit("main", {})
        page = name.removeprefix("models/")
        self.answer(
            {"url": f"{self.server.url}/{page}", "name": f"{owner}/{request['name']}"}, status
        )

    def validate(self) -> None:
        import yaml

        content = json.loads(self.body)["content"]
        head = content.split("---")[1] if content.startswith("---") else ""
        try:
            known = isinstance(yaml.safe_load(head) or {}, dict)
            errors = [] if known else [{"message": "metadata is a mapping"}]
        except yaml.YAMLError as error:
            errors = [{"message": str(error)}]
        self.answer({"errors": errors, "warnings": []}, 400 if errors else 200)

    def whoami(self) -> None:
        if self.token not in (WRITER, READER):
            self.refuse(401, "Invalid user token.")
            return
        self.answer({"type": "user", "name": "me", "orgs": []})

    def preupload(self) -> None:
        files = [
            {
                "path": file["path"],
                "uploadMode": "lfs" if file["path"].endswith(BINARY) else "regular",
                "shouldIgnore": False,
                "oid": None,
            }
            for file in json.loads(self.body)["files"]
        ]
        self.answer({"files": files})

    def batch(self) -> None:
        objects = []
        for item in json.loads(self.body)["objects"]:
            href = f"{self.server.url}/lfs/{self.key}/{item['oid']}"
            actions = {"upload": {"href": href}, "verify": {"href": f"{href}/verify"}}
            is_stored = self.server.blob(item["oid"]).is_file()
            objects.append({**item, **({} if is_stored else {"actions": actions})})
        kind = {"Content-Type": "application/vnd.git-lfs+json"}
        self.answer({"transfer": "basic", "objects": objects}, **kind)

    def upload(self, oid: str) -> None:
        if hashlib.sha256(self.body).hexdigest() != oid:
            self.refuse(400, "other content than was announced")
            return
        self.server.store(self.body)
        self.answer({})

    def verify(self, oid: str) -> None:
        self.answer({}, 200 if self.server.blob(oid).is_file() else 404)

    def commit(self) -> None:
        lines = [json.loads(line) for line in self.body.splitlines() if line.strip()]
        if self.revision not in self.repo.branches:
            self.refuse(400, "a commit goes to a branch")
            return
        files = dict(self.repo.commits[self.sha])
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = self.server.store(base64.b64decode(value["content"]))
            elif line["key"] == "lfsFile":
                if not self.server.blob(value["oid"]).is_file():
                    self.refuse(400, "this object was never uploaded")
                    return
                files[value["path"]] = value["oid"]
            elif line["key"] == "deletedFile":
                files.pop(value["path"], None)
        sha = self.repo.commit(self.revision, files)
        page = self.key.removeprefix("models/")
        url = f"{self.server.url}/{page}/commit/{sha}"
        self.answer({"success": True, "commitOid": sha, "commitUrl": url})

    def tag(self) -> None:
        name = json.loads(self.body)["tag"]
        if name in self.repo.tags:
            self.refuse(409, "it already exists")
            return
        self.repo.tags[name] = self.sha
        self.answer({})

    def branch(self, branch: str) -> None:
        if branch in self.repo.branches:
            self.refuse(409, "it already exists")
            return
        start = (json.loads(self.body or b"{}") or {}).get("startingPoint") or "main"
        self.repo.branches[branch] = self.repo.sha(start)
        self.answer({})

    def refs(self) -> None:
        def rows(named: dict[str, str], kind: str) -> list[dict[str, str]]:
            return [
                {"name": name, "ref": f"refs/{kind}/{name}", "targetCommit": sha}
                for name, sha in named.items()
            ]

        repo = self.repo
        self.answer(
            {
                "branches": rows(repo.branches, "heads"),
                "tags": rows(repo.tags, "tags"),
                "converts": [],
            }
        )

    def info(self) -> None:
        files = self.repo.commits[self.sha]
        self.answer(
            {
                "_id": "0", "id": self.key.partition("/")[2], "sha": self.sha, "gated": False,
                "private": self.repo.private, "disabled": False, "tags": [], "downloads": 0,
                "likes": 0, "lastModified": "2026-01-01T00:00:00.000Z",
                "createdAt": "2026-01-01T00:00:00.000Z",
                "siblings": [sibling(path, self.server.blob(oid)) for path, oid in files.items()],
            }
        )  # fmt: skip

    def _entry(self, path: str, oid: str) -> dict[str, Any]:
        size = self.server.blob(oid).stat().st_size
        entry = {"type": "file", "path": path, "size": size, "oid": git_hash(self.server.blob(oid))}
        if path.endswith(BINARY):
            entry["lfs"] = {"oid": oid, "size": size, "pointerSize": 100}
        return entry

    def tree(self, path: str | None = None) -> None:
        files = self.repo.commits[self.sha]
        prefix = f"{path.strip('/')}/" if path else ""
        below = {name: oid for name, oid in files.items() if name.startswith(prefix)}
        rows = [self._entry(name, oid) for name, oid in below.items()]
        if self.query.get("recursive", [""])[0].lower() != "true":
            inner = {name[len(prefix) :].partition("/")[0] for name in below}
            rows = [row for row in rows if row["path"][len(prefix) :] in inner]
            seen = {row["path"] for row in rows}
            rows += [
                {"type": "directory", "path": prefix + name, "oid": "0" * 40, "size": 0}
                for name in sorted(inner)
                if prefix + name not in seen
            ]
        self.answer(rows)

    def paths_info(self) -> None:
        files = self.repo.commits[self.sha]
        paths = (
            json.loads(self.body)["paths"]
            if self.body.startswith(b"{")
            else parse_qs(self.body.decode())["paths"]
        )
        rows = []
        for path in paths:
            if path in files:
                rows.append(self._entry(path, files[path]))
            elif any(name.startswith(f"{path}/") for name in files):
                rows.append({"type": "directory", "path": path, "oid": "0" * 40, "size": 0})
        self.answer(rows)

    def resolve(self, path: str) -> None:
        oid = self.repo.commits[self.sha].get(path)
        commit = {"X-Repo-Commit": self.sha}
        if oid is None:
            self.refuse(404, "none", **commit, **{"X-Error-Code": "EntryNotFound"})
            return
        content = self.server.blob(oid).read_bytes()
        head = {
            **commit,
            "ETag": f'"{etag_of(path, self.server.blob(oid))}"',
            "Accept-Ranges": "bytes",
        }
        if path.endswith(BINARY):
            head |= {"X-Linked-Etag": f'"{oid}"', "X-Linked-Size": str(len(content))}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if not wanted:
            self.send(200, content, head)
            return
        start, end = int(wanted[1]), int(wanted[2] or len(content) - 1)
        if start >= len(content):
            self.send(416, b"", {**head, "Content-Range": f"bytes */{len(content)}"})
            return
        end = min(end, len(content) - 1)
        head["Content-Range"] = f"bytes {start}-{end}/{len(content)}"
        self.send(206, content[start : end + 1], head)


@contextmanager
def running(folder: Path) -> Iterator[Hub]:
    """A Hub that runs during the block."""
    hub = Hub(folder)
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
