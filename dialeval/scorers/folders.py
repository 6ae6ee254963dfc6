"""Saved scorers: a folder with all files, and the kind and settings in `scorer.json`."""

import json
import logging
import time
from dataclasses import asdict
from inspect import signature
from pathlib import Path
from typing import Any

from dialeval._version import __version__
from dialeval.downloads import revision_of, snapshot
from dialeval.errors import BadInput
from dialeval.files import atomic_write
from dialeval.saved import check_type, expecting, from_saved, read_object
from dialeval.scorers.base import Decision
from dialeval.scorers.registry import scorer_class

logger = logging.getLogger(__name__)

SETTINGS = "scorer.json"
_AGAIN = "Copy the whole folder again, or train and save it again."
_TYPES: dict[str, Any] = {
    "kind": str,
    "name": (str, type(None)),
    "decision": (dict, type(None)),
    "temperature": (float, type(None)),
    "fingerprint": (str, type(None)),
    "training": (dict, type(None)),
    "settings": (dict, type(None)),
    "higher_is_human": (bool, type(None)),
    "turned": (bool, type(None)),
}
"""Types of the keys that scorers have, of all kinds or of some."""


def save_scorer(scorer: Any, folder: Path | str) -> Path:
    """Write a scorer and its settings; returns the folder, which `load_scorer` reads."""
    folder = Path(folder)
    if time.localtime().tm_year < 1980:  # no ZIP file can have that date, and skops writes one
        raise BadInput("this machine's clock is before 1980.", hint="Set its date, then try again.")
    folder.mkdir(parents=True, exist_ok=True)
    # Killed before the end, a folder must not have new weights under the old settings.
    (folder / SETTINGS).unlink(missing_ok=True)
    settings = {
        "kind": scorer.kind,
        "name": scorer.name,
        "dialeval": __version__,
        "decision": asdict(scorer.decision),
        **scorer.save(folder),
    }
    with atomic_write(folder / SETTINGS) as file:
        json.dump(settings, file, ensure_ascii=False, indent=2)
        file.write("\n")
    return folder


def load_scorer(name: Path | str, **options: Any) -> Any:
    """A scorer by the folder it was saved in, or by its name on the Hub.

    Code in a repository on the Hub is neither downloaded nor run.

    Args:
        name (`Path` or `str`):
            Folder, or `owner/name`.
        options:
            What the kind of scorer takes, such as `device` or `max_tokens` for neural ones; for a
            name on the Hub also `revision` and `local_files_only`.
    """
    folder = _folder(
        str(name), options.pop("revision", None), options.pop("local_files_only", None)
    )
    path = folder / SETTINGS
    if not path.is_file():
        files = ", ".join(sorted(path.name for path in folder.iterdir())) or "nothing"
        raise BadInput(
            f"no {SETTINGS} here, only {files}.",
            folder,
            hint="Give a folder written by `dialeval train`, or by save_scorer.",
        )
    settings = read_object(path, _TYPES, _AGAIN)
    with expecting("a saved evaluator", folder, _AGAIN):
        scorer = scorer_class(settings["kind"], path).load(folder, settings, **options)
    _check_fingerprint(scorer, settings, folder)
    return scorer


def takes_neural(scorer: Any) -> bool:
    """Whether options of neural scorers reached a loaded scorer, or one inside it.

    A kind that has no use for them has a `load` with the parameter `**_`; one that passes them on
    has the scorers inside it as `inner`.
    """
    parameters = signature(scorer.load).parameters
    if "neural" in parameters:
        return True
    if hasattr(scorer, "inner"):
        return any(map(takes_neural, scorer.inner))
    return not any(
        item.kind is item.VAR_KEYWORD and name == "_" for name, item in parameters.items()
    )


def decision_of(settings: dict[str, Any]) -> Decision:
    """The saved decision."""
    decision = settings.get("decision") or {}
    if "threshold" in decision:
        check_type("decision.threshold", decision["threshold"], float)
    if settings.get("temperature") is not None:
        check_type("temperature", settings["temperature"], float)
    return from_saved(Decision, decision)


def _check_fingerprint(scorer: Any, settings: dict[str, Any], folder: Path) -> None:
    """Refuse weights that are not those that the settings were saved with."""
    saved = settings.get("fingerprint")
    if saved is not None and getattr(scorer, "fingerprint", saved) != saved:
        message = "its weights are not those that scorer.json was saved with."
        raise BadInput(message, folder, hint=_AGAIN)


def check_scorer_name(name: str) -> None:
    """Refuse a name that is no folder and no `owner/name`, without asking the Hub."""
    if not Path(name).is_dir() and (Path(name).exists() or name.count("/") != 1):
        raise BadInput("expected a folder or a name on the Hub.", name, hint="Check the name.")


def _folder(name: str, revision: str | None, local_files_only: bool | None) -> Path:
    check_scorer_name(name)
    if Path(name).is_dir():
        return Path(name)
    folder = snapshot(name, revision=revision, local_files_only=bool(local_files_only))
    logger.info("%s is revision %s.", name, revision_of(folder))
    return folder
