"""Downloads from the Hub: folders of a known revision, with retries and clear error messages.

Every package may use them. A client of the Hub silently returns an old copy when the Hub does not
answer; here the request is repeated, and the use of an old copy is logged.
"""

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dialeval.dialogues.sources import BadInput
from dialeval.download_checks import byte_meter, guard_headers, is_inside, listed_files, verify
from dialeval.files import atomic_write_text
from dialeval.progress import library_bars

__all__ = ["BadInput", "hub_error", "revision_of", "snapshot", "with_retries", "without_tokens"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
TEXTS = (
    ".json", ".jsonl", ".csv", ".tsv", ".txt", ".md", ".jinja", ".yaml", ".yml", ".html", ".svg",
)  # fmt: skip
PUBLISHED = (".safetensors", ".skops", ".parquet", ".png", *TEXTS)
"""Endings of files that are pushed and pulled: none of them is code, or a pickle of it."""
WAITS = (0.5, 1.0, 2.0)
"""Seconds before each retry."""
_TOKEN = re.compile(r"\b(hf|api_org)_\w{8,}")


def snapshot(
    name: str,
    repo_type: str = "model",
    revision: str | None = None,
    local_files_only: bool = False,
    **options: Any,
) -> Path:
    """The folder of a repository in the cache, downloaded if the Hub has a newer revision.

    Args:
        name (`str`):
            The repository.
        repo_type (`str`, *optional*, defaults to `"model"`):
            `model`, `dataset` or `space`.
        revision (`str`, *optional*):
            Branch, tag or commit; the main branch by default.
        local_files_only (`bool`, *optional*, defaults to `False`):
            Do not contact the Hub.
        options:
            Of `huggingface_hub.snapshot_download`; by default files that end as in `PUBLISHED`.

    Returns:
        `Path`: The folder.
    """
    from huggingface_hub import HfApi, constants

    options.setdefault("allow_patterns", [f"*{ending}" for ending in PUBLISHED])
    request: dict[str, Any] = {**options, "repo_type": repo_type, "revision": revision}
    if local_files_only or constants.HF_HUB_OFFLINE:
        return _download(name, {**request, "local_files_only": True}, revision)
    guard_headers()
    query: dict[str, Any] = {"repo_type": repo_type, "revision": revision, "files_metadata": True}
    try:
        info = with_retries(lambda: HfApi().repo_info(name, **query))
    except Exception as error:
        return _cached_copy(error, name, request)
    files = listed_files(info, name)
    request["tqdm_class"] = byte_meter(files.values(), name)
    folder = _revision_folder(name, repo_type, str(info.sha))
    new = [file for file in files.values() if not (folder / file.name).exists()]
    # By its commit: of a branch, the client would take any text that the Hub gives as a path.
    _download(name, {**request, "revision": info.sha}, revision)
    verify(folder, new, name)
    _remember(folder, revision or constants.DEFAULT_REVISION)
    return folder


def _remember(folder: Path, revision: str) -> None:
    """Note in the cache which commit a branch or tag is, as the client does."""
    if revision == folder.name or not is_inside(revision):
        return
    try:
        atomic_write_text(folder.parents[1] / "refs" / revision, folder.name)
    except OSError as error:  # a cache that is mounted read-only can be used all the same
        logger.warning("The cache cannot note revision %s: %s", revision, error)


def _revision_folder(name: str, repo_type: str, commit: str) -> Path:
    """Where the cache has a commit of a repository."""
    from huggingface_hub import constants

    folder = f"{repo_type}s--{name.replace('/', '--')}"
    return Path(constants.HF_HUB_CACHE, folder, "snapshots", commit)


def _download(name: str, request: dict[str, Any], revision: str | None) -> Path:
    from huggingface_hub import snapshot_download

    try:
        with library_bars():
            return Path(with_retries(lambda: snapshot_download(name, **request)))
    except Exception as error:
        raise hub_error(error, name, revision) from None


def _cached_copy(error: Exception, name: str, request: dict[str, Any]) -> Path:
    """The copy in the cache if the Hub does not answer; raises if it refused the request."""
    from huggingface_hub import snapshot_download

    if not is_transient(error):
        raise hub_error(error, name, request["revision"]) from None
    try:
        folder = Path(snapshot_download(name, **{**request, "local_files_only": True}))
    except Exception:
        raise hub_error(error, name, request["revision"]) from None
    logger.warning(
        "The Hub does not answer; %s is the copy of revision %s in the cache, which may be old.",
        name, revision_of(folder),
    )  # fmt: skip
    return folder


def revision_of(folder: Path) -> str:
    """The abbreviated commit of a folder in the cache."""
    return folder.name[:12]


def with_retries(call: Callable[[], T], waits: tuple[float, ...] = WAITS) -> T:
    """What a call returns; it is repeated after an error of the server or the network."""
    for wait in waits:
        try:
            return call()
        except Exception as error:
            if not is_transient(error):
                raise
            what = status_of(error) or type(error).__name__
            logger.warning("The Hub did not answer (%s); retrying in %s s.", what, wait)
            time.sleep(wait)
    return call()


def is_transient(error: BaseException) -> bool:
    """Whether a retry may succeed: an overload, an outage, a broken connection."""
    from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    status = status_of(error)
    if status is not None:
        return status >= 500 or status in (408, 429)
    if isinstance(error, LocalEntryNotFoundError):  # how the client reports a lost connection
        return error.__cause__ is not None and is_transient(error.__cause__)
    broken = isinstance(error, HTTPError | ConnectionError | TimeoutError)
    return broken and not isinstance(error, OfflineModeIsEnabled)


def status_of(error: BaseException) -> int | None:
    """The status code of an HTTP response, if there was one."""
    return getattr(getattr(error, "response", None), "status_code", None)


def hub_error(error: BaseException, name: str, revision: str | None = None) -> BadInput:
    """An error of the Hub as a message with a hint, without any token.

    Args:
        error (`BaseException`):
            What the client raised.
        name (`str`):
            The repository.
        revision (`str`, *optional*):
            The revision that was requested.

    Returns:
        `BadInput`: To be raised.
    """
    from huggingface_hub import errors

    if isinstance(error, BadInput):
        return error
    if isinstance(error, errors.GatedRepoError):
        return BadInput("access is restricted.", name, hint="Request access on its page.")
    if isinstance(error, errors.RepositoryNotFoundError):
        hint = "Check the name; if it is private, log in: hf auth login"
        return BadInput("no such repository on the Hub, or no access to it.", name, hint=hint)
    if isinstance(error, errors.RevisionNotFoundError):
        hint = "Name another branch, tag or commit."
        return BadInput(f"it has no revision {revision!r}.", name, hint=hint)
    if isinstance(error, errors.HFValidationError):
        message = f"not a valid Hub name: {without_tokens(error)}"
        return BadInput(message, name, hint="Write owner/name.")
    status = status_of(error)
    if status is not None:
        return _by_status(status, name, error)
    if is_transient(error):
        hint = "Check the network, and HF_ENDPOINT if it is set; then run the command again."
        return BadInput(f"the Hub cannot be reached ({type(error).__name__}).", name, hint=hint)
    if isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled):
        hint = "Go online once, or give a folder: dialeval pull NAME --output-dir DIR"
        return BadInput("it is not in the cache, and the Hub was not contacted.", name, hint=hint)
    reason = next(iter(without_tokens(error).splitlines()), type(error).__name__)
    return BadInput(f"the download failed: {reason}", name)


