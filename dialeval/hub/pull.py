"""Pull a model, a data set or an evaluation by its name."""

import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dialeval.downloads import (
    BadInput,
    hub_error,
    is_transient,
    revision_of,
    snapshot,
    with_retries,
)
from dialeval.hub.kinds import recognise

TYPES = ("model", "dataset")


@dataclass(frozen=True)
class PullResult:
    """What was pulled, its revision and its folder."""

    name: str
    repo_type: str
    kind: str
    revision: str
    folder: Path


def pull(
    name: str,
    revision: str | None = None,
    output_dir: Path | str | None = None,
    repo_type: str | None = None,
    local_files_only: bool = False,
) -> PullResult:
    """Download a repository to the cache, or to `output_dir` for machines without a network.

    Only file types that dialeval publishes are downloaded: no pickles and no code.

    Args:
        name (`str`):
            The repository, `owner/name`.
        revision (`str`, *optional*):
            Branch, tag or commit.
        output_dir (`Path`, *optional*):
            Empty folder to copy the files to.
        repo_type (`str`, *optional*):
            `model` or `dataset`; by default whichever exists, a model first.
        local_files_only (`bool`, *optional*, defaults to `False`):
            Use the cache, without a request to the Hub.

    Returns:
        `PullResult`: What was pulled, its revision and its folder.
    """
    kind_of_repo = repo_type or find_type(name, revision, local_files_only)
    if kind_of_repo not in TYPES:
        hint = f"Choose one of {', '.join(TYPES)}."
        raise BadInput(f"unknown repository type {kind_of_repo!r}.", hint=hint)
    target = _check_empty(output_dir) if output_dir else None
    folder = snapshot(name, kind_of_repo, revision, local_files_only)
    commit = revision_of(folder)
    if target:
        shutil.copytree(folder, target, dirs_exist_ok=True)  # follows the cache's links
        folder = target
    return PullResult(name, kind_of_repo, _kind(folder), commit, folder)


def find_type(name: str, revision: str | None = None, local_files_only: bool = False) -> str:
    """Whether a name is a model or a data set on the Hub.

    Args:
        name (`str`):
            The repository, `owner/name`.
        revision (`str`, *optional*):
            Named in an error.
        local_files_only (`bool`, *optional*, defaults to `False`):
            Look only in the cache.

    Returns:
        `str`: `model` or `dataset`; `model` if both exist.
    """
    from huggingface_hub import HfApi, constants
    from huggingface_hub.errors import RepositoryNotFoundError

    if local_files_only or constants.HF_HUB_OFFLINE:
        return next(iter(_cached_types(name)), TYPES[0])
    failures: list[Exception] = []
    for repo_type in TYPES:
        try:
            with_retries(partial(HfApi().repo_info, name, repo_type=repo_type))
        except RepositoryNotFoundError as error:
            failures.append(error)
        except Exception as error:
            if is_transient(error) and _cached_types(name):
                return _cached_types(name)[0]
            raise hub_error(error, name, revision) from None
        else:
            return repo_type
    raise hub_error(failures[0], name, revision) from None


def _cached_types(name: str) -> list[str]:
    """The types of repository with this name in the cache."""
    from huggingface_hub import constants

    cache, folder = Path(constants.HF_HUB_CACHE), name.replace("/", "--")
    return [kind for kind in TYPES if (cache / f"{kind}s--{folder}").is_dir()]


def _check_empty(output_dir: Path | str) -> Path:
    folder = Path(output_dir)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise BadInput("it already exists.", folder, hint="Choose another --output-dir.")
    return folder


def _kind(folder: Path) -> str:
    """The kind of what was pulled, if dialeval knows it."""
    try:
        return recognise(folder).kind
    except BadInput:
        return "unknown"
