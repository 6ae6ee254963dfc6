"""The output folder of a training: a finished model of another one is not overwritten silently."""

import json
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from dialeval.files import remove_dir
from dialeval.run_folder import RunFolder

RESULTS = "results.json"
_OF_THE_COMMAND = ("resume", "overwrite")
_IGNORED = {"output_dir", "log_with", *_OF_THE_COMMAND}


P = ParamSpec("P")
Run = TypeVar("Run")
Trained = TypeVar("Trained")


def only_training(
    train: Callable[Concatenate[Run, P], Trained],
) -> Callable[Concatenate[Run, P], Trained]:
    """A training that keeps a second one out of the output folder of its run, its first argument.

    Of several processes of one training, the main one holds the lock.
    """

    @wraps(train)
    def run_alone(run: Run, *arguments: P.args, **options: P.kwargs) -> Trained:
        folder: Any = run
        with RunFolder(folder.output_dir).lock() if _is_first() else nullcontext():
            return train(run, *arguments, **options)

    return run_alone


def _is_first() -> bool:
    """Whether this is the first process of a training, as its launcher says.

    Accelerate is not asked: a `PartialState` made before an `Accelerator` knows nothing of
    `ACCELERATE_USE_CPU`, so that every process would be one by itself.
    """
    return os.environ.get("RANK", "0") == "0"


def lasting(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a model, without how it came to be finished: a resumed run is no other one."""
    return {name: value for name, value in settings.items() if name not in _OF_THE_COMMAND}


def check_finished(
    folder: Path | str, model: str, settings: Mapping[str, Any], overwrite: bool
) -> None:
    """Refuse a folder with a finished model that other settings made.

    The same settings are trained again: a run that was killed while it cleaned up is such a one.

    Args:
        folder (`Path` or `str`):
            Output folder.
        model (`str`):
            File that a finished model has.
        settings (`Mapping`):
            Settings of the new training.
        overwrite (`bool`):
            Whether it may be replaced.

    Raises:
        BadInput: It has one; the message names the settings that differ.
    """
    if (Path(folder) / model).is_file():
        RunFolder(folder, RESULTS, key="settings").check(
            json.loads(json.dumps(dict(settings), default=str)), _difference, overwrite=overwrite
        )


def is_trained(folder: Path) -> bool:
    """Whether a training in a folder came to its end, and not only to its model.

    The results are its last file. What a process that was killed after them left of the checkpoint
    is removed.
    """
    if not (folder / RESULTS).is_file():
        return False
    with suppress(FileNotFoundError):  # several processes of one run may come here
        remove_dir(folder / "checkpoint")
    return True


def _difference(previous: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    # Settings that an earlier version did not have are no difference.
    names = [name for name in settings if name in previous and name not in _IGNORED]
    other = [name for name in names if previous[name] != settings[name]]
    return f"a finished model with other settings ({', '.join(other)})" if other else ""