def _by_status(status: int, name: str, error: BaseException) -> BadInput:
    messages = {
        401: ("you are not logged in to the Hub (401).", "Log in: hf auth login"),
        403: (
            "your token has no permission for this (403).",
            "Create one with write access, or choose a name in your namespace.",
        ),
        404: ("not found on the Hub (404).", "Check the name."),
        409: ("somebody else changed it at the same time (409).", "Run the command again."),
        412: ("somebody else changed it at the same time (412).", "Run the command again."),
        429: ("too many requests to the Hub (429).", "Wait some minutes, then try again."),
    }
    if status >= 500:
        hint = "Nothing was changed; run the command again later."
        return BadInput(f"the Hub has a server error ({status}).", name, hint=hint)
    reason = getattr(error, "server_message", None) or str(error).strip().splitlines()[0]
    message, hint = messages.get(status, (f"the Hub refused the request ({status}): {reason}", ""))
    return BadInput(without_tokens(message), name, hint=hint)


def without_tokens(text: Any) -> str:
    """A text without access tokens.

    Examples:
        >>> without_tokens("Bearer hf_abcdefghijkl failed")
        'Bearer hf_... failed'
    """
    from huggingface_hub import get_token

    message, token = str(text), get_token()
    message = message.replace(token, "...") if token and len(token) > 3 else message
    return _TOKEN.sub(r"\1_...", message)
