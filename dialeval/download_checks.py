"""Whether a Hub sends what it announced: names, sizes, hashes, and headers that become paths.

The client of the Hub uses the ETag of a response as the name of a file in the cache, and compares
nothing but sizes, after the download. A mirror, or anybody on the way to one, may lie.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from dialeval.errors import BadInput

_HINT = "Do not use it; check HF_ENDPOINT if it is set, or use another copy."
_PATH_HEADERS = ("etag", "x-linked-etag", "x-repo-commit")
_SLACK = 1 << 20
"""Bytes above twice the announced size that end a download: repeated parts count too."""


class DownloadMismatch(BadInput):
    """A Hub sent, or listed, something else than it may."""


@dataclass(frozen=True)
class ListedFile:
    """A file as the Hub lists it.

    Args:
        name (`str`):
            Its path in the repository.
        size (`int`, *optional*):
            Its size in bytes.
        digest (`str`, *optional*):
            Its SHA-256, or the hash that git gives it.
    """

    name: str
    size: int | None = None
    digest: str | None = None


def listed_files(info: Any, repository: str) -> dict[str, ListedFile]:
    """The files of a repository, by name.

    Args:
        info (`ModelInfo`, `DatasetInfo` or `SpaceInfo`):
            What the Hub says about it, with the metadata of its files.
        repository (`str`):
            Its name, for the error message.

    Raises:
        DownloadMismatch: The revision or a file has a name that leads out of the cache.
    """
    if not re.fullmatch(r"[0-9a-f]{40}", str(info.sha)):
        message = f"the Hub gave the revision {str(info.sha)!r:.80}, which is not a commit."
        raise DownloadMismatch(message, repository, hint=_HINT)
    files = {}
    for sibling in info.siblings or []:
        if not is_inside(sibling.rfilename):
            message = f"the Hub lists a file outside of the repository, {sibling.rfilename!r:.80}."
            raise DownloadMismatch(message, repository, hint=_HINT)
        digest = sibling.lfs.sha256 if sibling.lfs else sibling.blob_id
        files[sibling.rfilename] = ListedFile(sibling.rfilename, sibling.size, digest)
    return files


def is_inside(name: Any) -> bool:
    """Whether a name stays in its folder, by the rules of POSIX and of Windows."""
    if not isinstance(name, str) or not name or "\0" in name:
        return False
    kinds = (PurePosixPath(name), PureWindowsPath(name))
    return not any(".." in path.parts or path.drive or path.root for path in kinds)


def guard_headers() -> None:
    """Make the client of the Hub refuse headers that would lead out of its cache."""
    from huggingface_hub.utils import get_session

    session = get_session()
    hooks = session.event_hooks
    if _check_headers not in hooks.get("response", []):
        session.event_hooks = {**hooks, "response": [*hooks.get("response", []), _check_headers]}


def _check_headers(response: Any) -> None:
    if response.request.method != "HEAD":
        return
    for header in _PATH_HEADERS:
        value = response.headers.get(header, "").removeprefix("W/").strip('"')
        if not re.fullmatch(r"[\w.+=:-]{0,128}", value) or ".." in value:
            message = f"its header {header} is {value!r:.80}, which is neither a hash nor a commit."
            raise DownloadMismatch(message, str(response.request.url), hint=_HINT)


def byte_meter(files: Iterable[ListedFile], repository: str) -> Any:
    """A progress bar that ends a download which sends much more than was announced.

    Args:
        files (`Iterable`):
            What may be downloaded.
        repository (`str`):
            Its name, for the error message.

    Returns:
        `type`: A subclass of the client's `tqdm`.
    """
    from huggingface_hub.utils import tqdm

    sizes = [file.size for file in files]
    announced = None if None in sizes else sum(sizes)  # type: ignore[arg-type]

    class ByteMeter(tqdm):
        def __init__(self, *arguments: Any, **options: Any):
            self._received, self._counts_bytes = 0.0, options.get("unit") == "B"
            super().__init__(*arguments, **options)

        def update(self, n: float | None = 1) -> Any:
            self._received += n or 0
            limit = None if announced is None else 2 * announced + _SLACK
            if self._counts_bytes and limit is not None and self._received > limit:
                message = f"the Hub announced {announced:,} bytes, and sends more without end."
                raise DownloadMismatch(message, repository, hint=_HINT)
            return super().update(n)

    return ByteMeter


def verify(folder: Path, files: Iterable[ListedFile], repository: str) -> None:
    """Compare downloaded files with what was announced, and remove those that differ.

    Args:
        folder (`Path`):
            The downloaded revision.
        files (`Iterable`):
            What was announced; files that are not there were not requested.
        repository (`str`):
            Its name, for the error message.

    Raises:
        DownloadMismatch: A file has another size or hash.
    """
    if not folder.is_dir():
        message = "the Hub sent another commit than the one it announced."
        raise DownloadMismatch(message, repository, hint=_HINT)
    wrong = []
    for file in files:
        path = folder / file.name
        if path.is_file() and not _is_as_announced(path, file):
            wrong.append(file.name)
            path.resolve().unlink(missing_ok=True)  # the cache has links to its blobs
            path.unlink(missing_ok=True)
    if wrong:
        message = f"the content of {', '.join(wrong)[:200]} is not what the Hub announced."
        raise DownloadMismatch(message, repository, hint=_HINT)


def _is_as_announced(path: Path, file: ListedFile) -> bool:
    size = path.stat().st_size
    if file.size is not None and size != file.size:
        return False
    if file.digest is None:
        return True
    is_git = len(file.digest) == 40
    digest = hashlib.sha1(b"blob %d\0" % size) if is_git else hashlib.sha256()
    with path.open("rb") as content:
        while block := content.read(1 << 20):
            digest.update(block)
    return digest.hexdigest() == file.digest
