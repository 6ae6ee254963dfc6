"""Pulling: a model, a data set or an evaluation by its name, at a revision that is said."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialeval.downloads import (
    BadInput,
    again,
    in_plain_words,
    is_passing,
    revision_of,
    snapshot,
)
from dialeval.hub.kinds import recognise

TYPES = ("model", "dataset")


@dataclass(frozen=True)
class Pulled:
    """What was pulled, of which revision, and where it stands."""

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
) -> Pulled:
    """A repository as a folder: in the cache, or copied to `output_dir` for machines without a Hub.

    Only files of the kinds that dialeval publishes are fetched: no pickles, and no code.

    Args:
        repo_type (`str`, *optional*):
            `model` or `dataset`; by default whichever there is, a model first.
    """
    kind_of_repo = repo_type or find_type(name, revision, local_files_only)
    if kind_of_repo not in TYPES:
        remedy = f"Choose one of {', '.join(TYPES)}."
        raise BadInput(f"unknown type of repository {kind_of_repo!r}.", remedy=remedy)
    place = _empty(output_dir) if output_dir else None
    folder = snapshot(name, kind_of_repo, revision, local_files_only)
    told = revision_of(folder)
    if place:
        shutil.copytree(folder, place, dirs_exist_ok=True)  # follows the cache's links
        folder = place
    return Pulled(name, kind_of_repo, _kind(folder), told, folder)


def find_type(name: str, revision: str | None = None, local_files_only: bool = False) -> str:
    """Whether a name is a model or a data set on the Hub; a model, where both are there."""
    from huggingface_hub import constants
    from huggingface_hub.errors import RepositoryNotFoundError

    if local_files_only or constants.HF_HUB_OFFLINE:
        return next(iter(_cached_types(name)), TYPES[0])
    first: Exception | None = None
    for each in TYPES:
        try:
            again(lambda each=each: _info(name, each))
        except RepositoryNotFoundError as error:
            first = first or error
        except Exception as error:
            if is_passing(error) and _cached_types(name):
                return _cached_types(name)[0]
            raise in_plain_words(error, name, revision) from None
        else:
            return each
    raise in_plain_words(first, name, revision) from None


def _info(name: str, repo_type: str) -> Any:
    from huggingface_hub import HfApi

    return HfApi().repo_info(name, repo_type=repo_type)


def _cached_types(name: str) -> list[str]:
    """As what a name stands in the cache."""
    from huggingface_hub import constants

    cache, folder = Path(constants.HF_HUB_CACHE), name.replace("/", "--")
    return [each for each in TYPES if (cache / f"{each}s--{folder}").is_dir()]


def _empty(output_dir: Path | str) -> Path:
    place = Path(output_dir)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise BadInput("it is there already.", place, remedy="Choose another --output-dir.")
    return place


def _kind(folder: Path) -> str:
    """What was pulled, where it is something of ours."""
    try:
        return recognise(folder).kind
    except BadInput:
        return "unknown"
