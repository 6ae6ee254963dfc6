"""Parts of the Hub's protocol: tokens, repositories, routes, and faults on demand."""

import hashlib
import json
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITER, READER = "hf_writerwriterwriterwriter", "hf_readerreaderreaderreader"
BINARY = (".safetensors", ".skops", ".parquet", ".png")  # what goes through LFS


def git_hash(path: Path) -> str:
    """The hash that git gives to a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def etag_of(name: str, path: Path) -> str:
    """The ETag of a file as on the Hub: SHA-256 with LFS, otherwise the hash of git."""
    return (
        hashlib.sha256(path.read_bytes()).hexdigest() if name.endswith(BINARY) else git_hash(path)
    )


def sibling(name: str, path: Path) -> dict[str, Any]:
    """A file in the description of a repository."""
    size = path.stat().st_size
    row: dict[str, Any] = {"rfilename": name, "size": size, "blobId": git_hash(path)}
    if name.endswith(BINARY):
        row["lfs"] = {"sha256": etag_of(name, path), "size": size, "pointerSize": 100}
    return row


@dataclass
class Fault:
    """A wrong answer to a number of requests that match a pattern `METHOD path`.

    Args:
        status (`int`):
            Status of the answer; 0 reads half of the body and waits until the client hangs up.
        after (`int`, *optional*, defaults to 0):
            Requests that are answered correctly before.
    """

    pattern: str
    status: int
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "not now"
    after: int = 0
    seen: int = 0
    reached: threading.Event = field(default_factory=threading.Event)


@dataclass
class Repo:
    """Files by commit, and names of commits."""

    private: bool = False
    settings: dict[str, Any] = field(default_factory=dict)
    commits: dict[str, dict[str, str]] = field(default_factory=dict)  # path -> sha256
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)

    def sha(self, revision: str) -> str | None:
        """The commit that a branch, a tag or a hash names."""
        named = {**self.tags, **self.branches}
        return revision if revision in self.commits else named.get(revision)

    def commit(self, branch: str, files: dict[str, str]) -> str:
        facts = json.dumps([branch, len(self.commits), sorted(files.items())])
        sha = hashlib.sha1(facts.encode()).hexdigest()
        self.commits[sha] = files
        self.branches[branch] = sha
        return sha


_REPO = r"(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"
_FILE = r"(?:(?P<kind>datasets|spaces)/)?(?P<name>[^/]+/[^/]+)"
ROUTES = [
    ("POST", r"/api/repos/create", "create"),
    ("POST", r"/api/validate-yaml", "validate"),
    ("GET", r"/api/whoami-v2", "whoami"),
    ("POST", rf"/api/{_REPO}/preupload/(?P<revision>.+)", "preupload"),
    ("POST", rf"/api/{_REPO}/commit/(?P<revision>.+)", "commit"),
    ("POST", rf"/api/{_REPO}/tag/(?P<revision>.+)", "tag"),
    ("POST", rf"/api/{_REPO}/branch/(?P<branch>.+)", "branch"),
    ("POST", rf"/api/{_REPO}/paths-info/(?P<revision>.+)", "paths_info"),
    ("GET", rf"/api/{_REPO}/revision/(?P<revision>.+)", "info"),
    ("GET", rf"/api/{_REPO}/tree/(?P<revision>[^/]+)(?:/(?P<path>.*))?", "tree"),
    ("GET", rf"/api/{_REPO}/refs", "refs"),
    ("GET", rf"/api/{_REPO}", "info"),
    ("POST", rf"/{_FILE}\.git/info/lfs/objects/batch", "batch"),
    ("PUT", rf"/lfs/{_REPO}/(?P<oid>\w+)", "upload"),
    ("POST", rf"/lfs/{_REPO}/(?P<oid>\w+)/verify", "verify"),
    ("GET", rf"/{_FILE}/resolve/(?P<revision>[^/]+)/(?P<path>.+)", "resolve"),
]
