"""Repositories on the Hub: what stands in one, and replacing it in a single commit."""

import json
from pathlib import Path
from typing import Any

from dialeval._version import __version__
from dialeval.downloads import PUBLISHED, BadInput, again, in_plain_words
from dialeval.hub.contents import Contents
from dialeval.hub.kinds import identify


def state(name: str, repo_type: str, revision: str | None = None) -> Any:
    """What the Hub knows of a repository, or nothing where it is not there."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    for each in dict.fromkeys((revision, None)):  # a new branch begins where main stands
        try:
            return again(
                lambda each=each: HfApi().repo_info(name, repo_type=repo_type, revision=each)
            )
        except RevisionNotFoundError:
            continue
        except RepositoryNotFoundError:
            return None
        except Exception as error:
            raise in_plain_words(error, name, each) from None
    return None


def identity_of(name: str, repo_type: str, info: Any) -> str:
    """Kind and architecture of what stands in a repository; empty where it holds nothing."""
    from huggingface_hub import hf_hub_download

    paths = [each.rfilename for each in info.siblings]

    def read(path: str) -> dict[str, Any]:
        if path not in paths:
            return {}
        try:
            where = again(
                lambda: hf_hub_download(name, path, repo_type=repo_type, revision=info.sha)
            )
            return json.loads(Path(where).read_text(encoding="utf-8"))
        except ValueError:
            return {}
        except Exception as error:
            raise in_plain_words(error, name) from None

    return identify({path.partition("/")[0] for path in paths}, read)


def refuse_public(name: str, info: Any) -> None:
    """Refuse to push in private to what everybody can see."""
    if info is not None and not info.private:
        remedy = "Make it private on its page first, or choose another name."
        raise BadInput("it is there already, and public.", name, remedy=remedy)


def replace(
    name: str,
    repo_type: str,
    found: Contents,
    info: Any,
    private: bool = False,
    revision: str | None = None,
    message: str = "",
) -> Any:
    """Make a repository hold these files, in one commit: until it is there, the old ones are.

    Files of the kinds that dialeval writes and that are not among the new ones are deleted, for
    weights of two architectures side by side would be loaded wrongly.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    old = [each.rfilename for each in info.siblings] if info else []
    gone = [path for path in old if path.endswith((*PUBLISHED, ".py")) and path not in found.files]
    operations = [
        *(CommitOperationAdd(path, content) for path, content in found.files.items()),
        *(CommitOperationDelete(path) for path in gone),
    ]
    api = HfApi(library_name="dialeval", library_version=__version__)
    try:
        if info is None:
            api.create_repo(name, repo_type=repo_type, private=private or None, exist_ok=True)
        if revision and revision != "main":
            api.create_branch(name, branch=revision, repo_type=repo_type, exist_ok=True)
        return again(
            lambda: api.create_commit(
                name,
                operations,
                commit_message=message or f"dialeval {__version__}",
                repo_type=repo_type,
                revision=revision,
            )
        )
    except Exception as error:
        raise in_plain_words(error, name, revision) from None
