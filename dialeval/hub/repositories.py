"""Repositories on the Hub: their contents, and replacing them in a single commit."""

import json
from functools import partial
from pathlib import Path
from typing import Any

from dialeval._version import __version__
from dialeval.downloads import PUBLISHED, BadInput, hub_error, with_retries
from dialeval.hub.contents import Contents
from dialeval.hub.kinds import identify


def repository_info(name: str, repo_type: str, revision: str | None = None) -> Any:
    """The Hub's information about a repository.

    Args:
        name (`str`):
            The repository, `owner/name`.
        repo_type (`str`):
            `model`, `dataset` or `space`.
        revision (`str`, *optional*):
            Branch; the default branch is used if it does not exist.

    Returns:
        `ModelInfo`, `DatasetInfo`, `SpaceInfo` or `None`: `None` if the repository does not exist.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    for branch in dict.fromkeys((revision, None)):  # a new branch starts from main
        try:
            request = partial(HfApi().repo_info, name, repo_type=repo_type, revision=branch)
            return with_retries(request)
        except RevisionNotFoundError:
            continue
        except RepositoryNotFoundError:
            return None
        except Exception as error:
            raise hub_error(error, name, branch) from None
    return None


def identity_of(name: str, repo_type: str, info: Any) -> str:
    """Kind and architecture of what a repository holds.

    Args:
        name (`str`):
            The repository, `owner/name`.
        repo_type (`str`):
            `model` or `dataset`.
        info (`ModelInfo` or `DatasetInfo`):
            What `repository_info` returned.

    Returns:
        `str`: As `identify` gives it; empty for an empty repository.
    """
    from huggingface_hub import hf_hub_download

    paths = [file.rfilename for file in info.siblings]

    def read(path: str) -> dict[str, Any]:
        if path not in paths:
            return {}
        try:
            local = with_retries(
                lambda: hf_hub_download(name, path, repo_type=repo_type, revision=info.sha)
            )
            return json.loads(Path(local).read_text(encoding="utf-8"))
        except ValueError:
            return {}
        except Exception as error:
            raise hub_error(error, name) from None

    return identify({path.partition("/")[0] for path in paths}, read)


def refuse_public(name: str, info: Any) -> None:
    """Refuse a private push to a public repository."""
    if info is not None and not info.private:
        hint = "Make it private on its page first, or choose another name."
        raise BadInput("it already exists and is public.", name, hint=hint)


def replace(
    name: str,
    repo_type: str,
    contents: Contents,
    info: Any,
    private: bool = False,
    revision: str | None = None,
    message: str = "",
) -> Any:
    """Replace the files of a repository in one commit; until then the old ones stay.

    Old files of the kinds that dialeval writes are deleted, since weights of two architectures in
    one repository would be loaded wrongly.

    Args:
        name (`str`):
            The repository, `owner/name`; created if it does not exist.
        repo_type (`str`):
            `model` or `dataset`.
        contents (`Contents`):
            The new files.
        info (`ModelInfo`, `DatasetInfo` or `None`):
            What `repository_info` returned.
        private (`bool`, *optional*, defaults to `False`):
            Whether a new repository is private.
        revision (`str`, *optional*):
            Branch, created if it does not exist.
        message (`str`, *optional*):
            Commit message; the version of dialeval by default.

    Returns:
        `CommitInfo`: The commit.
    """
    from huggingface_hub import (
        CommitOperationAdd,
        CommitOperationCopy,
        CommitOperationDelete,
        HfApi,
    )

    old = [file.rfilename for file in info.siblings] if info else []
    obsolete = [
        path for path in old if path.endswith((*PUBLISHED, ".py")) and path not in contents.files
    ]
    operations: list[CommitOperationAdd | CommitOperationCopy | CommitOperationDelete] = [
        *(CommitOperationAdd(path, content) for path, content in contents.files.items()),
        *(CommitOperationDelete(path) for path in obsolete),
    ]
    api = HfApi(library_name="dialeval", library_version=__version__)
    try:
        if info is None:
            api.create_repo(name, repo_type=repo_type, private=private or None, exist_ok=True)
        if revision and revision != "main":
            api.create_branch(name, branch=revision, repo_type=repo_type, exist_ok=True)
        return with_retries(
            lambda: api.create_commit(
                name,
                operations,
                commit_message=message or f"dialeval {__version__}",
                repo_type=repo_type,
                revision=revision,
            )
        )
    except Exception as error:
        raise hub_error(error, name, revision) from None
