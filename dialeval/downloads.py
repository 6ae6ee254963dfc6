"""What the Hub gives: folders of a known revision, and plain words where it gives nothing.

Every room may ask for them. A client of the Hub would give an old copy without a word where the Hub
does not answer; here it is asked again, and what was taken is said.
"""

import logging
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from dialeval.dialogues.sources import BadInput

__all__ = ["BadInput", "again", "in_plain_words", "revision_of", "snapshot", "without_tokens"]

logger = logging.getLogger(__name__)

Found = TypeVar("Found")
TEXTS = (
    ".json", ".jsonl", ".csv", ".tsv", ".txt", ".md", ".jinja", ".yaml", ".yml", ".html", ".svg",
)  # fmt: skip
PUBLISHED = (".safetensors", ".skops", ".parquet", ".png", *TEXTS)
"""Endings of files that are pushed and pulled: none of them is code, or a pickle of it."""
WAITS = (0.5, 1.0, 2.0)
"""Seconds before the Hub is asked again."""
_TOKEN = re.compile(r"\b(hf|api_org)_\w{8,}")


def snapshot(
    name: str,
    repo_type: str = "model",
    revision: str | None = None,
    local_files_only: bool = False,
    **options: Any,
) -> Path:
    """The folder of a repository in the cache, downloaded where the Hub has something newer.

    Args:
        options:
            Of `huggingface_hub.snapshot_download`; by default files that end as in `PUBLISHED`.
    """
    from huggingface_hub import HfApi, constants, snapshot_download

    options.setdefault("allow_patterns", [f"*{ending}" for ending in PUBLISHED])
    asked = {"repo_type": repo_type, "revision": revision}
    if local_files_only or constants.HF_HUB_OFFLINE:
        with_cache = {**asked, **options, "local_files_only": True}
        return Path(_said(lambda: snapshot_download(name, **with_cache), name, revision))
    try:
        sha = with_retries(lambda: HfApi().repo_info(name, **asked).sha)
    except Exception as error:
        return _old_copy(error, name, asked, options)
    found = _said(
        lambda: with_retries(lambda: snapshot_download(name, **asked, **options)), name, revision
    )
    if Path(found).name != sha:  # an old copy, because the Hub did not answer the second time
        exact = {**asked, **options, "revision": sha}
        found = _said(lambda: with_retries(lambda: snapshot_download(name, **exact)), name, revision)
    return Path(found)


def _old_copy(error: Exception, name: str, asked: dict[str, Any], options: dict[str, Any]) -> Path:
    """The copy in the cache where the Hub does not answer; where it says no, that counts."""
    from huggingface_hub import snapshot_download

    if not is_transient(error):
        raise hub_error(error, name, asked["revision"]) from None
    try:
        folder = Path(snapshot_download(name, **asked, **options, local_files_only=True))
    except Exception:
        raise hub_error(error, name, asked["revision"]) from None
    logger.warning(
        "The Hub does not answer; %s is the copy of revision %s in the cache, which may be old.",
        name, revision_of(folder),
    )  # fmt: skip
    return folder


def revision_of(folder: Path) -> str:
    """The commit of a folder in the cache, in short."""
    return folder.name[:12]


def with_retries(call: Callable[[], Found], waits: tuple[float, ...] = WAITS) -> Found:
    """What a call gives, tried again where the Hub stumbles or the line breaks."""
    for wait in waits:
        try:
            return call()
        except Exception as error:
            if not is_transient(error):
                raise
            what = status_of(error) or type(error).__name__
            logger.warning("The Hub did not answer (%s); asking again in %s s.", what, wait)
            time.sleep(wait)
    return call()


def is_transient(error: Exception) -> bool:
    """Whether an error may be gone the next time: an overload, an outage, a broken line."""
    from huggingface_hub.errors import HTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    status = status_of(error)
    if status is not None:
        return status >= 500 or status in (408, 429)
    if isinstance(error, LocalEntryNotFoundError):  # the client's word for a line that broke
        return error.__cause__ is not None and is_transient(error.__cause__)
    broken = isinstance(error, HTTPError | ConnectionError | TimeoutError)
    return broken and not isinstance(error, OfflineModeIsEnabled)


def status_of(error: Exception) -> int | None:
    """The number of an HTTP answer, where there was one."""
    return getattr(getattr(error, "response", None), "status_code", None)


def _said(call: Callable[[], Found], name: str, revision: str | None = None) -> Found:
    try:
        return call()
    except Exception as error:
        raise hub_error(error, name, revision) from None


def hub_error(error: Exception, name: str, revision: str | None = None) -> BadInput:
    """What went wrong with the Hub and what to do, without any token."""
    from huggingface_hub import errors

    if isinstance(error, BadInput):
        return error
    if isinstance(error, errors.GatedRepoError):
        return BadInput("its owner has to let you in.", name, hint="Ask for access on its page.")
    if isinstance(error, errors.RepositoryNotFoundError):
        hint = "Check the name; if it is private, log in: hf auth login"
        return BadInput("the Hub has no such repository, or does not show it.", name, hint=hint)
    if isinstance(error, errors.RevisionNotFoundError):
        hint = "Name another branch, tag or commit."
        return BadInput(f"it has no revision {revision!r}.", name, hint=hint)
    if isinstance(error, errors.HFValidationError):
        message = f"this is no name on the Hub: {without_tokens(error)}"
        return BadInput(message, name, hint="Write owner/name.")
    status = status_of(error)
    if status is not None:
        return _by_status(status, name, error)
    if is_transient(error):
        hint = "Check the network, and HF_ENDPOINT if it is set; then give the command again."
        return BadInput(f"the Hub cannot be reached ({type(error).__name__}).", name, hint=hint)
    if isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled):
        hint = "Go online once, or give a folder: dialeval pull NAME --output-dir DIR"
        return BadInput("it is not in the cache, and the Hub was not asked.", name, hint=hint)
    return BadInput(f"the Hub does not give it: {without_tokens(error)}", name)


def _by_status(status: int, name: str, error: Exception) -> BadInput:
    messages = {
        401: ("the Hub does not know who you are (401).", "Log in: hf auth login"),
        403: (
            "your token may not do this (403).",
            "Make one that can write here, or choose a name of your own.",
        ),
        404: ("the Hub has no such place (404).", "Check the name."),
        409: ("somebody else changed it at the same time (409).", "Give the command again."),
        412: ("somebody else changed it at the same time (412).", "Give the command again."),
        429: ("the Hub wants fewer requests (429).", "Wait some minutes, then go on."),
    }
    if status >= 500:
        hint = "Nothing was changed; give the command again later."
        return BadInput(f"the Hub is out of order ({status}).", name, hint=hint)
    said = getattr(error, "server_message", None) or str(error).strip().splitlines()[0]
    message, hint = messages.get(status, (f"the Hub says no ({status}): {said}", ""))
    return BadInput(without_tokens(message), name, hint=hint)


def without_tokens(text: Any) -> str:
    """Words without anything that opens a door.

    Example:
        >>> without_tokens("Bearer hf_abcdefghijkl failed")
        'Bearer hf_... failed'
    """
    from huggingface_hub import get_token

    told, token = str(text), get_token()
    told = told.replace(token, "...") if token and len(token) > 3 else told
    return _TOKEN.sub(r"\1_...", told)
