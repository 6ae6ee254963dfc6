"""Pushing: judges, generators, passages and evaluations, each complete and with its card."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialeval.downloads import BadInput
from dialeval.hub.contents import Contents, contents_of, refuse_secrets, without_places
from dialeval.hub.eval_results import eval_results, with_results
from dialeval.hub.kinds import RESULTS, Item, recognise
from dialeval.hub.model_cards import card_of
from dialeval.hub.repositories import identity_of, refuse_public, replace, state

CARD = "README.md"


@dataclass(frozen=True)
class Pushed:
    """What was pushed, and where it stands now.

    Args:
        left_out (`dict[str, str]`):
            Files that were not pushed, each with the reason.
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
    called: str | None = None,
) -> tuple[Item, Contents]:
    """What would be pushed, card and all, without asking the Hub.

    Args:
        license (`str`, *optional*):
            Licence by its name on the Hub, such as `apache-2.0`; none is claimed by default.
        dataset (`str`, *optional*):
            Name on the Hub of the data it was tested on, where the run itself does not say.
        results (`Sequence[Path]`, *optional*):
            Other files `results.json` in which this very judge was measured.
        called (`str`, *optional*):
            Its name there, by default its own.
    """
    item = with_results(recognise(path), results, called)
    found = contents_of(item, name)
    if results:
        found.write(RESULTS, without_places(item.results))
    found.files.setdefault(CARD, card_of(item, name, found, license).encode())
    found.files.update(eval_results(item, dataset))
    return item, found


def push(
    path: Path | str,
    name: str,
    private: bool = False,
    revision: str | None = None,
    force: bool = False,
    ask: Callable[[str], bool] = lambda question: False,
    **about: Any,
) -> Pushed:
    """Push a folder or file to `owner/name`.

    Args:
        revision (`str`, *optional*):
            Branch to push to, made where it is not there.
        force (`bool`, *optional*, defaults to `False`):
            Replace what stands there even if it is something else.
        ask (`Callable`, *optional*):
            Asked before something else is replaced; nobody agrees by default.
        about:
            What [`prepare`] takes: `license`, `dataset`, `results`, `called`.
    """
    from huggingface_hub import get_token

    _check_name(name)
    item, found = prepare(path, name, **about)
    refuse_secrets(found, get_token())
    info = state(name, item.repo_type, revision)
    if private:
        refuse_public(name, info)
    there = identity_of(name, item.repo_type, info) if info else ""
    if there and there != item.identity and not force:
        _ask_first(name, there, item.identity, ask)
    done = replace(name, item.repo_type, found, info, private, revision)
    page = str(done.commit_url).partition("/commit/")[0]
    return Pushed(item.kind, name, page, done.oid, sorted(found.files), found.left_out)


def _ask_first(name: str, there: str, ours: str, ask: Callable[[str], bool]) -> None:
    what = f"{name} holds something else ({there}) than what is pushed ({ours})."
    if not ask(f"{what} Replace it?"):
        remedy = "Choose another name, or replace it with --force."
        raise BadInput(f"it holds something else ({there}) than what is pushed ({ours}).", name,
                       remedy=remedy)  # fmt: skip


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
        raise BadInput("this is no name on the Hub.", name, remedy="Write owner/name.")
