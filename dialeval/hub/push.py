"""Push discriminators, generators, passages and evaluations with their cards."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialeval.downloads import BadInput
from dialeval.hub.contents import Contents, contents_of, refuse_secrets, strip_paths
from dialeval.hub.eval_results import add_results, eval_results
from dialeval.hub.kinds import RESULTS, Item, recognise
from dialeval.hub.model_cards import card_of
from dialeval.hub.repositories import identity_of, refuse_public, replace, repository_info

CARD = "README.md"


@dataclass(frozen=True)
class PushResult:
    """What was pushed, and its address.

    Args:
        kind (`str`):
            One of `dialeval.hub.kinds.KINDS`.
        name (`str`):
            The repository, `owner/name`.
        url (`str`):
            Its page.
        revision (`str`):
            The new commit.
        files (`list[str]`):
            All files of the push.
        left_out (`dict[str, str]`):
            Files that were not pushed, with the reason.
    """

    kind: str
    name: str
    url: str
    revision: str
    files: list[str]
    left_out: dict[str, str] = field(default_factory=dict)


def prepare(
    path: Path | str,
    name: str,
    license: str | None = None,
    dataset: str | None = None,
    results: Sequence[Path | str] = (),
    evaluator: str | None = None,
) -> tuple[Item, Contents]:
    """The item and all files of a push, including the card, without a request to the Hub.

    Args:
        path (`Path`):
            A folder, or a file of passages.
        name (`str`):
            The repository, `owner/name`.
        license (`str`, *optional*):
            Licence by its name on the Hub, such as `apache-2.0`.
        dataset (`str`, *optional*):
            Name on the Hub of the test data, if the run did not record it.
        results (`Sequence[Path]`, *optional*):
            Files `results.json` of other runs that evaluated with this discriminator.
        evaluator (`str`, *optional*):
            Its name in these runs; by default the name it was saved with.

    Returns:
        `tuple[Item, Contents]`: What was recognised, and its files.

    Raises:
        BadInput: Nothing is recognised, or an option is no name of the Hub or would be ignored.
    """
    if evaluator is not None and not results:
        raise BadInput("--evaluator would be ignored: it is for --results.", hint="Leave it out.")
    if dataset is not None:
        _check_name(dataset)
    if license is not None and not re.fullmatch(r"[\w.+-]+", license):
        hint = "Give its name on the Hub: --license apache-2.0"
        raise BadInput(f"{license!r:.60} is no name of a licence.", hint=hint)
    item = add_results(recognise(path), results, evaluator)
    if dataset is not None and item.repo_type != "model":
        message = f"--dataset would be ignored: it is for models, and this is {item.kind}."
        raise BadInput(message, hint="Leave it out.")
    contents = contents_of(item, name)
    if results:
        contents.write(RESULTS, strip_paths(item.results))
    contents.files.setdefault(CARD, card_of(item, name, contents, license).encode())
    contents.files.update(eval_results(item, dataset))
    return item, contents


def push(
    path: Path | str,
    name: str,
    private: bool = False,
    revision: str | None = None,
    force: bool = False,
    confirm: Callable[[str], bool] = lambda question: False,
    **options: Any,
) -> PushResult:
    """Push a folder or file to `owner/name`.

    Args:
        path (`Path`):
            A folder, or a file of passages.
        name (`str`):
            The repository, `owner/name`.
        private (`bool`, *optional*, defaults to `False`):
            Whether a new repository is private; refuses a public one.
        revision (`str`, *optional*):
            Branch to push to, created if it does not exist.
        force (`bool`, *optional*, defaults to `False`):
            Replace the repository even if it holds something else.
        confirm (`Callable`, *optional*):
            Called with a question before something else is replaced; says no by default.
        options:
            Of [`prepare`]: `license`, `dataset`, `results`, `evaluator`.

    Returns:
        `PushResult`: What was pushed, and its address.
    """
    from huggingface_hub import get_token

    _check_name(name)
    item, contents = prepare(path, name, **options)
    refuse_secrets(contents, get_token())
    info = repository_info(name, item.repo_type, revision)
    if private:
        refuse_public(name, info)
    current = identity_of(name, item.repo_type, info) if info else ""
    if current and current != item.identity and not force:
        _confirm_replacement(name, current, item.identity, confirm)
    commit = replace(name, item.repo_type, contents, info, private, revision)
    page = str(commit.commit_url).partition("/commit/")[0]
    files = sorted(contents.files)
    return PushResult(item.kind, name, page, commit.oid, files, contents.left_out)


def _confirm_replacement(
    name: str, current: str, pushed: str, confirm: Callable[[str], bool]
) -> None:
    difference = f"holds something else ({current}) than what is pushed ({pushed})."
    if not confirm(f"{name} {difference} Replace it?"):
        hint = "Choose another name, or replace it with --force."
        raise BadInput(f"it {difference}", name, hint=hint)


def _check_name(name: str) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(name)
    except HFValidationError:
        name_is_fine = False
    else:
        name_is_fine = name.count("/") == 1
    if not name_is_fine:
        raise BadInput("not a valid Hub name.", name, hint="Write owner/name.")
